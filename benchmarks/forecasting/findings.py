"""What the paper found on its machines: does it hold for these measurements?

Each finding is looked at in every group (or for every route) and is true, refuted, or true of some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

import gpucast as gc
from forecasting.groups import Group, data_of, host_of
from forecasting.studies import Study
from gpucast.cli.words import duration, throughput
from gpucast.datasets import Dataset
from gpucast.errors import InputError
from gpucast.launches import launch_costs

SMALL_N = 1000

LINEAR = (0.75, 1.25)
QUADRATIC = (1.75, 2.25)
"""Local exponents of n that count as growth with n and with n^2."""

RATE_NOISE = 0.01
SHARE_NOISE = 0.02
LARGER = 1.02
"""What counts as a difference: of Gflops (relative), of shares (absolute), of microbenchmarks."""

STRETCH = 3.0
"""Exponents are taken over at least this factor of n: a whole number of waves makes steps."""


@dataclass
class Finding:
    """One statement of the paper, held against the data.

    Attributes:
        holds: of each row, whether it agrees; None where too little was measured to say.
        headers, rows: the figures, a row a group (or route).
    """

    statement: str
    headers: list[str]
    rows: list[list[str]] = field(default_factory=list)
    holds: list[bool | None] = field(default_factory=list)

    def add(self, holds: bool | None, *cells: str) -> None:
        """A row, whose last column says whether it agrees."""
        self.holds.append(holds)
        self.rows.append([*cells, {True: "true", False: "refuted", None: "open"}[holds]])

    @property
    def verdict(self) -> str:
        """In words."""
        known = [each for each in self.holds if each is not None]
        if not known:
            return "not measured"
        if all(known) or not any(known):
            return "true" if all(known) else "refuted"
        return f"true in {sum(known)} of {len(known)}"


def findings_of(
    data: Dataset, studies: Mapping[Group, Study], names: Mapping[Group, str], native: str
) -> list[Finding]:
    """All findings, in the paper's order."""
    several = {g: s for g, s in studies.items() if len({gpus for _, gpus in s.measured}) > 1}
    return [
        gflops_at_small_n(several, names),
        gflops_at_large_n(several, names),
        linear_then_quadratic(studies, names),
        communication_share(data, several, names),
        dearer_when_remote(data, native),
    ]


def _grows(values: Sequence[float], noise: float) -> bool:
    """From first to last, and never falling by more than noise on the way."""
    return values[-1] - values[0] > noise and all(b - a >= -noise for a, b in pairwise(values))


# --- Gflops against N ------------------------------------------------------------------------


def gflops_at_small_n(studies: Mapping[Group, Study], names: Mapping[Group, str]) -> Finding:
    return _gflops(
        "Gflops fall with N at small n",
        studies,
        names,
        lambda sizes: min(sizes, key=lambda n: abs(np.log(n / SMALL_N))),
        rising=False,
    )


def gflops_at_large_n(studies: Mapping[Group, Study], names: Mapping[Group, str]) -> Finding:
    return _gflops("Gflops rise with N at large n", studies, names, max, rising=True)


def _gflops(
    statement: str,
    studies: Mapping[Group, Study],
    names: Mapping[Group, str],
    size_of: Callable[[Sequence[int]], int],
    *,
    rising: bool,
) -> Finding:
    counts = sorted({gpus for study in studies.values() for _, gpus in study.measured})
    headers = ["group", "n", *(f"N = {count}" for count in counts), ""]
    finding = Finding(
        f"{statement} (measured; Gflops relative to the fewest GPUs; "
        f"{100 * RATE_NOISE:g} % is noise)",
        headers,
    )
    for group, study in studies.items():
        n = size_of(sorted({n for n, _ in study.measured}))
        times = {gpus: t for (size, gpus), t in study.measured.items() if size == n}
        first = times[min(times)]
        rates = [first / times[count] for count in sorted(times)]
        trend = rates if rising else rates[::-1]
        holds = _grows(trend, RATE_NOISE * trend[0])
        cells = (f"{first / times[c]:.3f}" if c in times else "-" for c in counts)
        finding.add(holds, names[group], f"{n:,}", *cells)
    return finding


# --- step time against n ---------------------------------------------------------------------


def linear_then_quadratic(studies: Mapping[Group, Study], names: Mapping[Group, str]) -> Finding:
    finding = Finding(
        "Step time grows linearly, then quadratically with n (exponent of n on the fewest GPUs, "
        f"over a factor of at least {STRETCH:g} in n; linear: {LINEAR[0]} to {LINEAR[1]}, "
        f"quadratic: {QUADRATIC[0]} to {QUADRATIC[1]})",
        ["group", "N", "smallest n", "linear where n is", "quadratic from n =", "largest n", ""],
    )
    for group, study in studies.items():
        fewest = min(gpus for _, gpus in study.measured)
        slopes = local_exponents(
            [(n, t) for (n, gpus), t in sorted(study.measured.items()) if gpus == fewest]
        )
        if not slopes:
            continue
        linear = [n for n, slope in slopes if LINEAR[0] <= slope <= LINEAR[1]]
        quadratic = _onset(slopes)
        too_small = bool(linear) and max(slope for _, slope in slopes) < QUADRATIC[0]
        finding.add(
            None if too_small else bool(linear) and quadratic is not None and linear[0] < quadratic,
            names[group],
            str(fewest),
            f"{slopes[0][1]:.2f}",
            f"{linear[0]:,.0f} to {linear[-1]:,.0f}" if linear else "nowhere",
            f"{quadratic:,.0f}" if quadratic else "nowhere",
            f"{slopes[-1][1]:.2f}",
        )
    return finding


def local_exponents(points: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """d log T / d log n: at the middle of each stretch of n, and its exponent."""
    found = []
    for i, (n, seconds) in enumerate(points):
        end = next((j for j in range(i + 1, len(points)) if points[j][0] >= STRETCH * n), None)
        if end is not None:
            far, later = points[end]
            slope = np.log(later / seconds) / np.log(far / n)
            found.append((float(np.sqrt(n * far)), float(slope)))
    return found


def _onset(slopes: Sequence[tuple[float, float]]) -> float | None:
    """The n from which on every exponent is quadratic."""
    at = None
    for n, slope in reversed(slopes):
        if not QUADRATIC[0] <= slope <= QUADRATIC[1]:
            break
        at = n
    return at


# --- share of communication ------------------------------------------------------------------


def communication_share(
    data: Dataset, studies: Mapping[Group, Study], names: Mapping[Group, str]
) -> Finding:
    counts = sorted({gpus for study in studies.values() for _, gpus in study.measured})
    finding = Finding(
        f"The share of T_com at n = {SMALL_N} grows with N (of the sum of the phases that the "
        "program timed, copies and exchange; in brackets: by the model fitted to all cells; "
        f"{100 * SHARE_NOISE:g} % is noise)",
        ["group", *(f"N = {count}" for count in counts), ""],
    )
    for group, study in studies.items():
        sizes = sorted({n for n, _ in study.measured})
        n = min(sizes, key=lambda size: abs(np.log(size / SMALL_N)))
        own = [gpus for size, gpus in study.measured if size == n]
        timed = _timed_shares(data_of(data, group), n)
        fitted = _fitted_shares(study, n, own)
        shares = timed if set(own) <= set(timed) else fitted
        if not shares:
            continue
        cells = [_shares_text(timed.get(count), fitted.get(count)) for count in counts]
        holds = _grows([shares[count] for count in sorted(shares)], SHARE_NOISE)
        finding.add(holds, names[group], *cells)
    return finding


def _timed_shares(data: Dataset, n: int) -> dict[int, float]:
    shares: dict[int, float] = {}
    for step in data.steps:
        if step.n != n or step.phases is None:
            continue
        phases = {name: each for name, each in step.phases.model_dump().items() if each}
        medians = {name: float(np.median(each)) for name, each in phases.items()}
        total = sum(medians.values())
        if total > 0:
            moved = sum(medians.get(name, 0.0) for name in ("h2d", "d2h", "exchange"))
            shares[step.gpus] = moved / total
    return shares


def _fitted_shares(study: Study, n: int, counts: Sequence[int]) -> dict[int, float]:
    if study.whole is None:
        return {}
    found = study.whole.forecasts([float(n)] * len(counts), [float(count) for count in counts])
    shares = found.t_com / found.seconds
    return {count: float(share) for count, share in zip(counts, shares, strict=True)}


def _shares_text(timed: float | None, fitted: float | None) -> str:
    parts = [f"{100 * timed:.0f} %"] if timed is not None else []
    parts += [f"({100 * fitted:.0f} %)"] if fitted is not None else []
    return " ".join(parts) or "-"


# --- microbenchmarks -------------------------------------------------------------------------


def dearer_when_remote(data: Dataset, native: str) -> Finding:
    finding = Finding(
        "L, 1/B and t_kernel are all larger when remote (L: blocking copies of the fewest bytes, "
        "1/B: of the most, both of the fitted curve; t_kernel: median of single launches; larger: "
        f"by more than {100 * (LARGER - 1):.0f} %)",
        ["quantity", "remote path", native, "remote", "times", ""],
    )
    for host in dict.fromkeys(map(host_of, data.machines)):
        here = replace(data, records=[r for r in data.records if host_of(r.machine or "") == host])
        for path in here.paths():
            if path != native and native in here.paths():
                _compare_transfers(finding, here, native, path)
                _compare_launches(finding, here, native, path)
    return finding


def _compare_transfers(finding: Finding, data: Dataset, native: str, path: str) -> None:
    memories = dict.fromkeys(
        t.memory for t in data.transfers if t.path == path and t.route in ("h2d", "d2h")
    )
    for memory in memories:
        lines = [_lines(data, each, memory) for each in (native, path)]
        for route in ("h2d", "d2h"):
            if not all(route in line for line in lines):
                continue
            (L, slope), (remote_L, remote_slope) = (line[route] for line in lines)
            _row(finding, f"L_{route}, {memory}", path, L, remote_L, duration)
            _row(finding, f"1/B_{route}, {memory}", path, slope, remote_slope, _inverse)


def _lines(data: Dataset, path: str, memory: str) -> dict[str, tuple[float, float]]:
    """L and 1/B of each route: the fitted curve at its start, and its slope at its end."""
    try:
        fits = gc.fit_transfers(data, path, memory=memory, replicates=0)
    except InputError:
        return {}
    found = {}
    for fit in fits:
        least, most = fit.bytes
        start, half, end = fit.seconds(np.array([least, most / 2, most], dtype=np.float64))
        found[fit.route] = float(start), float(end - half) / (most / 2)
    return found


def _compare_launches(finding: Finding, data: Dataset, native: str, path: str) -> None:
    costs = {(each.path, each.method): each.t_kernel.value for each in launch_costs(data)}
    for method, words in (
        ("submit", "t_kernel, submitted"),
        ("sync", "t_kernel, until it has run"),
    ):
        pair = costs.get((native, method)), costs.get((path, method))
        if pair[0] is not None and pair[1] is not None:
            _row(finding, words, path, pair[0], pair[1], duration)


def _row(
    finding: Finding,
    what: str,
    path: str,
    native: float,
    remote: float,
    text: Callable[[float], str],
) -> None:
    times = remote / native
    finding.add(times > LARGER, what, path, text(native), text(remote), f"{times:.2f}")


def _inverse(seconds_a_byte: float) -> str:
    return f"1/({throughput(1 / seconds_a_byte)})"
