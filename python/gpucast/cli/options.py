"""How commands describe their options and arguments, and the options that several share.

What one command has alone is the default of its argument: ``budget: str | None = option("Time")``.
What several share stands below in capitals. A dataclass of options is one argument of a command
that has them all (``with_options``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, Literal, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from gpucast.data import vocabulary
from gpucast.data.selection import StepSelection
from gpucast.errors import InputError

Words = Callable[[], Iterable[str]]
"""Called when a shell asks what may follow: commands do not wait for what they do not need."""


def option(text: str, *names: str, default: object = None, **more: Any) -> Any:
    """An option: what it is for, and its names, where they are not the argument's."""
    return typer.Option(default, *names, help=text, **more)


def flag(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(False, name, help=text)


def argument(text: str, default: object = ..., **more: Any) -> Any:
    """An argument; a command cannot do without it where it has no default."""
    return typer.Argument(default, help=text, **more)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of those of its arguments that are dataclasses.

    A field's option is its default, or what its metadata say (``gpucast.data.formats.stated``).
    """
    own = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in own.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**dict(_values(group, given)))
        command(**given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        part.replace(kind=keyword)
        for name, parameter in own.parameters.items()
        for part in (_options_of(groups[name]) if name in groups else [parameter])
    ]
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in parameters}
    return run


def _options_of(group: Any) -> Iterator[inspect.Parameter]:
    kinds, keyword = get_type_hints(group), inspect.Parameter.KEYWORD_ONLY
    if group is StepSelection:
        for name, chosen in SELECTION.items():
            yield inspect.Parameter(name, keyword, default=chosen, annotation=kinds[name])
        return
    for field in fields(group):
        default, kind, stated = field.default, kinds[field.name], field.metadata
        if stated:
            usual, kind = (None, str | None) if stated["read"] else (default, kind)
            default = option(stated["help"], *stated["names"], default=usual, **stated["more"])
        if isinstance(default, OptionInfo):
            yield inspect.Parameter(field.name, keyword, default=default, annotation=kind)


def _values(group: Any, given: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """The fields of a group for which there are options, by what was given."""
    for field in fields(group):
        if field.name not in given:
            continue
        value, read = given.pop(field.name), field.metadata.get("read")
        if read is None:
            yield field.name, value
        elif value is not None:
            spelled = next(iter(field.metadata["names"]), f"--{field.name}")
            yield field.name, read(value, spelled)


def refuse(group: Any, why: str, file: str | None = None) -> None:
    """Refuse those options of a group that were given.

    Raises:
        InputError: names the first of them, and ``why``.
    """
    for field in fields(group):
        option: Any = field.default
        if getattr(group, field.name) == option.default:
            continue
        own = f"--{'no-' if option.default is True else ''}{field.name.replace('_', '-')}"
        names = [name for words in option.param_decls or () for name in words.split("/")]
        raise InputError(why, file=file, field=own if own in names or not names else names[0])


def one_of(words: Words) -> Callable[[str], list[str]]:
    """Completes one of these words."""
    return lambda incomplete: [word for word in words() if word.startswith(incomplete)]


def list_of(words: Words) -> Callable[[str], list[str]]:
    """Completes the last word of a list such as ``claret,tuned``; none is offered twice."""

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        left = (word for word in words() if word not in before.split(","))
        return [f"{before}{comma}{word}" for word in left if word.startswith(begun)]

    return complete


def kernels() -> Iterable[str]:
    """The kernels of the mini-app."""
    from gpucast.measure.design.cells import KERNELS

    return KERNELS


def memories() -> Iterable[str]:
    """The kinds of host memory among which the mini-app's star-serial has a choice."""
    from gpucast.measure.design.cells import MEMORIES

    return MEMORIES


def dataset_names(incomplete: str) -> list[str]:
    """Bundled datasets; where none fits, the shell goes on with files."""
    from gpucast.data import bundled_files

    return [name for name in bundled_files() if name.startswith(incomplete)]


DATA = argument(
    "Bundled datasets (gpucast data list), files of records, or what import takes.",
    autocompletion=dataset_names,
)
MODEL_OR_TABLE = argument(
    "A model file, or step times that one is fitted to: a table, a log, a bundled dataset.",
    metavar="MODEL|TABLE",
    autocompletion=dataset_names,
)
PATH = option(
    "Path, where there are several.",
    "--path",
    autocompletion=one_of(lambda: get_args(vocabulary.Path)),
)
MACHINE = option("Machine id, where there are several.")
MEMORY = option(
    "Host memory of transfers and steps, where there are several.",
    autocompletion=one_of(lambda: get_args(vocabulary.Memory)),
)
SELECTION = {
    "path": PATH,
    "schedule": option(
        "Schedule, where there are several.",
        autocompletion=one_of(lambda: get_args(vocabulary.Schedule)),
    ),
    "kernel": option("Kernel, where there are several.", autocompletion=one_of(kernels)),
    "machine": MACHINE,
    "memory": MEMORY,
    "block": option("Threads a block, where several.", min=1),
    "graph": option("Steps as CUDA graphs or not, where there are both.", "--graph/--no-graph"),
    "boundary": option("Boundary of the box (open, ...), where there are several."),
    "program": option("Program, or a part of its name, where there are several."),
    "case": option("Case (input, precision, version, ...), or a part of it, where several."),
}
"""The option of each field of a selection."""

Interval = Literal["now", "later", "machine"]
INTERVALS: dict[str, str] = {
    "now": "90 % interval",
    "later": "90 % interval, later",
    "machine": "90 % interval, another machine",
}
"""What stands above a column of each kind of interval."""

INTERVAL = option(
    "What intervals and probabilities are of: a measurement now, later on this machine, "
    "or on another machine of the kind (docs/how-to/intervals.md).",
    default="now",
)
SIZES = option(
    "Sizes (particles, cells): 1000,1e5,5M or a range 512..1e6:9 (9 values).", "-n", default=...
)
GPUS = option(
    "GPU counts: 1-4,8. Default: 1-8; of programs that are not ours up to the most measured."
)
EXPLAIN = flag(
    "--explain", "Say every warning, in full; what to do: docs/how-to/troubleshooting.md."
)
JSON = flag("--json", "One JSON object instead of tables.")
FORCE = flag("--force", "Replace an existing output.")
EFFICIENCY = option(
    "Least parallel efficiency, N_ref T(N_ref) / (N T(N)), that is sensible.", default=0.7
)
GRID_CO2: float | None = option("CO2 of a kWh of your electricity, g.", min=0)
ENERGY_PRICE: str | None = option(
    "Price of a kWh of your electricity: 0.30, or '0.30 EUR'.", metavar="MONEY"
)
SIZE_OF = option(
    "What n is of: all GPUs together, or each (its batch), so that the work grows with them.",
    default="all",
)
PER_GPU = option("n / N of the weak scaling. Default: as measured.")
SIZE = option("Size of a figure, mm: 88x110. Default: a column of a journal.", metavar="WxH")


def inches(size: str | None) -> tuple[float, float] | None:
    """Width and height that ``SIZE`` states; None stays None.

    Raises:
        InputError: it is no size.
    """
    if size is None:
        return None
    width, _, height = size.partition("x")
    try:
        sides = float(width) / 25.4, float(height) / 25.4
    except ValueError:
        sides = (0.0, 0.0)
    if not all(0.5 <= side <= 40 for side in sides):
        raise InputError(f"{size!r} is no size in mm such as 88x110", field="--size")
    return sides


OUTPUT = option("Where to write.", "-o", "--output", default=...)
MODEL_OUTPUT = option("Where to write the model file.", "-o", "--output")
