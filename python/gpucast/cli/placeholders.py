"""What stands for a value in ``--help``: words of people, in place of Python's types."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

OF_NAMES = {
    "budget": "TIME",
    "counters": "FILE",
    "formats": "LIST",
    "gpus": "LIST",
    "host": "HOST",
    "image_cache": "SIZE",
    "launcher": "COMMAND",
    "max_memory": "SIZE",
    "max_pinned": "SIZE",
    "max_time": "TIME",
    "n": "LIST",
    "socket_folder": "FOLDER",
}
"""Of options of these names."""

OF_TYPES = {int: "N", float: "X", Path: "FILE", str: "NAME"}
"""Of all others; what is one of a few words shows these."""


def put_in(command: Any) -> None:
    """Give the options and arguments of a command, and of all below it, their words."""
    for each in getattr(command, "commands", {}).values():
        put_in(each)
    kinds = (
        inspect.signature(command.callback, eval_str=True).parameters if command.callback else {}
    )
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or parameter.name.upper()
            # Beside its word it would show its type, for which typer has no setting.
            more = "..." if parameter.nargs != 1 else ""
            parameter.display_type_rich = lambda ctx, more=more: more
        elif parameter.metavar is None and parameter.name in kinds:
            parameter.metavar = _of_option(parameter.name, kinds[parameter.name].annotation)


def _of_option(name: str, annotation: Any) -> str | None:
    """None where typer says it best: words of which one is chosen, and flags."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    while get_origin(kind) is not None:  # a list, or what may be None: not given
        kind = get_args(kind)[0]
    word = OF_TYPES.get(kind) if isinstance(kind, type) else None
    return word and OF_NAMES.get(name, word)
