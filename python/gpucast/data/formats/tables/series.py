"""Columns without a known name that distinguish rows of one cell: kinds of GPUs, cases, instances.

Rows with equal values in all read columns are repetitions, unless an unread column explains their
differences: one of two values of this column takes longer in every cell that has both, by much more
than the difference varies between cells. With d_i the difference of their median ln T in cell i of
k,

    t = mean(d) sqrt(k) / s,    s^2 = (D0 S0^2 + sum (d_i - mean(d))^2) / (D0 + k - 1)

has Student's distribution with D0 + k - 1 degrees of freedom if the values mean nothing and
repetitions scatter as they do elsewhere (S0, which counts for D0 cells, so that two cells prove
nothing by chance).
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from gpucast.data.formats import Options
from gpucast.data.formats.tables.columns import REPETITIONS, TIME, Columns, repeats, roles_of, shown
from gpucast.data.formats.tables.grid import Cells, Grid
from gpucast.data.formats.tables.rows import Row, Sample
from gpucast.data.formats.tables.rows import shown as shown_cell
from gpucast.errors import InputError

FACTOR = 1.3
"""Smaller differences between values do little harm; hosts of one kind differ as much."""
CHANCE = 0.002
"""The probability, for each column, that the user is asked about mere repetitions."""
SCATTER = 0.15
"""S0: sd of d between cells."""
FREEDOM = 3
"""D0."""
MOST_VALUES = 12
"""A column with more values numbers rows, or measures something."""
_LABELS = ("case", "program", "machine")


def check(
    grid: Grid, columns: Columns, cells: Sequence[Sequence[Sample]], options: Options
) -> None:
    """Raise InputError if an unused column distinguishes rows of the same cell.

    Args:
        grid, columns: the table.
        cells: the rows of each cell, with their times (s).
        options: ``columns`` are those that the user named.
    """
    repeated = [cell for cell in cells if len(cell) > 1]
    if len(repeated) < 2 or options.columns.get("repeat") == REPETITIONS:
        return
    used = {column.at for column in (*columns.by_role.values(), *columns.rivals.values())}
    unused = [at for at in range(len(grid.names)) if at not in used]
    rows = dict(grid.filled(unused).rows)
    for at in unused:
        name = grid.names[at]
        values = {str(cells[at]) for cells in rows.values()}
        if repeats(name) or {TIME, "run"} & {*roles_of(name)} or len(values) > MOST_VALUES:
            continue
        apart = _farthest([_by_value(cell, at, rows) for cell in repeated])
        if apart is not None:
            _ask(name, *apart, columns, repeated[0][0][2])


def _by_value(cell: Sequence[Sample], at: int, rows: Mapping[int, Cells]) -> dict[str, list[float]]:
    """Return logarithms of a cell's times, by the value of a column."""
    logs: dict[str, list[float]] = defaultdict(list)
    for _, seconds, row in cell:
        value = rows[row.line][at]
        if value is not None:
            # Workbooks store whole numbers as floats.
            text = f"{value:g}" if isinstance(value, float) else str(value)
            logs[text].append(math.log(seconds))
    return logs


def _farthest(cells: Sequence[dict[str, list[float]]]) -> tuple[str, str, float] | None:
    """Return the two values whose times differ most, the longer first, and the factor; None: the
    cells show no dependence of times on the value."""
    from scipy.special import stdtr

    values = sorted({value for cell in cells for value in cell})
    middle = [{value: float(np.median(logs)) for value, logs in cell.items()} for cell in cells]
    pairs = list(itertools.combinations(values, 2))
    apart_by = []
    for one, other in pairs:
        both = [cell for cell in middle if cell.keys() >= {one, other}]
        apart = np.array([cell[one] - cell[other] for cell in both])
        if apart.size < 2 or abs(apart.mean()) < math.log(FACTOR):
            continue
        freedom = FREEDOM + apart.size - 1
        squares = FREEDOM * SCATTER**2 + apart.size * apart.var()
        t = abs(apart.mean()) * math.sqrt(apart.size * freedom / squares)
        if 2 * stdtr(freedom, -t) * len(pairs) < CHANCE:
            slow, fast = (one, other) if apart.mean() > 0 else (other, one)
            apart_by.append((abs(float(apart.mean())), slow, fast))
    if not apart_by:
        return None
    most, slow, fast = max(apart_by)
    return slow, fast, math.exp(most)


def _ask(name: str, slow: str, fast: str, factor: float, columns: Columns, row: Row) -> None:
    # More than 99 instances do not share a GPU, but names of GPUs are such numbers: 4090.
    counts = re.fullmatch("[0-9]{1,2} [0-9]{1,2}", f"{slow} {fast}")
    column = shown(name)
    role, what = ("instances", "so many share a GPU") if counts else ("gpu_type", "kinds of GPUs")
    label = next((role for role in _LABELS if role not in columns.by_role), None)
    answers = [f"{role}={column} ({what})"] * (role not in columns.by_role)
    answers += [f"{label}={column} (other runs)"] * (label is not None)
    raise InputError(
        f"rows of the same n and GPU count take {factor:.2g} times as long with {shown_cell(slow)} "
        f"as with {shown_cell(fast)}; import with --columns {', '.join(answers)} or "
        f"repeat={REPETITIONS} (repetitions all the same)",
        file=row.file,
        field=name,
    )
