"""The command ``gpucast``."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``gpucast ARGUMENTS`` (the process's own where None) and return the exit status.

    0; 1 where the run failed; 2 where the input is wrong, with one line on stderr; 130 where
    interrupted; 141 where the reader of stdout went away; 143 where SIGTERM ended
    the work of ``measure``.
    """
    from gpucast.cli.app import run

    return run(arguments)
