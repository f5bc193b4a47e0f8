"""What shells are told may follow: words of lists, and names of bundled data."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Words = Callable[[], Iterable[str]]
"""Asked for when a shell asks, so that commands do not wait for what they do not need."""


def kernels() -> Iterable[str]:
    """Of the mini-app."""
    from gpucast.design.cells import KERNELS

    return KERNELS


def memories() -> Iterable[str]:
    """Among which the mini-app's star-serial has a choice."""
    from gpucast.design.cells import MEMORIES

    return MEMORIES


def lists(words: Words) -> Callable[[str], list[str]]:
    """Completes the last word of a list such as ``claret,tuned``; none is offered twice."""

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        taken = before.split(",")
        return [
            f"{before}{comma}{word}"
            for word in words()
            if word.startswith(begun) and word not in taken
        ]

    return complete


def one(words: Words) -> Callable[[str], list[str]]:
    """Completes one of these words."""
    return lambda incomplete: [word for word in words() if word.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """Bundled datasets; where none fits, the shell goes on with files."""
    from gpucast.data.bundled import bundled_files

    return [name for name in bundled_files() if name.startswith(incomplete)]
