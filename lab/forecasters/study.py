"""Forecast every split of every series with every forecaster; tables of cells and of splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from lab.forecasters.asking import Rival, answers
from lab.forecasters.rivals import OWN, WAYS
from lab.forecasters.scores import Score, interval_scores, of_group
from lab.forecasters.series import Series
from lab.forecasters.splits import Split, splits_of

GPUCAST = OWN.name
EXTRA_P = "Extra-P, best of six in hindsight"
AT_ONCE = 2
"""Rivals that run at the same time."""

Task = tuple[Series, Split]


def tasks_of(every: Sequence[Series]) -> list[Task]:
    """The splits of all series."""
    return [(s, p) for s in every for p in splits_of(*s.cells[["n", "gpus"]].to_numpy(float).T)]


def cells(
    tasks: Sequence[Task], rivals: Sequence[Rival], progress: Callable[[int, int], None]
) -> pd.DataFrame:
    """A row for each cell of each split and rival, in their order: the measured time, whether it is
    trained on, and the rival's answer (``asking.answers``)."""
    questions, done = [series.question(split) for series, split in tasks], count(1)

    def answers_of(rival: Rival) -> list[pd.DataFrame]:
        parts = [
            series.cells.assign(
                trained=split.trained, **answer, series=series.name, table=series.table,
                tuned=series.tuned, split=split.kind, forecaster=rival.name,
            )
            for (series, split), answer in zip(tasks, answers(rival, questions), strict=True)
        ]  # fmt: skip
        progress(next(done), len(rivals))
        return parts

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return pd.concat([part for own in pool.map(answers_of, rivals) for part in own])


def splits(rows: pd.DataFrame, family: Mapping[str, str]) -> pd.DataFrame:
    """A row for each split of ``cells`` and each forecaster; Extra-P's best way is one of these.

    Columns: the fields of the series and its ``family``; the numbers of cells (``trained``) and GPU
    ``counts`` trained on and of held-out ``cells``; the fields of ``Score``; the ``errors`` of the
    cells and, with intervals, half of ln of ``high / low`` (``widths``) and ``interval_scores``;
    the number of cells that are off by a factor of two and outside their interval (``lost``); and
    the median errors of gpucast (``own``) and of Extra-P's best way (``extra_p``). A median error
    is NaN if a held-out cell has no forecast.
    """
    outside = (rows.measured < rows.low) | (rows.measured > rows.high)
    rows = rows.assign(
        errors=(rows.seconds / rows.measured - 1).abs(),
        widths=np.log(rows.high / rows.low) / 2,
        interval_scores=interval_scores(rows),
        lost=outside & ~(rows.seconds / rows.measured).between(0.5, 2),
    )
    kept = ["series", "table", "tuned", "split", "forecaster", "refused", "elapsed"]
    table = pd.DataFrame(
        [
            {**part.iloc[0][kept], "family": family.get(part.table.iloc[0], ""), **_of_split(part)}
            for _, part in rows.groupby(["series", "split", "forecaster"], sort=False)
        ]
    )
    ways = table[table.forecaster.isin([way.name for way in WAYS])].sort_values("median")
    best = ways.drop_duplicates(["series", "split"]).assign(forecaster=EXTRA_P)
    table = pd.concat([table, best], ignore_index=True)
    for name, forecaster in (("own", GPUCAST), ("extra_p", EXTRA_P)):
        theirs = table[table.forecaster == forecaster].rename(columns={"median": name})
        table = table.merge(theirs[["series", "split", name]], how="left")
    return table


def _of_split(rows: pd.DataFrame) -> dict[str, Any]:
    held_out = rows[~rows.trained]
    known = np.isfinite(held_out.errors).all()
    sure = known and held_out.low.notna().all()
    score = of_group(rows if sure else rows.drop(columns=["low", "high"])) if known else Score()
    return {
        **vars(score),
        "trained": len(rows) - len(held_out),
        "counts": rows.gpus[rows.trained].nunique(),
        "cells": len(held_out),
        "lost": held_out.lost.sum(),
        **{name: held_out[name].to_numpy() for name in ("errors", "widths", "interval_scores")},
    }
