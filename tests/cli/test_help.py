"""``--help`` of every command has words for people, not Python's types."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from command_line import Run, assert_refused
from gpucast.cli.app import COMMANDS, build

CHOICE = re.compile(r"<[a-z0-9-]+(\|[a-z0-9-]+)+>")
"""Words of which one must be chosen."""


def below(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of a command, and of those below it."""
    yield words
    for name, sub in getattr(command, "commands", {}).items():
        yield from below(sub, (*words, name))


def all_commands() -> list[tuple[str, ...]]:
    words = [()]
    for command in COMMANDS:
        group = typer.main.get_command(build(command.name))
        words += below(group.commands[command.name], (command.name,))
    return words


@pytest.mark.parametrize("command", all_commands(), ids=" ".join)
def test_help_has_a_short_name_and_words_for_people(command: tuple[str, ...], run: Run) -> None:
    status, out, err = run(*command, "--help")
    assert run(*command, "-h") == (status, out, err)
    assert (status, err) == (0, "")
    assert "-h, --help" in out
    placeholders = re.findall(r"<[a-z].*?>", CHOICE.sub("", out))
    # Placeholders of regular expressions in the text.
    assert [word for word in placeholders if word not in ("<n>", "<gpus>", "<time>")] == []


def test_a_group_alone_names_its_commands(run: Run) -> None:
    for group, commands in (
        ("remote", "serve, run, check, status"),
        ("data", "contention, compare, list, show, export"),
    ):
        assert_refused(run(group), f"Missing command: {commands} (see gpucast {group} --help)")


def test_a_placeholder_says_what_is_wanted(run: Run) -> None:
    _, out, _ = run("remote", "serve", "--help")
    for words in ("--gpus LIST", "--port N", "--max-memory SIZE", "--socket-folder FOLDER"):
        assert words in out
    _, out, _ = run("fit", "--help")
    assert re.search(r"^  DATA \.\.\.  Bundled datasets", out, re.MULTILINE)
