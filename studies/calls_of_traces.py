"""Calls of some steps of each trace, for gpucast-microbench skeleton --trace.

    .venv/bin/python studies/calls_of_traces.py FOLDER -o CALLS [--calls 3000]

FOLDER: traces (*.zip); CALLS: the folder of gpucast.calls/1 files, one a trace. A skeleton of a
program's calls tells what a path makes of them, whatever the program computes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpucast.errors import GpucastError, InputError
from gpucast.replay import program_of
from gpucast.replay.calls import write_calls
from gpucast.replay.program import Operation
from gpucast.traces import find_steps, read

FEWEST, MOST = 6, 40
"""Steps of a trace."""


def write(trace: Path, to: Path, calls: int) -> None:
    """One trace's calls, so many or those of six steps.

    Raises:
        InputError: it has no steps, or graphs, which cannot be made again.
    """
    found = read(trace)
    steps = find_steps(found)
    most = min(MOST, max(FEWEST, calls // max(1, round(float(steps.main.calls.mean())))))
    program = program_of(found, steps, most_steps=most)
    if (program.operation == Operation.graph_launch).any():
        raise InputError("graphs cannot be made again", file=trace)
    write_calls(program, to, force=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="CALLS")
    parser.add_argument("--calls", type=int, default=3000, help="of each trace")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for trace in sorted(options.traces.glob("*.zip")):
        try:
            write(trace, options.output / f"{trace.stem}.jsonl", options.calls)
        except GpucastError as error:
            print(f"left out: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
