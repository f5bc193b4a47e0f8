"""A traced program, made again on another path: programs of calls, what a path's calls cost, a
simulation of both, and what it says of steps on that path."""

from __future__ import annotations

from gpucast.paths.replay.from_trace import program_of
from gpucast.paths.replay.program import CallProgram, Operation

__all__ = ["CallProgram", "Operation", "program_of"]
