"""Utilities for all parts: files, processes, tables, units, JSON, medians."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""An answer for ``json``; the documentation lists its keys."""


def version() -> str:
    """Return the installed version of gpucast; ``unknown`` if it is not installed."""
    # Imported here because few commands need it.
    from importlib import metadata

    try:
        return metadata.version("gpucast")
    except metadata.PackageNotFoundError:
        return "unknown"
