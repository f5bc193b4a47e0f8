"""GPUs that are not there: those of ``gpucast remote serve --fake``, known by their name alone."""

from __future__ import annotations

from collections.abc import Iterable

from gpucast.data.records import Machine

FAKE_GPU = "fake GPU "
"""How the name of a GPU begins that the fake driver (remote/fake) lends; its number follows."""

_BEGINNING = "measured on a rehearsed GPU"


def warning(machine: Machine) -> str | None:
    """What is to be said of times that were measured on such GPUs; None of those of real ones."""
    names = [each.name for each in machine.gpus or [] if each.name.startswith(FAKE_GPU)]
    if not names:
        return None
    return f"{_BEGINNING} ({names[0]}): no GPU computed, its times tell of none"


def said_among(texts: Iterable[str]) -> str | None:
    """That warning, where a fit has given it."""
    return next((each for each in texts if each.startswith(_BEGINNING)), None)
