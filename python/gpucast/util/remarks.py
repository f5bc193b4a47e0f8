"""What one must know of data, a fit or an answer: a line of text, and what it is about.

Whoever finds such a thing out makes a remark of it; whoever shows it ranks, shortens and counts by
kind and severity. Nobody reads the text but people.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """What a remark means for answers, the worst first."""

    SERIOUS = "serious"
    """What was measured or fitted may be wrong."""
    DOUBT = "doubt"
    """Answers rest on less than they seem to."""
    MINOR = "minor"
    """No forecast changes by it."""


class Kind(StrEnum):
    """What a remark is about, the worst first."""

    REHEARSED = "rehearsed"  # no GPU computed
    DATA = "data"  # records that are damaged, contradict one another, or repeat
    DISPUTED = "disputed"  # repetitions of a cell disagree
    NOT_CONVERGED = "not-converged"
    UNDERDETERMINED = "underdetermined"  # as many quantities as observations
    UNSORTED = "unsorted"  # of a model file that has texts alone
    OVERRULED = "overruled"  # a file says other than the user
    READ_AS = "read-as"  # how a file was understood that leaves it open
    LACKS = "lacks"  # what a file does not say
    UNFINISHED = "unfinished"  # runs without a final time
    LEFT_OUT = "left-out"  # records that were not used
    CHOICE = "choice"  # what was taken of several
    ASSUMED = "assumed"  # what stands in for a measurement
    HELD_OUT = "held-out"  # how far off forecasts of cells left out were
    FEW_CELLS = "few-cells"  # any form goes through them
    NODE_BOUNDARY = "node-boundary"  # times as of another node, which nobody stated
    UNLIKE = "unlike"  # a cell that no form explains
    ONE_VALUE = "one-value"  # one n or GPU count only
    LACK_OF_FIT = "lack-of-fit"
    ONE_REPETITION = "one-repetition"
    NOT_TESTED = "not-tested"  # too few cells for a test
    OPEN_INTEGER = "open-integer"  # several k fit alike
    NOT_IDENTIFIED = "not-identified"  # parameters that the data do not tell apart
    TOO_SMALL = "too-small"  # parameters that no measured time shows


_USUAL: Final = {
    Kind.REHEARSED: Severity.SERIOUS,
    Kind.DATA: Severity.SERIOUS,
    Kind.DISPUTED: Severity.SERIOUS,
    Kind.NOT_CONVERGED: Severity.SERIOUS,
    Kind.UNDERDETERMINED: Severity.SERIOUS,
    Kind.NODE_BOUNDARY: Severity.SERIOUS,
    Kind.TOO_SMALL: Severity.MINOR,
}
"""The severity of kinds that are no mere doubt."""

_SEVERITIES: Final = {str(severity): rank for rank, severity in enumerate(Severity)}
_KINDS: Final = {str(kind): rank for rank, kind in enumerate(Kind)}


@dataclass(frozen=True)
class Cell:
    """The n and GPU count that a remark is about; None: any."""

    n: float | None = None
    gpus: int | None = None


@dataclass(frozen=True)
class Remark:
    """One line to know.

    Attributes:
        kind, severity: a ``Kind`` and a ``Severity``, or the words that a file has for them.
        text: for people.
        cell: the cell that it is about; None: all of them.
        short: what is wrong, without how that is known and what follows; None: the text is short.
        about: what in a file it is about: remarks of one kind about the same thing say the same of
            several files.
    """

    kind: str
    severity: str
    text: str
    cell: Cell | None = field(default=None, metadata={"omit": True})
    short: str | None = field(default=None, metadata={"omit": True})
    about: str | None = field(default=None, metadata={"omit": True})

    def __str__(self) -> str:
        return self.text


def remark(
    kind: Kind,
    text: str,
    *,
    severity: Severity | None = None,
    n: float | None = None,
    gpus: int | None = None,
    short: str | None = None,
    about: str | None = None,
) -> Remark:
    """A remark; ``severity``: by default that of its kind."""
    cell = None if n is None and gpus is None else Cell(n, gpus)
    known = severity or _USUAL.get(kind, Severity.DOUBT)
    return Remark(kind.value, known.value, text, cell, short, about)


def remarks_of(kind: Kind, texts: Iterable[str]) -> list[Remark]:
    """A remark of each text."""
    return [remark(kind, text) for text in texts]


def texts_of(remarks: Iterable[Remark]) -> list[str]:
    """What remarks say."""
    return [one.text for one in remarks]


def once(remarks: Iterable[Remark]) -> list[Remark]:
    """Each remark that is there, once."""
    return list(dict.fromkeys(remarks))


def in_order(remarks: Iterable[Remark]) -> list[Remark]:
    """Each remark once, the worst first: by severity, then kind, then as they were made."""
    return sorted(once(remarks), key=_rank)


def _rank(one: Remark) -> tuple[int, int]:
    # What another version of gpucast says is not known to be harmless.
    return _SEVERITIES.get(one.severity, 0), _KINDS.get(one.kind, 0)
