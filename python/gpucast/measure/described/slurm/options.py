"""sbatch's options: what the user gives, and what each job requests."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass

from gpucast.errors import InputError
from gpucast.measure.described.runs import Run

FIELD = "--slurm"

LEAST_SECONDS = 300.0
"""Shortest time limit of a job: Slurm may warn of its end more than a minute early."""

RESERVE_SECONDS = 90.0
"""Seconds of a job's time limit that are reserved for an orderly end."""

_SHORT = {"A": "account", "C": "constraint", "G": "gpus", "N": "nodes", "c": "cpus-per-task",
          "n": "ntasks", "p": "partition", "q": "qos", "t": "time", "w": "nodelist",
          "x": "exclude", "M": "clusters", "D": "chdir", "L": "licenses"}  # fmt: skip
_FLAGS = frozenset({"exclusive", "requeue", "no-requeue", "hold", "contiguous", "overcommit",
                    "oversubscribe", "spread-job", "use-min-nodes", "reboot"})  # fmt: skip
_OURS = {
    "array": "each GPU count and round is a job of its own",
    "clusters": "jobs are looked for in this cluster's queue",
    "error": "logs lie beside the file of records",
    "output": "logs lie beside the file of records",
    "open-mode": "logs lie beside the file of records",
    "job-name": "jobs are found again by theirs",
    "parsable": "sbatch's answer is read by gpucast",
    "signal": "jobs are told of their end by a signal of gpucast's choice",
    "test-only": "use --dry-run",
    "wait": "gpucast waits for its jobs",
    "wrap": "jobs run the description's program",
}
_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres", "exclusive")
_TASKS = ("ntasks", "ntasks-per-node")
_CORES = ("cpus-per-task", "cpus-per-gpu", "exclusive")
_PLACE = re.compile(r"\{(\w+)\}")
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


@dataclass(frozen=True, order=True)
class Shape:
    """The resources that all cells of one job need.

    Attributes:
        ranks: number of processes; 0 if not stated.
    """

    gpus: int
    nodes: int
    ranks: int

    @classmethod
    def of(cls, run: Run) -> Shape:
        """Return the shape of a cell's run."""
        return cls(run.cell.gpus, run.nodes, run.ranks or 0)


@dataclass(frozen=True)
class Options:
    """Options of sbatch.

    Attributes:
        given: the user's options by long name; True for an option without a value.
        seconds: time limit of a job (s).
    """

    given: dict[str, str | bool]
    seconds: float

    @property
    def partition(self) -> str | None:
        """The partition, if the user named one."""
        value = self.given.get("partition")
        return value if isinstance(value, str) else None

    def of_job(self, shape: Shape, path: str) -> dict[str, str | bool]:
        """Return sbatch's options for a job of this shape; the user's own take precedence.

        On the path ``host`` the GPU count is a number of cores. A rank is a task, since launchers
        derive their slots from tasks.
        """
        tasks = max(1, math.ceil(shape.ranks / shape.nodes))
        asked: dict[str, str | bool] = {"nodes": str(shape.nodes)}
        if not self._gives(_TASKS):
            asked["ntasks-per-node"] = str(tasks)
        if path == "host":
            if not self._gives(_CORES):
                cores = math.ceil(shape.gpus / shape.nodes / tasks)
                asked["cpus-per-task"] = str(cores)
        elif not self._gives(_GPUS):
            asked["gpus-per-node"] = str(math.ceil(shape.gpus / shape.nodes))
        values = {"gpus": shape.gpus, "nodes": shape.nodes, "ranks": max(1, shape.ranks)}
        return asked | {
            name: _PLACE.sub(lambda at: str(values[at[1]]), value) if value is not True else True
            for name, value in self.given.items()
            if isinstance(value, str) or value
        }

    def _gives(self, names: tuple[str, ...]) -> bool:
        return any(name in self.given for name in names)


def parse(text: str) -> Options:
    """Parse options such as ``--partition=gpu --time 1:00:00 -A account`` as sbatch does; values
    may contain ``{gpus}``, ``{nodes}`` and ``{ranks}``.

    Raises:
        InputError: a word is not an option, an option is gpucast's to set, or the time limit is
            missing.
    """
    given: dict[str, str | bool] = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{text!r}: {error}", field=FIELD) from None
    while words:
        name, value = _option(words, text)
        if name in _OURS:
            raise InputError(f"--{name} cannot be given: {_OURS[name]}", field=FIELD)
        for place in _PLACE.findall(value) if isinstance(value, str) else []:
            if place not in ("gpus", "nodes", "ranks"):
                raise InputError(
                    f"unknown placeholder {{{place}}}; there are {{gpus}}, {{nodes}}, {{ranks}}",
                    field=FIELD,
                )
        given[name] = value
    limit = given.get("time")
    if not isinstance(limit, str):
        raise InputError("missing: --time of a job, such as --time=1:00:00", field=FIELD)
    return Options(given, _seconds(limit))


def words_of(options: dict[str, str | bool]) -> list[str]:
    """Return options as words of a command line."""
    return [
        f"--{name}" if value is True else f"--{name}={value}"
        for name, value in sorted(options.items())
    ]


def _option(words: list[str], text: str) -> tuple[str, str | bool]:
    """Remove the first option from the words, and return its name and value."""
    word = words.pop(0)
    if word.startswith("--") and len(word) > 2:
        name, equals, value = word[2:].partition("=")
        if equals:
            return name, value
    elif word.startswith("-") and word[1:2] in _SHORT:
        name, value = _SHORT[word[1]], word[2:]
        if value:
            return name, value
    else:
        raise InputError(f"{word!r} in {text!r} is no option of sbatch", field=FIELD)
    if name in _FLAGS or not words or words[0].startswith("-"):
        return name, True
    return name, words.pop(0)


def _seconds(text: str) -> float:
    """Parse Slurm's forms ``90``, ``90:00``, ``1:30:00``, ``1-0``, ``1-12:00``, ``1-12:00:00``."""
    form = _TIME.fullmatch(text)
    if form is None:
        raise InputError(f"--time={text} is no time limit such as 1:00:00", field=FIELD)
    days, *rest = form.groups()
    numbers = [int(digits) for digits in rest if digits is not None]
    if days is not None:
        hours, minutes, seconds = numbers + [0] * (3 - len(numbers))
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, [*numbers, 0][:2]
    total = 3600.0 * (24 * int(days or 0) + hours) + 60.0 * minutes + seconds
    if total < LEAST_SECONDS:
        raise InputError(
            f"--time={text}: a job needs {LEAST_SECONDS / 60:.0f} minutes at least", field=FIELD
        )
    return total
