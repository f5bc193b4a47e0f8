"""The options of ``gpucast measure``: for all campaigns, our own programs, and described ones.

``--until`` is a question in words: ``best n=3e6``, ``forecast n=3e6 gpus=8 within=10%``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from gpucast.cli.options import flag, kernels, list_of, memories, option
from gpucast.data import vocabulary
from gpucast.errors import InputError
from gpucast.util.gpu_shares import GpuShare, parted
from gpucast.util.number_lists import counts, duration, sizes

if TYPE_CHECKING:
    from gpucast.measure.design.questions import Question

FIELD = "--until"
_KEYS = {"best": ("n", "gpus", "within", "surely"), "forecast": ("n", "gpus", "within")}


@dataclass(frozen=True)
class Common:
    """Options of all campaigns."""

    budget: str | None = option(
        "Time: 90s, 5m, 1h, for visits spread over all cells; default: each once."
    )
    until: list[str] | None = option(
        "Until it is sure: 'best n=3e6' (best GPU count: 95 % sure, or a wrong one loses 1 %), "
        "'forecast n=3e6 gpus=8 within=10%'. Several: until all are.",
        metavar="QUESTION",
    )
    n: str | None = option("Particles: 1000,1e5 or 512..1e6:9.", "-n", "--n")
    gpus: str | None = option(
        "GPU counts: 1-4,8; of --program also 1/4: four instances at once on one GPU."
    )
    visits: int | None = option(
        "How often each cell is measured, all cells before the next time: what differs from minute "
        "to minute then shows, and averages. With a budget: at most. Default: 1; with a budget 6.",
        min=1,
        max=1000,
    )
    machine: str | None = option("Name of this machine in the records.")

    def bounds(self) -> dict[str, Any]:
        """Fields that requests of all campaigns have."""
        if self.machine is not None and (not self.machine or not self.machine.isprintable()):
            raise InputError(f"{self.machine!r} is no name", field="machine")
        return {
            "visits": self.visits,
            "budget": None if self.budget is None else duration(self.budget, "budget"),
            "machine": self.machine,
            "until": [question(text) for text in dict.fromkeys(self.until or ())],
        }

    def shares(self) -> list[GpuShare] | None:
        """GPU counts, and shares 1/k of a GPU."""
        if self.gpus is None:
            return None
        instances, rest = parted(self.gpus)
        counted = whole(counts, rest, "gpus") if rest or not instances else ()
        return [*(Fraction(1, count) for count in instances), *(counted or ())]


@dataclass(frozen=True)
class Own:
    """Options of campaigns with gpucast's own programs."""

    paths: str | None = option(
        "host (CPU threads as devices, host:8 eight of them), native, LABEL=HOST:PORT+HOST:PORT "
        "(remote GPUs), LABEL=sync:HOST:PORT (each call waited for). Default: host, and native "
        "where there are GPUs.",
        "--path",
        "--paths",
        metavar="LIST",
        autocompletion=list_of(lambda: ("host", "native")),
    )
    schedules: str | None = option(
        "star-serial, star-async, ...; default: all that run here but mpi.",
        "--schedule",
        "--schedules",
        metavar="LIST",
        autocompletion=list_of(lambda: get_args(vocabulary.Schedule)),
    )
    kernels: str | None = option(
        "claret, tuned; default: both.",
        "--kernel",
        "--kernels",
        metavar="LIST",
        autocompletion=list_of(kernels),
    )
    memory: str | None = option(
        "Memory of star-serial: pageable, pinned; default: both.",
        metavar="LIST",
        autocompletion=list_of(memories),
    )
    transfers: bool = option(
        "Transfers and launches, too.", "--transfers/--no-transfers", default=True
    )
    max_time: str | None = option(
        "Most time that a visit times steps of a cell for: 0.1s.", "--max-time", "--cell-time"
    )
    launcher: str | None = option("Starts the processes of schedule mpi: 'mpirun -np {ranks}'.")
    secret_file: Path | None = option("File with the secret of remote servers.")


@dataclass(frozen=True)
class Described:
    """Options of campaigns with a program described by a file."""

    gpu_hours: float | None = option(
        "With --program: as --budget, in hours of the GPUs (path host: cores) that runs have."
    )
    trace: bool = flag(
        "--trace",
        "With --program: record a run of each cell, too, which splits its steps into T_gpu, T_cpu "
        "and T_com.",
    )
    mps: bool = flag(
        "--mps",
        "With --program: instances under NVIDIA's Multi-Process Service, started for them.",
    )
    slurm: str | None = option(
        "With --program: measure by jobs of Slurm's, with these options of sbatch: "
        "'--partition=gpu --time=1:00:00'.",
        metavar="OPTIONS",
    )
    cancel: bool = flag(
        "--cancel", "With --program: end the jobs of --slurm, and keep what they measured."
    )
    dry_run: bool = flag("--dry-run", "With --program: show the commands in order; run nothing.")


def records_file(output: Path | None) -> Path:
    """Return the file that a campaign continues; it must be named."""
    if output is None:
        raise InputError("missing: the file of records", field="-o")
    if str(output) == "-":
        raise InputError("a campaign goes on from its file; give one a name", field="-o")
    return output


def whole(
    read: Callable[[str, str], list[float]], text: str | None, field: str
) -> tuple[int, ...] | None:
    """A list of sizes or counts that are whole numbers; None stays None."""
    if text is None:
        return None
    values = read(text, field)
    for value in values:
        if value < 1 or not value.is_integer():
            raise InputError(f"'{value:.12g}' is no whole number of at least 1", field=field)
    return tuple(int(value) for value in values)


def question(text: str) -> Question:
    """Read ``best`` or ``forecast``, then ``n=`` and ``gpus=`` (default: the measured ones),
    ``within=`` and, for ``best``, ``surely=``, in any order.

    Raises:
        InputError: anything else.
    """
    from gpucast.measure.design.questions import HALF_WIDTH, REGRET, SURELY, Question

    kind, *rest = text.split() or [""]
    if kind not in ("best", "forecast"):
        raise _wrong(f"{text!r} begins with neither 'best' nor 'forecast'")
    given: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if key not in _KEYS[kind] or not equals or not value:
            known = ", ".join(f"{name}=" for name in _KEYS[kind])
            raise _wrong(f"{word!r} in {text!r} is none of {known}")
        if key in given:
            raise _wrong(f"{key}= is twice in {text!r}")
        given[key] = value
    within = _share(given, "within", REGRET if kind == "best" else HALF_WIDTH)
    return Question(
        "best" if kind == "best" else "forecast",
        tuple(sizes(given["n"], FIELD)) if "n" in given else (),
        tuple(map(int, counts(given["gpus"], FIELD))) if "gpus" in given else (),
        within,
        _share(given, "surely", SURELY),
        text=" ".join(text.split()),
    )


def _share(given: dict[str, str], key: str, usual: float) -> float:
    """``10%`` or ``0.1``, between 0 and 1."""
    if key not in given:
        return usual
    text = given[key]
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise _wrong(f"{key}={text} is no share between 0 % and 100 %")
    return value


def _wrong(text: str) -> InputError:
    example = "'best n=3e6' or 'forecast n=3e6 gpus=8 within=10%'"
    return InputError(f"{text}, such as {example}", field=FIELD)
