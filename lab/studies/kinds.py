"""How good are ratios of times between kinds of GPUs, for programs left out?

    OPENBLAS_NUM_THREADS=1 .venv/bin/python -m lab.studies.kinds

Fits the bundled timings (``data/kinds``), writes ``data/kinds/variances.csv``, and, for each
program, campaign and family left out of the fit, its widening and its data, forecasts the ratio of
all pairs of kinds; beside it stand simple rivals. Then programs of dataset h100-h200, of which no
timing is bundled, are fitted on one kind and forecast on the other, with 0, 1 and 3 cells of it.
Writes ``docs/results/kinds.md``.
"""

from __future__ import annotations

import csv
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.kinds import Timing, catalogue, timings
from gpucast.model import kinds
from gpucast.model.intervals import Z90, Array, linear_update
from lab.studies import campaign, traced_kinds

ROOT = Path(__file__).parents[2]
KNOWN = (0, 1, 3)
"""Further kinds on which the program left out was timed, beside the one it is forecast from."""
NOISE = kinds.NAMES.index("noise")


@dataclass(frozen=True)
class Judged:
    """Forecasts of ln ratios: truth and errors by rival, one entry a pair."""

    family: str
    program: str
    errors: dict[str, Array]
    inside: Array
    half: Array


def medians(rows: Sequence[Timing]) -> list[Timing]:
    """One row a program and kind: the median of its repetitions."""
    groups: dict[tuple[str, str], list[Timing]] = {}
    for row in rows:
        groups.setdefault((row.program, row.kind), []).append(row)
    return [
        Timing(
            *(group[0].family, group[0].program, group[0].precision, group[0].kind),
            float(np.median([row.rate for row in group])),
            group[0].source,
        )
        for group in groups.values()
    ]


ALONE: Callable[[Timing], str] = operator.attrgetter("program")
CAMPAIGN: Callable[[Timing], str] = operator.attrgetter("campaign")
FAMILY: Callable[[Timing], str] = operator.attrgetter("family")


def judged(
    rows: Sequence[Timing],
    start: kinds.Variances,
    program: str,
    left_out: Callable[[Timing], str],
    known: int,
) -> Judged:
    """All ratios of a program, where the fit has seen no row of what it has in common with them.

    ``start``: where the search for variances begins.
    """
    first_row = next(row for row in rows if row.program == program)
    family = first_row.family
    hidden = [left_out(row) == left_out(first_row) for row in rows]
    seen = [row for row, out in zip(rows, hidden, strict=True) if not out]
    variances = fitted(seen, start)
    own = [row for row in rows if row.program == program]
    together = [*seen, *own]
    block = np.arange(len(seen), len(together))
    mean, spread = kinds.left_out(together, variances, block)
    y = np.log([row.rate for row in own])
    errors: dict[str, list[float]] = {}
    inside, halves = [], []
    generator = np.random.default_rng(1)
    for first, second in np.column_stack(kinds.pairs(own)).tolist():
        others = [i for i in range(len(own)) if i not in (first, second)]
        if len(others) < known:
            continue
        more: list[int] = generator.choice(others, known, replace=False).tolist() if known else []
        given = [first, *more]
        design = np.eye(len(own))[given]
        # Noise is in ``spread`` already.
        tiny = np.full(len(given), 1e-9)
        moved, left = linear_update(spread, design, (y - mean)[given], tiny)
        expected = (mean + moved)[second] - y[first]
        half = Z90 * variances.widening * np.sqrt(left[second, second])
        truth = y[second] - y[first]
        inside.append(abs(truth - expected) <= half)
        halves.append(half)
        for name, value in {
            "gpucast": expected,
            **rivals(seen, own, y, first, second, given),
        }.items():
            errors.setdefault(name, []).append(value - truth)
    return Judged(
        family,
        program,
        {name: np.array(values) for name, values in errors.items()},
        np.array(inside),
        np.array(halves),
    )


_FITS: dict[int, kinds.Variances] = {}


def fitted(seen: list[Timing], start: kinds.Variances) -> kinds.Variances:
    """The fit of rows, kept for the next question."""
    key = hash(tuple(seen))
    if key not in _FITS:
        _FITS[key] = kinds.fit(seen, start)
    return _FITS[key]


def rivals(
    seen: Sequence[Timing],
    own: Sequence[Timing],
    y: Array,
    first: int,
    second: int,
    given: Sequence[int],
) -> dict[str, float]:
    """What simpler rules say of the ln ratio of rates; NaN where they say nothing."""
    one, two = (catalogue()[own[i].kind] for i in (first, second))
    precision = own[first].precision
    peak = float(np.log(two.peaks[precision] / one.peaks[precision]))
    bandwidth = float(np.log(two.bandwidth / one.bandwidth))
    ratios: dict[str, float] = {}
    distances: dict[str, float] = {}
    table: dict[str, dict[str, float]] = {}
    for row in seen:
        table.setdefault(row.program, {})[row.kind] = float(np.log(row.rate))
    family = {row.program: row.family for row in seen}
    for program, rates in table.items():
        if one.name in rates and two.name in rates:
            ratios[program] = rates[two.name] - rates[one.name]
            off = [
                rates[own[i].kind] - rates[one.name] - (y[i] - y[first])
                for i in given
                if own[i].kind in rates
            ]
            far = float(np.sqrt(np.mean(np.square(off)))) if len(off) > 1 else 1.0
            distances[program] = far + 10.0 * (family[program] != own[first].family)
    alike = sorted(ratios, key=lambda program: distances[program])[:3]
    return {
        "ratio of peaks": peak,
        "ratio of bandwidths": bandwidth,
        "roofline, half each": (peak + bandwidth) / 2,
        "mean of other programs": float(np.mean(list(ratios.values()))) if ratios else np.nan,
        "three most alike": float(np.mean([ratios[p] for p in alike])) if alike else np.nan,
    }


def table_of(results: Sequence[Judged], wanted: Callable[[Judged], bool]) -> list[str]:
    """Rows of a Markdown table: errors by rule, over all pairs, and as programs' mean."""
    kept = [result for result in results if wanted(result) and result.inside.size]
    lines = []
    for name in kept[0].errors:
        parts = [np.abs(np.expm1(result.errors[name])) for result in kept]
        parts = [part[~np.isnan(part)] for part in parts]
        parts = [part for part in parts if part.size]
        if not parts:
            continue
        off = np.concatenate(parts)
        programs = np.mean([np.median(part) for part in parts])
        covered = half = by_program = "-"
        if name == "gpucast":
            covered = f"{np.mean(np.concatenate([result.inside for result in kept])):.1%}"
            by_program = f"{np.mean([result.inside.mean() for result in kept]):.1%}"
            half = f"{np.expm1(np.median(np.concatenate([result.half for result in kept]))):.0%}"
        figures = f"{np.median(off):.1%} | {programs:.1%} | {np.quantile(off, 0.9):.0%}"
        lines.append(f"| {name} | {off.size} | {figures} | {covered} | {by_program} | {half} |")
    return lines


def families_table(told: Mapping[int, Sequence[Judged]]) -> list[str]:
    """Rows of a Markdown table, one a family: means over its programs."""
    lines = []
    for family in dict.fromkeys(result.family for result in told[0]):
        cells = []
        for results in told.values():
            own = [result for result in results if result.family == family and result.inside.size]
            off = [np.median(np.abs(np.expm1(result.errors["gpucast"]))) for result in own]
            held = [result.inside.mean() for result in own]
            cells.append(f"{np.mean(off):.1%} | {np.mean(held):.0%}" if own else "- | -")
        count = sum(result.family == family for result in told[0])
        lines.append(f"| {family} | {count} | {' | '.join(cells)} |")
    return lines


def visited() -> pd.DataFrame:
    """Times of the dataset's visits on both kinds: a row a visit."""
    data = gpucast.load("h100-h200")
    kinds_of = {"h100": "H100-SXM5", "h200": "H200-SXM5"}
    return pd.DataFrame(
        [
            (
                *(step.machine, kinds_of[str(step.machine)[:4]], step.program or "gpucast-mdapp"),
                *(step.n, 1, float(np.median(step.seconds))),
            )
            for step in data.steps
        ],
        columns=["machine", "kind", "program", "n", "gpus", "seconds"],
    )


CELL = ["program", "n", "gpus"]
STEADY = 1.05
"""Ratio of a cell's longest to its shortest visit on GPUs of one kind, up to which it is steady."""
PRICES = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
"""Prices of an hour of an H200, relative to an H100's."""


def measured(visits: pd.DataFrame) -> pd.DataFrame:
    """Steps of one kind forecast from those of the other, cells told left out: a row a cell."""
    groups = visits.groupby(["kind", *CELL]).seconds
    cells = groups.median().reset_index()
    spread = (groups.max() / groups.min()).groupby(CELL).max().rename("spread").reset_index()
    rows = []
    for own, other in (("H100-SXM5", "H200-SXM5"), ("H200-SXM5", "H100-SXM5")):
        for program, here in visits[visits.kind == own].groupby("program"):
            there = cells[(cells.kind == other) & (cells.program == program)].reset_index()
            there = there.merge(spread).merge(
                cells[cells.kind == own][[*CELL, "seconds"]], on=CELL, suffixes=("", "_own")
            )
            like = "training" if "train" in str(program) else None
            model = gpucast.fit(_table(here))
            moved = kinds.on_kind(model, other, like=like, from_kind=own)
            count = len(there)
            for told in ([], [count // 2], [0, count // 2, count - 1]):
                known = moved.updated(_table(there.iloc[told])) if told else moved
                rest = there.drop(index=told)
                forecasts = known.forecasts(rest.n.to_numpy(float), rest.gpus.to_numpy(float))
                rest = rest.assign(
                    told=len(told),
                    own=own,
                    off=forecasts.seconds / rest.seconds - 1,
                    sd=np.log(forecasts.high / forecasts.low) / (2 * Z90),
                )
                times = visits[(visits.kind == other) & (visits.program == program)]
                inside = [
                    times.seconds[times.n == n].between(low, high).mean()
                    for n, low, high in zip(rest.n, forecasts.low, forecasts.high, strict=True)
                ]
                rows.append(rest.assign(inside=inside))
    result: pd.DataFrame = pd.concat(rows)
    return result


def cheaper(rows: pd.DataFrame) -> pd.DataFrame:
    """Which kind's step is cheaper: a row a cell and price, whether the forecast is right, how
    probable it says that is, and what following it loses."""
    answers = []
    for price in PRICES:
        relative = np.where(rows.own == "H100-SXM5", np.log(price), -np.log(price))
        true = np.log(rows.seconds / rows.seconds_own) + relative
        forecast = true + np.log1p(rows.off)
        right = np.sign(forecast) == np.sign(true)
        answers.append(
            rows.assign(
                right=right,
                probability=ndtr(np.abs(forecast) / rows.sd),
                regret=np.where(right, 0.0, np.expm1(np.abs(true))),
            )
        )
    result: pd.DataFrame = pd.concat(answers)
    return result


def _table(cells: pd.DataFrame) -> Dataset:
    return gpucast.read(cells[["n", "gpus", "seconds"]], columns={"seconds": "seconds:s"})


def measured_table(rows: pd.DataFrame) -> list[str]:
    """A row of Markdown a direction, number of cells told, and steadiness."""
    return [
        f"| {own} | {told} | {which} | {len(part)} | {part.off.abs().median():.1%} | "
        f"{part.off.abs().quantile(0.9):.0%} | {part.inside.mean():.0%} |"
        for (own, told), some in rows.groupby(["own", "told"])
        for which, part in (
            ("all", some),
            ("steady", some[some.spread <= STEADY]),
            ("others", some[some.spread > STEADY]),
        )
    ]


def cheaper_table(rows: pd.DataFrame) -> list[str]:
    """A row of Markdown a number of cells told: how often the cheaper kind is forecast."""
    lines = []
    for told, part in rows.groupby("told"):
        sure = part[part.probability >= 0.9]
        lines.append(
            f"| {told} | {len(part)} | {part.right.mean():.0%} | {part.regret.mean():.1%} | "
            f"{len(sure) / len(part):.0%} | {sure.right.mean():.0%} |"
        )
    return lines


def floor(visits: pd.DataFrame) -> tuple[str, str]:
    """By how much a cell's time on one machine differs from another's of the kind: median, p90."""
    times = visits.groupby(["kind", *CELL, "machine"]).seconds.median().unstack("machine")
    off = []
    for _, part in times.groupby("kind"):
        one, other = (part[name] for name in part.dropna(axis=1, how="all"))
        off.append((other / one - 1).abs().dropna())
    apart = pd.concat(off)
    return f"{apart.median():.1%}", f"{apart.quantile(0.9):.0%}"


COLUMNS = (
    *("rule", "ratios", "median", "mean of programs' medians", "90th percentile"),
    *("in 90 % interval", "mean of programs", "half-width"),
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 1)}"


def campaigns(
    rows: Sequence[Timing], variances: kinds.Variances, programs: Sequence[str]
) -> list[str]:
    """The section of programs of which no other of their campaign is known."""
    count = len({row.campaign for row in rows})
    text = [BY_CAMPAIGN.format(count)]
    for known in (0, 1):
        results = [judged(rows, variances, program, CAMPAIGN, known) for program in programs]
        text += [f"\nTimed on further kinds: {known}\n", HEAD]
        text += table_of(results, lambda result: True)
    return text


def main() -> None:
    """Fit, judge, write."""
    everything = timings()
    variances = kinds.fit(everything)
    values = dict(zip(kinds.NAMES, variances.values.tolist(), strict=True))
    for family, factors in variances.factors.items():
        for name, factor in zip(kinds.SCALED, factors.tolist(), strict=True):
            values[f"{family}: {name}"] = factor
    values["widening"] = variances.widening
    with (ROOT / "data/kinds/variances.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "value"])
        writer.writerows([name, f"{value:.6g}"] for name, value in values.items())
    rows = medians(everything)
    programs = [
        name
        for name in dict.fromkeys(row.program for row in rows)
        if sum(row.program == name for row in rows) > 1
    ]
    text = [INTRODUCTION.format(len(programs), len({row.kind for row in rows}))]
    told = {}
    for known in KNOWN:
        results = [judged(rows, variances, program, ALONE, known) for program in programs]
        text += [f"\n## A program left out, timed on further kinds: {known}\n", HEAD]
        text += table_of(results, lambda result: True)
        text += ["\nOf these, training of neural networks:\n", HEAD]
        text += table_of(results, lambda result: result.family == "training")
        told[known] = results
    text += [BY_FAMILY, *families_table(told)]
    text += campaigns(rows, variances, programs)
    results = [judged(rows, variances, program, FAMILY, 0) for program in programs]
    text += ["\n## A whole family left out\n", HEAD, *table_of(results, lambda result: True)]
    text += [BY_KERNEL, *campaign.judged(everything)]
    visits = visited()
    rows_here = measured(visits)
    text += [MEASURED.format(*floor(visits)), *measured_table(rows_here)]
    text += [CHEAPER, *cheaper_table(cheaper(rows_here))]
    text += [TRACED, *traced_kinds.judged()]
    (ROOT / "docs/results/kinds.md").write_text("\n".join(text) + "\n", encoding="utf-8")


BY_FAMILY = """
## By family

Means over a family's programs: the median error of a program's ratios, and the share of them in the
90 % interval, with as many further kinds known.

| family | programs | 0: error | held | 1: error | held | 3: error | held |
|---|---:|---:|---:|---:|---:|---:|---:|"""

INTRODUCTION = """# Another kind of GPU: how good are ratios of times?

<!-- Written by `python -m lab.studies.kinds`. -->

{} programs with at least two kinds, on {} kinds (`data/kinds`), each left out in turn: the
variances, the families' factors, the widening of intervals, and all data of the program are then
unknown. Forecast is the
ratio of its rates on each pair of kinds. A program is known on the kind that it is forecast from,
and on none, one or three further kinds, drawn at random. Rivals see the same data; the three most
alike are of the program's family first, and then those whose ratios on the kinds known are nearest.
The lattice Boltzmann code has most pairs, as it was run on most kinds: means over programs weigh
all programs the same. Aimed at were a median of 8 % without a further kind and of 5 % with one, and
85 to 95 % of ratios in their intervals."""

BY_CAMPAIGN = """
## A whole campaign left out: what a stranger gets

Programs of one campaign ({} repositories or files) share hosts, versions and the way of timing, and
above, the others are known. A user's program is a campaign of its own: here, none of its campaign
is known."""

BY_KERNEL = """
## A campaign left out: language models on nine kinds, and kernel by kernel

NeuSight's authors timed ten forward passes of language models in PyTorch, fp32 without tf32, on an
A100-PCIe 40 GB and eight other kinds, three of them AMD's, and how long each operation takes. None
of their timings is known here. "Kernel by kernel" is `what-if TRACE --kind`: the share of matrix
products and of operations limited by memory in the A100's time, each with its own ratio of times.
Two things were changed after a first comparison with these timings (kernel by kernel 31 % off in
the median, 44 % in intervals): AMD's GPUs got the matrix units for fp32 that their data sheets
state, and vendors got effects of their own.

| rule | ratios | median | 90th percentile | in 90 % interval |
|---|---:|---:|---:|---:|"""

MEASURED = """
## Measured here: H100 and H200

Thirteen PyTorch programs and gpucast-mdapp on one GPU, five to seven sizes each, on two machines of
each kind in some five visits (dataset `h100-h200`; none of their times is among the bundled
timings). Each is fitted on one kind and forecast on the other, by other programs' timings and by
some cells told from there: the middle size; it and both ends. Aimed at were 4 % with one cell and
2.5 % with three. How far a size tells of others (`gpucast.model.size_features`) was chosen beside
this table.

Small steps wait for the host, which is another one on each machine: a cell's time on one machine
differs from that on another of the *same* kind by {} in the median, {} in the 90th percentile. So
cells are told apart by what was measured: *steady* are those whose visits on either kind lie within
5 % of each other.

| fitted on | cells told | cells | forecast | median | 90th percentile | visits in 90 % interval |
|---|---:|---|---:|---:|---:|---:|"""

CHEAPER = """
Which kind's step is cheaper, where an hour of an H200 is 1, 1.1, ... 1.5 times the price of an
H100's (aimed at: right in 95 %):

| cells told | cells and prices | right | loss by following it | sure (90 %) | of these right |
|---|---:|---:|---:|---:|---:|"""

TRACED = """
## Measured here: from a trace, kernel by kernel

`what-if TRACE --kind` for 13 PyTorch programs, two sizes each, gpucast-mdapp and ten CUDA programs,
recorded on one machine of each kind (`data/measured/h100-h200-traces`, made by `lab/gpu.sh kinds`);
the step is that of a run without a recorder. No time of these programs is known on the other kind.
"Unchanged" says that a step takes as long on either kind; "work" compares all kernels and copies of
a step. Names tell the limits of most kernels of PyTorch, and of none that people write themselves:
those get the ratio of all programs. Steps that wait for the host took 0.7 to 2.0 times as long on
the H200's machine as on the H100's, which is another host: intervals allow for it, and no forecast
can know it.

One thing was changed after a first comparison with these traces: kernels limited by memory were
forecast to take 0.83 times as long on H200, and took 0.70 to 0.77 times as long. The bundled
timings had no bandwidth measured on both kinds. Three programs of a public campaign that measured
both (BabelStream on Azure) were added; with them it is 0.73.

| traced on | most of a step | steps | median | unchanged | work, median | in 90 % interval |
|---|---|---:|---:|---:|---:|---:|"""


if __name__ == "__main__":
    main()
