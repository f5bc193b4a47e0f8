"""The columns of a table: what each holds, by its name or as the user states.

Names are compared in lower case, with words joined by ``_``; a unit is in brackets, at the end of
the name, or is the name (``ms/step``). ``--columns n=atoms,seconds=run:us`` names columns directly:
ROLE=COLUMN, with a unit after a colon if the column's name does not state it.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gpucast.data.formats.tables.grid import Grid
from gpucast.data.formats.tables.sizes import (
    GPU_WORDS,
    MANY,
    SizeUnit,
    counts_across,
    is_worded,
    parse_size_unit,
    size_named,
)
from gpucast.data.formats.tables.units import (
    COUNTED,
    RATE_OF_WORK,
    Unit,
    normalized,
    parse_column_unit,
    parse_unit,
    share_in,
)
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.number_lists import grid as points
from gpucast.util.units import SIMULATED_TIMES

TIME = "seconds"
_SYNONYMS = {"time": TIME, "rate": TIME}
_BARE_TIMES = {
    "time", "step_time", "steptime", "time/step", "time/iteration", "iteration_time", "iter_time",
    "timing_s/step",
}  # fmt: skip
_TIME_WORDS = _BARE_TIMES | {
    "t_step", "timing", "median", "mean", "average", "avg", "duration", "speed", "rate",
    "performance", "perf", "throughput", "tpot", "itl", "inter_token_latency", "train_step_timing",
}  # fmt: skip
_STEP_TIME = re.compile(
    r"(?:(?:avg|average|mean|median)\.?_)?(?:wall_?|elapsed_)?"
    r"(?:(?:time|t|elapsed)/(?:time_?)?(?:step|iteration|iter|it)|(?:time_?)?step_time)"
)
_RUN = re.compile(
    r"(?:total|whole|overall|job|program)_(?:wall_?|run_?|elapsed_)?time|time_total"
    r"|wall_?(?:clock_?)?(?:time)?|run_?time|elapsed(?:_time)?|loop_time|execution_time"
    r"|time_to_solution"
)
"""Names for the time of a whole run."""
_STEPWISE = re.compile("step|iter|mean|median|average|avg")
"""Names for the time of a step."""
# As column names these mean other things: the least time, the day.
_NO_NAMES_OF_TIMES = {"min", "mins", "d", "day", "days", "h", "hr"}

_GPU = "(?:gpu|accelerator|device|gcd|graphics_card)"
_ONE_GPU = re.compile(_GPU)
"""The name of a column of GPU counts, or of GPU models if it holds words."""

# Names by role, the best first: if a table has several, the first is used.
_NAMES: dict[str, tuple[str, ...]] = {
    "gpus": (
        "gpus",
        rf"{MANY}gpus(_(used|total))?|(#_?|n_?|num_)gpu",
        rf"{MANY}(devices|accelerators|gcds)|gpu_count",
        "gpu",
        "world_size",
    ),
    "gpus_per_node": (r"gpus/node|gpus_?node",),
    "nodes": ("nodes", rf"{MANY}(nodes|hosts)"),
    "instances": ("instances", rf"{MANY}(instances|copies|replicas|instanzen)"),
    "ranks": ("ranks", rf"{MANY}((mpi_)?ranks|process(es)?|procs?|(mpi_)?tasks)"),
    "program": ("program", "code|software|application|app"),
    "case": ("case", "setting|variant|configuration|config"),
    "machine": ("machine", "cluster|platform"),
    "gpu_type": (rf"{_GPU}_?(type|model|name|kind)",),
    "path": ("path",),
    "schedule": ("schedule",),
    "kernel": ("kernel",),
    "unit": ("unit",),
    "steps": ("steps", rf"{MANY}(time_?)?(steps|iterations|iters)"),
    "state": ("state", "status|job_state|outcome", "result"),
    "exit_code": (r"exit_?code", r"return_?code", r"exit_?status"),
    "success": ("success", "successful", "valid"),
    "repeat": ("repeat", "repetition|rep|replicate"),
    "bytes": ("bytes",),
    "route": ("route",),
    "memory": ("memory",),
}
_REPEATS = "run|trial|visit"
_PROSE = re.compile(rf"(notes?|comments?|remarks?|caveats?|log|source|file|{_REPEATS})?")
_TIMESTEP = re.compile(r"timestep|time_step|dt|delta_t")
ROLES = ("n", "gpus", TIME, "timestep", *(role for role in _NAMES if role != "gpus"))


@dataclass(frozen=True)
class Column:
    """A column that is read.

    Attributes:
        name: as in the header.
        at: its index.
        unit: unit of step times.
        scale: factor that converts the column's numbers to SI units or counts.
        share: ``gpus`` or ``ranks`` if sizes are those of each of these; None: of all together.
        counts: what its sizes count, if the name states it.
        covers: what a time covers; None: not stated, taken as a step.
        confirmed: whether the user stated the unit.
        down: whether a blank means the value above.
    """

    name: str
    at: int
    unit: Unit | None = None
    scale: float = 1.0
    share: str | None = None
    counts: str | None = None
    covers: Literal["step", "run"] | None = None
    confirmed: bool = False
    down: bool = False


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Attributes:
        by_role: the columns that are used.
        rivals: other columns that state how fast a step is, by roles of their own; also the time
            and the steps of a run.
        ignored: names of the others, except those of prose.
    """

    by_role: dict[str, Column]
    rivals: dict[str, Column] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def named(text: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return columns by role as the user named them: ``ROLE=COLUMN[:UNIT],...`` or a mapping.

    Raises:
        InputError: the text is not such a list, a role is unknown or named twice.
    """
    if text is None:
        return {}
    if isinstance(text, str):
        parts = next(csv.reader([text], skipinitialspace=True), [])
        pairs = [tuple(word.strip() for word in part.partition("=")[::2]) for part in parts]
    else:
        pairs = [(str(role), str(column)) for role, column in text.items()]
    columns: dict[str, str] = {}
    for role, column in pairs:
        known = _SYNONYMS.get(role, role)
        if known not in ROLES:
            raise _error(f"{role!r} is unknown; it is one of {', '.join((*ROLES, *_SYNONYMS))}")
        if not column:
            raise _error(f"{role} needs a column: {role}=COLUMN or {role}=COLUMN:UNIT")
        if known in columns:
            raise _error(f"{known} is named twice")
        columns[known] = column
    return columns


def kind_of(names: Sequence[str], given: Mapping[str, str] | None = None) -> str | None:
    """Return ``steps`` or ``transfers`` by a header's names and the columns that the user named;
    None if it is neither."""
    if len(names) < 2:
        return None
    names = names[: limits.COLUMNS.most]  # the reader reports a table with more
    roles = {role for name in names for role, _, _ in _recognized(name, 0)}
    given = _of_columns(given or {})
    if roles & {"bytes", "route"} and not roles & {"n", "gpus"}:
        return "transfers"
    if given:
        present = {normalized(name) for name in names}
        wanted = {normalized(_split(column, names)[0]) for column in given.values()}
        is_there = wanted & present or ("*" in wanted and counts_across(names))
        return "steps" if is_there else None
    counted = roles & {"nodes", "ranks"} and (roles & {TIME, "run"} or _are_words(names))
    timed = any((unit := of_name(name)) is not None and unit.rank > 1 for name in names)
    return "steps" if roles & {"n", "gpus"} or counted or timed or _across(names) else None


def _are_words(names: Sequence[str]) -> bool:
    """Return whether each is one word, as above columns and unlike prose."""
    return all(re.fullmatch(r"[^\W\d][^\s:]*|", name) for name in names)


REPETITIONS = "*"
"""``--columns repeat=*``: rows are repetitions whatever other columns say."""


def _of_columns(given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the user's entries that name columns."""
    return {
        role: column for role, column in given.items() if (role, column) != ("repeat", REPETITIONS)
    }


def _across(names: Sequence[str]) -> bool:
    """Return whether a header has GPU counts, next to a corner that names sizes or GPUs."""
    across = counts_across(names)
    beside = " ".join(normalized(name) for at, name in enumerate(names) if at not in across)
    if not across or re.fullmatch(r"[\W\d_]*", beside):
        return any(is_worded(names[at]) for at in across)
    words = {word for word in re.split(r"[^a-z]+", beside) if word}
    known = words & {*COUNTED, "n", "size", "sizes"} or re.search(GPU_WORDS, beside)
    return bool(known) or any(is_worded(names[at]) for at in across)


def seems_header(given: Mapping[str, str] | None = None) -> Callable[[list[str]], bool]:
    """Return a function that recognizes headers beyond doubt; prose may name GPUs and sizes."""

    def seems(names: list[str]) -> bool:
        if kind_of(names, given) is None or (len(names) > 8 and names[-1].endswith(".")):
            return False
        names = names[: limits.COLUMNS.most]
        across = [*counts_across(names)]
        others = [name for at, name in enumerate(names) if at not in across]
        # Prose has few numbers between its commas; rows have numbers in other cells, too.
        beside = across and across[-1] - across[0] < len(across) and not _has_numbers(others)
        if _of_columns(given or {}) or beside or any(is_worded(names[at]) for at in across):
            return True
        has_time = any({TIME, "run"} & {*roles_of(name)} for name in names) or _are_words(names)
        return has_time and not _has_numbers(names)

    return seems


def _has_numbers(names: Sequence[str]) -> bool:
    return any(re.fullmatch(r"[\d.,]+", name) for name in names)


def roles_of(name: str) -> list[str]:
    """Return the roles that a column of this name may have; empty if unknown."""
    return [role for role, _, _ in _recognized(name, 0)]


def of_name(name: str) -> Unit | None:
    """Return the unit of times or rates in a column of this name; None: it holds neither."""
    times = (column.unit for role, _, column in _recognized(name, 0) if role == TIME)
    return next(times, None)


def repeats(name: str) -> bool:
    """Return whether a column of this name numbers repetitions."""
    return re.fullmatch(_REPEATS, normalized(name)) is not None


def resolve(
    grid: Grid, given: Mapping[str, str], worded: Collection[int] = (), *, stepped: bool = False
) -> Columns:
    """Assign roles to columns.

    Args:
        grid: the table.
        given: what the user stated: see ``named``.
        worded: indices of columns that hold words instead of numbers.
        stepped: whether the user stated the steps of each run.

    Raises:
        InputError: a named column does not exist, a name occurs twice, or two columns are equally
            likely.
    """
    by_role = {role: _as_said(role, column, grid) for role, column in _of_columns(given).items()}
    # A column of nodes from which GPUs are counted keeps its role.
    taken = {
        column.at for role, column in by_role.items() if column.scale == 1 or role not in _COUNTED
    }
    candidates: dict[str, list[tuple[int, Column]]] = {}
    for at, name in enumerate(grid.names):
        if at in taken:
            continue
        if at in worded and _ONE_GPU.fullmatch(normalized(name)):
            candidates.setdefault("gpu_type", []).append((1, Column(name, at)))
            continue
        for role, rank, column in _recognized(name, at):
            candidates.setdefault(role, []).append((rank, column))
    if "n" not in by_role and "n" not in candidates and (grids := _grids(grid)):
        candidates["n"] = [(0, column) for column in grids]
    for role, ranked in candidates.items():
        if role not in by_role:
            by_role[role] = _best(role, ranked, grid)
    _check_nodes(by_role, given, grid)
    run, steps = by_role.pop("run", None), by_role.get("steps")
    if run is not None and (steps is not None or stepped):
        by_role.setdefault(TIME, run)
    times = [] if TIME in given or TIME not in by_role else candidates.get(TIME, [])
    others = [column for _, column in times if column is not by_role[TIME]]
    rivals = {f"{TIME} {at}": column for at, column in enumerate(others, start=2)}
    if (stepped and steps is None and TIME in by_role) or (
        steps is not None and _is_of_run(by_role, given, grid)
    ):
        by_role[TIME] = replace(by_role[TIME], covers="run")
    elif steps is not None:
        del by_role["steps"]
        if run is not None and TIME not in given:
            rivals |= {"run": run, "steps": steps}
    used = {column.at for column in by_role.values()}
    ignored = [
        name
        for at, name in enumerate(grid.names)
        if at not in used and not _PROSE.fullmatch(normalized(name))
    ]
    return Columns(by_role, rivals, ignored)


_OF_WORKERS = re.compile("proc|rank|decomp|topo|gpu|dev|part|node|mpi|block|tile|layout|mesh", re.I)


def _grids(grid: Grid) -> list[Column]:
    """Return the columns of grid sizes (``64x64x128``) that are not those of processes or GPUs."""
    return [
        Column(name, at, counts="points")
        for at, name in enumerate(grid.names)
        if not _OF_WORKERS.search(name)
        and (texts := [cells[at] for _, cells in grid.rows if cells[at] is not None])
        and all(isinstance(text, str) and points(text) is not None for text in texts)
    ]


_COUNTED = ("gpus", "nodes", "ranks")
"""Roles whose column may be another one times a factor: ``gpus=nodes*4``."""


def _check_nodes(by_role: Mapping[str, Column], given: Mapping[str, str], grid: Grid) -> None:
    """Refuse nodes named as GPUs if another column has the GPUs of each node."""
    gpus, per_node = by_role.get("gpus"), by_role.get("gpus_per_node")
    if "gpus" not in given or gpus is None or gpus.scale != 1 or per_node is None:
        return
    if "nodes" in roles_of(gpus.name):
        raise grid.error(
            f"gpus={shown(gpus.name)} names nodes, and {per_node.name!r} has the GPUs of each; "
            "leave gpus= out: GPUs are then their product",
            "--columns",
        )


def _is_of_run(by_role: Mapping[str, Column], given: Mapping[str, str], grid: Grid) -> bool:
    """Return whether the times are those of all steps of a row."""
    time = by_role.get(TIME)
    if time is None or time.unit is None or time.unit.rank > 1:
        return False
    if "steps" in given or time.covers == "run":
        return True
    if time.covers == "step" or time.confirmed:
        return False
    name, steps = shown(time.name), shown(by_role["steps"].name)
    raise grid.error(
        f"{time.name!r} may be the time of a step or of all {by_role['steps'].name!r}; import with "
        f"--columns seconds={name}:{time.unit.name}/step for one step, steps={steps} for all",
    )


_GROUP = re.compile(
    r"(?:perf|performance|train|trainer|training|timings?|timers?|time|runtime|throughput|speed|"
    r"metrics|data|stats)[/.]"
    r"(?=[a-z])(?!(?:step|iter|iteration|s|it)(?:$|\s*[(\[]))",
    re.IGNORECASE,
)
"""Prefixes that loggers put before names: ``perf/step_time_s``."""


def _recognized(name: str, at: int) -> Iterable[tuple[str, int, Column]]:
    """Yield role, rank (lowest is best) and column of a name; at most one."""
    word = normalized(_GROUP.sub("", name.strip()))
    bracket = re.fullmatch(r"(.+?)_?[(\[](.+)[)\]]", word)
    stem, inner = bracket.groups() if bracket else (word, "")
    unit = _unit_in(word, stem, inner)
    before, behind = (stem, inner) if inner else word.rpartition("_")[::2]
    scale = SIMULATED_TIMES.get(behind) if _TIMESTEP.fullmatch(before) else None
    if word == "timestep":
        scale = 1.0
    if unit is not None:
        whose: Literal["step"] | None = "step" if _STEPWISE.search(word) else None
        yield TIME, 0 if word == TIME else unit.rank, Column(name, at, unit=unit, covers=whose)
    elif (whole := _run_unit(word, before, behind)) is not None:
        yield "run", 0, Column(name, at, unit=whole, covers="run")
    elif scale is not None:
        yield "timestep", 0, Column(name, at, scale=scale, confirmed=True)
    elif (size := size_named(name))[0] is not None:
        yield "n", size[0], _sizes(name, at, size[1])
    else:
        for role, patterns in _NAMES.items():
            for rank, pattern in enumerate(patterns):
                if re.fullmatch(pattern, word):
                    yield role, rank, Column(name, at)
                    return


def _sizes(name: str, at: int, unit: SizeUnit) -> Column:
    return Column(name, at, scale=unit.factor, share=unit.share, counts=unit.counts)


def _unit_in(word: str, stem: str, inner: str) -> Unit | None:
    if inner:
        stem, share = share_in(stem)
        timed = stem in _TIME_WORDS or _STEP_TIME.fullmatch(stem)
        unit = parse_column_unit(inner) if timed else None
        # The ns/day of single GPUs do not add up to those of a run.
        adds_up = unit is not None and unit.rank == RATE_OF_WORK
        return _of_each(unit, share) if share is None or adds_up else None
    if word in _BARE_TIMES or _STEP_TIME.fullmatch(word):
        return parse_unit("s")
    unit = parse_column_unit(word) if word not in _NO_NAMES_OF_TIMES else None
    if unit is not None:
        return unit
    for joint in re.finditer("_", word):
        if word[: joint.start()] in _TIME_WORDS:
            unit = parse_column_unit(word[joint.end() :])
            if unit is not None:
                return unit
    return None


def _run_unit(word: str, before: str, behind: str) -> Unit | None:
    """Return the unit of a run's time: ``wall time``, ``Elapsed [hh:mm:ss]``, ``runtime_s``."""
    if _RUN.fullmatch(word):
        return parse_unit("s")
    unit = parse_unit(behind) if _RUN.fullmatch(before) else None
    return unit if unit is not None and unit.rank == 1 else None


def _of_each(unit: Unit | None, share: str | None) -> Unit | None:
    """Return a column's unit as one of each GPU or rank if the name says so."""
    if unit is None or share is None or unit.share is not None or unit.rank != RATE_OF_WORK:
        return unit
    return replace(unit, share=share)


def _best(role: str, found: list[tuple[int, Column]], grid: Grid) -> Column:
    least = min(rank for rank, _ in found)
    best = [column for rank, column in found if rank == least]
    if len(best) == 1:
        return best[0]
    first, second = best[0].name, best[1].name
    if normalized(first) == normalized(second):
        raise grid.error(f"column {first!r} occurs twice")
    raise grid.error(
        f"columns {first!r} and {second!r} both hold {'run times' if role == 'run' else role}; "
        f"import with --columns {TIME if role == 'run' else role}={shown(first)} or the other",
    )


def _as_said(role: str, said: str, grid: Grid) -> Column:
    """Return the column that the user named, with its unit."""
    names = grid.names
    wanted, unit_text = _split(said, names)
    at = _index(wanted, names)
    if at is None:
        near = difflib.get_close_matches(wanted, names, n=1)
        hint = f" (meant {near[0]}?)" if near else ""
        raise grid.error(
            f"there is no column {wanted!r}{hint}; there are: {', '.join(names)}", "--columns"
        )
    name = names[at]
    down = re.fullmatch(r"(.*?)\s*\bdown", unit_text or "")
    if down is not None:
        if role == TIME:
            raise _error("seconds cannot be filled down: a time belongs to one row")
        rest = f"{name}:{down[1]}" if down[1] else name
        return replace(_as_said(role, rest, grid), down=True)
    recognized = {known_role: column for known_role, _, column in _recognized(name, at)}
    own = recognized.get(role) or (recognized.get("run") if role == TIME else None)
    if unit_text is None and own is not None:
        return own
    if role == TIME:
        heading = unit_of_heading(name) if unit_text is None else None
        if heading is not None:
            return Column(name, at, unit=heading, covers="step")
        if unit_text is None and "/" in name:  # the unit is unknown, and not seconds
            raise grid.error(
                f"the unit of {name!r} is unknown; name it: "
                f"--columns seconds={shown(name)}:UNIT, such as ms, steps/s or ns/day",
                "--columns",
            )
        unit = _of_each(parse_column_unit(unit_text or "s"), share_in(normalized(name))[1])
        if unit is None:
            raise _error(
                f"{unit_text!r} is not a unit of step times such as s, ms, us, steps/s, samples/s, "
                "ns/day, hours/ns"
            )
        of_step = "/" in (unit_text or "") or own is None
        whose: Literal["step", "run"] | None = "step" if own is None or of_step else own.covers
        return Column(name, at, unit=unit, covers=whose, confirmed=unit_text is not None)
    if role == "timestep":
        scale = SIMULATED_TIMES.get(normalized(unit_text or ""))
        if scale is None:
            raise _error(f"timestep needs a unit: timestep={name}:fs (fs, ps, ns, us, ms or s)")
        return Column(name, at, scale=scale, confirmed=True)
    if role == "n":
        return _sizes_as_said(name, at, unit_text)
    if role in _COUNTED and (times := re.fullmatch(r"\*\s*([1-9][0-9]{0,5})", unit_text or "")):
        return Column(name, at, scale=float(times[1]))
    if unit_text is not None:
        raise _error(f"{role} has no unit")
    return Column(name, at)


def unit_of_heading(name: str) -> Unit | None:
    """Return the unit in brackets or at the end of a name without other meaning: ``real (min)``."""
    word = normalized(name)
    bracket = re.fullmatch(r".+?_?[(\[](.+)[)\]]", word)
    last = bracket[1].rstrip(".") if bracket else word.rpartition("_")[2]
    named = bracket is not None or last not in _NO_NAMES_OF_TIMES
    unit = parse_column_unit(last) if named else None
    return _of_each(unit, share_in(word)[1])


def may_be_rate(name: str) -> bool:
    """Return whether a name ends with a rate of steps or simulated time: ``GPU steps/s``."""
    unit = unit_of_heading(name)
    return unit is not None and unit.rank in (2, 4)


def _sizes_as_said(name: str, at: int, unit_text: str | None) -> Column:
    """Return a column of sizes; what the user states overrides what its name states."""
    named = size_named(name)[1]
    if unit_text is None:
        return _sizes(name, at, named)
    long = re.fullmatch(r"([1-9][0-9]*)\s*(tokens\b.*)", unit_text)
    unit = parse_size_unit(long[2] if long else unit_text)
    if unit is None:
        raise _error(
            f"{unit_text!r} is not a unit of sizes: a factor such as k, M or 1e6, what n counts "
            "(atoms, cells, 4096 tokens, ...), or per-GPU, if n is the size of each"
        )
    if long:
        unit = replace(unit, factor=float(long[1]))
    # A stated factor replaces the name's; a size per GPU in the name stays one.
    return _sizes(
        name, at, replace(unit, counts=unit.counts or named.counts, share=unit.share or named.share)
    )


def _split(said: str, names: Sequence[str]) -> tuple[str, str | None]:
    """Split ``COLUMN:UNIT`` into column and unit, or ``COLUMN*4`` into column and factor; a
    column's name may contain a colon."""
    if _index(said, names) is not None:
        return said, None
    times = re.fullmatch(r"(.+?)\s*(\*\s*[0-9]+)", said)
    if times is not None and _index(times[1], names) is not None:
        return times[1], times[2]
    if ":" not in said:
        return said, None
    column, _, unit = said.rpartition(":")
    return column.strip(), unit.strip()


def _index(wanted: str, names: Sequence[str]) -> int | None:
    for compared in (str, normalized):
        same = [at for at, name in enumerate(names) if compared(name) == compared(wanted)]
        if same:
            return same[0]
    return None


def shown(name: str) -> str:
    """Return a column's name as it is written on a command line."""
    return name if re.fullmatch(r"[\w./%+-]+", name) else f"'{name}'"


def _error(message: str) -> InputError:
    return InputError(message, field="--columns")
