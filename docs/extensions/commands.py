"""The reference of commands: of gpucast from its typer application, of programs from ``--help``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import insert
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from gpucast.cli.app import COMMANDS, HELP, command_of

PROGRAMS = ("gpucast-microbench", "gpucast-mdapp", "gpucast-gpu-server")


def gpucast_commands() -> str:
    """Markdown: a section for each command and sub-command, with its arguments and options."""
    groups = ((listed.name, command_of(listed.name)) for listed in COMMANDS)
    text = "\n".join(
        get_docs_for_click(
            obj=group.commands[name],
            ctx=group.context_class(group, info_name="gpucast", help_option_names=list(HELP)),
            indent=1,
            name=name,
            call_prefix="gpucast",
        )
        for name, group in groups
    )
    return re.sub(r"^(#+) `(.*)`$", r"\1 \2", text, flags=re.MULTILINE)


def programs() -> str:
    """Markdown: the help of the compiled programs and of their sub-commands."""
    return "\n\n".join(part for program in PROGRAMS for part in _program(program))


def _program(program: str) -> Iterator[str]:
    path = Path(sys.executable).with_name(program)
    if not path.exists():
        yield f"## {program}\n\nNot built on the machine that made this page."
        return
    top = _help(path)
    yield f"## {program}\n\n```text\n{top}\n```"
    _, _, commands = top.partition("Subcommands:\n")
    for name in re.findall(r"^  ([a-z][a-z-]*) ", commands, re.MULTILINE):
        yield f"### {program} {name}\n\n```text\n{_help(path, name)}\n```"


def _help(path: Path, *words: str) -> str:
    done = subprocess.run(
        [path, *words, "--help"], text=True, capture_output=True, check=False, timeout=60
    )
    if done.returncode != 0:
        raise ValueError(f"{path.name} --help: {done.stderr.strip()}")
    return done.stdout.strip()


def setup(app: Sphinx) -> dict[str, bool]:
    insert(app, "gpucast commands", gpucast_commands)
    insert(app, "programs", programs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
