"""Commands and examples in Markdown pages: read, run, and compared with what the page shows.

A page is read as written for people. What it runs, in the order of the page and in one folder:

- a code block with lines ``$ COMMAND``: each command, in bash; the lines below it, if any, are
  what it has to print (stdout and stderr). ``...`` on a line of its own stands for any lines, and
  numbers may differ by ``TOLERANCE`` or by one in their last digit;
- a code block of which every line begins with one of our programs: each line;
- a ``python`` block; a ``pycon`` block, with its answers compared in the same way.

A comment on the line before a block says more; readers do not see it:

- ``<!-- needs: WHAT -->``: the commands cannot run here. Their words and options are looked up.
- ``<!-- file: NAME -->``: the block is the content of a file.
- ``<!-- status: N -->``: the commands end with this exit status, 0 where nothing is said.
- ``<!-- before: COMMAND -->``: runs first; ``$REPOSITORY`` is this repository's folder.

``python tests/support/doc_commands.py PAGE...`` runs pages and writes what their commands print
into them, in place of what is no longer true or of a line ``?``.
"""

import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

NEEDS = frozenset({"gpu", "servers", "cluster", "time", "files", "root"})
"""GPUs; a running server or network; Slurm or several nodes; more than seconds; the reader's own
files; administrator's rights."""

OURS = ("gpucast", "gpucast-mdapp", "gpucast-microbench", "gpucast-gpu-server")
LAUNCHERS = ("srun", "mpirun", "sbatch", "make", ".venv/bin/python", "cmake", "lab/gpu.sh")

REMARKS = ("gpucast: warning:", "gpucast: note:")
"""Lines that begin so, on stderr, may be left out where a page shows none of them."""

TOLERANCE = 0.02
TIMEOUT = 600  # seconds after which a command counts as hung

_MARKER = re.compile(r"<!--\s*(needs|file|before|status):\s*(.+?)\s*-->")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PROMPT = re.compile(r"^(?:[\w-]+\$ {1,2}|\$ )")


@dataclass
class Command:
    """A command of a page: its text, its line (from 1), and what the page says that it prints."""

    text: str
    line: int
    shown: list[str] = field(default_factory=list)


@dataclass
class Block:
    """A code block that does something: ``commands``, ``python``, ``pycon`` or a ``file``."""

    kind: str
    text: str
    line: int
    needs: frozenset[str]
    before: list[str]
    name: str = ""
    status: int = 0
    commands: list[Command] = field(default_factory=list)


# ------------------------------------------------------------------ reading ----


def blocks(page: Path) -> list[Block]:
    """The page's blocks that do something, in order."""
    return list(_blocks(MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))))


def inline_commands(page: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each inline ``gpucast ...`` of a page."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8")):
        for child in token.children or []:
            words = child.content.split()
            if child.type == "code_inline" and len(words) > 1 and words[0] in OURS:
                yield (token.map or [0])[0] + 1, child.content


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    markers: list[tuple[str, str]] = []
    for token in tokens:
        if token.type == "html_block":
            markers += _MARKER.findall(token.content)
        elif token.type in ("fence", "code_block"):
            block = _block(token, markers)
            markers = []
            if block is not None:
                yield block
        elif not token.type.endswith(("_open", "_close")):
            markers = []


def _block(token: Token, markers: list[tuple[str, str]]) -> Block | None:
    values: dict[str, list[str]] = {"needs": [], "file": [], "before": [], "status": []}
    for key, value in markers:
        values[key].append(value)
    needs = frozenset(need for value in values["needs"] for need in re.split(r",\s*", value))
    first = (token.map or [0])[0] + (2 if token.type == "fence" else 1)
    block = Block("", token.content, first, needs, values["before"])
    block.status = int(values["status"][0]) if values["status"] else 0
    language = token.info.strip()
    if values["file"]:
        block.kind, block.name = "file", values["file"][0]
    elif language in ("python", "pycon"):
        block.kind = language
    elif language in ("", "console", "sh"):
        block.kind = "commands"
        block.commands = _commands(token.content.splitlines(), first)
        if not block.commands:
            return None
    elif not (needs or block.before):
        return None
    return block


def _commands(lines: list[str], first: int) -> list[Command]:
    prompts = any(_PROMPT.match(line) for line in lines)
    if not prompts and not all(
        line.split()[0] in OURS + LAUNCHERS for line in lines if line.strip()
    ):
        return []
    commands: list[Command] = []
    continued = False
    for number, line in enumerate(lines, first):
        if continued:
            commands[-1].text += "\n" + line
        elif (prompts and _PROMPT.match(line)) or (not prompts and line.strip()):
            commands.append(Command(_PROMPT.sub("", line), number))
        elif commands:
            commands[-1].shown.append(line)
            continue
        continued = line.endswith("\\")
    return commands


# ------------------------------------------------------------------ running ----


def run(command: str, folder: Path, status: int = 0) -> list[str]:
    """What a command prints, by lines.

    Raises:
        AssertionError: it has another exit status; with all it printed.
    """
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "MPLBACKEND": "Agg",
        "REPOSITORY": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=environment, timeout=TIMEOUT, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == status, f"{command}\nexit status {done.returncode}\n{done.stdout}"
    return [line.rstrip() for line in done.stdout.splitlines()]


def run_page(page: Path, folder: Path) -> list[tuple[Command, list[str]]]:
    """Run all that a page holds in ``folder``; the commands whose output is not what it shows.

    Raises:
        AssertionError: a command failed, or a Python example did or has other answers.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    different = []
    page = page.resolve()
    with contextlib.chdir(folder):
        for block in blocks(page):
            different += _run_block(block, page, folder, names)
    return different


def _run_block(
    block: Block, page: Path, folder: Path, names: dict[str, Any]
) -> list[tuple[Command, list[str]]]:
    for command in block.before:
        run(command, folder)
    if block.kind == "file":
        (folder / block.name).write_text(block.text, encoding="utf-8")
    if block.kind == "file" or block.needs:
        return []
    if block.kind == "python":
        exec(compile(block.text, f"{page}:{block.line}", "exec"), names)
    elif block.kind == "pycon":
        _run_examples(block, page, names)
    printed = [(command, run(command.text, folder, block.status)) for command in block.commands]
    return [(command, lines) for command, lines in printed if not alike(command.shown, lines)]


class _Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return alike(want.splitlines(), got.splitlines())


def _run_examples(block: Block, page: Path, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.text, names, page.name, str(page), block.line - 1
    )
    runner = doctest.DocTestRunner(_Checker())
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


# ---------------------------------------------------------------- comparing ----


def alike(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether a command printed what a page shows; a page that shows nothing asks for nothing."""
    expected = [line for line in shown if line.strip()]
    actual = [line for line in printed if line.strip()]
    for remark in REMARKS:
        if not any(line.strip().startswith(remark) for line in expected):
            actual = [line for line in actual if not line.startswith(remark)]
    return not expected or _alike(expected, actual)


def _alike(expected: Sequence[str], actual: Sequence[str]) -> bool:
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(_alike(expected[1:], actual[skip:]) for skip in range(len(actual) + 1))
    return bool(actual) and _same_line(expected[0], actual[0]) and _alike(expected[1:], actual[1:])


def _same_line(expected: str, actual: str) -> bool:
    return _words(expected) == _words(actual) and all(
        _near(a, b) for a, b in zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=True)
    )


def _words(line: str) -> str:
    # Rulers and gaps are as wide as the numbers; a sign belongs to its number.
    return re.sub(r"\s+", " ", re.sub(r"-{3,}", "---", _NUMBER.sub("0", line))).strip()


def _near(expected: str, actual: str) -> bool:
    _, _, decimals = expected.lower().partition("e")[0].partition(".")
    exponent = int(expected.lower().partition("e")[2] or 0)
    last_digit = 10.0 ** (exponent - len(decimals))
    difference = abs(float(expected) - float(actual))
    return difference <= max(TOLERANCE * abs(float(expected)), 1.001 * last_digit)


# ------------------------------------------------------------------ look-up ----


def unknown_words(text: str) -> list[str]:
    """Commands and options of our programs that a command line names and that there are not."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    start = next((i for i, word in enumerate(words) if word in OURS), None)
    if start is None:
        return []
    program, *rest = words[start:]
    mine, end, others = rest, "--" in rest, []
    if end:
        mine, others = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    commands = _options(program)
    first_two = " ".join(mine[:2])
    name = next((key for key in (first_two, *mine[:1]) if key in commands), "")
    known = commands[name] | commands[name.partition(" ")[0]] | commands[""]
    known |= commands.get(f"{name} record", set())  # gpucast trace -- PROGRAM is trace record
    wrong = [] if name or not mine or mine[0].startswith("-") else [f"{program} {mine[0]}"]
    wrong += [
        f"{program} {name}: {option}"
        for option in (word.partition("=")[0] for word in mine)
        if re.match(r"--?[A-Za-z]", option) and option not in known
    ]
    return wrong + (unknown_words(shlex.join(others)) if end else [])


@cache
def _options(program: str) -> dict[str, set[str]]:
    """Options by command (``data list``); those of the program itself under an empty name."""
    if program == "gpucast":
        return gpucast_options()
    text = _help(program)
    options = {"": _spelled(text)}
    for name in re.findall(r"^  ([a-z][a-z-]*) ", text.partition("Subcommands:")[2], re.MULTILINE):
        options[name] = _spelled(_help(program, name))
    return options


def gpucast_options() -> dict[str, set[str]]:
    """Options of each gpucast command and sub-command (``data list``), from the program."""
    import typer

    from gpucast.cli.app import COMMANDS, build

    def spelled(command: Any) -> set[str]:
        return {word for option in command.params for word in option.opts + option.secondary_opts}

    options = {"": {"--help"} | spelled(typer.main.get_command(build(None)))}

    def add(name: str, command: Any) -> None:
        options[name] = spelled(command)
        for sub, inner in getattr(command, "commands", {}).items():
            add(f"{name} {sub}", inner)

    for entry in COMMANDS:
        top: Any = typer.main.get_command(build(entry.name))
        add(entry.name, top.commands[entry.name])
    return options


def _help(program: str, *words: str) -> str:
    path = Path(sys.executable).with_name(program)
    return subprocess.run(
        [path, *words, "--help"], text=True, capture_output=True, check=True, timeout=TIMEOUT
    ).stdout


def _spelled(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


# ------------------------------------------------------------------ writing ----


def renew(page: Path) -> int:
    """Write what the page's commands print into it; how many were not what it showed."""
    with tempfile.TemporaryDirectory() as folder:
        different = run_page(page, Path(folder))
    lines = page.read_text("utf-8").splitlines()
    for command, printed in reversed(different):
        start = command.line + command.text.count("\n")
        indent = " " * (len(lines[start - 1]) - len(lines[start - 1].lstrip()))
        new = _left_out_alike(command.shown, printed)
        lines[start : start + len(command.shown)] = [(indent + line).rstrip() for line in new]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(different)


def _left_out_alike(shown: Sequence[str], printed: list[str]) -> list[str]:
    """What is printed, without the lines that the page left out; all if that cannot be told."""
    if "..." not in (line.strip() for line in shown):
        return printed
    result, at = [], 0
    for line in shown:
        if line.strip() in ("...", ""):
            result.append(line.strip())
            continue
        words = [_words(text) for text in printed[at:]]
        if _words(line) not in words:
            return printed
        at += words.index(_words(line)) + 1
        result.append(printed[at - 1])
    return result


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(f"{argument}: {renew(Path(argument))} renewed")
