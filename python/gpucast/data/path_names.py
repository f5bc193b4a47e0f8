"""What names of paths mean where nothing else tells: the only place that reads them for it.

How long calls over a path take is told by its records (``gpucast.paths.path_facts``). Records
of steps alone, and older model files, hold no such facts: a name of the vocabulary is then taken
for what it usually stands for, and a name of the user's own for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

NATIVE = "native"


class Usual(NamedTuple):
    """Whether a path's calls become messages to a server (None: not known), and whether each is
    answered."""

    forwarded: bool | None
    answered: bool


_USUAL = {
    "host": Usual(forwarded=False, answered=False),
    NATIVE: Usual(forwarded=False, answered=False),
    "remote": Usual(forwarded=True, answered=False),
    "remote-sync": Usual(forwarded=True, answered=True),
    "remote-shm": Usual(forwarded=True, answered=False),
}


def usual(path: object) -> Usual:
    """What a path of this name usually is."""
    return _USUAL.get(str(path), Usual(forwarded=None, answered=False))
