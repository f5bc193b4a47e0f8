"""The steps of a traced program: by a named range, or by what it asks again and again.

Without a name: in the thread that asks for most of the GPUs' time, the call in which the host
waits longest in all ends a step. What lies between two of these waits is a part; parts that are
equal, or nearly so (one has something more), are of one kind. Where one kind makes up most of the
parts and of the time, each part is a step, and those with something more (every tenth step writes)
are steps of another kind; else the smallest number of parts after which the sequence repeats is a
step, cut where the host waits longest. A program that never waits is cut in the sequence of its
calls, where the thread pauses longest.

Where light phases hold only some of the calls, steps are found in the full ones; those of light
phases follow (``waits_alone``).

Found steps count only where there are at least five of a kind, with most of the GPUs' time.
Casas, Badia, Labarta (Euro-Par 2007) find periods by the autocorrelation of a signal in time; here
it is that of the calls, which neither noise in times nor waiting blurs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.traces import phases, repetition, tables, waiting, waits_alone
from gpucast.traces.kernel_names import short
from gpucast.traces.ranges import counted_ranges, named_ranges, unnumbered
from gpucast.traces.repetition import FEWEST_REPEATS, Rhythm
from gpucast.traces.sequence import Sequence, of_threads
from gpucast.traces.trace import Process, Trace

Ints = NDArray[np.int64]

ENOUGH_LIGHT = 20
"""Steps of a light phase beside which later ones do not count. What recording leaves behind grows
with every switch: H200, CUPTI 13.0: in their second light phase steps of many launches took 19 to
50 % longer than in their first; those of few, 14 % shorter to 18 % longer."""
LEAST_SHARE = 0.8
"""Of the GPUs' time between the first and the last step, that is in steps."""
LEAST_OF_REST = 0.5
"""Of the GPUs' time from the first step to the trace's end. What comes before is warm-up."""
USUAL = 0.7
"""Share of the parts that are of one kind where each part is a step."""
_WAITS_TRIED = 6
_THREADS_TRIED = 4
_KINDS_COMPARED = 5000
_KINDS_COMPARED_WITH = 16
_AS_OFTEN = 0.25
"""A part that comes less often than this times the most frequent one comes now and then."""
_KINDS = 8
_OFTEN = 3
NO_KIND = -1
KERNEL = "kernel:"
"""Before the name of a kernel that begins steps, where a range could be named."""
_OUTLIER = 1.2
"""A step beyond the outer fence of its kind is left out if it took so many times the median."""


@dataclass(frozen=True)
class ProcessSteps:
    """The steps of one process.

    Attributes:
        process: its place in ``Trace.processes``.
        thread: the thread that drives them.
        begins_ns: k + 1 bounds, on the host's clock: a step ends where the next begins.
        kept: of each step, whether it is typical: neither warm-up nor outlier, and within a phase
            of the recording.
        phase: of each step, ``phases.FULL`` where its work is in the trace, ``phases.LIGHT`` where
            its calls alone are, which took as long as without a recorder; ``phases.BETWEEN`` where
            it is in no one phase, or in a light one after another that has enough.
        kind: of each step, 0 for the usual sequence of calls, 1 for the next most frequent one,
            ...; all that come seldom and are nearly the usual one are the last kind; -1 for what
            is no step: something else was done between two.
        how: in words, what a step is.
        range_name: the range they were found by, or None.
        call_step, work_step: of each row of calls and of work, the step; -1 for none.
        gpu_share: of the GPUs' time in the trace, what is in steps.
    """

    process: int
    thread: int
    begins_ns: Ints
    kept: NDArray[np.bool_]
    phase: NDArray[np.int8]
    kind: Ints
    how: str
    range_name: str | None
    call_step: Ints = field(repr=False)
    work_step: Ints = field(repr=False)
    gpu_share: float

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Of each step, s."""
        return np.diff(self.begins_ns) / 1e9

    @property
    def count(self) -> int:
        """How many steps there are, typical or not."""
        return self.kept.size

    @property
    def calls(self) -> Ints:
        """Calls of each step, all threads together."""
        return np.bincount(self.call_step[self.call_step >= 0], minlength=self.count)

    def longest_run(self, fits: NDArray[np.bool_], most: int) -> tuple[int, int]:
        """First step of the longest stretch of typical steps that fit, and the one behind it: its
        last ``most`` steps, of the first stretch that has as many; 0, 0 where none fits."""
        own = np.concatenate([[False], fits & self.kept, [False]])
        edges = np.flatnonzero(own[1:] != own[:-1])
        begins, ends = edges[::2], edges[1::2]
        if not begins.size:
            return 0, 0
        longest = int(np.argmax(np.minimum(ends - begins, most)))
        return max(int(begins[longest]), int(ends[longest]) - most), int(ends[longest])


@dataclass(frozen=True)
class Steps:
    """The steps of a trace: one entry for each process that has some."""

    processes: tuple[ProcessSteps, ...]

    @property
    def main(self) -> ProcessSteps:
        """Those of the first process that has some."""
        return self.processes[0]


def find_steps(trace: Trace, range_name: str | None = None) -> Steps:
    """The steps of each process that uses a GPU.

    Args:
        range_name: name of the NVTX ranges that are steps; a number behind it tells none apart.
            ``kernel:NAME``: a step is from one launch of a kernel to the next, whose name has NAME
            in it.

    Raises:
        InputError: no such range, or no repeating step; what to do.
    """
    found = []
    for at, process in enumerate(trace.processes):
        if range_name is not None and range_name.startswith(KERNEL):
            steps = _of_full_phases(process, at, range_name.removeprefix(KERNEL))
        elif range_name is not None:
            steps = _of_ranges(process, at, range_name)
        elif phases.has_some_calls(process):
            steps = _of_full_phases(process, at)
        else:
            steps = _repeated(process, at)
        if steps is not None:
            found.append(steps)
    if found:
        return Steps(tuple(found))
    if range_name is not None and range_name.startswith(KERNEL):
        raise _no_kernel(trace, range_name)
    if range_name is not None:
        raise _no_range(trace, range_name)
    raise InputError(_none_repeats(trace), file=trace.file or None)


# -- by a range ---------------------------------------------------------------------------------


def _of_ranges(process: Process, at: int, name: str) -> ProcessSteps | None:
    """From each range's begin to the next one's: work between two ranges belongs to the first."""
    rows = named_ranges(process, name)
    if rows is None or len(rows) < 2:
        return None
    starts, last_end = rows["start_ns"].to_numpy(), int(rows["end_ns"].iloc[-1])
    lengths = (rows["end_ns"] - rows["start_ns"]).to_numpy()
    bounds = starts
    # The last range is a step, too, where nothing comes between ranges.
    if np.median(np.diff(starts) - lengths[:-1]) <= 0.02 * np.median(lengths):
        bounds = np.append(starts, last_end)
    thread = int(rows["thread"].iloc[0])
    some_calls = phases.has_some_calls(process)
    known = waits_alone.full_part(process) if some_calls else process
    sequence = next(
        (each for each in of_threads(known, waiting.of_calls(known)) if each.thread == thread),
        None,
    )
    kinds = np.zeros(bounds.size - 1, np.int64)
    if sequence is not None:
        edges = np.searchsorted(sequence.start_ns, bounds)
        if some_calls:
            kinds = _kinds_by_word(process, thread, bounds, sequence.tokens, edges)
        else:
            kinds = _kinds(sequence.tokens, edges[:-1], edges[1:])
    calls = bounds.size - 1
    said = name if rows["name"].nunique() == 1 else f"{unnumbered(name)} *"
    made = _made(process, at, thread, bounds, kinds, f"range {said!r}, {calls} times")
    typical = _typical(made.seconds, np.maximum(kinds, 0))
    if some_calls:
        for phase in (phases.FULL, phases.LIGHT):
            own = made.phase == phase
            typical[own] = _typical(made.seconds[own], np.maximum(kinds[own], 0))
    return replace(made, range_name=name, kept=typical & (made.phase != phases.BETWEEN))


def _kinds_by_word(process: Process, thread: int, bounds: Ints, tokens: Ints, edges: Ints) -> Ints:
    """Of full steps by their tokens; a light one is of the kind that has its word in most cases."""
    phase = phases.of_spans(process, bounds[:-1], bounds[1:])
    words = waits_alone.words_of(process, thread, bounds)
    full, light = phase == phases.FULL, phase == phases.LIGHT
    told = np.full(phase.size, NO_KIND)
    told[full] = _kinds(tokens, edges[:-1][full], edges[1:][full]) if full.any() else NO_KIND
    for word in np.unique(words[light]):
        known = told[full & (words == word) & (told >= 0)]
        told[light & (words == word)] = np.bincount(known).argmax() if known.size else 1
    return told


# -- by repetition, in full phases alone --------------------------------------------------------


def _of_full_phases(process: Process, at: int, kernel: str | None = None) -> ProcessSteps | None:
    """Those of full phases, and of light ones what their waits tell; ``kernel``: begins a step."""
    known = waits_alone.full_part(process)
    found = _repeated(known, at) if kernel is None else _of_launches(known, at, kernel)
    if found is None:
        return None
    bounds = found.begins_ns
    whole = phases.of_spans(process, bounds[:-1], bounds[1:]) == phases.FULL
    usual = found.kept & whole & (found.kind == 0)
    light = waits_alone.light_steps(process, found.thread, bounds[:-1][usual], bounds[1:][usual])
    if light is None:
        made = _made(process, at, found.thread, bounds, found.kind, found.how)
        return replace(made, kept=found.kept & whole)
    both = np.union1d(bounds, light.bounds)
    light_kinds = np.where(light.whole, 0, NO_KIND)
    light_kept = _typical(np.diff(light.bounds) / 1e9, light_kinds)
    kinds = np.maximum(
        _values(both, bounds, np.where(whole, found.kind, NO_KIND), NO_KIND),
        _values(both, light.bounds, light_kinds, NO_KIND),
    )
    made = _made(process, at, found.thread, both, kinds, found.how)
    kept = _values(both, bounds, (found.kept & whole).astype(np.int64), 0)
    kept += _values(both, light.bounds, light_kept.astype(np.int64), 0)
    return replace(made, kept=(kept > 0) & (made.phase != phases.BETWEEN))


def _values(bounds: Ints, of: Ints, values: Ints, otherwise: int) -> Ints:
    """Of each stretch between bounds the value that it has among the stretches ``of``."""
    at = np.minimum(np.searchsorted(of, bounds[:-1]), of.size - 2)
    same = (of[at] == bounds[:-1]) & (of[at + 1] == bounds[1:])
    return np.where(same, values[at], otherwise)


def _of_launches(process: Process, at: int, kernel: str) -> ProcessSteps | None:
    """From each launch of a kernel to the next one, of the thread that launches it most."""
    names = process.names.items()
    numbers = [number for number, name in names if kernel in name or kernel in short(name)]
    work = process.work[
        (process.work["kind"] == tables.KERNEL) & process.work["name"].isin(numbers)
    ]
    rows = np.unique(waiting.calls_of(process, work["correlation"].to_numpy()))
    rows = rows[rows >= 0]
    if rows.size < 2:
        return None
    threads = process.calls["thread"].to_numpy()[rows]
    thread = int(np.bincount(threads).argmax())
    bounds = process.calls["start_ns"].to_numpy()[rows[threads == thread]]
    sequences = of_threads(process, waiting.of_calls(process))
    sequence = next(each for each in sequences if each.thread == thread)
    edges = np.searchsorted(sequence.start_ns, bounds)
    kinds = _kinds(sequence.tokens, edges[:-1], edges[1:])
    how = f"from one launch of {kernel} to the next, {bounds.size - 1} times"
    return _made(process, at, thread, bounds, kinds, how)


# -- by repetition ------------------------------------------------------------------------------


def _repeated(process: Process, at: int) -> ProcessSteps | None:
    waits = waiting.of_calls(process)
    for sizes in (True, False):  # bytes of copies may follow the data
        for sequence in of_threads(process, waits, sizes=sizes)[:_THREADS_TRIED]:
            if sequence.gpu_ns.sum() == 0:
                break
            for token in [*_longest_waits(sequence), None]:
                found = _cut(process, at, sequence, token)
                if found is not None:
                    return found
    return None


def _longest_waits(sequence: Sequence) -> list[int]:
    """Tokens in which the host waits, those that take longest in all first."""
    waits = sequence.waits != waiting.NOTHING
    taken = np.bincount(
        sequence.tokens[waits], (sequence.end_ns - sequence.start_ns)[waits].astype(float)
    )
    often = np.bincount(sequence.tokens[waits], minlength=taken.size) >= FEWEST_REPEATS
    order = np.argsort(-taken, kind="stable")
    return [int(token) for token in order if often[token]][:_WAITS_TRIED]


def _cut(process: Process, at: int, sequence: Sequence, token: int | None) -> ProcessSteps | None:
    """Steps that end at some of the calls of a token; at any call where it is None."""
    size = sequence.tokens.size
    lasts = np.arange(size) if token is None else np.flatnonzero(sequence.tokens == token)
    if lasts.size < FEWEST_REPEATS:
        return None
    # Pauses of a thread that never waits; else how long it waits.
    pause = np.append(sequence.start_ns[1:] - sequence.end_ns[:-1], 0)
    length = pause if token is None else sequence.end_ns - sequence.start_ns
    weights = np.asarray(length[lasts], np.float64)
    readings = (
        [repetition.rhythm(sequence.tokens, weights)]
        if token is None
        else _readings(sequence, np.append(-1, lasts[:-1]) + 1, lasts + 1, weights)
    )
    for reading in readings:
        if reading is not None and reading.lasts.size >= FEWEST_REPEATS:
            found = _accepted(process, _between(process, at, sequence, lasts[reading.lasts], token))
            if found is not None:
                return found
    return None


def _between(
    process: Process, at: int, sequence: Sequence, ends: Ints, token: int | None
) -> ProcessSteps:
    """Steps whose last tokens are these."""
    first, edges = _first_bound(sequence, ends, token)
    bounds = np.concatenate([[first], _cuts(sequence, ends, token)])
    kinds = _kinds(sequence.tokens, edges[:-1], edges[1:])
    if kinds[0] == NO_KIND:  # warm-up
        bounds, edges, kinds = bounds[1:], edges[1:], kinds[1:]
    usual = int(np.median((edges[1:] - edges[:-1])[kinds == 0]))
    call = process.name_of(process.calls["name"].iloc[int(sequence.first[ends[-1]])])
    where = "cut at a pause of the thread" if token is None else f"ends where {call} waits"
    made = _made(process, at, sequence.thread, bounds, kinds, "")
    others = _calls_of_others(process, made)
    beside = f" of one thread ({others} of others beside them)" if others else ""
    times = f"{usual} call{'s' * (usual != 1)}{beside} that repeat, {where}"
    made = replace(made, how=times)
    if edges[0] == 0 and made.count > FEWEST_REPEATS:
        # What the host did before its first call of all is not known.
        made.kept[0] = False
    return made


def _calls_of_others(process: Process, steps: ProcessSteps) -> int:
    """Of threads that do not drive the steps, in the usual one."""
    others = (process.calls["thread"] != steps.thread).to_numpy() & (steps.call_step >= 0)
    counts = np.bincount(steps.call_step[others], minlength=steps.count)
    return int(np.median(counts[steps.kind == 0])) if (steps.kind == 0).any() else 0


def _readings(
    sequence: Sequence, begins: Ints, ends: Ints, weights: NDArray[np.float64]
) -> Iterator[Rhythm | None]:
    """Which parts between waits end a step, in the order in which it is likely.

    Where most are of one kind, each that does all that this kind does ends a step, whatever else
    it does; parts of another kind go to the step after them. Or parts alternate, and several make
    a step; what comes now and then counts as the frequent kind that it nearly is.
    """
    # Where steps begin does not change with what times them, now and then.
    seconds = (sequence.end_ns[ends - 1] - sequence.start_ns[begins])[1:]
    launched = np.concatenate([[0], np.cumsum(sequence.launches)])
    launches = launched[ends] > launched[begins]
    tokens, begins, ends = sequence.essence(begins, ends)
    kinds = repetition.classes(tokens, begins, ends)
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    often = int(np.count_nonzero(counts >= counts.max() * _AS_OFTEN))
    rare = order[often:][:_KINDS_COMPARED]
    stands_for = np.arange(counts.size)
    for usual in order[: min(often, _KINDS_COMPARED_WITH)]:
        alike = repetition.similar(tokens, begins, ends, int(first[usual]), first[rare])
        stands_for[rare[alike]] = usual
        rare = rare[~alike]
    merged = stands_for[kinds]
    usual = int(np.bincount(merged).argmax())
    of_usual = merged == usual
    # The first part holds all that the program did before.
    if np.mean(of_usual[1:]) < USUAL:
        yield repetition.rhythm(merged, weights)
        return
    others = order[stands_for[order] != usual][:_KINDS_COMPARED]
    more = repetition.containing(tokens, begins, ends, int(first[usual]), first[others])
    each = Rhythm(1, np.flatnonzero(of_usual | np.isin(kinds, others[more])))
    # Where the others take most of the time, or launch all there is, what they end is rather the
    # step.
    launching = launches[first[usual]] or not launches.any()
    if launching and seconds[of_usual[1:]].sum() >= 0.5 * seconds.sum():
        yield each
    else:
        yield repetition.rhythm(merged, weights)
        yield each


def _first_bound(sequence: Sequence, ends: Ints, token: int | None) -> tuple[int, Ints]:
    """Where the first step begins, and the edges of all steps in the sequence.

    What comes before the first end is warm-up and a step, which is taken to have as many calls as
    most.
    """
    length = int(np.bincount(np.diff(ends)).argmax())
    begin = max(0, int(ends[0]) + 1 - length)
    edges = np.concatenate([[begin], ends + 1])
    if begin > 0:
        return int(_cuts(sequence, np.array([begin - 1]), token)[0]), edges
    return int(sequence.start_ns[begin]), edges


def _cuts(sequence: Sequence, ends: Ints, token: int | None) -> Ints:
    """The times at which steps end: when a wait is over, or the next call begins."""
    if token is not None:
        return sequence.end_ns[ends]
    following = np.minimum(ends + 1, sequence.tokens.size - 1)
    return np.where(
        ends + 1 < sequence.tokens.size, sequence.start_ns[following], sequence.end_ns[ends]
    )


# -- what both share ----------------------------------------------------------------------------


def _made(
    process: Process, at: int, thread: int, bounds: Ints, kinds: Ints, how: str
) -> ProcessSteps:
    call_step = _within(process.calls["start_ns"].to_numpy(), bounds)
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    work_step = np.where(rows >= 0, call_step[rows], -1) if call_step.size else rows
    taken = (process.work["end_ns"] - process.work["start_ns"]).to_numpy()
    share = float(taken[work_step >= 0].sum() / max(1, taken.sum()))
    made = ProcessSteps(
        process=at, thread=thread, begins_ns=bounds, kept=np.ones(kinds.size, bool),
        phase=_phases_that_count(process, bounds, kinds), kind=kinds,
        how=how, range_name=None, call_step=call_step, work_step=work_step, gpu_share=share,
    )  # fmt: skip
    return replace(made, kept=_typical(made.seconds, kinds) & (made.phase != phases.BETWEEN))


def _phases_that_count(process: Process, bounds: Ints, kinds: Ints) -> NDArray[np.int8]:
    """Of each step; of light phases the first counts that has enough."""
    found = phases.of_spans(process, bounds[:-1], bounds[1:])
    begins = process.phases["start_ns"].to_numpy()
    number = np.searchsorted(begins, bounds[:-1], side="right") - 1
    light = found == phases.LIGHT
    enough = np.flatnonzero(np.bincount(number[light & (kinds == 0)]) >= ENOUGH_LIGHT)
    if enough.size:
        found[light & (number != enough[0])] = phases.BETWEEN
    return found


def _within(starts: Ints, bounds: Ints) -> Ints:
    step = np.searchsorted(bounds, starts, side="right") - 1
    return np.where(step < bounds.size - 1, step, -1)


def _kinds(tokens: Ints, begins: Ints, ends: Ints) -> Ints:
    """Kinds of steps, as in ``ProcessSteps``."""
    found = repetition.classes(tokens, begins, ends)
    _, first, counts = np.unique(found, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    often = min(max(1, int(np.count_nonzero(counts >= _OFTEN))), _KINDS)
    rank = np.full(counts.size, NO_KIND)
    rank[order[:often]] = np.arange(often)
    rare = order[often:][:_KINDS_COMPARED]
    alike = repetition.similar(tokens, begins, ends, int(first[order[0]]), first[rare])
    rank[rare[alike]] = often
    return rank[found]


def _typical(seconds: NDArray[np.float64], kinds: Ints) -> NDArray[np.bool_]:
    """Steps that are of a kind that comes again, without outliers and slow first ones."""
    kept = kinds >= 0
    for kind in np.unique(kinds[kept]):
        own = kinds == kind
        # A kind of a few steps has no quartiles of its own.
        judged = seconds[own if np.count_nonzero(own) >= _OFTEN else kinds == 0]
        low, median, high = np.quantile(judged, [0.25, 0.5, 0.75])
        # Tukey's outer fence.
        kept[own] = seconds[own] <= max(high + 3 * (high - low), _OUTLIER * median)
    usual = (kinds == 0) & kept
    if np.count_nonzero(usual) > FEWEST_REPEATS:
        settled = np.quantile(seconds[usual], 0.9)
        kept[: int(np.argmax(usual & (seconds <= settled)))] = False
    return kept


def _accepted(process: Process, steps: ProcessSteps) -> ProcessSteps | None:
    """The steps, if they are enough of a kind and hold enough of the GPUs' time."""
    if np.count_nonzero(steps.kind == 0) < FEWEST_REPEATS:
        return None
    taken = (process.work["end_ns"] - process.work["start_ns"]).to_numpy().astype(float)
    regular = taken[np.isin(steps.work_step, np.flatnonzero(steps.kind >= 0))].sum()
    between = taken[steps.work_step >= 0].sum()
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    asked = np.where(
        rows >= 0, process.calls["start_ns"].to_numpy()[rows], process.work["start_ns"].to_numpy()
    )
    rest = taken[asked >= steps.begins_ns[0]].sum()
    if regular == 0 or regular < LEAST_SHARE * between or regular < LEAST_OF_REST * rest:
        return None
    return steps


def _no_kernel(trace: Trace, name: str) -> InputError:
    counted = Counter(
        short(process.name_of(number))
        for process in trace.processes
        for number in process.work["name"][process.work["kind"] == tables.KERNEL].to_numpy()
    )
    known = ", ".join(f"{text!r} ({count})" for text, count in counted.most_common(5))
    said = f"no kernel of that name is launched twice; there are {known or 'none'}"
    return InputError(said, file=trace.file or None, field=f"--range {name}")


def _no_range(trace: Trace, name: str) -> InputError:
    counted = sum((counted_ranges(each) for each in trace.processes), Counter[str]())
    if not counted:
        said = "the trace has no NVTX ranges"
    else:
        known = ", ".join(f"{text!r} ({count})" for text, count in counted.most_common(5))
        said = f"no two ranges of that name; there are {known}"
    return InputError(said, file=trace.file or None, field=f"--range {name}")


def _none_repeats(trace: Trace) -> str:
    if not any(len(process.work) for process in trace.processes):
        return "no GPU did any work in this trace"
    repeats = sum((counted_ranges(each) for each in trace.processes), Counter[str]())
    often = [text for text, count in repeats.most_common(1) if count >= 2]
    hint = f" (--range {often[0]!r}, for instance)" if often else ""
    return (
        f"no repeating step: fewer than {FEWEST_REPEATS} repeats with most of the GPUs' time; "
        f"record more steps, or name an NVTX range that is a step by --range{hint}"
    )
