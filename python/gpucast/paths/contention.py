"""Contention of concurrent copies: which ones slow each other down, and how long k of them take.

**What is measured.** A transfer record with ``concurrent`` copies times one of them. Its factor is
its median time over that of the same copy, of the same size, alone. Two copies share a link or a
memory if one slows the other by more than ``DISTURBED``, given the confidence intervals.

**Forecast.** Copy i moves r_i byte/s through some resources. A byte of copy i keeps resource R busy
for w_iR seconds, and no resource can be busy for more than all of the time:

    sum_i r_i w_iR <= 1

The hardware serves copies fairly: all rates grow together until a resource is saturated; the copies
through it stay at that rate and the others go on growing (max-min fairness; Bertsekas & Gallager,
Data Networks, 2nd ed., section 6.5.2). The resources and their capacities are:

- each direction of a GPU's host link, and a GPU's egress and ingress to other GPUs:
  w = 1/rate of a copy alone, since one copy saturates them;
- the resource of a set of copies that slow each other down pairwise (both directions of one host
  link; an upstream port): w = 1/C, where C is the total rate of two of them together;
- host memory, which copies to GPUs read and copies from GPUs write: w = 1/C, with a capacity for
  each direction, and a smaller one while the other direction is in use as well (memory switches
  between reads and writes, and a device's reads wait behind its writes). No pair of copies
  saturates it. C therefore comes from measured sets of three or more in which a copy is slower than
  its links explain: the number of copies in its direction times its rate, as geometric mean over
  such sets, and never less than an undisturbed set moved. Without such a set, host memory is no
  limit. So far only sets with equally many copies in both directions were measured; others may
  differ.

Each set is forecast twice: from all measurements, and held out (without that set).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Transfer
from gpucast.errors import InputError
from gpucast.util.order_statistics import Median, median_of

HOST = "host"
DISTURBED = 1.05
"""Factor in time up to which copies count as undisturbed."""

Copy = tuple[str, str]
"""Source and destination: ("host", "gpu0")."""


@dataclass(frozen=True)
class Setting:
    """What all copies in a comparison have in common.

    Attributes:
        reads: whether the receiving GPU makes the copies between GPUs.
    """

    machine: str
    path: str
    engine: str
    method: str | None
    reads: bool


@dataclass(frozen=True)
class Measured:
    """One copy timed while others were running.

    Attributes:
        copy, beside: the timed copy, and the others, sorted.
        bytes: size of the timed copy.
        seconds, alone: median times with intervals, beside the others and alone.
    """

    setting: Setting
    copy: Copy
    beside: tuple[Copy, ...]
    bytes: int
    seconds: Median
    alone: Median

    @property
    def factor(self) -> float:
        """Slowdown: time over time alone."""
        return self.seconds.value / self.alone.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """A confidence interval of the factor of at least 90 %, from the medians' 95 %
        intervals."""
        return self.seconds.over(self.alone)

    @property
    def disturbed(self) -> bool:
        """Whether the others slow it down, significantly if there is an interval."""
        low = self.interval[0] if self.interval is not None else self.factor
        return self.factor > DISTURBED and low > 1

    @property
    def rate(self) -> float:
        """Rate in byte/s."""
        return self.bytes / self.seconds.value

    @property
    def copies(self) -> tuple[Copy, ...]:
        """All copies of the set, the timed one first."""
        return (self.copy, *self.beside)

    @property
    def label(self) -> str:
        """A short description of the set."""
        return describe(self.copies)


@dataclass(frozen=True)
class Forecast:
    """A measured set of three or more copies and its forecasts.

    Attributes:
        seconds: forecast (s) from all measurements.
        left_out: forecast (s) without this set.
        limit: the resource that limits the timed copy in ``left_out``.
    """

    measured: Measured
    seconds: float
    left_out: float
    limit: str

    @property
    def error(self) -> float:
        """Relative error of ``left_out``."""
        return self.left_out / self.measured.seconds.value - 1

    @property
    def fitted_error(self) -> float:
        """Relative error of ``seconds``."""
        return self.seconds / self.measured.seconds.value - 1


@dataclass(frozen=True)
class Contention:
    """All measurements of one setting.

    Attributes:
        rates: rate (byte/s) of each copy alone, at the size that it has beside others, or the
            nearest measured one.
        pairs, sets: copies timed beside one other, and beside several.
        forecasts: forecasts of ``sets``.
    """

    setting: Setting
    rates: dict[Copy, float]
    pairs: list[Measured]
    sets: list[Measured]
    forecasts: list[Forecast]

    @property
    def shared(self) -> list[Measured]:
        """Pairs and sets in which the timed copy is disturbed."""
        return [timing for timing in (*self.pairs, *self.sets) if timing.disturbed]

    @property
    def copies(self) -> list[Copy]:
        """Every copy of a pair, in the order of the measurements."""
        return list(dict.fromkeys(copy for pair in self.pairs for copy in pair.copies))

    def factors(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return the contention matrix: a row per timed copy, a column per other; NaN: not
        measured."""
        at = {copy: index for index, copy in enumerate(self.copies)}
        matrix = np.full((len(at), len(at)), np.nan)
        # If a pair was measured with several sizes, the first counts.
        for pair in reversed(self.pairs):
            matrix[at[pair.copy], at[pair.beside[0]]] = pair.factor
        return matrix


def contention(data: Dataset) -> list[Contention]:
    """Analyse the concurrent copies of a dataset; the result has an entry for each setting.

    A copy beside others is compared with the same copy alone, of the same size and kind of memory.

    Raises:
        InputError: no copy was timed beside others, or none of those was also timed alone.
    """
    together: dict[Setting, dict[_Set, list[float]]] = {}
    beside_sizes: dict[tuple[Copy, int], None] = {}
    alone: dict[tuple[Setting, Copy, int, str], list[float]] = {}
    for record in data.transfers:
        if not record.valid or record.cold:
            continue
        setting, copy = _setting(record), (record.from_, record.to)
        if not record.concurrent:
            single = (setting, copy, record.bytes, record.memory)
            alone.setdefault(single, []).extend(record.seconds)
            continue
        for other in record.concurrent:
            beside_sizes[(other.from_, other.to), other.bytes or record.bytes] = None
        beside = tuple(sorted((other.from_, other.to) for other in record.concurrent))
        sets = together.setdefault(setting, {})
        sets.setdefault((copy, beside, record.bytes, record.memory), []).extend(record.seconds)
    if not together:
        raise InputError("no transfer was timed beside others", file=data.name, field="concurrent")
    contentions = [
        _contention(setting, sets, alone, beside_sizes) for setting, sets in together.items()
    ]
    contentions = [contention for contention in contentions if contention.pairs or contention.sets]
    if not contentions:
        raise InputError(
            "no transfer that was timed beside others was also timed alone, with the same size",
            file=data.name,
            field="concurrent",
        )
    return contentions


# The timed copy, those beside it, its bytes and memory.
_Set = tuple[Copy, tuple[Copy, ...], int, str]


def _setting(record: Transfer) -> Setting:
    reads = record.issuer is not None and record.issuer == record.to != record.from_
    return Setting(record.machine, record.path, record.engine, record.method, reads)


def _contention(
    setting: Setting,
    together: Mapping[_Set, list[float]],
    alone: Mapping[tuple[Setting, Copy, int, str], list[float]],
    beside_sizes: Collection[tuple[Copy, int]],
) -> Contention:
    measured: list[Measured] = []
    rates: dict[Copy, float] = {}
    for (copy, beside, size, memory), samples in together.items():
        single = alone.get((setting, copy, size, memory))
        if single is not None:
            timing = Measured(setting, copy, beside, size, median_of(samples), median_of(single))
            measured.append(timing)
            rates.setdefault(copy, size / timing.alone.value)
    for copy, size in beside_sizes:
        # Copies that were never timed beside others: their rate alone at the nearest size.
        sizes = [key[2] for key in alone if key[:2] == (setting, copy)]
        if copy not in rates and sizes:
            nearest = min(sizes, key=lambda other: abs(np.log(other / size)))
            rates[copy] = max(
                nearest / median_of(samples).value
                for key, samples in alone.items()
                if key[:3] == (setting, copy, nearest)
            )
    pairs = [timing for timing in measured if len(timing.beside) == 1]
    sets = [timing for timing in measured if len(timing.beside) > 1]
    return Contention(setting, rates, pairs, sets, _forecasts(rates, pairs, sets))


# Resources by name, with the seconds that a byte of each copy keeps them busy.
Resources = dict[str, dict[Copy, float]]


def _forecasts(
    rates: Mapping[Copy, float], pairs: Sequence[Measured], sets: Sequence[Measured]
) -> list[Forecast]:
    links = _links(rates, pairs)
    known = [timing for timing in (*pairs, *sets) if all(copy in rates for copy in timing.copies)]
    result = []
    for timing in known:
        if len(timing.copies) > 2:
            others = [other for other in known if set(other.copies) != set(timing.copies)]
            (seconds, _), (left_out, limit) = (
                _forecast(timing, links, _host_memory(links, some)) for some in (known, others)
            )
            result.append(Forecast(timing, seconds, left_out, limit))
    return result


def _forecast(measured: Measured, links: Resources, memory: HostMemory) -> tuple[float, str]:
    shared = links | _memory_shared_by(measured.copies, memory)
    rate, limit = fair_rates(measured.copies, shared)[measured.copy]
    return measured.bytes / rate, limit


def _links(rates: Mapping[Copy, float], pairs: Sequence[Measured]) -> Resources:
    """Return the links by name: those of single copies, and those that pairs turn out to share."""
    resources: Resources = {}
    for copy, rate in rates.items():
        start, end = copy
        if HOST in copy:
            resources[f"link {start}>{end}"] = {copy: 1 / rate}
        elif start != end:
            resources.setdefault(f"egress of {start}", {})[copy] = 1 / rate
            resources.setdefault(f"ingress of {end}", {})[copy] = 1 / rate
    for members, total in _pairwise(pairs):
        names = " and ".join(f"{start}>{end}" for start, end in members)
        resources[f"shared by {names}"] = dict.fromkeys(members, 1 / total)
    return resources


def _pairwise(pairs: Sequence[Measured]) -> list[tuple[tuple[Copy, ...], float]]:
    """Return the maximal sets of copies that slow each other down pairwise, with the rate of
    two."""
    speed = {(timing.copy, timing.beside[0]): timing.rate for timing in pairs}
    totals: dict[frozenset[Copy], float] = {}
    for timing in pairs:
        if timing.disturbed:
            one, other = timing.copies
            # If only one of the two was timed, the other is assumed to be as fast.
            totals[frozenset(timing.copies)] = timing.rate + speed.get((other, one), timing.rate)
    near: dict[Copy, set[Copy]] = {}
    for pair in totals:
        for copy in pair:
            near.setdefault(copy, set()).update(pair - {copy})
    result = []
    for clique in _cliques(near):
        inside = [total for pair, total in totals.items() if pair <= clique]
        result.append((tuple(sorted(clique)), float(np.median(inside))))
    return result


def _cliques(near: Mapping[Copy, set[Copy]]) -> list[frozenset[Copy]]:
    """Return the maximal cliques (Bron & Kerbosch 1973)."""
    sets: list[frozenset[Copy]] = []

    def grow(chosen: set[Copy], open_: set[Copy], done: set[Copy]) -> None:
        if not open_ and not done:
            sets.append(frozenset(chosen))
        for copy in sorted(open_):
            grow(chosen | {copy}, open_ & near[copy], done & near[copy])
            open_ = open_ - {copy}
            done = done | {copy}

    if near:
        grow(set(), set(near), set())
    return sets


# Capacity of host memory (byte/s) in a direction (0: copies to GPUs read it; 1: copies from GPUs
# write it), with or without copies in the other direction.
HostMemory = dict[tuple[int, bool], float]


def _host_memory(links: Resources, measured: Sequence[Measured]) -> HostMemory:
    """Return the capacities that the sets reveal."""
    full: dict[tuple[int, bool], list[float]] = {}
    carried: HostMemory = {}
    for timing in measured:
        if HOST not in timing.copy:
            continue
        side = timing.copy.index(HOST)
        kind = (side, _both_ways(timing.copies))
        total = timing.rate * sum(copy[side] == HOST for copy in timing.copies)
        free, _ = fair_rates(timing.copies, links)[timing.copy]
        if timing.disturbed and timing.rate * DISTURBED < free:
            full.setdefault(kind, []).append(total)
        else:
            carried[kind] = max(total, carried.get(kind, 0.0))
    return {
        kind: max(float(np.exp(np.mean(np.log(totals)))), carried.get(kind, 0.0))
        for kind, totals in full.items()
    }


def _both_ways(copies: Sequence[Copy]) -> bool:
    return all(any(copy[side] == HOST for copy in copies) for side in (0, 1))


def _memory_shared_by(copies: Sequence[Copy], memory: HostMemory) -> Resources:
    both = _both_ways(copies)
    return {
        name: {copy: 1 / memory[side, both] for copy in copies if copy[side] == HOST}
        for side, name in ((0, "host memory, reads"), (1, "host memory, writes"))
        if (side, both) in memory
    }


def fair_rates(
    copies: Iterable[Copy], shared: Mapping[str, Mapping[Copy, float]]
) -> dict[Copy, tuple[float, str]]:
    """Return max-min fair rates (byte/s) of concurrent copies, and the resource that limits each.

    Raises:
        ValueError: no resource limits a copy.
    """
    growing = list(dict.fromkeys(copies))
    rates: dict[Copy, tuple[float, str]] = {}
    while growing:
        best, limit = np.inf, ""
        for name, weight in shared.items():
            busy = sum(rate * weight.get(copy, 0.0) for copy, (rate, _) in rates.items())
            pace = sum(weight.get(copy, 0.0) for copy in growing)
            if pace > 0 and max(0.0, 1 - busy) / pace < best:
                best, limit = max(0.0, 1 - busy) / pace, name
        if not limit:
            raise ValueError(f"nothing limits {growing}")
        stopped = [copy for copy in growing if copy in shared[limit]]
        rates.update(dict.fromkeys(stopped, (float(best), limit)))
        growing = [copy for copy in growing if copy not in stopped]
    return rates


def describe(copies: Sequence[Copy]) -> str:
    """Describe a set of copies briefly: ``4 up and 4 down``, ``gpu0 to 3 others``, or list them."""
    starts, ends = {start for start, _ in copies}, {end for _, end in copies}
    if len(copies) > 2 and all(HOST in copy for copy in copies):
        up = sum(start == HOST for start, _ in copies)
        counts = ((up, "up"), (len(copies) - up, "down"))
        return " and ".join(f"{count} {word}" for count, word in counts if count)
    if len(copies) > 2 and len(starts) == 1:
        return f"{copies[0][0]} to {len(ends)} others"
    if len(copies) > 2 and len(ends) == 1:
        return f"{len(starts)} others to {copies[0][1]}"
    return ", ".join(f"{start}>{end}" for start, end in copies)


def to_dict(result: Contention) -> dict[str, object]:
    """Return the result as JSON values."""

    def name(copy: Copy) -> str:
        return f"{copy[0]}>{copy[1]}"

    def measured(timing: Measured) -> dict[str, object]:
        return {
            "copy": name(timing.copy),
            "beside": [name(copy) for copy in timing.beside],
            "bytes": timing.bytes,
            "seconds": timing.seconds.value,
            "alone_seconds": timing.alone.value,
            "factor": timing.factor,
            "interval": timing.interval,
            "shared": timing.disturbed,
        }

    return {
        **vars(result.setting),
        "pairs": [measured(timing) for timing in result.pairs],
        "sets": [measured(timing) for timing in result.sets],
        "forecasts": [
            {
                "set": forecast.measured.label,
                "copy": name(forecast.measured.copy),
                "copies": len(forecast.measured.copies),
                "measured": forecast.measured.seconds.value,
                "forecast": forecast.left_out,
                "relative_error": forecast.error,
                "limit": forecast.limit,
                "fitted": forecast.seconds,
                "fitted_relative_error": forecast.fitted_error,
            }
            for forecast in result.forecasts
        ],
    }
