"""The page of results, its picture and the table of splits."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pages import draw_shares, missed, percent, table, written
from programs.series import BUNDLED
from programs.splits import FOUR_TIMES, LARGER_SIZES, MOST_GPUS
from programs.study import EXTRA_P, GPUCAST, METHODS, WAYS
from programs.summing import SMALL, TARGETS, Sum

HERE = Path(__file__).parent
FAR_OFF = 0.1
"""Splits with a larger median error are listed with the reason."""

FEW = 4
"""Cells that forms of two or three coefficients go through anyhow."""

MANY = 16
"""Cells of four sizes on four counts, which the documentation asks for."""

ENDS = (1e-3, 3.0)
"""Errors that are shown; smaller and larger ones count at the edge."""


def sums_of(groups: Mapping[str, pd.DataFrame]) -> dict[str, Sum]:
    """The sums of groups of splits, without empty ones."""
    return {name: Sum(splits) for name, splits in groups.items() if len(splits)}


def page(splits: pd.DataFrame, command: str, picture: str, numbers: str) -> str:
    """The page in Markdown. ``picture``, ``numbers``: files beside it."""
    unseen = splits[~splits.tuned]
    groups = sums_of(
        {
            "unseen": unseen,
            **{kind: unseen[unseen.split == kind]
               for kind in (MOST_GPUS, FOUR_TIMES, LARGER_SIZES)},
            **{f"{least} to {most} cells": unseen[unseen.trained.between(least, most)]
               for least, most in ((3, FEW), (FEW + 1, 8), (9, MANY - 1))},
            f"{MANY} cells or more": unseen[unseen.trained >= MANY],
            "seen": splits[splits.tuned],
        }
    )  # fmt: skip
    families = sums_of({name: unseen[unseen.family == name] for name in sorted({*unseen.family})})
    why = reasons_of(splits)
    return written(
        HERE / "page.md.jinja",
        summary=summary(splits),
        command=command,
        picture=picture,
        targets=table(["", "target", *groups], _targets(groups)),
        methods=table(["median of medians / share at most 5 %", "splits", *METHODS],
                      _methods(groups)),
        families=table(["unseen tables of", "splits", "median error", "in the 90 % interval",
                        "Extra-P"], _families(families)),
        ways=table(["Extra-P with", "splits", "median of medians", "gpucast is nearer in"],
                   _ways(unseen)),
        far_count=int((why != "").sum()),
        far=table(["why", "splits", "median errors", "tables"], _by_reason(splits, why)),
        numbers=numbers,
        reached=sum(t.reached(groups["unseen"]) for t in TARGETS),
        total=len(TARGETS),
        seconds=splits.elapsed.to_list(),
        trained=splits.trained.to_list(),
        single=int((unseen["cells"] == 1).sum()),
        blind=int(((splits.counts == 1) & (splits.split == MOST_GPUS)).sum()),
        refused=list(splits[splits.refused != ""].itertuples()),
    )  # fmt: skip


def picture(splits: pd.DataFrame) -> Figure:
    """Share of the splits whose median error is at most the abscissa, a line a method."""
    every = Sum(splits)
    label = {method: f"{method}: {every.small(method):.0%}" for method in METHODS}
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.set_title("How many forecasts come how near", fontsize="medium")
    errors = {label[method]: every.medians(method) for method in METHODS}
    draw_shares(axes, errors, label[GPUCAST], ENDS)
    axes.axvline(SMALL, color="#000000", lw=0.8, ls=":")
    axes.set_xlabel("median error of a split, of cells that were not fitted")
    axes.set_ylabel("splits with at most this error")
    axes.legend(title="within 5 %", frameon=False, loc="upper left", fontsize="small")
    return figure


def summary(splits: pd.DataFrame) -> str:
    """What a reader wants to know first."""
    unseen, seen = splits[~splits.tuned], splits[splits.tuned]
    s = Sum(unseen)
    return (
        f"{len(unseen)} splits of {unseen.series.nunique()} series in {unseen.family.nunique()} "
        f"families of programs, {s.cells} times left out and forecast, whose tables took no part "
        f"when anything was chosen (**unseen**): the median error of the typical split is "
        f"**{percent(s.median())}** (Extra-P, the best of six ways in hindsight: "
        f"{percent(s.median(EXTRA_P))}), and **{percent(s.coverage)}** of the times lie in their "
        f"90 % interval. gpucast is nearer than Extra-P in {s.better[0]} of {s.better[1]} splits "
        f"and more than twice as far off in {s.twice_as_bad}; {percent(s.lost)} of the times are "
        "off by a factor of two and outside their interval. The best GPU count is right for "
        f"{percent(s.hits)} of the sizes, and following the forecast loses {percent(s.mean_regret)}"
        f" of time on average. On the {len(seen)} splits of tables that priors were chosen on "
        f"(**seen**) the figures are {percent(Sum(seen).median())} and "
        f"{percent(Sum(seen).coverage)}."
    )


def splits_csv(splits: pd.DataFrame) -> str:
    """A row a split: shares of 1, empty where there is none."""
    bundled = splits.table.isin(BUNDLED).map({True: "yes", False: "no"})
    columns = {
        "series": splits.series, "bundled": bundled,
        "split": splits.split, "trained_on": splits.trained, "left_out": splits["cells"],
        "median": splits["median"], "p95": splits.p95, "maximum": splits.errors.map(max),
        "coverage": splits.coverage, "best_right": splits.hits, "best_of": splits.total,
        "regret": splits.regret, **{method: splits[method] for method in METHODS[1:]},
        "why": reasons_of(splits),
    }  # fmt: skip
    return pd.DataFrame(columns).to_csv(index=False, float_format="%.4g")


def _targets(groups: Mapping[str, Sum]) -> Iterator[list[str]]:
    yield ["splits", "", *(str(len(s)) for s in groups.values())]
    for target in TARGETS:
        figures = [missed(target.figure(s), target.reached(s)) for s in groups.values()]
        yield [target.what, target.bound, *figures]


def _methods(groups: Mapping[str, Sum]) -> Iterator[list[object]]:
    for name, s in groups.items():
        figures = (
            f"{percent(s.median(method))} / {percent(s.small(method))}" for method in METHODS
        )
        yield [name, len(s), *figures]


def _families(groups: Mapping[str, Sum]) -> Iterator[list[object]]:
    for name, s in groups.items():
        figures = (s.median(), s.coverage, s.median(EXTRA_P))
        yield [name, len(s), *(percent(figure) for figure in figures)]


def _ways(splits: pd.DataFrame) -> Iterator[list[object]]:
    for way in (way for way in WAYS if splits[way].notna().any()):
        pairs = splits[splits[GPUCAST].notna() & splits[way].notna()]
        nearer = int((pairs[GPUCAST] < pairs[way]).sum())
        yield [way, len(pairs), percent(pairs[way].median()), f"{nearer} of {len(pairs)}"]


def _by_reason(splits: pd.DataFrame, why: pd.Series) -> Iterator[list[object]]:
    """A row a reason that explains several splits, the most frequent first."""
    groups = splits[why != ""].groupby(why[why != ""], sort=False)
    for reason, members in sorted(groups, key=lambda group: -len(group[1])):
        if len(members) > 1:
            ends = dict.fromkeys(map(percent, (members[GPUCAST].min(), members[GPUCAST].max())))
            yield [reason, len(members), " to ".join(ends), ", ".join(members.table.unique())]


def reasons_of(splits: pd.DataFrame) -> pd.Series:
    """The reason why a split is far off; empty where it is not."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))["reasons"]
    far = splits[GPUCAST] > FAR_OFF
    return pd.Series(
        [
            _reason(split, reasons) if off else ""
            for off, split in zip(far, splits.itertuples(), strict=True)
        ],
        index=splits.index,
        dtype=str,
    )


def _reason(split: Any, reasons: Sequence[Mapping[str, str]]) -> str:
    """The first reason whose words are all in the series' name and whose kind is the split's."""
    for reason in reasons:
        fits = all(word in split.series for word in reason["series"].split(" & "))
        if fits and reason.get("split", split.split) == split.split:
            return reason["why"]
    if split.counts == 1 and split.split == MOST_GPUS:
        return "trained on one GPU count, which says nothing of another"
    if split.trained <= FEW:
        return f"{split.trained} cells, which several forms go through"
    return "not known"
