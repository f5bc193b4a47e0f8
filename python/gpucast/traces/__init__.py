"""What a program asked of its GPUs, call by call: reading, steps, summaries."""

from __future__ import annotations

from gpucast.traces.finding_steps import find_steps
from gpucast.traces.reading import read
from gpucast.traces.steps import ProcessSteps, Steps
from gpucast.traces.trace import Process, RunDescription, Trace

__all__ = ["Process", "ProcessSteps", "RunDescription", "Steps", "Trace", "find_steps", "read"]
