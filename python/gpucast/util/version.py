"""The version of this package."""

from __future__ import annotations


def version() -> str:
    """The installed version of gpucast; ``unknown`` in a source tree that is not installed."""
    # Here, not above: few commands need it.
    from importlib import metadata

    try:
        return metadata.version("gpucast")
    except metadata.PackageNotFoundError:
        return "unknown"
