"""What every part may use: files, processes, tables, units, JSON, medians."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""An answer as ``json`` writes it; its keys stand in the documentation."""


def version() -> str:
    """The installed version of gpucast; ``unknown`` in a source tree that is not installed."""
    # Here, not above: few commands need it.
    from importlib import metadata

    try:
        return metadata.version("gpucast")
    except metadata.PackageNotFoundError:
        return "unknown"
