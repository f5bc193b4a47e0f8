"""The results page of ``studies.design_against_grid``.

    .venv/bin/python studies/design_page.py docs/results/design.csv

draws the page's picture anew, from the table beside it: a row for each group.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from gpucast.util.units import percent

WORSE = 0.05
"""A group is worse where fewer bootstrap samples say that it is not."""

FEWEST = 6
"""Cells that the design visits on average; groups of fewer are in the table alone."""

_NAMES = {"grid": "the whole grid", "design": "the design", "random": "at random"}


class Found(Protocol):
    """As ``design_against_grid.Found``."""

    @property
    def data(self) -> str: ...
    @property
    def steps(self) -> str: ...
    @property
    def share(self) -> float: ...
    @property
    def noise(self) -> float | None: ...
    @property
    def errors(self) -> dict[str, list[float]]: ...
    @property
    def visited(self) -> dict[str, float]: ...
    def median(self, way: str) -> float: ...
    def ratio(self, way: str = ...) -> float: ...
    def by_chance(self, way: str = ...) -> float: ...


HEADER = [
    *("data", "steps", "cells", "visited", "visits differ", "grid", "design", "random"),
    *("ratio", "no worse"),
]
"""Of what is printed; underscores for spaces in the CSV file."""


def row(found: Found) -> list[str]:
    """Of the table of groups."""
    return [
        found.data,
        found.steps,
        f"{found.visited['grid']:.0f}",
        _whole(found.visited["design"], FEWEST),
        "-" if found.noise is None else _percent(found.noise),
        *(_percent(found.median(way)) for way in _NAMES),
        f"{found.ratio():.2f}",
        f"{_whole(100 * found.by_chance(), round(100 * WORSE))} %",
    ]


def _whole(value: float, limit: int) -> str:
    """Rounded, but not up to a limit that it is below: the table tells on which side it is."""
    return f"{min(round(value), limit - 1) if value < limit else round(value)}"


def write(found: Sequence[Found], page: Path) -> None:
    """The page, its table of groups beside it, and its picture in ``images``."""
    groups = page.with_suffix(".csv")
    share = min(each.share for each in found)
    rows = groups_csv([each for each in found if each.share == share])
    groups.write_text(rows, encoding="utf-8")
    draw(groups)
    page.write_text(text(found), encoding="utf-8")


def groups_csv(found: Sequence[Found]) -> str:
    """A row a group: shares of 1, empty where there is none."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([name.replace(" ", "_") for name in HEADER])
    for each in found:
        figures = (each.noise, *map(each.median, _NAMES), each.ratio(), each.by_chance())
        visited = (each.visited["grid"], each.visited["design"])
        rows.writerow(
            [
                each.data,
                each.steps,
                *("" if x is None else f"{x:.4g}" for x in (*visited, *figures)),
            ]
        )
    return text.getvalue()


def text(found: Sequence[Found]) -> str:
    """The page."""
    shares = sorted({each.share for each in found})
    large = _large(found, shares[0])
    ratio, error = mean_ratio(large)
    random, random_error = mean_ratio(large, "random")
    fine = sum(each.by_chance() >= WORSE for each in large)
    tables = dict.fromkeys(each.data for each in large)
    lines = [
        "# The design against the grid",
        "",
        f"**How near are forecasts from {percent(shares[0], 0)} of the grid's GPU time?** Over "
        f"{len(large)} groups of recorded steps the median error of held-out cells is "
        f"**{ratio:.2f} times** (± {error:.2f}) that of the whole grid, which visits each cell "
        f"once; in {fine} of the groups it is no worse beyond chance. As much GPU time for cells "
        "at random: "
        f"{random:.2f} ± {random_error:.2f}.",
        "",
        "![Median error of held-out cells, design over grid, a mark a group](images/design.png)",
        "",
        "*A mark is a group of steps: program, schedule, path, machine. On the line both are as "
        "far off; crosses are worse than the grid beyond chance.*",
        "",
        "Made by `python studies/design_against_grid.py -o docs/results/design.md`, which may be "
        "interrupted and goes on from what it found; no number on this page comes from elsewhere.",
        "",
        "## In short",
        "",
        *_table(
            ["GPU time", "cells", "groups", "ratio", "no worse", "median error", "cells visited"],
            [
                _in_short(large, "grid"),
                *(
                    _in_short(_large(found, share), way)
                    for share in shares
                    for way in ("design", "random")
                ),
            ],
        ),
        "",
        "Of each group every cell is held out once, a quarter at a time. The grid is one visit of "
        "each other cell; the design chooses as `gpucast measure --gpu-hours` does, and ends when "
        "its share is spent. Both are fitted and forecast the held-out cells, whose time is the "
        "median of all their visits. *Ratio*: geometric mean over groups of the ratios of median "
        "errors, with its standard error. *No worse*: in at least 5 % of bootstrap samples of the "
        "held-out cells the median error is not above the grid's. A visit costs GPUs times "
        "seconds; for programs whose tables do not say it, as much for start and end as for the "
        "median cell's steps.",
        "",
        "## By table",
        "",
        *_table(
            ["data", "groups", "ratio", "no worse", "grid", "design", "random"],
            [_of_table([each for each in large if each.data == data]) for data in tables],
        ),
        "",
        "Ratios are means as above, errors the medians over groups. [design.csv](design.csv) "
        "holds a row for each group: its cells, the cells that the design visits, by how much "
        "visits of a cell differ, median errors, the ratio, and the share of bootstrap samples in "
        "which the design is no worse; errors and shares are of 1. Groups of which the design "
        "visits fewer than six cells are there alone: a third of so small a grid is fewer visits "
        "than a model has quantities to find.",
    ]
    return "\n".join(lines) + "\n"


def _large(found: Sequence[Found], share: float) -> list[Found]:
    return [each for each in found if each.share == share and each.visited["design"] >= FEWEST]


def mean_ratio(found: Sequence[Found], way: str = "design") -> tuple[float, float]:
    """Geometric mean over groups, and its standard error."""
    logs = np.log([each.ratio(way) for each in found])
    logs = logs[np.isfinite(logs)]
    mean = float(np.exp(logs.mean()))
    return mean, float(mean * logs.std(ddof=1) / np.sqrt(logs.size)) if logs.size > 1 else 0.0


def _in_short(found: Sequence[Found], way: str) -> list[str]:
    ratio, error = mean_ratio(found, way)
    fine = sum(each.by_chance(way) >= WORSE for each in found)
    visited = np.median([each.visited[way] / each.visited["grid"] for each in found])
    of_grid = way == "grid"
    return [
        "all" if of_grid else percent(found[0].share, 0) or "",
        _NAMES[way],
        f"{len(found)}",
        "1" if of_grid else f"{ratio:.2f} ± {error:.2f}",
        "" if of_grid else f"{fine}",
        _percent(float(np.median([each.median(way) for each in found]))),
        percent(float(visited), 0) or "",
    ]


def _of_table(found: Sequence[Found]) -> list[str]:
    ratio, error = mean_ratio(found)
    return [
        found[0].data,
        f"{len(found)}",
        f"{ratio:.2f} ± {error:.2f}" if len(found) > 1 else f"{ratio:.2f}",
        f"{sum(each.by_chance() >= WORSE for each in found)}",
        *(_percent(float(np.median([each.median(way) for each in found]))) for way in _NAMES),
    ]


def marks_in(groups: str) -> list[tuple[float, float, bool]]:
    """Of each group of a table (CSV) that is large enough, median errors in per cent of the grid
    and of the design, and whether the design is worse."""
    return [
        (100 * float(row["grid"]), 100 * float(row["design"]), float(row["no_worse"]) < WORSE)
        for row in csv.DictReader(io.StringIO(groups))
        if float(row["visited"]) >= FEWEST
    ]


def draw(groups: Path) -> None:
    """Design over grid, a mark a group of the table, into ``images`` beside it."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    marks = marks_in(groups.read_text(encoding="utf-8"))
    for worse, marker in ((False, "o"), (True, "x")):
        axes.loglog(
            [grid for grid, _, is_worse in marks if is_worse == worse],
            [design for _, design, is_worse in marks if is_worse == worse],
            marker,
            label="worse than the grid" if worse else "no worse, beyond chance",
        )
    ends = [0.1, 60]
    axes.plot(ends, ends, color="0.6", lw=1)
    axes.set(
        xlim=ends,
        ylim=ends,
        xlabel="whole grid: median error of held-out cells (%)",
        ylabel="design: median error of held-out cells (%)",
    )
    axes.legend(frameon=False)
    picture = groups.parent / "images" / f"{groups.stem}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=130)
    plt.close(figure)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    marks = [":--" if i < 1 else "--:" for i in range(len(header))]
    return [f"| {' | '.join(cells)} |" for cells in (header, marks, *rows)]


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %"


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
