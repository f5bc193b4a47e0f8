"""Every split of every series, forecast by gpucast and by others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import extra_p
import gpucast
from gpucast.errors import GpucastError
from programs import extrap_lines, rivals
from programs.judging import Forecast, Verdict, judge
from programs.series import Series
from programs.splits import Split, splits_of

Array = NDArray[np.float64]

GPUCAST = "gpucast"
EXTRA_P = "Extra-P"
RIVALS: Mapping[str, rivals.Method] = {
    "Amdahl": rivals.amdahl,
    "USL": rivals.universal,
    "a + b n/N": rivals.plain,
}
METHODS = (GPUCAST, EXTRA_P, *RIVALS)

Own = Callable[[Series, Split], Forecast]


@dataclass(frozen=True)
class Outcome:
    """One split of one series.

    Attributes:
        trained: cells, and how many GPU counts they are of.
        verdicts: by method; None where it makes no forecast.
        ways: median error of each way of using Extra-P, None where it makes no model.
        way: the best of them.
        refused: why gpucast makes no forecast.
        seconds: that gpucast's fit and forecast took, s.
        cells: left out: n, gpus, measured and gpucast's forecast with its interval, s.
    """

    series: str
    table: str
    tuned: bool
    kind: str
    trained: int
    counts: int
    verdicts: Mapping[str, Verdict | None]
    ways: Mapping[str, float | None]
    way: str | None
    refused: str | None
    seconds: float
    cells: Sequence[Mapping[str, float]]

    def content(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Outcome:
        """The inverse of ``content``."""
        verdicts = {k: v and Verdict(**v) for k, v in content["verdicts"].items()}
        return cls(**{**content, "verdicts": verdicts})


def forecast(series: Series, split: Split) -> Forecast:
    """gpucast's, as a user calls it: the steps that are trained on, and nothing else."""
    trained = series.trained_on(split)
    found = gpucast.fit(trained).forecasts(series.n, series.gpus)
    return Forecast(found.seconds, found.low, found.high)


def outcomes(
    every: Sequence[Series], progress: Callable[[int, int], None], own: Own = forecast
) -> list[Outcome]:
    """All splits of all series, in their order. Extra-P is left out where it is not installed."""
    tasks = [(series, split) for series in every for split in splits_of(series.n, series.gpus)]
    others: list[dict[str, Array]] = [{} for _ in tasks]
    if extra_p.available():
        others = extrap_lines.forecasts(
            [extrap_lines.Question(s.n, s.gpus, s.seconds, p.trained) for s, p in tasks]
        )
    found = []
    for done, ((series, split), ways) in enumerate(zip(tasks, others, strict=True)):
        progress(done, len(tasks))
        found.append(_outcome(series, split, ways, own))
    progress(len(tasks), len(tasks))
    return found


def _outcome(series: Series, split: Split, ways: Mapping[str, Array], own: Own) -> Outcome:
    def verdict(seconds: Forecast | Array) -> Verdict | None:
        given = seconds if isinstance(seconds, Forecast) else Forecast(seconds)
        return judge(given, series.n, series.seconds, split.left_out)

    begin = time.perf_counter()
    refused = None
    try:
        ours = own(series, split)
    except GpucastError as error:
        refused, ours = str(error), Forecast(np.full(series.n.size, np.nan))
    elapsed = time.perf_counter() - begin
    tried = {name: verdict(seconds) for name, seconds in ways.items()}
    best, way = _best(tried)
    n, gpus, measured = (a[split.trained] for a in (series.n, series.gpus, series.seconds))
    return Outcome(
        series=series.name,
        table=series.table,
        tuned=series.tuned,
        kind=split.kind,
        trained=int(split.trained.sum()),
        counts=np.unique(gpus).size,
        verdicts={
            GPUCAST: verdict(ours),
            EXTRA_P: best,
            **{k: verdict(f(n, gpus, measured, series.n, series.gpus)) for k, f in RIVALS.items()},
        },
        ways={name: each and each.median for name, each in tried.items()},
        way=way,
        refused=refused,
        seconds=elapsed,
        cells=_cells(series, split, ours),
    )


def _best(found: Mapping[str, Verdict | None]) -> tuple[Verdict | None, str | None]:
    """The way of use whose median error turned out least."""
    made = [(each.median, way, each) for way, each in found.items() if each is not None]
    if not made:
        return None, None
    _, way, verdict = min(made, key=lambda each: each[0])
    return verdict, way


def _cells(series: Series, split: Split, ours: Forecast) -> list[dict[str, float]]:
    columns = {"n": series.n, "gpus": series.gpus, "measured": series.seconds}
    columns["forecast"] = ours.seconds
    if ours.low is not None and ours.high is not None:
        columns |= {"low": ours.low, "high": ours.high}
    return [
        {name: float(column[i]) for name, column in columns.items()}
        for i in np.flatnonzero(split.left_out)
    ]
