"""Programs that print their speed line by line, described only by patterns of their lines.

The named groups of a pattern state what a number is; ``<ms>`` stands for a number in a group of
that name. A value holds until another line sets it, and a line with a time is a sample. What
``facts`` find also holds for earlier lines that do not state it:

- ``seconds``, ``ms``, ``us``, ``minutes``, ``duration`` (``7min 46sec``, ``01:02:03``): of a step;
- ``rate``: steps a second; ``work_rate``: units of n a second, over all GPUs, ``work_seconds``: its
  inverse; ``gpu_rate``: units of n a second of one GPU; ``token_rate``, ``token_gpu_rate``: tokens
  a second, where n counts sequences of ``sequence`` tokens, or tokens if the length is unknown;
- ``since``: seconds since the last line; ``elapsed``, ``clock`` (date and time): since the start.
  They are divided by the steps between the lines, by ``step``; ``mean`` of all steps since the
  first line is converted to such a sum;
- ``instant``: seconds of the last step only, of several since the last line;
- ``total``: of the whole run, or from ``began_ms`` to ``ended_ms``, divided by its ``steps``, if
  the log has no other times; ``done``: samples processed until a line, in place of ``step``;
- ``n``, or ``grid`` (``64x64x128``), its sides ``nx``, ``ny``, ``nz``, or the ``cells`` of each
  ``level``, until a lower level is printed again; ``whole_work``, or ``whole_rate`` times
  ``total``: n of all ``steps`` together; ``of_tokens``: n sequences count as tokens;
- ``micro`` (the batch of each rank) and ``accumulation``; ``batch``, if it may be that of one rank
  or of all; ``share``, that of each rank beside ``n``; ``each_rate``, ``all_rate`` and ``time``:
  units of n a second of one GPU and of all, and the time of a step;
- ``gpus``, or ``nodes`` times ``per_node``, ``ranks`` times ``per_rank``, ``mesh`` (``[4, 2]``),
  ``tp``, ``pp``, ``dp`` (numbers of GPUs that share a request, and of groups that serve others),
  ``devices`` (a list); ``ranks``, or ``p`` times ``q``, if ``gpu_a_rank`` is found or as many GPUs
  are ``visible``;
- ``passed``: seconds by the clock, if ``elapsed`` are those in which processors worked.

If a log has several kinds of times, the first in this order is used. The first line and the much
slower ones after it warm up. Lines of several ranks are one; a run that was restarted at an earlier
step warms up again.
"""

from __future__ import annotations

import datetime
import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part, groups
from gpucast.data.formats.tables.units import spelled_time
from gpucast.util.number_lists import grid
from gpucast.util.remarks import Kind
from gpucast.util.units import duration

Known = dict[str, str]
_PER_SECOND = {"seconds": 1.0, "ms": 1e3, "us": 1e6, "minutes": 1 / 60}
_RATES = {
    "rate": None, "work_rate": "n", "gpu_rate": "each", "token_rate": "n", "token_gpu_rate": "each",
    "work_seconds": "n",
}  # fmt: skip
"""Rates, and what they count: None: steps; ``n``: units of n; ``each``: those of one GPU."""
_KINDS = tuple(dict.fromkeys(
    (*_PER_SECOND, "duration", "rate", "since", "elapsed", "clock", "instant", *_RATES, "total")
))  # fmt: skip
_LAUNCHED = {"nodes", "per_node"}
_CELLS = "cells of level "
_ENOUGH = 3
"""Number of steps that suffice to find slow ones among them."""
WARM = 1.25
"""A first step that takes longer than this multiple of the later median warms up."""
TOO_FAST = 1e-3
"""A step that takes less than this share of the usual time is a clock error."""
COARSE = 0.01
"""Largest relative rounding of times; less precise ones are used only if there are no others."""
MOST_SAMPLES = 1000
"""Largest number of samples of a run; longer series are thinned evenly."""


@dataclass(frozen=True, kw_only=True)
class Printed(Log):
    """A log whose lines state everything.

    Attributes:
        lines: patterns that match within a line; they are also the marks, if none are stated.
        averages_of: the group that numbers what times are averaged over; its last line counts.
        job: whether a step is the whole run, as is usual for the program: ``total`` has no steps.
        warms: whether the first steps warm up.
        line_a_step: whether each line with ``elapsed`` is one step.
    """

    lines: tuple[str, ...]
    read: Callable[[Part], None] = field(default=lambda part: read(part))
    averages_of: str | None = None
    job: bool = False
    warms: bool = True
    line_a_step: bool = False


@dataclass(frozen=True)
class Sample:
    """A time in a log: its kind, place, number of the step, and the values known there.

    ``whole``: number of the restart.
    """

    kind: str
    place: int
    step: float | None
    seconds: float
    rounding: float
    known: Known
    whole: int = 0


_OF_FIGURES = "0123456789.,: "
_ENDS = "\n\r\"'}])%"
"""Ends of lines and values; a log that ends otherwise may be cut off within a figure."""


def read(part: Part) -> None:
    """Report the runs that a log's patterns find."""
    log = part.log
    assert isinstance(log, Printed)
    kinds: dict[str, list[Sample]] = {}
    for sample in _samples(part, log):
        kinds.setdefault(sample.kind, []).append(sample)
    ranked = sorted(kinds, key=lambda kind: (_rounding(kind, kinds[kind]) > COARSE,
                                             _KINDS.index(kind)))  # fmt: skip
    cells: dict[str, list[Sample]] = {}
    for sample in kinds[ranked[0]] if ranked else ():
        cells.setdefault(str(sorted(_facts(sample.known).items())), []).append(sample)
    for samples in cells.values():
        if log.averages_of:
            samples = [*{sample.known.get(log.averages_of): sample for sample in samples}.values()]
        elif ranked[0] == "total":
            samples = samples[-1:]
        _add(part, log, steady(samples) if log.warms else samples, _work(kinds))
    if ranked[:1] == ["total"] and log.job:
        part.remark("times the whole run, which is taken as one step", "steps", Kind.READ_AS)
    clocks = [last for line in log.lines if "<passed>" in line and (last := part.last(line))]
    for worked, passed in ((float(last["elapsed"]), float(last["passed"])) for last in clocks):
        if passed - 1 > 1.1 * worked:
            text = f"its clock shows {passed:g} s, but its processors worked for {worked:g} s"
            part.remark(f"{text}: steps exclude waits", "seconds", Kind.READ_AS)


def _rounding(kind: str, samples: list[Sample]) -> float:
    """Return the relative rounding of a kind's times; that of their mean if they are
    differences."""
    count = len(samples) if kind in ("elapsed", "clock") else 1
    return min(sample.rounding for sample in samples) / count


def _work(kinds: Mapping[str, list[Sample]]) -> float | None:
    """Return the work of a step if a log has both step times and rates of work."""
    times = (kind for kind in _KINDS if kind in kinds and (kind == "rate" or kind not in _RATES))
    kind = next(times, None)
    if kind is None or "work_rate" not in kinds or _is_whole(kinds[kind][-1]):
        return None
    seconds, for_one = (
        statistics.median(sample.seconds for sample in steady(kinds[name]))
        for name in (kind, "work_rate")
    )
    return seconds / for_one


def _is_whole(sample: Sample) -> bool:
    """Return whether it is the time of a whole run with an unknown number of steps."""
    return sample.kind == "total" and "steps" not in sample.known


def _add(part: Part, log: Printed, samples: list[Sample], work: float | None) -> None:
    last = samples[-1]
    scale, facts = 1.0, _facts(last.known, work)
    if last.kind.startswith("token"):
        scale = runs.number(last.known.get("sequence", "")) or 1.0
        if "sequence" not in last.known:
            facts |= {"n": None, "n_each": None, "unit": "tokens"}
    part.run(
        samples[0].place,
        [sample.seconds * scale for sample in samples],
        max(sample.rounding for sample in samples),
        work=_RATES.get(last.kind),
        whole=_is_whole(last) and not log.job,
        **facts,
    )
    run = part.content.runs[-1]
    share = (run.n or 0) / (run.gpus or 1 if run.work == "each" else 1)
    read_as = share * statistics.median(run.seconds)
    places = ((sample.step, sample.place) for sample in samples)
    by_clock = clocked((step, runs.line_at(part.text, place, place)) for step, place in places)
    if run.work and share and by_clock is not None and not agree(by_clock, read_as):
        part.remark(
            f"a step takes {duration(by_clock)} by the time of day of its lines, but "
            f"{duration(read_as)} by its rates: is {run.n:g} the size?", "steps", Kind.DATA,
        )  # fmt: skip
    may_warm = log.warms and log.averages_of is None and last.kind in (*_PER_SECOND, *_RATES)
    if may_warm and len(samples) == 1 and not last.whole and (last.step or 0) <= 1:
        part.remark("times one step alone, which may include start-up", "steps", Kind.READ_AS)


_TIME_OF_DAY = re.compile(r"(?<![\d:])([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]+)?)(?![\d:])")
_BEGINNING, _ENOUGH_SECONDS, _DISAGREE = 80, 4.0, 1.5
"""Longest prefix of a line that may contain the time of day; shortest interval for times in whole
seconds (s); factor by which times may differ."""


def clocked(lines: Iterable[tuple[float | None, str]]) -> float | None:
    """Return the seconds a step from the times of day of lines that count steps."""
    passed: list[tuple[float, float]] = []
    before = None
    for step, line in lines:
        clock = _TIME_OF_DAY.search(line[:_BEGINNING])
        if step is None or clock is None:
            continue
        hours, minutes, seconds = (float(text.replace(",", ".")) for text in clock.groups())
        now = 3600 * hours + 60 * minutes + seconds
        if before is not None and step > before[0] and now >= before[1]:
            passed.append((now - before[1], step - before[0]))
        before = step, now
    if passed and min(passed)[0] >= _ENOUGH_SECONDS:
        return statistics.median(time / steps for time, steps in passed)
    time, steps = (sum(values) for values in zip(*passed, strict=True)) if passed else (0.0, 1.0)
    return time / steps if time >= _ENOUGH_SECONDS else None


def agree(one: float, other: float) -> bool:
    """Return whether two times agree, except for what programs do not time."""
    return 1 / _DISAGREE < one / other < _DISAGREE


def _samples(part: Part, log: Printed) -> Iterator[Sample]:
    """Yield the times in the order of their lines."""
    known: Known = dict(part.facts)
    before: dict[str, tuple[float, float]] = {}
    last, whole, lines, first = -math.inf, 0, 0, None
    for place, told in _lines(part, log):
        _keep(known, told)
        step = _step(known, told)
        if log.line_a_step and step is None and "elapsed" in told:
            step = lines = lines + 1
        if step is not None:
            if step < last:
                before, whole, first = {}, whole + 1, None  # a restart
            last = step
        if "ended_ms" in told and "began_ms" in known:
            passed = (runs.number(told["ended_ms"]) or 0) - (runs.number(known["began_ms"]) or 0)
            told["total"] = f"{passed / 1e3:.15g}"
        if "mean" in told and step is not None:
            if step <= 1:
                first = step if told["mean"] == told.get("instant") else None
            if first is not None:
                mean = runs.number(told["mean"]) or 0
                told["elapsed"] = f"{mean * (step - first + 1):.15g}"
        for kind in _KINDS:
            if kind not in told:
                continue
            value = _value(kind, told[kind])
            if value is None or value <= 0:
                continue
            is_number = runs.number(told[kind]) is not None
            width = runs.rounding(told[kind].replace(",", "")) if is_number else 0.0
            if kind in ("elapsed", "clock", "since"):
                if step is None:
                    continue
                then = before.get(kind)
                if then is None or step > then[0]:
                    before[kind] = step, value
                if then is None or step <= then[0]:
                    continue
                width = 2 * width * value
                value = value if kind == "since" else value - then[1]
                if value <= 0:
                    continue
                width, value = width / value, value / (step - then[0])
            elif kind == "total" and (steps := runs.number(known.get("steps", ""))):
                value /= steps
            elif kind in _RATES and kind != "work_seconds":
                value = 1 / value
            yield Sample(kind, place, step, value, width, dict(known), whole)


def _keep(known: Known, told: Known) -> None:
    """Add what a line states to the known values."""
    if any(known.get(name, told[name]) != told[name] for name in _LAUNCHED & told.keys()):
        known.pop("gpus", None)  # from another job
    known.update(told)
    if {"cells", "level"} <= told.keys():
        for finer in [name for name in known if name > _CELLS + told["level"]]:
            if finer.startswith(_CELLS):
                del known[finer]
        known[_CELLS + told["level"]] = told["cells"]


def _step(known: Known, told: Known) -> float | None:
    """Return the number of a line's step, or the steps that ``done`` means."""
    if "step" in told:
        return runs.number(told["step"])
    done, n = runs.number(told.get("done", "")), runs.number(known.get("n", ""))
    return done / n if done is not None and n else None


def _lines(part: Part, log: Printed) -> Iterator[tuple[int, Known]]:
    """Yield the place of each line and its values by group."""
    by_line: dict[int, tuple[int, Known]] = {}
    cut_off = not part.text.endswith(tuple(_ENDS))
    finished = len(part.text.rstrip(_OF_FIGURES))
    for pattern in (*log.facts, *log.lines):
        for match in part.all(pattern):
            if cut_off and match.end() >= finished:
                continue
            begin = part.text.rfind("\n", 0, match.start()) + 1
            _, told = by_line.setdefault(begin, (match.start(), {}))
            told.update(groups(match))
    for begin in sorted(by_line):
        yield by_line[begin]


def _value(kind: str, text: str) -> float | None:
    if kind == "clock":
        with suppress(ValueError):
            moment = datetime.datetime.fromisoformat(text.replace("/", "-").replace(",", "."))
            return moment.timestamp()
        return None
    value = runs.number(text)
    if value is None and kind in ("duration", "total", "elapsed", "since"):
        value = spelled_time(text)
    return value / _PER_SECOND.get(kind, 1.0) if value is not None else None


def steady(samples: list[Sample], first: bool = True) -> list[Sample]:
    """Return the samples that do not warm up (the ``first`` always does), those of several ranks
    for a step as one, the slowest; at most ``MOST_SAMPLES``."""
    steps: dict[object, Sample] = {}
    for at, sample in enumerate(samples):
        key = (sample.whole, at if sample.step is None else sample.step)
        if key not in steps or steps[key].seconds < sample.seconds:
            steps[key] = sample
    kept = []
    for whole in dict.fromkeys(sample.whole for sample in steps.values()):
        kept += _warm([sample for sample in steps.values() if sample.whole == whole], first)
    usual = statistics.median(sample.seconds for sample in kept)
    kept = [sample for sample in kept if not sample.seconds < TOO_FAST * usual]
    return kept[:: max(1, math.ceil(len(kept) / MOST_SAMPLES))]


def _warm(samples: list[Sample], first: bool) -> list[Sample]:
    # Samples before the first difference are left out anyway.
    begin = int(first and len(samples) > 1 and samples[0].kind not in ("elapsed", "clock"))
    if not first and len(samples) < _ENOUGH:
        return samples
    later = statistics.median(sample.seconds for sample in samples[begin:])
    while begin < len(samples) // 2 and samples[begin].seconds > WARM * later:
        begin += 1
    return samples[begin:]


def _facts(known: Known, work: float | None = None) -> dict[str, Any]:
    """Return the fields of a run's size and GPUs; ``work``: approximate work of a step."""
    number = {name: runs.number(text) for name, text in known.items()}

    def product(*names: str) -> float | None:
        values = [number.get(name) for name in names]
        return math.prod(value for value in values if value) if all(values) else None

    gpus = _gpus(known, product)
    if "of_tokens" in known:
        n = product("n", "sequence")
        facts: dict[str, Any] = {"unit": "tokens"} | ({} if n else {"n": None})
    else:
        n, facts = _size(known, product), {}
    micro, rate = number.get("micro"), product("each_rate", "time")
    if n is None and micro is None and rate and "all_rate" in known:
        micro = max(1, round(rate))
    if n is None and micro:
        shared = math.prod(number.get(name) or 1 for name in ("tensor", "pipeline", "context"))
        facts["n_each"] = share = micro * (number.get("accumulation") or 1) / shared
        n = share * gpus if gpus else None
    batch = (number.get("batch") or 0) * (number.get("accumulation") or 1)
    if n is None and batch:
        may_be = [
            size for size in {batch, batch * (gpus or 2)} if not work or abs(size / work - 1) < 0.1
        ]
        n = may_be[0] if len(may_be) == 1 and gpus else None
        many = f"{batch * gpus:g} in all" if gpus else "more in all"
        facts["size_unclear"] = f"its batch of {batch:g} may be that of each GPU ({many}) or of all"
    elif n is None and work:
        facts["size_unclear"] = f"its times and rates imply a size of about {work:.4g}"
    told = {"n": n, "gpus": gpus, "nodes": product("nodes"), "ranks": product("ranks")}
    facts |= {name: value if name == "n" else int(value) for name, value in told.items() if value}
    return facts


def _size(known: Known, product: Callable[..., float | None]) -> float | None:
    """Return n as stated, or computed from its parts."""
    levels = [runs.number(text) for name, text in known.items() if _CELLS in name]
    whole = product("whole_work") if "whole_work" in known else product("whole_rate", "total")
    steps = product("steps")
    return (
        product("n")
        or (grid(known["grid"]) if "grid" in known else None)
        or product("nx", "ny", "nz")
        or (sum(cells for cells in levels if cells) if None not in levels else None)
        or (round(whole / steps) if whole and steps else None)
        or None
    )


def _gpus(known: Known, product: Callable[..., float | None]) -> float | None:
    """Return the number of GPUs of all ranks."""
    if "unsaid" in known:
        return product("gpus")
    mesh = [float(side) for side in re.findall("[0-9]+", known.get("mesh", ""))]
    if "tp" in known:
        mesh = [product(name) or 0 for name in ("tp", "pp", "dp") if name in known]
    ranks, visible = product("ranks") or product("p", "q"), product("visible") or 0
    rate, of_one, batch = product("all_rate"), product("each_rate"), product("n")
    return (
        product("gpus")
        or (math.prod(mesh) if mesh else None)
        or product("ranks", "per_rank")
        or (product("per_node", "nodes") if "nodes" in known else product("per_node"))
        or (ranks if "gpu_a_rank" in known or (ranks or visible + 1) <= visible else None)
        or (len(known["devices"].split(",")) if "devices" in known else None)
        or (round(rate / of_one) if rate and of_one else None)
        or (round(batch / max(1.0, share)) if batch and (share := product("share")) else None)
    )
