"""The list of commands, and how one of them is run.

A command is a plain function whose arguments ``gpucast.cli.options`` describes, or a
``typer.Typer`` with sub-commands. Only the module of the requested command is imported: ``gpucast
predict`` must not wait for imports of ``gpucast figures``. To add a command, add its line to
``GROUPS``.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin

import typer
from typer.core import TyperGroup

from gpucast.errors import GpucastError, Terminated, from_os_error
from gpucast.util import version
from gpucast.util.tables import shown


class Command(NamedTuple):
    """A command: its name, its function (``module:attribute`` in this package), a line of help."""

    name: str
    target: str
    help: str


GROUPS = {
    "Measurements": (
        Command("data", "data:app", "Datasets: list, show, export, compare, contention."),
        Command("import", "importing:command", "Turn other programs' files into records."),
        Command("measure", "measure:command", "Turn this machine into a dataset."),
        Command("trace", "trace:app", "Record, show, export traces of programs."),
    ),
    "Models and forecasts": (
        Command("fit", "fit:command", "Fit a model to step times, or to transfer times."),
        Command("predict", "predict:command", "Forecast step times and best GPU counts."),
        Command("compare", "compare:command", "Native against remote, or any two models."),
        Command("what-if", "what_if:command", "Forecast a path from another's steps."),
        Command("plan", "plan:command", "Which GPUs for which job; costs and deadlines."),
        Command("validate", "compare:validate", "Hold a model against other measurements."),
    ),
    "Figures and pages": (
        Command("figures", "figures:app", "Draw how programs scale, measurements, models."),
        Command("proposal", "proposal:command", "What a proposal shows: scaling and hours."),
        Command("report", "report:command", "One HTML page that answers, from models."),
        Command("serve", "serve:command", "The same in the browser, from your files."),
    ),
    "Machines": (
        Command("remote", "remote:app", "Lend GPUs; run programs over remote ones."),
        Command("doctor", "remote:doctor", "Say what is here, and what is in the way."),
    ),
}
"""The commands as the help groups them."""

COMMANDS = tuple(command for commands in GROUPS.values() for command in commands)

EXTRAS = {
    "docx": "proposal",
    "jinja2": "report",
    "matplotlib": "figures",
    "submitit": "slurm",
    "waitress": "serve",
    "werkzeug": "serve",
}
"""Optional packages, and the extra of pyproject.toml that installs each."""

VALUES_BY_NAME = {
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
"""Placeholders for the values of options with these names."""

VALUES_BY_TYPE = {int: "N", float: "X", Path: "FILE", str: "NAME"}
"""Placeholders for the values of all other options, by type; a choice shows its words."""

_UsageError = cast("type[Exception]", typer.BadParameter.__base__)
"""The exception that typer raises for wrong usage; typer does not export it."""

HELP = ("-h", "--help")

COMPLETE = "_GPUCAST_COMPLETE"
"""Environment variable of the scripts of --install-completion: the shell and its request."""

INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
"""128 plus the number of the signal, as in shells."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; errors become one line on stderr and an exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _allow_any_text()
    if COMPLETE in os.environ:
        # Bash names the line in the first, the others in the second.
        complete(os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    try:
        status = _invoke(given or ["--help"])
        sys.stdout.flush()  # so that a broken pipe is noticed here
        return status
    except BrokenPipeError:
        # The reader has closed the pipe (gpucast ... | head). Nothing more may be written to it,
        # not even by the interpreter's flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Terminated:
        _say("terminated")
        return TERMINATED
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        return INTERRUPTED
    except GpucastError as error:
        _say(f"error: {error}")
        return error.exit_status
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        _say(f"error: this needs {package}: pip install 'gpucast[{extra}]'")
        return 2
    except OSError as error:
        ours = from_os_error(error)
        _say(f"error: {ours}")
        return ours.exit_status
    except _UsageError as error:
        _say(f"error: {_usage_message(error)}")
        return 2


def build(requested: str | None) -> typer.Typer:
    """Return the application with the ``requested`` command loaded, the others by name only."""
    app = typer.Typer(
        name="gpucast",
        cls=_Grouped,
        help="How many GPUs should n particles get, and native or remote ones?",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_global_options)
    for command in COMMANDS:
        loaded = _load(command) if command.name == requested else _unloaded
        if isinstance(loaded, typer.Typer):
            app.add_typer(loaded, name=command.name, help=command.help)
        else:
            text = command.help if loaded is _unloaded else None
            app.command(command.name, help=text)(loaded)
    return app


def command_of(requested: str | None) -> Any:
    """Return the same application as a click command, which runs and prints help."""
    command = typer.main.get_command(build(requested))
    _put_placeholders(command)
    return command


def complete(line: str) -> None:
    """Print the possible continuations of a command line, as the shell's script requests them."""
    _, *words = line.split() or [""]
    typer.main.get_command(build(_requested(words)))(prog_name="gpucast")


def _requested(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if not word.startswith("-")), None)


def _invoke(arguments: list[str]) -> int:
    command = command_of(_requested(arguments))
    # command.main() is not used, because it handles broken pipes and Ctrl-C in its own way.
    try:
        # Sub-commands take it from the program.
        with command.make_context("gpucast", arguments, help_option_names=list(HELP)) as context:
            command.invoke(context)
    except typer.Exit as leave:
        return leave.exit_code
    return 0


def _load(command: Command) -> Callable[..., None] | typer.Typer:
    name, _, attribute = command.target.partition(":")
    module = importlib.import_module(f"gpucast.cli.{name}")
    return cast("Callable[..., None] | typer.Typer", getattr(module, attribute))


class _Grouped(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for name, commands in GROUPS.items():
            with formatter.section(name):
                # One column for all groups.
                widest = max(len(command.name) for command in COMMANDS)
                formatter.write_dl(
                    [(command.name.ljust(widest), command.help) for command in commands]
                )


def _unloaded() -> None:
    """Placeholder of a command that was not requested."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"gpucast {version()}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def _usage_message(error: Exception) -> str:
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".")
    context = getattr(error, "ctx", None)
    if message == "Missing command":
        commands = getattr(getattr(context, "command", None), "commands", ())
        message += f": {', '.join(commands)}"
    where = getattr(context, "command_path", "gpucast")
    return f"{message} (see {where} --help)"


def _put_placeholders(command: Any) -> None:
    """Set the placeholders of a command's options and arguments, and of its sub-commands'."""
    for below in getattr(command, "commands", {}).values():
        _put_placeholders(below)
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
            parameter.metavar = _placeholder(parameter.name, kinds[parameter.name].annotation)


def _placeholder(name: str, annotation: Any) -> str | None:
    """The placeholder of an option; None for choices and flags, which typer describes well."""
    while get_origin(annotation) is not None:  # a list, or an optional value
        annotation = get_args(annotation)[0]
    word = VALUES_BY_TYPE.get(annotation) if isinstance(annotation, type) else None
    return word and VALUES_BY_NAME.get(name, word)


def _say(text: str) -> None:
    # File names and values may hold line breaks, but the message must be one line.
    print(f"gpucast: {shown(text)}", file=sys.stderr)


def _allow_any_text() -> None:
    # Labels are Unicode and file names may be any bytes; characters that the terminal cannot show
    # are escaped.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
