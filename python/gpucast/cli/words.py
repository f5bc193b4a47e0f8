"""Quantities for people, as the commands print them (``gpucast.quantities``)."""

from __future__ import annotations

from gpucast.quantities import FLAT, duration, interval, percent, quantity, throughput

__all__ = ["FLAT", "duration", "interval", "percent", "quantity", "throughput"]
