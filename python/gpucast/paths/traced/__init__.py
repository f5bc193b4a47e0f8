"""Forecasts a traced program on another path, from what each of its calls takes there."""

from __future__ import annotations

from gpucast.paths.traced.from_trace import program_of
from gpucast.paths.traced.program import CallProgram, Operation

__all__ = ["CallProgram", "Operation", "program_of"]
