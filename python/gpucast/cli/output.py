"""What commands share: the data that they take, and their answers.

JSON or plain text goes to stdout, without colours; warnings and notes go to stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpucast.util.remarks import Remark, Severity, in_order
from gpucast.util.tables import Column, one_line, print_rows, shown

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.model.fitted import Model

MOST_WARNINGS = 2
"""Warnings of a fit that are shown; --explain shows all."""

EXTRAPOLATED = "* outside the n or GPU counts that were fitted"


def print_json(value: object) -> None:
    """Print one JSON object. NaN and infinities are refused: they are no JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print lines in which names of data, programs or machines stand."""
    print("\n".join(map(shown, text.split("\n"))))


DOUBTED = "?"
"""Marks forecasts that are not known to within a factor, and what is said of them."""

MARK = Column(
    "",
    lambda row: (DOUBTED if row.get("doubtful") else "") + ("*" if row["extrapolated"] else ""),
)


def print_marked(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
    """A table whose last column marks rows that are extrapolated, and what the mark means."""
    print_rows(rows, [*columns, MARK])
    if any(row["extrapolated"] for row in rows):
        print(EXTRAPOLATED)


def warn(*texts: str) -> None:
    """Print warnings on stderr, a line each."""
    _tell("warning", texts)


def note(*texts: str) -> None:
    """Print notes on stderr, a line each."""
    _tell("note", texts)


def _tell(kind: str, texts: Iterable[str]) -> None:
    for text in texts:
        print(f"gpucast: {kind}: {one_line(text)}", file=sys.stderr)


def load(*names: str) -> Dataset:
    """The data of these names; what was understood of imported files goes to stderr.

    Raises:
        InputError: as ``gpucast.load``.
    """
    from gpucast.data import loading
    from gpucast.data.traces.records import TRACES

    data = loading.load(*names, others=(TRACES,))
    note(*data.understood)
    return data


def tell_fit(remarks: Iterable[Remark], notes: Sequence[str] = (), *, explain: bool) -> None:
    """Warn of what a fit has to say, the worst first; ``notes``: what changes no answer."""
    ranked = in_order(remarks)
    if explain:
        warn(*dict.fromkeys([*map(str, ranked), *notes]))
        return
    grave = [one.short or one.text for one in ranked if one.severity != Severity.MINOR]
    shown = grave[:MOST_WARNINGS]
    left = len(ranked) + len(notes) - len(shown)
    for i, text in enumerate(shown, 1):
        warn(text + (f" (and {left} more: --explain)" if left and i == len(shown) else ""))


def tell_forecasts(model: Model, texts: Sequence[str], *, explain: bool) -> None:
    """Warn of what is to be known of a model's forecasts: ``caveats``, the worst first; with
    ``explain`` also of all that its fit warned of."""
    from gpucast.answers.caveats import in_line

    if model.machine_factors is not None:
        note(f"{model.name}: {model.machine_factors.words}")
    if explain:
        for text in dict.fromkeys([*texts, *map(str, in_order(model.remarks))]):
            warn(f"{model.name}: {text}")
    elif texts:
        warn(in_line(model.name, texts))


def tell_cells(model: Model, pairs: Iterable[tuple[float, float]] = (), *, explain: bool) -> None:
    """Warn of what is to be known of forecasts for pairs of n and GPU count."""
    import numpy as np

    from gpucast.answers.caveats import caveats

    cells = np.array(list(pairs), dtype=np.float64).reshape(-1, 2)
    tell_forecasts(model, caveats(model, cells[:, 0], cells[:, 1]), explain=explain)
