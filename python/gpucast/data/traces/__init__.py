"""Traces of a program's GPU calls: reading, steps, summaries."""

from __future__ import annotations

from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.reading import read
from gpucast.data.traces.steps import ProcessSteps, Steps
from gpucast.data.traces.trace import Process, RunDescription, Trace

__all__ = ["Process", "ProcessSteps", "RunDescription", "Steps", "Trace", "find_steps", "read"]
