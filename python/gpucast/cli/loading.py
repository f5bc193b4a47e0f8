"""Data that commands are given: whatever ``gpucast import`` takes, with a word on what it was."""

from __future__ import annotations

from collections.abc import Sequence

from gpucast.cli.output import note
from gpucast.data import loading
from gpucast.data.dataset import Dataset


def load(*names: str) -> Dataset:
    """The data of these names; of what had to be imported, what was understood goes to stderr.

    Raises:
        InputError: as ``gpucast.load``.
    """
    from gpucast.traces.records import TRACES

    data = loading.load(*names, others=(TRACES,))
    tell(data.understood)
    return data


def tell(lines: Sequence[str]) -> None:
    """Print what was understood, a note a line."""
    for line in lines:
        note(line)
