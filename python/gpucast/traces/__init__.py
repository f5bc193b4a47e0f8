"""What a program asked of its GPUs, call by call: reading, steps, summaries."""

from __future__ import annotations
