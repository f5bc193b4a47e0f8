"""Records a program's CUDA calls and GPU work, as ``gpucast trace -- PROGRAM`` does."""

from __future__ import annotations

from gpucast.measure.tracing.recording import Limits, Recorded, Watcher, record

__all__ = ["Limits", "Recorded", "Watcher", "record"]
