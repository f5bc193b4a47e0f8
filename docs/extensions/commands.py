"""The reference of commands: of gpucast from its typer application, of programs from ``--help``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from generated import insert, table
from sphinx.application import Sphinx

from gpucast.cli.app import COMMANDS, build

PROGRAMS = ("gpucast-microbench", "gpucast-mdapp", "gpucast-gpu-server")


def gpucast_commands() -> str:
    """Markdown: a section for each command and sub-command, with its arguments and options."""
    return "\n\n".join(
        _section(command, context, level) for command, context, level in _all_commands()
    )


def _all_commands() -> Iterator[tuple[Any, Any, int]]:
    for each in COMMANDS:
        top: Any = typer.main.get_command(build(each.name))
        parent = top.context_class(top, info_name="gpucast")
        command = top.commands[each.name]
        context = command.context_class(command, info_name=each.name, parent=parent)
        yield command, context, 2
        for name, sub in getattr(command, "commands", {}).items():
            yield sub, sub.context_class(sub, info_name=name, parent=context), 3


def _section(command: Any, context: Any, level: int) -> str:
    parts = [f"{'#' * level} {context.command_path}", _text(command.help)]
    # Arguments, then options: spelling, and help with default and range, as --help prints them.
    records = [
        parameter.get_help_record(context)
        for kind in ("argument", "option")
        for parameter in command.params
        if parameter.param_type_name == kind
    ]
    rows = [[f"`{left}`", _text(right)] for left, right in filter(None, records)]
    if rows:
        parts.append(table(["argument or option", "meaning"], rows))
    return "\n\n".join(parts)


def _text(text: str | None) -> str:
    return re.sub(r"([<>*_\[\]`$\\])", r"\\\1", text or "")


def programs() -> str:
    """Markdown: the help of the compiled programs and of their sub-commands."""
    return "\n\n".join(part for program in PROGRAMS for part in _program(program))


def _program(program: str) -> Iterator[str]:
    if not _path(program).exists():
        yield f"## {program}\n\nNot built on the machine that made this page."
        return
    top = _help(program)
    yield f"## {program}\n\n```text\n{top}\n```"
    _, _, commands = top.partition("Subcommands:\n")
    for name in re.findall(r"^  ([a-z][a-z-]*) ", commands, re.MULTILINE):
        yield f"### {program} {name}\n\n```text\n{_help(program, name)}\n```"


def _path(program: str) -> Path:
    return Path(sys.executable).with_name(program)


def _help(program: str, *words: str) -> str:
    done = subprocess.run(
        [_path(program), *words, "--help"], text=True, capture_output=True, check=False, timeout=60
    )
    if done.returncode != 0:
        raise ValueError(f"{program} --help: {done.stderr.strip()}")
    return done.stdout.strip()


def setup(app: Sphinx) -> dict[str, bool]:
    insert(app, "gpucast commands", gpucast_commands)
    insert(app, "programs", programs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
