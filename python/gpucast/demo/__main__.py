"""``python -m gpucast.demo``."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from gpucast import demo
from gpucast.demo import parts
from gpucast.errors import GpucastError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status, as of commands."""
    parser = argparse.ArgumentParser(
        prog="python -m gpucast.demo",
        description=demo.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out/demo"), metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).output
    try:
        folder.mkdir(parents=True, exist_ok=True)
        print(f"$ cd {folder}")
        with contextlib.chdir(folder):
            parts.how_many_gpus()
            parts.native_or_remote()
            parts.this_machine()
    except GpucastError as error:
        print(f"gpucast: error: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"gpucast: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
