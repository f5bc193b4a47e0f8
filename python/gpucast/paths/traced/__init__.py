"""A traced program on another path: its calls, what each takes there, and so a step."""

from __future__ import annotations

from gpucast.paths.traced.from_trace import program_of
from gpucast.paths.traced.program import CallProgram, Operation

__all__ = ["CallProgram", "Operation", "program_of"]
