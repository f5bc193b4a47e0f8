"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from gpucast.cli import completion
from gpucast.data import vocabulary
from gpucast.data.selection import StepSelection

Data = Annotated[
    list[str],
    typer.Argument(
        help="Bundled datasets (gpucast data list), files of records, or what import takes.",
        autocompletion=completion.dataset_names,
    ),
]
PathName = Annotated[
    str | None,
    typer.Option(
        "--path",
        help="Path, where there are several.",
        show_default=False,
        autocompletion=completion.one(lambda: get_args(vocabulary.Path)),
    ),
]
Machine = Annotated[str | None, typer.Option(help="Machine id, where there are several.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Host memory of transfers and steps, where there are several.",
        autocompletion=completion.one(lambda: get_args(vocabulary.Memory)),
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help="How transfers were timed, where both: call (blocking) or gated (queued).",
        autocompletion=completion.one(lambda: get_args(vocabulary.TransferMethod)),
    ),
]
SELECTION = {
    "path": PathName,
    "schedule": Annotated[
        str | None,
        typer.Option(
            help="Schedule, where there are several.",
            autocompletion=completion.one(lambda: get_args(vocabulary.Schedule)),
        ),
    ],
    "kernel": Annotated[
        str | None,
        typer.Option(
            help="Kernel, where there are several.",
            autocompletion=completion.one(completion.kernels),
        ),
    ],
    "machine": Machine,
    "memory": Memory,
    "block": Annotated[int | None, typer.Option(min=1, help="Threads a block, where several.")],
    "graph": Annotated[
        bool | None,
        typer.Option(
            "--graph/--no-graph", help="Steps as CUDA graphs or not, where there are both."
        ),
    ],
    "boundary": Annotated[
        str | None, typer.Option(help="Boundary of the box (open, ...), where there are several.")
    ],
    "program": Annotated[
        str | None, typer.Option(help="Program, or a part of its name, where there are several.")
    ],
    "case": Annotated[
        str | None,
        typer.Option(help="Case (input, precision, version, ...), or a part of it, where several."),
    ],
}
"""The option of each field of a selection."""


INTERVALS = {
    "now": "90 % interval",
    "later": "90 % interval, later",
    "machine": "90 % interval, another machine",
}
"""What is said of each kind of interval above a column."""


def with_selection(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its argument ``selection``."""

    @wraps(command)
    def run(**given: object) -> None:
        chosen = {name: given.pop(name) for name in SELECTION}
        command(selection=StepSelection(**chosen), **given)  # type: ignore[arg-type]

    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for each in own.parameters.values():
        if each.name != "selection":
            parameters.append(each)
            continue
        for name, option in SELECTION.items():
            parameters.append(inspect.Parameter(name, each.kind, default=None, annotation=option))
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


Sizes = Annotated[
    str,
    typer.Option(
        "-n", help="Sizes (particles, cells): 1000,1e5,5M or a range 512..1e6:9 (9 values)."
    ),
]
Gpus = Annotated[
    str | None,
    typer.Option(
        help="GPU counts: 1-4,8. Default: 1-8; of programs that are not ours up to the most "
        "measured.",
        show_default=False,
    ),
]
Interval = Annotated[
    Literal["now", "later", "machine"],
    typer.Option(
        help="What intervals and probabilities are of: a measurement now, later on this machine, "
        "or on another machine of the kind (docs/how-to/intervals.md)."
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="Say every warning, in full; what to do: docs/how-to/troubleshooting.md."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write.")]
OptionalOutput = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Where to write the model file.", show_default=False),
]
