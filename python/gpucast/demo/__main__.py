"""``python -m gpucast.demo``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpucast import demo
from gpucast.demo import h200, live, published
from gpucast.errors import GpucastError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; exit status as for commands."""
    parser = argparse.ArgumentParser(
        prog="python -m gpucast.demo",
        description=demo.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out/demo"), metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).output
    try:
        folder.mkdir(parents=True, exist_ok=True)
        h200.native_or_remote(folder)
        h200.how_many(folder)
        published.peer_against_staged(folder)
        published.native_against_remote(folder)
        live.this_machine(folder)
    except GpucastError as error:
        print(f"gpucast: error: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"gpucast: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
