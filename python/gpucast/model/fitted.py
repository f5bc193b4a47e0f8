"""A fitted model: what a fit found, how it forecasts, and its file (``gpucast.model/1``)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data import workload
from gpucast.data.bundled import reconstructed_files
from gpucast.data.limits import LARGEST_GPUS, LARGEST_N
from gpucast.data.selection import FIELDS, StepSelection
from gpucast.errors import InputError, from_os_error
from gpucast.model.content import Bootstrap, Fitted
from gpucast.util import files
from gpucast.util.typed_json import WrongValueError, from_json, to_json
from gpucast.util.units import EXACT, plain

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]
Numbers = float | Iterable[float]

SCHEMA = "gpucast.model/1"
USUAL_SIZES = (216.0, 1e6)
"""Particles, least and greatest, where no size was measured."""

# A grid of forecasts evaluates every replicate in every cell. Beyond this many evaluations fewer
# replicates are used; forty still give the spread to 11 %.
_EVALUATIONS = 20_000_000
_FEWEST_REPLICATES = 40

# Half-width of an interval of log time; a factor of 1e43 either way says that nothing is known.
_WIDEST = 100.0


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of cells, as arrays of one length.

    ``low`` and ``high``: 90 % prediction interval of a single undisturbed measurement;
    ``mean_low`` and ``mean_high``: 90 % interval of the expected time. Seconds.
    """

    n: Array
    gpus: Array
    seconds: Array
    low: Array
    high: Array
    mean_low: Array
    mean_high: Array
    t_gpu: Array
    t_cpu: Array
    t_com: Array
    extrapolated: NDArray[np.bool_]
    spread: Array = field(repr=False)

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """What tables show: all but the spread; whole numbers as such, n where all of it is."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)[:-1]}
        whole = bool(np.all((self.n == np.floor(self.n)) & (self.n < EXACT)))
        n = self.n.astype(np.int64) if whole else self.n
        return {**shown, "n": n, "gpus": self.gpus.astype(np.int64)}


class Best(TypedDict):
    """The fastest GPU count for an n.

    ``probability``: share of bootstrap replicates in which it is the fastest; None without any.
    ``within_2_percent``: all counts at most 2 % slower. ``extrapolated``: whether any of the counts
    compared is outside what was fitted.
    """

    model: str
    n: float
    gpus: int
    seconds: float
    probability: float | None
    within_2_percent: list[int]
    extrapolated: bool


def _no_values() -> Array:
    return np.empty((0, 0))


@dataclass(kw_only=True, eq=False)
class Model(Fitted):
    """A fitted model: what the fit found (``gpucast.model.content``), and replicates for intervals.

    Attributes:
        name: for tables and files: the file's name, or the path fitted.
        replicates: parameter values of each bootstrap replicate, shape (B, parameters).
        integers: structural integer (k or p) of each replicate, length B.
    """

    name: str = field(default="", metadata={"key": None})
    replicates: Array = field(default_factory=_no_values, metadata={"key": None}, repr=False)
    integers: list[int] = field(default_factory=list, metadata={"key": None}, repr=False)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.chosen or self.terms}{self.integer_in_words()}"]
        width = max(map(len, self.parameters), default=0)
        lines += [f"  {name:{width}}  {each}" for name, each in self.parameters.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    @property
    def content(self) -> dict[str, Any]:
        """The model file but its replicates, as JSON values: what ``fit --json`` prints."""
        return dict(to_json(self))

    @property
    def core(self) -> _core.Model:
        """The core's model, with terms, structural integer and curves."""
        return self.core_with(self.breakpoints)

    def core_with(self, curves: dict[str, list[float]], com: str | None = None) -> _core.Model:
        """The same with other transfer curves, breakpoints in bytes by route, and perhaps another
        communication term."""
        return _core.Model(
            self.terms.gpu,
            self.terms.cpu,
            com or self.terms.com,
            cores=self.machine.cores,
            sms=self.machine.sms,
            block=self.machine.block,
            integer=self.k or self.p or 1,
            curves=curves,
            gpu_breakpoints=self.chains.gpu,
            cpu_breakpoints=self.chains.cpu,
            workload=self.workload,
        )

    @property
    def workload(self) -> _core.Workload:
        """What the steps do: work, bytes and operations as functions of n and N."""
        return workload.of(self.stated_workload)

    @property
    def values(self) -> Array:
        """Parameter values in the core's order."""
        names = [name for name, _, _ in self.core.parameters]
        return np.array([self.parameters[name].value for name in names], dtype=np.float64)

    @property
    def selection(self) -> StepSelection:
        """The steps that it forecasts: those fitted, on the path of a what-if; of any machine."""
        fitted = {name: getattr(self.data, name) for name in FIELDS}
        block = int(self.machine.block) or None
        return StepSelection(**{**fitted, "path": self.data.forecast_path, "block": block})

    def parameter(self, name: str) -> float:
        """Value of a parameter in SI units."""
        return float(self.parameters[name].value)

    def forecasts(self, n: Sequence[float] | Array, gpus: Sequence[float] | Array) -> Forecasts:
        """Forecasts for pairs of ``n`` and ``gpus`` (one length).

        Raises:
            InputError: an n or a GPU count out of range, or a GPU count whose communication cost
                the data cannot know.
        """
        n = checked_sizes(n)
        gpus = checked_counts(gpus)
        self._refuse_unobserved(n, gpus)
        wanted = max(_FEWEST_REPLICATES, _EVALUATIONS // max(1, n.size))
        used = min(len(self.integers), wanted)
        t_gpu, t_cpu, t_com, spread = _core.forecast(
            self.core, self.values, self.replicates[:used], self.integers[:used], n, gpus
        )
        seconds = t_gpu + t_cpu + t_com
        if not (np.isfinite(seconds) & (seconds > 0)).all():
            raise InputError("its parameters give no finite time; fit it again", file=self.name)
        noise = self.noise
        mean = interval_width(noise.t90 * np.hypot(spread, noise.between_cells))
        single = interval_width(noise.t90 * np.hypot(spread, noise.sample))
        return Forecasts(
            n=n,
            gpus=gpus,
            seconds=seconds,
            low=seconds * np.exp(-single),
            high=seconds * np.exp(single),
            mean_low=seconds * np.exp(-mean),
            mean_high=seconds * np.exp(mean),
            t_gpu=t_gpu,
            t_cpu=t_cpu,
            t_com=t_com,
            extrapolated=self.extrapolates(n, gpus),
            spread=spread,
        )

    def extrapolates(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Whether a cell lies outside the n or the GPU counts that were fitted."""
        domain = self.domain
        inside_n = (domain.n[0] <= n) & (n <= domain.n[1])
        inside_gpus = (domain.gpus[0] <= gpus) & (gpus <= domain.gpus[1])
        return np.asarray(~(inside_n & inside_gpus), dtype=np.bool_)

    def forecast(self, n: Numbers, gpus: Numbers) -> pandas.DataFrame:
        """Forecasts of every n with every GPU count, a row each.

        Columns: model, n, gpus, seconds, low, high (90 % prediction interval of one measurement),
        mean_low, mean_high (90 % interval of the expected time), t_gpu, t_cpu, t_com, extrapolated.
        """
        import pandas

        frame = pandas.DataFrame(self.forecasts(*outer(n, gpus)).columns())
        frame.insert(0, "model", self.name)
        return frame

    def best(self, n: Numbers, gpus: Numbers = range(1, 9)) -> pandas.DataFrame:
        """The fastest GPU count for each n, a row each: see ``best_counts``."""
        import pandas

        return pandas.DataFrame(self.best_counts(as_list(n), as_list(gpus)))

    def best_counts(self, n: Sequence[float], gpus: Sequence[float]) -> list[Best]:
        """The fastest GPU count for each n."""
        counts = checked_counts(sorted(set(gpus)))
        sizes = checked_sizes(n)
        if not counts.size:
            raise InputError("needs at least one GPU count to choose from", field="gpus")
        found = self.forecasts(*outer(sizes, counts))
        seconds = found.seconds.reshape(sizes.size, counts.size)
        outside: NDArray[np.bool_] = np.any(found.extrapolated.reshape(seconds.shape), axis=1)
        share = self.best_shares(sizes, counts)
        result: list[Best] = []
        for row, size in enumerate(sizes):
            at = int(np.argmin(seconds[row]))
            close = counts[seconds[row] <= 1.02 * seconds[row, at]]
            result.append(
                {
                    "model": self.name,
                    "n": plain(size),
                    "gpus": int(counts[at]),
                    "seconds": float(seconds[row, at]),
                    # Sums of shares miss 1 by rounding.
                    "probability": round(float(share[row, at]), 9) if self.integers else None,
                    "within_2_percent": [int(count) for count in close],
                    "extrapolated": bool(outside[row]),
                }
            )
        return result

    def best_shares(self, n: Array, gpus: Array) -> Array:
        """Share of bootstrap replicates in which each GPU count is the fastest of them, shape
        (n, gpus); NaN in a model without replicates."""
        if not self.integers:
            return np.full((n.size, gpus.size), np.nan)
        return _core.best_probability(self.core, self.replicates, self.integers, n, gpus)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model file; whole or not at all."""
        files.write_text(path, self.to_json(), force=force)

    def to_json(self) -> str:
        """The content of the model file."""
        names = [name for name, _, _ in self.core.parameters]
        content = {
            "schema": SCHEMA,
            **self.content,
            "bootstrap": {
                "parameters": names,
                "integers": self.integers,
                "values": [[float(f"{x:.9g}") for x in row] for row in self.replicates.tolist()],
            },
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"

    def integer_in_words(self) -> str:
        """``, k = 4``; empty for a model without structural integer."""
        found = {"k": self.k, "p": self.p}
        return "".join(f", {name} = {value}" for name, value in found.items() if value is not None)

    def _refuse_unobserved(self, n: Array, gpus: Array) -> None:
        """Refuse more GPUs than fitted where their time depends on what no data depended on."""
        unseen = [name for name, each in self.parameters.items() if not each.observed]
        most = self.domain.gpus[1]
        if not unseen or not gpus.size or gpus.max() <= most:
            return
        core, values = self.core, self.values
        other = values.copy()
        other[[name in unseen for name, _, _ in core.parameters]] *= 2
        none = np.empty((0, values.size))
        before, after = (
            _core.forecast(core, each, none, [], n, gpus)[:3] for each in (values, other)
        )
        if np.array_equal(before, after):
            return
        raise InputError(
            f"nothing measured depends on {', '.join(unseen)}, so {int(gpus.max())} GPUs "
            f"cannot be forecast; measure steps with more than {most} GPU(s) or transfers on "
            "that route",
            field="gpus",
        )


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file, or a bundled reconstruction by its name (``gpucast data list``).

    Raises:
        InputError: the file cannot be read, is no model file, or is of another version.
    """
    name = os.fspath(path)
    try:
        text = _file_of(path).read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_refuse_constant)
    except OSError as error:
        raise from_os_error(error, path) from error
    except UnicodeDecodeError as error:
        raise InputError("is no UTF-8 text, so no model file", file=name) from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"is no model file: no JSON ({error.msg})", file=name, line=error.lineno
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no model file: {error}", file=name) from error
    if not isinstance(content, dict) or "schema" not in content:
        raise InputError("is no model file (gpucast fit DATA -o MODEL.json makes one)", file=name)
    if content["schema"] != SCHEMA:
        raise InputError(
            f"is {content['schema']!r:.40}; this version reads {SCHEMA!r}",
            file=name,
            field="schema",
        )
    try:
        drawn = from_json(Bootstrap, content).bootstrap
        model = from_json(Model, content)
    except WrongValueError as error:
        raise InputError(
            f"{error.message}; the model file is damaged", file=name, field=error.field
        ) from error
    try:
        model.name = Path(name).stem
        model.replicates = np.array(drawn.values, dtype=np.float64).reshape(
            len(drawn.integers), len(drawn.parameters)
        )
        model.integers = drawn.integers
        _check_names(model, drawn.parameters)
    except (ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"is a damaged model file: {reason}", file=name) from error
    return model


def sizes_to_show(model: Model) -> tuple[float, float]:
    """Least and greatest n to show of a model: those fitted, of a reconstruction the usual ones."""
    least, largest = model.domain.n if model.reconstruction is None else USUAL_SIZES
    return float(least), float(largest)


def _file_of(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.exists() or not isinstance(path, str):
        return file
    return reconstructed_files().get(path, file)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _check_names(model: Model, replicate_names: list[str]) -> None:
    names = [name for name, _, _ in model.core.parameters]
    missing = [name for name in names if name not in model.parameters]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    if replicate_names != names:
        raise ValueError("its replicates are of other parameters")


def interval_width(log_width: Array) -> Array:
    """Half-width of an interval of log time, kept within what ``exp`` can hold."""
    return np.minimum(log_width, _WIDEST)


def as_list(values: Numbers) -> list[float]:
    """One number or several, as a list.

    Raises:
        InputError: something that is no number; text, too, even of digits.
    """
    several = values if isinstance(values, Iterable) else (values,)
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        return [float(value) for value in several]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{values!r} is no number or list of numbers") from error


def outer(n: Numbers | Array, gpus: Numbers | Array) -> tuple[Array, Array]:
    """Every n with every GPU count: two flat arrays, GPU counts running fastest."""
    sizes = np.array(as_list(n))
    counts = np.array(as_list(gpus))
    return np.repeat(sizes, counts.size), np.tile(counts, sizes.size)


def grain_of(*sizes: float) -> float:
    """How far apart sizes between these are looked at: 1 where all are whole numbers.

    Else a millionth of the least: so much nobody measures.
    """
    return 1.0 if all(float(n).is_integer() for n in sizes) else 1e-6 * min(sizes)


def rounded(n: Array, grain: float) -> Array:
    """Sizes as multiples of a grain."""
    return np.round(n) if grain == 1 else np.round(n / grain) * grain


def spaced(low: float, high: float, count: int) -> Array:
    """Sizes spread evenly in the logarithm; whole numbers between such, so perhaps fewer."""
    between = rounded(np.geomspace(low, high, count), grain_of(low, high))
    return np.unique(np.clip(between, low, high))


SAME_SIZE = 1e-12
"""Sizes that differ relatively by no more are one: floats hold larger ones hardly finer."""


def checked_sizes(values: Sequence[float] | Array) -> Array:
    """Sizes n as an array.

    Raises:
        InputError: one that is no number greater than 0, or too large.
    """
    array = np.array(values, dtype=np.float64)
    wrong = array[~((array > 0) & (array <= LARGEST_N))]
    if wrong.size:
        raise InputError(
            f"{wrong[0]:.12g} is no size greater than 0 and up to {LARGEST_N:.12g}", field="n"
        )
    return array


def checked_counts(values: Sequence[float] | Array) -> Array:
    """GPU counts as an array.

    Raises:
        InputError: one that is no whole number from 1 to the largest.
    """
    array = np.array(values, dtype=np.float64)
    wrong = array[~((array >= 1) & (array <= LARGEST_GPUS) & (array == np.floor(array)))]
    if wrong.size:
        raise InputError(
            f"{wrong[0]:.12g} is no whole number from 1 to {LARGEST_GPUS:.12g}", field="gpus"
        )
    return array
