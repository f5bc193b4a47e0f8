"""Tests the paper's findings on any measurements.

Each finding is tested in every group of steps (or for every quantity), where it is true, false or
open, with the deciding number and, if it is open, the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection, host_of
from gpucast.data.steps import NATIVE_PATHS, Cell, medians_of, names_of, steps_of
from gpucast.errors import InputError
from gpucast.model.fitted import Model
from gpucast.paths.launches import launch_costs
from gpucast.show.plots.step_series import NO_PARTS
from gpucast.util import JsonObject
from gpucast.util.order_statistics import Median, median_of
from gpucast.util.units import change, duration, throughput

if TYPE_CHECKING:
    import pandas

SMALL_N = 1000

LINEAR = (0.75, 1.25)
QUADRATIC = (1.75, 2.25)
"""Local exponents of n that count as growth with n and with n^2."""

RATE_NOISE = 0.01
SHARE_NOISE = 0.02
EXTRA_NOISE = 0.02
LARGER = 1.02
"""Least differences that count: of Gflops (relative), of shares and of the extra time of remote
steps (absolute), and the ratio of microbenchmarks."""

STRETCH = 3.0
"""Exponents are computed over at least this factor of n, because waves of blocks make steps."""

HEADERS = ["finding of the paper", "on these data", "number", "what it is, or why not"]
FILES = ("findings.md", "findings.json")

_WORDS = {True: "true", False: "false", None: "open"}


class Study(NamedTuple):
    """A group's steps: median times (s) of its cells, and a model of them, if any."""

    measured: Mapping[Cell, float]
    whole: Model | None


Studies = Mapping[StepSelection, Study]
Names = Mapping[StepSelection, str]


@dataclass
class Finding:
    """One statement of the paper, tested on the data.

    Attributes:
        statement: the paper's finding; in brackets the criterion.
        number: description of ``numbers``.
        headers, rows: the table, with one row per group (or quantity); the last cell is the
            verdict.
        holds: whether each row agrees; None if too little was measured.
        numbers: the deciding number of each row, or None.
        intervals: 95 % interval of each row's number; None if not known.
        why: why each row is open, or what contradicts the finding; None if it is true.
        missing: why there are no rows.
    """

    statement: str
    number: str
    headers: list[str]
    missing: str
    rows: list[list[str]] = field(default_factory=list)
    holds: list[bool | None] = field(default_factory=list)
    numbers: list[float | None] = field(default_factory=list)
    intervals: list[tuple[float, float] | None] = field(default_factory=list)
    why: list[str | None] = field(default_factory=list)

    def add(
        self,
        holds: bool | None,
        number: float | None,
        cells: Sequence[str],
        why: str | None = None,
        against: str | None = None,
        interval: tuple[float, float] | None = None,
    ) -> None:
        """Add a row. ``why`` is kept if it is open, ``against`` if it is false."""
        reason = {True: None, False: against, None: why}[holds]
        self.holds.append(holds)
        self.numbers.append(number)
        self.intervals.append(interval)
        self.why.append(reason)
        self.rows.append([*cells, _WORDS[holds] + (f": {reason}" if reason else "")])

    @property
    def brief(self) -> str:
        """The statement without the criterion."""
        return self.statement.split(" (")[0]

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if all(holds is None for holds in self.holds):
            return "cannot be told"
        true, is_open = self.holds.count(True), self.holds.count(None)
        if not is_open and true in (0, len(self.holds)):
            return _WORDS[bool(true)]
        verdict = f"true in {true} of {len(self.holds)}"
        return f"{verdict}, {is_open} open" if is_open else verdict

    @property
    def reason(self) -> str | None:
        """Why it is open, or what contradicts it, if that applies to all rows."""
        if len(set(self.holds)) > 1 or True in self.holds:
            return None
        return "; ".join(dict.fromkeys(reason for reason in self.why if reason)) or self.missing

    @property
    def range(self) -> tuple[float, float] | None:
        """Least and greatest deciding number."""
        known = [number for number in self.numbers if number is not None]
        return (min(known), max(known)) if known else None

    def to_dict(self) -> JsonObject:
        """Return the finding as JSON values."""
        derived = {"verdict": self.verdict, "range": self.range, "reason": self.reason}
        return asdict(self) | derived


def findings(
    data: Dataset,
    models: Mapping[StepSelection, Model] | None = None,
    native: str | None = None,
) -> list[Finding]:
    """Test all findings on a dataset, in the paper's order.

    Args:
        models: models of fitted groups, whose shares replace phases that were not timed.
        native: the native path, to which others are remote; by default the likeliest.

    Raises:
        InputError: nothing that findings are about was measured, or the path does not exist.
    """
    if not (data.steps or data.transfers or data.launches):
        raise InputError("there are no steps, transfers or launches", file=data.name)
    if native is not None and native not in data.paths():
        available = ", ".join(data.paths())
        raise InputError(
            f"no path {native!r}; there are: {available}", file=data.name, field="native"
        )
    known = models or {}
    studies = {
        group: Study(medians_of(steps), known.get(group)) for group, steps in steps_of(data).items()
    }
    names, usual = names_of(studies), native or native_path(data)
    several = {g: s for g, s in studies.items() if len({gpus for _, gpus in s.measured}) > 1}
    return [
        _gflops("Gflops fall with N at small n", several, names, _near_small_n, rising=False),
        _gflops("Gflops rise with N at large n", several, names, max, rising=True),
        linear_then_quadratic(studies, names),
        communication_share(data, several, names),
        dearer_when_remote(data, usual),
        widest_gap(studies, names, usual),
    ]


def native_path(data: Dataset) -> str:
    """Return the native path: by its name, else the one that was measured first."""
    paths = data.paths()
    return next((path for path in NATIVE_PATHS if path in paths), paths[0] if paths else "native")


def _grows(values: Sequence[float], noise: float) -> bool:
    """Whether values grow from first to last and never fall by more than noise."""
    return values[-1] - values[0] > noise and all(b - a >= -noise for a, b in pairwise(values))


def _against(values: Mapping[int, float], noise: float, text: str) -> str:
    """Return a text with the two GPU counts that contradict growth with N most (``_grows``).

    Args:
        noise: negative if values should fall.
        text: format of a value.
    """
    sign = np.sign(noise)
    counts = sorted(values)
    few, more = min(pairwise(counts), key=lambda pair: sign * (values[pair[1]] - values[pair[0]]))
    if sign * (values[more] - values[few]) >= -abs(noise):
        few, more = counts[0], counts[-1]
    texts = (text.format(values[count]) for count in (more, few))
    return f"N = {more} has {next(texts)}, N = {few} {next(texts)}"


def _near_small_n(sizes: Iterable[float]) -> float:
    return min(sizes, key=lambda n: abs(np.log(n / SMALL_N)))


_ONE_COUNT = "steps were measured on one number of GPUs only, or none were"


# --- Gflops against N ------------------------------------------------------------------------


def _gflops(
    statement: str,
    studies: Studies,
    names: Names,
    size_of: Callable[[Iterable[float]], float],
    *,
    rising: bool,
) -> Finding:
    counts, noise = _counts(studies), RATE_NOISE
    finding = Finding(
        f"{statement} (measured; Gflops relative to the fewest GPUs; {100 * noise:g} % is noise)",
        "Gflops on the most GPUs over those on the fewest",
        ["group", "n", *(f"N = {count}" for count in counts), ""],
        _ONE_COUNT,
    )
    for group, study in studies.items():
        n = size_of(n for n, _ in study.measured)
        times = {gpus: t for (size, gpus), t in sorted(study.measured.items()) if size == n}
        rates = {gpus: times[min(times)] / t for gpus, t in times.items()}
        values, several = list(rates.values()), len(rates) > 1
        least = noise * values[0 if rising else -1]
        finding.add(
            _grows(values if rising else values[::-1], least) if several else None,
            values[-1] if several else None,
            [names[group], f"{n:,}", *(f"{rates[c]:.3f}" if c in rates else "-" for c in counts)],
            f"n = {n} was measured on one number of GPUs only",
            _against(rates, least if rising else -least, "{:.3f}") if several else None,
        )
    return finding


def _counts(studies: Studies) -> list[int]:
    return sorted({gpus for study in studies.values() for _, gpus in study.measured})


# --- step time against n ---------------------------------------------------------------------


def linear_then_quadratic(studies: Studies, names: Names) -> Finding:
    """Test the paper's figure 3."""
    finding = Finding(
        "Step time grows linearly, then quadratically with n (exponent of n on the fewest GPUs, "
        f"over a factor of at least {STRETCH:g} in n; linear: {LINEAR[0]} to {LINEAR[1]}, "
        f"quadratic: {QUADRATIC[0]} to {QUADRATIC[1]})",
        "exponent of n at the largest n",
        ["group", "N", "smallest n", "linear where n is", "quadratic from n =", "largest n", ""],
        "no steps were measured over so wide a range of n",
    )
    for group, study in studies.items():
        fewest = min(gpus for _, gpus in study.measured)
        times = [(n, t) for (n, gpus), t in sorted(study.measured.items()) if gpus == fewest]
        slopes = local_exponents(times)
        if not slopes:
            continue
        linear = [n for n, slope in slopes if LINEAR[0] <= slope <= LINEAR[1]]
        quadratic, last = _onset(slopes), slopes[-1][1]
        too_small = bool(linear) and max(slope for _, slope in slopes) < QUADRATIC[0]
        against = "it is linear beyond where it is quadratic"
        if quadratic is None:
            against = f"at the largest n the exponent is {last:.2f}"
        elif not linear:
            against = "it is linear nowhere"
        finding.add(
            None if too_small else bool(linear) and quadratic is not None and linear[0] < quadratic,
            last,
            [
                *(names[group], str(fewest), f"{slopes[0][1]:.2f}"),
                f"{linear[0]:,.0f} to {linear[-1]:,.0f}" if linear else "nowhere",
                *(f"{quadratic:,.0f}" if quadratic else "nowhere", f"{last:.2f}"),
            ],
            "it grows quadratically nowhere that was measured; whether it does at larger n is not "
            "known",
            against,
        )
    return finding


def local_exponents(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return pairs of n, the geometric middle of a range, and d log T / d log n over it."""
    later = {n: next((far for far in points if far[0] >= STRETCH * n), None) for n, _ in points}
    return [
        (float(np.sqrt(n * far[0])), float(np.log(far[1] / t) / np.log(far[0] / n)))
        for n, t in points
        if (far := later[n]) is not None
    ]


def _onset(slopes: Sequence[tuple[float, float]]) -> float | None:
    at_end = list(takewhile(lambda at: QUADRATIC[0] <= at[1] <= QUADRATIC[1], reversed(slopes)))
    return at_end[-1][0] if at_end else None


# --- share of communication ------------------------------------------------------------------


def communication_share(data: Dataset, studies: Studies, names: Names) -> Finding:
    """Test the paper's figure 4."""
    counts, steps = _counts(studies), steps_of(data)
    finding = Finding(
        f"The share of T_com at n = {SMALL_N} grows with N (of the sum of the phases that the "
        "program timed, copies and exchange; in brackets: by the model fitted to all cells; "
        f"{100 * SHARE_NOISE:g} % is noise)",
        "share of T_com on the most GPUs less that on the fewest",
        ["group", *(f"N = {count}" for count in counts), ""],
        _ONE_COUNT,
    )
    for group, study in studies.items():
        n = _near_small_n(n for n, _ in study.measured)
        own = [gpus for size, gpus in study.measured if size == n]
        timed = timed_shares(steps.get(group, []), n)
        fitted = _fitted_shares(study, n, own)
        shares = timed if set(own) <= set(timed) else fitted
        values = [shares[count] for count in sorted(shares)]
        enough = len(values) > 1
        finding.add(
            _grows(values, SHARE_NOISE) if enough else None,
            values[-1] - values[0] if enough else None,
            [names[group], *(_shares_text(timed.get(c), fitted.get(c)) for c in counts)],
            _without_shares(study, n, own),
            _against(shares, SHARE_NOISE, "{:.0%}").replace("%", " %") if enough else None,
        )
    return finding


def timed_shares(steps: Iterable[Step], n: float) -> dict[int, float]:
    """Return the share of copies and exchange in the timed phases, by GPU count."""
    shares: dict[int, float] = {}
    for step in steps:
        if step.n != n or step.phases is None:
            continue
        phases = {name: seconds for name, seconds in vars(step.phases).items() if seconds}
        middle = {name: float(np.median(seconds)) for name, seconds in phases.items()}
        total = sum(middle.values())
        if total > 0:
            moved = sum(middle.get(name, 0.0) for name in ("h2d", "d2h", "exchange", "calls"))
            shares[step.gpus] = moved / total
    return shares


def _fitted_shares(study: Study, n: float, counts: Sequence[int]) -> dict[int, float]:
    if study.whole is None or not study.whole.knows_parts:
        return {}
    forecasts = study.whole.forecasts([float(n)] * len(counts), [float(count) for count in counts])
    shares = forecasts.t_com / forecasts.seconds
    return {count: float(share) for count, share in zip(counts, shares, strict=True)}


def _without_shares(study: Study, n: float, counts: Sequence[int]) -> str:
    """Return why shares at n cannot be compared."""
    if len(counts) < 2:
        return f"n = {n} was measured on one number of GPUs only"
    if study.whole is None:
        return "its phases were not timed, and no model is given"
    return f"its phases were not timed, and {NO_PARTS}"


def _shares_text(timed: float | None, fitted: float | None) -> str:
    parts = [f"{100 * timed:.0f} %"] if timed is not None else []
    parts += [f"({100 * fitted:.0f} %)"] if fitted is not None else []
    return " ".join(parts) or "-"


# --- microbenchmarks -------------------------------------------------------------------------


def dearer_when_remote(data: Dataset, native: str) -> Finding:
    """Test whether L, 1/B and t_kernel are larger on each path than natively on the same host."""
    finding = Finding(
        "L, 1/B and t_kernel are all larger when remote (L: blocking copies of the fewest bytes; "
        "1/B: from half the most bytes to the most; t_kernel: launches; medians; larger: by more "
        f"than {100 * (LARGER - 1):.0f} %)",
        "remote over native",
        ["quantity", "remote path", native, "remote", "times", ""],
        f"no transfers or launches were measured over both {native!r} and another path",
    )
    for host in dict.fromkeys(map(host_of, data.machines)):
        here = replace(data, records=[r for r in data.records if host_of(r.machine or "") == host])
        for path in here.paths():
            if path != native and native in here.paths():
                _compare_transfers(finding, here, native, path)
                _compare_launches(finding, here, native, path)
    return finding


def _compare_transfers(finding: Finding, data: Dataset, native: str, path: str) -> None:
    times = _transfer_medians(data)
    for memory, route in dict.fromkeys(key[1:] for key in times if key[0] == path):
        here, there = times.get((native, memory, route), {}), times[path, memory, route]
        sizes = sorted(here.keys() & there.keys())
        if len(sizes) < 2 or sizes[-1] < 2 * sizes[0]:
            continue
        least, most = sizes[0], sizes[-1]
        half = max(size for size in sizes if size <= most / 2)
        _row(finding, f"L_{route}, {memory}", path, here[least], there[least], duration)
        slopes = [_slope(times[half], times[most], most - half) for times in (here, there)]
        if min(slope.value for slope in slopes) > 0:
            _row(finding, f"1/B_{route}, {memory}", path, slopes[0], slopes[1], _inverse)


def _slope(half: Median, most: Median, size: int) -> Median:
    """Return the time per byte (s) between two sizes that differ by ``size`` bytes, with the widest
    interval that both intervals allow."""
    value = (most.value - half.value) / size
    if half.ends is None or most.ends is None:
        return Median(value, None, None)
    (near, far), (low, high) = half.ends, most.ends
    return Median(value, (low - far) / size, (high - near) / size)


def _transfer_medians(data: Dataset) -> dict[tuple[str, str, str], dict[int, Median]]:
    """Return median times (s) of blocking copies alone by size, by path, memory and route."""
    samples: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for copy in data.transfers:
        alone = copy.valid and not copy.cold and not copy.concurrent
        blocking = copy.engine == "copy" and copy.method != "gated"
        if alone and blocking and copy.route in ("h2d", "d2h"):
            sizes = samples.setdefault((copy.path, copy.memory, copy.route), {})
            sizes.setdefault(copy.bytes, []).extend(copy.seconds)
    return {
        key: {size: median_of(seconds) for size, seconds in sizes.items()}
        for key, sizes in samples.items()
    }


def _compare_launches(finding: Finding, data: Dataset, native: str, path: str) -> None:
    costs = {(cost.path, cost.method): cost.t_kernel for cost in launch_costs(data)}
    words = {"submit": "t_kernel, submitted", "sync": "t_kernel, until it has run"}
    for method, what in words.items():
        if (native, method) in costs and (path, method) in costs:
            _row(finding, what, path, costs[native, method], costs[path, method], duration)


def _row(
    finding: Finding,
    what: str,
    path: str,
    native: Median,
    remote: Median,
    text: Callable[[float], str],
) -> None:
    times = remote.value / native.value
    finding.add(
        times > LARGER,
        times,
        [what, path, text(native.value), text(remote.value), f"{times:.2f}"],
        interval=remote.over(native),
        against=f"{times:.2f} times is not above {LARGER:g}",
    )


def _inverse(seconds_a_byte: float) -> str:
    return f"1/({throughput(1 / seconds_a_byte)})"


# --- native beside remote --------------------------------------------------------------------


def widest_gap(studies: Studies, names: Names, native: str) -> Finding:
    """Test where remote steps are slowest relative to native ones, in cells measured on both
    paths."""
    finding = Finding(
        "Remote steps are farthest behind native ones at small n and large N (measured; extra time "
        f"at the n nearest to {SMALL_N}: grows with N, and on the most GPUs is larger there than "
        f"at the largest n; {100 * EXTRA_NOISE:g} % is noise)",
        "extra time at small n on the most GPUs, as a share of the native step",
        ["group", "small n", "fewest GPUs", "most GPUs", "large n", "most GPUs", ""],
        "no steps of a kind were measured over two paths",
    )
    for group, study in studies.items():
        other = group.over(native, studies)
        if group.path == native or other is None:
            continue
        beside = studies[other].measured
        extra = {c: t / beside[c] - 1 for c, t in sorted(study.measured.items()) if c in beside}
        if not extra:
            continue
        small, large = _near_small_n(n for n, _ in extra), max(n for n, _ in extra)
        by_count = {gpus: value for (n, gpus), value in sorted(extra.items()) if n == small}
        most = max(by_count)
        at_small_n, at_large_n = by_count[most], extra.get((large, most))
        holds, against = None, None
        if len(by_count) > 1 and large > small and at_large_n is not None:
            grows = _grows(list(by_count.values()), EXTRA_NOISE)
            holds = grows and at_small_n - at_large_n > EXTRA_NOISE
            against = f"n = {large:,} has {change(at_large_n)}, n = {small:,} {change(at_small_n)}"
            if not grows:
                against = _against(by_count, EXTRA_NOISE, "{:+.0%}").replace("%", " %")
        ends = (f"{change(by_count[c])} (N = {c})" for c in (min(by_count), most))
        finding.add(
            holds,
            at_small_n,
            [names[group], f"{small:,}", *ends, f"{large:,}", change(at_large_n) or "-"],
            "too few cells were measured over both paths",
            against,
        )
    return finding


# --- as a table, as Markdown and as JSON -----------------------------------------------------


def rows(findings: Sequence[Finding]) -> list[list[str]]:
    """Return a row per finding: verdict, deciding number (range over groups), and its meaning."""
    return [
        [finding.brief, finding.verdict, _number(finding), finding.reason or finding.number]
        for finding in findings
    ]


def table(findings: Sequence[Finding]) -> pandas.DataFrame:
    """Return the findings as a data frame with verdict, number and reason."""
    import pandas

    return pandas.DataFrame(rows(findings), columns=HEADERS)


def files(findings: Sequence[Finding], data: Dataset) -> dict[str, str]:
    """Return the contents of ``findings.md`` and ``findings.json``."""
    parts = [
        f"# The paper's findings on {data.name}",
        "Setoguchi & Narumi found these on their machines; the numbers here are those of the data. "
        "A number is the least and the greatest of all groups of steps.",
        _markdown(HEADERS, rows(findings)),
    ]
    for finding in findings:
        if finding.rows:
            parts += [
                f"## {finding.brief}",
                f"{finding.statement}.",
                _markdown(finding.headers, finding.rows),
            ]
    answer = {"data": data.name, "findings": [finding.to_dict() for finding in findings]}
    text = json.dumps(answer, ensure_ascii=False, indent=2, allow_nan=False)
    return {"findings.md": "\n\n".join(parts) + "\n", "findings.json": text + "\n"}


def remote_ratios(
    findings: Sequence[Finding],
) -> list[tuple[str, str, float, tuple[float, float] | None]]:
    """Return quantity, path, remote over native and its interval, from the finding about L, 1/B and
    t_kernel."""
    return [
        (row[0], row[1], number, interval)
        for finding in findings
        if finding.headers[0] == "quantity"
        for row, number, interval in zip(
            finding.rows, finding.numbers, finding.intervals, strict=True
        )
        if number is not None
    ]


def _number(finding: Finding) -> str:
    if finding.range is None:
        return "-"
    low, high = (f"{value:.2f}" for value in finding.range)
    return low if low == high else f"{low} ... {high}"


def _markdown(headers: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    cells = [list(headers), ["---"] * len(headers), *body]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells
    )
