"""The page of an outcome in Markdown, and its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from forecasting.outcome import FLOOR, PROTOTYPE, Outcome
from forecasting.questions import HELD_OUT
from forecasting.scores import OWN, Score, Target
from pages import draw_shares, percent, table, written

FORECASTERS = {
    FLOOR: "floor",
    OWN: "gpucast",
    PROTOTYPE: "prototype",
    "extrap": "Extra-P 4.2.5",
    "scipy": "paper's form, scipy",
}
LINES = {
    "error: median / p95": ("median", "p95"),
    "coverage; half-width": ("coverage", "half_width"),
    "best count right; mean regret": ("hits", "regret"),
}
"""The lines of a split and the two figures of each line."""
WORST = 3
ENDS = (1e-3, 1.0)
"""The range of errors in the picture; smaller and larger ones count at its edges."""


def page(outcome: Outcome, picture: str, tables: str) -> str:
    """The whole page; ``picture`` and the folder ``tables`` are relative to it."""
    held = [name for name in outcome.rows if _held_out(outcome, name)]
    return written(
        Path(__file__).with_name("page.md.jinja"),
        command=outcome.command, picture=picture, tables=tables, datasets=list(outcome.rows),
        missed=len(outcome.missed()), targets=len(list(outcome.targets())),
        held_out=[(name, held_out_table(outcome, name)) for name in held],
        elsewhere=table(["", "cells", *LINES, "target"], elsewhere(outcome)),
        worst=[line for name in held for line in worst(outcome, name)],
        refusals=outcome.refusals(),
    )  # fmt: skip


def _held_out(outcome: Outcome, dataset: str) -> list[str]:
    return [split for split in HELD_OUT if split in outcome.splits(dataset)]


def held_out_table(outcome: Outcome, dataset: str) -> str:
    """Three lines for each split, a column for each forecaster."""
    forecasters = set(outcome.groups[outcome.groups.dataset == dataset].forecaster)
    names = [name for name in FORECASTERS if name in forecasters]
    aimed = {target.dataset for target, _ in outcome.targets()}
    rows = []
    for split in _held_out(outcome, dataset):
        title = f"**{split}**, {outcome.score(dataset, split).cells} cells"
        for what, figures in LINES.items():
            scores = {name: outcome.score(dataset, split, name) for name in names}
            targets = [
                target for target in _targets(outcome, dataset, split) if target.figure in figures
            ]
            shown = [
                pair(score, figures, targets if name == OWN else ())
                for name, score in scores.items()
            ]
            words = [in_words(targets, figures)] if dataset in aimed else []
            rows.append([title, what, *shown, *words])
            title = ""
    last = ["target"] if dataset in aimed else []
    return table(["", "", *(FORECASTERS[name] for name in names), *last], rows, left=2)


def elsewhere(outcome: Outcome) -> Iterator[list[object]]:
    """A line for each split that is not forecast from the group's own cells, and one for each
    kernel that has its own target."""
    for dataset in outcome.rows:
        for split in outcome.splits(dataset):
            if split in HELD_OUT:
                continue
            targets = _targets(outcome, dataset, split)
            for part in dict.fromkeys(["", *(target.part for target in targets)]):
                own = [target for target in targets if target.part == part]
                score = outcome.score(dataset, split, part=part)
                shown = [pair(score, figures, own) for figures in LINES.values()]
                words = "; ".join(in_words([target], [target.figure]) for target in own)
                title = ", ".join(filter(None, (dataset, split, part)))
                yield [title, score.cells, *shown, words]


def _targets(outcome: Outcome, dataset: str, split: str) -> list[Target]:
    return [t for t, _ in outcome.targets() if (t.dataset, t.split) == (dataset, split)]


def pair(score: Score, figures: Sequence[str], targets: Sequence[Target]) -> str:
    """Two figures, in bold if they miss their target."""
    missed = {target.figure for target in targets if not target.reached(score)}
    texts = [text(score, figure) for figure in figures]
    if set(texts) == {"-"}:
        return "-"
    marked = [f"**{t}**" if f in missed else t for f, t in zip(figures, texts, strict=True)]
    return (" / " if "p95" in figures else "; ").join(marked)


def text(score: Score, figure: str) -> str:
    """A figure with its unit, to three digits, because some targets are met or missed narrowly."""
    value = getattr(score, figure)
    if value is None:
        return "-"
    if figure == "hits":
        return f"{value} of {score.total}"
    return "none" if value == float("inf") else f"{100 * value:#.3g}".rstrip(".") + " %"


def in_words(targets: Sequence[Target], figures: Sequence[str]) -> str:
    """The targets of some figures in words."""
    words = []
    for figure in figures:
        for target in targets:
            if target.figure != figure:
                continue
            if figure == "hits":
                words.append(f"at least {target.least:.0f}")
            elif not target.least:
                words.append(f"at most {percent(target.most)}")
            elif target.most == float("inf"):
                words.append(f"at least {percent(target.least)}")
            else:
                words.append(f"{percent(target.least)} to {percent(target.most)}")
    return "; ".join(words)


def worst(outcome: Outcome, dataset: str) -> Iterator[str]:
    """A line for each split: the groups with the largest median errors and the least coverage."""
    groups = outcome.groups
    for split in _held_out(outcome, dataset):
        own = groups[
            (groups.dataset == dataset) & (groups.split == split) & (groups.forecaster == OWN)
        ]
        off = own.nlargest(WORST, "median")[["group", "median"]].itertuples(index=False)
        left = own.nsmallest(WORST, "coverage")[["group", "coverage"]].itertuples(index=False)
        errors, covered = ("; ".join(f"{g} {percent(v)}" for g, v in rows) for rows in (off, left))
        yield f"{dataset}, {split}. Largest errors (median): {errors}. Least coverage: {covered}."


def shares(rows: pd.DataFrame, dataset: str) -> Figure:
    """Share of the cells whose relative error is at most the abscissa; a panel for each split."""
    splits = [split for split in HELD_OUT if (rows.split == split).any()]
    figure = Figure(figsize=(3.2 * len(splits), 3.2), layout="constrained")
    figure.suptitle(f"{dataset}: how many forecasts come how near", fontsize="medium")
    panels = figure.subplots(1, len(splits), sharey=True, squeeze=False)[0]
    drawn = [name for name in FORECASTERS if name in rows and rows[name].notna().any()]
    for axes, split in zip(panels, splits, strict=True):
        left_out = rows[(rows.split == split) & ~rows.trained]
        errors = {
            FORECASTERS[name]: (left_out[name] / left_out.measured - 1).abs().fillna(np.inf)
            for name in drawn
        }
        draw_shares(axes, errors, FORECASTERS[OWN], ENDS)
        axes.set_xlabel("error of a cell")
        axes.set_title(f"{split} ({len(left_out)} cells)", fontsize="small")
    panels[0].set_ylabel("cells with at most this error")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(drawn), frameon=False)
    return figure
