"""``gpucast fit MODEL --update CELLS``: a model for another machine from a few cells timed
there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpucast.cli.output import load, print_json, say, warn
from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration, number

if TYPE_CHECKING:
    from gpucast.model.adjustments import MachineFactors
    from gpucast.model.fitted import Model

PARTS = ("T_gpu", "T_cpu", "T_com")
TIMES = ("measured", "before", "updated")


def run(
    model: Sequence[str],
    cells: Sequence[str],
    selection: StepSelection,
    as_usual: bool,
    output: Path | None,
    *,
    json: bool,
    force: bool,
) -> None:
    """Read a model, update it, write it, and print the result.

    Args:
        model: the arguments that are data in an ordinary fit.
        cells: the data for the update.
        as_usual: whether no option of an ordinary fit was given.

    Raises:
        InputError: not exactly one model, options without effect, or cells that cannot update it.
    """
    from gpucast.model.files import load_model

    if len(model) != 1:
        raise InputError(
            f"an update is of one model file, not of {len(model)}: "
            "gpucast fit MODEL.json --update CELLS -o NEW.json",
            field="--update",
        )
    if not as_usual:
        raise InputError(
            "an update fits nothing anew: leave out --model, --method, --replicates and --seed",
            field="--update",
        )
    before = load_model(model[0])
    data = load(*cells)
    after = before.updated(data, selection)
    if output is not None:
        after.save(output, force=force)
    warn(*data.warnings, *after.warnings[len(before.warnings) :])
    if json:
        print_json(after.content)
        return
    factors = after.machine_factors
    assert factors is not None  # just made
    _print(before, after, factors)
    if output is not None:
        say(f"\nModel written to {output}")


def _print(before: Model, after: Model, factors: MachineFactors) -> None:
    """Print the estimated factors, and the cells before and after."""
    say(f"{before.name}: {factors.words}\n")
    spread = np.sqrt(np.diag(factors.covariance))
    names = PARTS if before.knows_parts else ("T",)
    print_rows(
        list(zip(names, factors.means, spread, strict=False)),
        [
            Column("part", 0),
            Column("times as long", lambda row: np.exp(row[1]), ".3f"),
            Column("68 % interval", lambda row: _ends(row[1] - row[2], row[1] + row[2])),
        ],
    )
    print()
    n, gpus = np.array(factors.cells.n), np.array(factors.cells.gpus, dtype=np.float64)
    times = (model.seconds(n, gpus).tolist() for model in (before, after))
    print_rows(
        zip(n.tolist(), factors.cells.gpus, factors.cells.seconds, *times, strict=True),
        [
            Column("n", 0, number),
            Column("GPUs", 1),
            *(Column(word, 2 + i, duration) for i, word in enumerate(TIMES)),
        ],
    )


def _ends(low: float, high: float) -> str:
    return f"{np.exp(low):.3f} ... {np.exp(high):.3f}"
