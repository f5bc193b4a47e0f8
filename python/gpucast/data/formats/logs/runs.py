"""Runs that other programs' logs report, and the records they become.

A log's reader is pure: it converts a text to ``Found``, with a ``Run`` for each printed time. What
the log does not state is None, with the reason if the log is ambiguous. The user's options then
fill the gaps; nothing is guessed: anything still missing is an error that names the option to give.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpucast.data.formats import Imported, Options, check_gpus_of_all, entry, gpus_of_node
from gpucast.data.records import Entry, Step
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, Remark, once, remark

# Units per second, because 2 fs divided by a whole number is the double nearest to 2e-15.
FEMTOSECONDS = 1e15
PICOSECONDS = 1e12
NANOSECONDS = 1e9
DAY = 86400.0

HOST = "host"
"""The path of runs without GPUs, whose devices are processor cores."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run as its program timed it.

    Attributes:
        program: its name, without the version; None if only the user knows it.
        line: the line of its time; None if the file is not text.
        seconds: seconds a step, for one or several samples.
        uncertainty: relative half-width of the rounding of printed digits.
        n: the size; None if the log does not state it.
        unit: what n counts.
        gpus: GPUs of all nodes; for runs without GPUs, processor cores; None: unknown.
        unclear: why ``gpus`` is None although the log mentions GPUs.
        path: ``host`` for runs without GPUs; None: as the user states.
        case: what must be the same for times to be comparable.
        timestep: simulated time of one step (s).
        phases: seconds a step in the record's phases.
        execution: number of the program's start in a log that holds several.
        secondary: whether it is left out unless every run is requested.
        caveat: what one must know to interpret it.
        more: other fields of the record.
        n_each: the size of each GPU, if that of all GPUs is not stated.
        size_unclear: why ``n`` is None although the log mentions sizes.
        work: None: ``seconds`` are those of a step; ``n``: they follow from a rate and are those
            of one unit of the size; ``each``: of one unit of a GPU's share.
        whole: whether ``seconds`` cover all steps of the run, whose number is unknown.
    """

    program: str | None
    line: int | None
    seconds: tuple[float, ...]
    uncertainty: float | None = None
    n: float | None = None
    unit: str | None = None
    gpus: int | None = None
    unclear: str = ""
    path: str | None = None
    case: str | None = None
    timestep: float | None = None
    ranks: int | None = None
    nodes: int | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    execution: int = 0
    secondary: bool = False
    caveat: str | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    n_each: float | None = None
    size_unclear: str = ""
    work: str | None = None
    whole: bool = False


def unshared(name: str) -> dict[str, object]:
    """Return the record's fields for an operation on all n bytes of every GPU (a collective)."""
    return {"workload": {"name": name, "visits": {"factor": 1.0, "gpus": 1.0}}}


@dataclass
class Found:
    """The content of a log.

    Attributes:
        runs: in the order of the log.
        unfinished: line of each run that began but has no time.
        remarks: other remarks, without the file's name.
        gpu_names: models of the GPUs.
    """

    runs: list[Run] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    gpu_names: list[str] = field(default_factory=list)


class UnclearError(InputError):
    """A log with runs that the user must describe before they can be imported.

    Attributes:
        runs: ``identity`` of each run, because another file may hold the same runs and state more.
    """

    runs: tuple[object | None, ...] = ()


def imported(found: Found, file: str, options: Options) -> Imported:
    """Return the records of a log's runs, completed by the user's options.

    Raises:
        InputError: neither the log nor the user states a size or a number of GPUs.
    """
    stated = named(file, options)
    remarks = [_of_file(file, one) for one in found.remarks]
    if options.from_name is not None and not stated.named:
        text = f"{file}: its name does not match --from-name"
        remarks.append(remark(Kind.LACKS, text, about="--from-name"))
    if found.unfinished:
        count = len(found.unfinished)
        text = (
            f"{file}:{found.unfinished[0]}: {count} run{'s' if count > 1 else ''} without a final "
            f"time (cut off or crashed?): left out"
        )
        remarks.append(remark(Kind.UNFINISHED, text, about="runs"))
    runs, left = chosen(found.runs, options)
    if left:
        text = (
            f"{file}: holds several runs: {left} before the last of its size left out "
            "(--every-run keeps them)"
        )
        remarks.append(remark(Kind.LEFT_OUT, text, about="earlier runs"))
    if not runs and not remarks:
        remarks.append(remark(Kind.LACKS, f"{file}: holds no timed run", about="runs"))
    entries: list[Entry] = []
    contradicted: list[Remark] = []
    whole_runs = [completed(run, stated, contradicted) for run in runs]
    nodes = {
        whole.nodes
        for run, whole in zip(runs, whole_runs, strict=True)
        if whole.nodes is not None and whole.gpus == options.gpus != run.gpus
    }
    check_gpus_of_all(options, nodes, file)
    for whole in whole_runs:
        missing = _missing(whole, file)
        if missing is not None:
            missing.runs = tuple(identity(whole) for whole in whole_runs)
            raise missing
        entries.append(entry(options, _step(whole, options), file=file, line=whole.line))
    remarks += [_of_file(file, one) for one in once(contradicted)]
    names = list(dict.fromkeys(found.gpu_names))
    machine: dict[str, object] = {"gpus": [{"name": name} for name in names]} if names else {}
    return Imported(entries, machine, remarks, nodes=nodes)


def _of_file(file: str, one: Remark) -> Remark:
    return replace(one, text=f"{file}: {one.text}")


def chosen(runs: Iterable[Run], options: Options) -> tuple[list[Run], int]:
    """Return the runs to import, and the number of others.

    For each start of a program and each size, the last run counts: earlier ones warm up,
    equilibrate or tune.
    """
    runs = list(runs)
    if options.every_run:
        return runs, 0
    first = [run for run in runs if not run.secondary]
    last = {(run.execution, run.program, run.case, run.n, run.gpus): run for run in first}
    return list(last.values()), len(first) - len(last)


ENOUGH_DIGITS = 1e-4
"""Relative rounding above which two runs may agree in their times by chance."""


def identity(run: Run | Step) -> object | None:
    """Return what two logs of the same run agree in; None if its time has too few digits."""
    if run.uncertainty is None or run.uncertainty > ENOUGH_DIGITS:
        return None
    return (run.program, run.n, run.ranks, tuple(run.seconds))


@dataclass(frozen=True)
class Stated:
    """The user's statements about a log: ``named`` override the log; ``given`` complete it, and
    override it only if the options say so."""

    named: Mapping[str, object]
    given: Mapping[str, object]
    options: Options


_GIVEN = {
    "n": "size", "gpus": "gpus", "timestep": "timestep", "program": "program", "case": "case",
    "unit": "unit",
}  # fmt: skip
_LABELS = ("program", "case", "unit")
"""Fields for which the user's value wins, because logs do not know the wanted label."""
NAMES = ("n", "gpus", "nodes", "ranks", "case", "program")
"""Groups that ``--from-name`` may have."""


def named(file: str, options: Options) -> Stated:
    """Return what the options and the file's name state. Raises InputError if a group is wrong."""
    given = {name: getattr(options, key) for name, key in _GIVEN.items()}
    known = {key: value for key, value in given.items() if value is not None}
    return Stated(_from_name(file, options.from_name), known, options)


def _shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, int | float) else str(value)


def _from_name(file: str, pattern: str | None) -> dict[str, object]:
    if pattern is None:
        return {}
    match = compiled(pattern, "--from-name", NAMES).search(file)
    values: dict[str, object] = {}
    for name, text in match.groupdict().items() if match else ():
        if text is not None and name in ("case", "program"):
            values[name] = text
        elif text is not None:
            value = decimal(text) or 0.0
            if value <= 0 or (name != "n" and not value.is_integer()):
                message = f"{name} = {text!r} is not valid"
                raise InputError(message, file=file, field="--from-name")
            values[name] = int(value) if value.is_integer() else value
    return values


def compiled(pattern: str, option: str, names: Iterable[str]) -> re.Pattern[str]:
    """Compile a user's regular expression with named groups. Raises InputError."""
    try:
        made = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise InputError(f"is not a regular expression: {error}", field=option) from None
    known = list(names)
    unknown = [name for name in made.groupindex if name not in known]
    if unknown or not made.groupindex:
        what = f"group {unknown[0]!r} is unknown" if unknown else "has no named group"
        raise InputError(
            f"{what}; there are {', '.join(known)}, each written (?P<NAME>...)", field=option
        )
    return made


def completed(run: Run, stated: Stated, contradicted: list[Remark]) -> Run:
    """Return the run with its gaps filled; ``contradicted`` receives a remark if the user
    contradicts the log."""
    values: dict[str, Any] = dict(stated.named)
    given = dict(stated.given)
    nodes, per_node = stated.named.get("nodes", run.nodes), gpus_of_node(stated.options)
    if per_node is not None and isinstance(nodes, int):
        given["gpus"] = nodes * per_node
    for name, value in given.items():
        known = getattr(run, name)
        if name in values or known == value:
            continue
        if name in _LABELS:
            values[name] = value
            continue
        overrules, option = stated.options.overrule, "-n" if name == "n" else f"--{name}"
        if known is None or overrules:
            values[name] = value
        if known is not None:
            taken = stated.options.whose if overrules else "its own"
            text = f"says {name} {_shown(known)}, {option} {_shown(value)}: {taken} was used"
            contradicted.append(remark(Kind.OVERRULED, text, about=name))
    if "gpus" in values:
        # The user's GPU count does not mean processor cores.
        values["path"] = None
    run = replace(run, **values)
    if run.gpus and stated.options.size is not None and stated.options.size_of == "gpu":
        run = replace(run, n=stated.options.size * run.gpus)
    if run.gpus and run.n is None and run.n_each is not None:
        run = replace(run, n=run.n_each * run.gpus)
    return _timed(run, stated.options)


def _timed(run: Run, options: Options) -> Run:
    """Return the run with the seconds of a step, if its log has rates of work or sums of steps."""
    if run.work is not None and run.n and run.gpus:
        share = run.n / run.gpus if run.work == "each" else run.n
        return replace(run, seconds=tuple(share * seconds for seconds in run.seconds), work=None)
    if run.whole and options.steps:
        seconds = tuple(seconds / options.steps for seconds in run.seconds)
        return replace(run, seconds=seconds, whole=False)
    return run


def _missing(run: Run, file: str) -> UnclearError | None:
    """Return an error with everything that the user has to state about a run."""
    who = run.program or "the text"
    needs: list[tuple[str, str]] = []
    if run.gpus is None:
        reason = run.unclear or f"{who} does not say on how many GPUs it ran"
        per_node = " (or --gpus-per-node N)" if (run.nodes or 1) > 1 else ""
        needs.append(("--gpus", f" N{per_node}"))
    if run.n is None and run.n_each is None:
        size = f"the size ({run.unit})" if run.unit else "the size"
        what = [run.unit, run.size_unclear] if needs else [run.unit]
        told = "; ".join(filter(None, what))
        if not needs:
            reason = run.size_unclear or f"{who} does not say {size}"
        needs.append(("-n", f" SIZE ({told})" if told else " SIZE"))
    if run.whole:
        if not needs:
            reason = f"{who} states the time of the whole run, but not its steps"
        needs.append(("--steps", " STEPS (1: the run is the step)"))
    if not needs:
        return None
    options = " ".join(option + value for option, value in needs)
    return UnclearError(
        f"{reason}; import with {options}", file=file, line=run.line, field=needs[0][0]
    )


_STEP = (
    "program", "case", "n", "unit", "gpus", "nodes", "ranks", "timestep", "uncertainty", "caveat"
)  # fmt: skip
"""Fields that a run and its record have in common."""


def _step(run: Run, options: Options) -> dict[str, object]:
    # Runs on processor cores have their own path.
    path = run.path if run.path is not None and options.path == "native" else options.path
    value = {name: told for name in _STEP if (told := getattr(run, name)) is not None}
    if run.phases:
        value["phases"] = {name: [seconds] for name, seconds in run.phases.items()}
    return {"kind": "step", "path": path, "seconds": list(run.seconds), **value, **run.more}


_DECIMAL = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?")


def decimal(text: str) -> float | None:
    """Return a finite number with a decimal point; None for ``--``, ``N/A``, ``Infinity`` etc."""
    if not _DECIMAL.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) != float("inf") else None


def number(text: str) -> float | None:
    """Return a number that may have thousands separators (commas)."""
    return decimal(text.replace(",", ""))


def rounding(text: str) -> float:
    """Return the relative half-width of a printed number's rounding."""
    digits, _, exponent = text.lower().partition("e")
    last_digit = float(f"1e{int(exponent or 0) - len(digits.partition('.')[2])}")
    value = abs(float(text))
    return 0.5 * last_digit / value if value else 0.0


def rounding_of_six(value: float) -> float:
    """Return the rounding of a number printed with six significant digits, without final zeros
    (C's ``%g``)."""
    return 0.5 * float(10 ** (math.floor(math.log10(value)) - 5)) / value


def line_at(text: str, begin: int, end: int) -> str:
    """Return the line, or lines, of a stretch of a text."""
    behind = text.find("\n", end)
    return text[text.rfind("\n", 0, begin) + 1 : behind if behind >= 0 else None]


def lines_of(text: str) -> Callable[[int], int]:
    """Return a function that gives the number, from 1, of the line at a place of the text."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return lambda place: bisect_left(ends, place) + 1
