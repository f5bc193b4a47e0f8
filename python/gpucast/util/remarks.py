"""Remarks about data, a fit or an answer that users need to know.

The code that detects a problem makes a remark; the code that shows remarks ranks, shortens and
counts them by kind and severity. No code interprets the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """The effect of a remark on answers, the worst first."""

    SERIOUS = "serious"
    """Measurements or fit may be wrong."""
    DOUBT = "doubt"
    """Answers are less certain than they seem."""
    MINOR = "minor"
    """It does not affect forecasts."""


class Kind(StrEnum):
    """The subject of a remark, the worst first."""

    REHEARSED = "rehearsed"  # no GPU computed
    DATA = "data"  # records that are damaged, contradict one another, or repeat
    DISPUTED = "disputed"  # repetitions of a cell disagree
    NOT_CONVERGED = "not-converged"
    UNDERDETERMINED = "underdetermined"  # as many quantities as observations
    UNSORTED = "unsorted"  # from a model file with texts alone
    OVERRULED = "overruled"  # a file contradicts the user
    READ_AS = "read-as"  # how an ambiguous file was understood
    LACKS = "lacks"  # what a file does not state
    UNFINISHED = "unfinished"  # runs without a final time
    LEFT_OUT = "left-out"  # records that were not used
    CHOICE = "choice"  # which of several was taken
    ASSUMED = "assumed"  # what replaces a measurement
    HELD_OUT = "held-out"  # errors of held-out cells
    FEW_CELLS = "few-cells"  # many forms fit them
    NODE_BOUNDARY = "node-boundary"  # times suggest another node, which is not stated
    UNLIKE = "unlike"  # a cell that no form explains
    ONE_VALUE = "one-value"  # one n or GPU count only
    LACK_OF_FIT = "lack-of-fit"
    ONE_REPETITION = "one-repetition"
    NOT_TESTED = "not-tested"  # too few cells for a test
    OPEN_INTEGER = "open-integer"  # several k fit equally well
    NOT_IDENTIFIED = "not-identified"  # parameters that the data do not separate
    TOO_SMALL = "too-small"  # parameters with a negligible share of every measured time


_USUAL: Final = {
    Kind.REHEARSED: Severity.SERIOUS,
    Kind.DATA: Severity.SERIOUS,
    Kind.DISPUTED: Severity.SERIOUS,
    Kind.NOT_CONVERGED: Severity.SERIOUS,
    Kind.UNDERDETERMINED: Severity.SERIOUS,
    Kind.NODE_BOUNDARY: Severity.SERIOUS,
    Kind.TOO_SMALL: Severity.MINOR,
}
"""The severity of kinds other than doubts."""

_SEVERITIES: Final = {str(severity): rank for rank, severity in enumerate(Severity)}
_KINDS: Final = {str(kind): rank for rank, kind in enumerate(Kind)}


@dataclass(frozen=True)
class Cell:
    """The n and GPU count of a remark; None: any."""

    n: float | None = None
    gpus: int | None = None


@dataclass(frozen=True)
class Remark:
    """A remark of one line.

    Attributes:
        kind, severity: a ``Kind`` and a ``Severity``, or the words in a file.
        text: the text for users.
        cell: the cell that it is about; None: all cells.
        short: the problem without evidence and consequences; None: the text is short.
        about: the thing in a file that it is about; remarks of one kind about the same thing in
            several files are equivalent.
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
    """Make a remark; ``severity`` is by default that of its kind."""
    cell = None if n is None and gpus is None else Cell(n, gpus)
    known = severity or _USUAL.get(kind, Severity.DOUBT)
    return Remark(kind.value, known.value, text, cell, short, about)


def remarks_of(kind: Kind, texts: Iterable[str]) -> list[Remark]:
    """Make a remark of each text."""
    return [remark(kind, text) for text in texts]


def texts_of(remarks: Iterable[Remark]) -> list[str]:
    """Return the texts of remarks."""
    return [one.text for one in remarks]


def once(remarks: Iterable[Remark]) -> list[Remark]:
    """Return the remarks without repetitions."""
    return list(dict.fromkeys(remarks))


def in_order(remarks: Iterable[Remark]) -> list[Remark]:
    """Return the remarks without repetitions, ordered by severity, then kind, the worst first."""
    return sorted(once(remarks), key=_rank)


def _rank(one: Remark) -> tuple[int, int]:
    # An unknown severity or kind, from another version of gpucast, counts as the worst.
    return _SEVERITIES.get(one.severity, 0), _KINDS.get(one.kind, 0)
