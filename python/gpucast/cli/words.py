"""Quantities for people, as the commands print them (``gpucast.quantities``)."""

from __future__ import annotations

from gpucast.quantities import FLAT, duration, interval, p_value, percent, quantity, throughput

__all__ = ["FLAT", "duration", "interval", "p_value", "percent", "quantity", "throughput"]
