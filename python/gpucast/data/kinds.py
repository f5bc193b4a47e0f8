"""Kinds of GPUs with the vendors' figures, and public timings of programs on several of them.

``data/kinds/catalogue.csv`` has a row for each kind, ``timings.csv`` one for each measurement,
``variances.csv`` what ``gpucast.model.kinds`` estimates from them; their sources are in
``data/kinds/README.md``.
"""

from __future__ import annotations

import csv
import difflib
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpucast.data import data_folders
from gpucast.errors import InputError

PRECISIONS = ("fp64", "fp32", "fp32_matrix", "tf32", "fp16", "bf16")
"""``fp32_matrix``: matrix products in fp32, for which AMD's data-centre GPUs have matrix units."""


@dataclass(frozen=True)
class GpuKind:
    """A kind of GPU.

    Attributes:
        name, aliases: its name here, and in drivers and tables.
        architecture: the chip's generation.
        memory: bytes; ``bandwidth``: that of the memory, bytes/s.
        peaks: flop/s by precision, without sparsity, of matrix units for tf32, fp16 and bf16, and
            for fp32_matrix if it has them; precisions that it lacks are missing.
        sms: number of multiprocessors (compute units).
        link: to other GPUs, bytes/s in both directions together.
        power: largest power, W.
        source: source of the figures, a document of the vendor's.
    """

    name: str
    aliases: tuple[str, ...]
    architecture: str
    memory: float
    bandwidth: float
    peaks: dict[str, float]
    sms: int
    link: float
    power: float
    source: str

    @property
    def vendor(self) -> str:
        """The vendor, whose document the source is."""
        return self.source.split()[0]


@dataclass(frozen=True)
class Timing:
    """A program's rate on one GPU of a kind, in the program's own unit."""

    family: str
    program: str
    precision: str
    kind: str
    rate: float
    source: str

    @property
    def campaign(self) -> str:
        """The repository, or file, that the timing is from."""
        return re.split(r" @|,| README", self.source)[0]


_QUANTITIES = {
    "memory": ("memory_gb", 1e9), "bandwidth": ("bandwidth_gb_s", 1e9), "link": ("link_gb_s", 1e9),
    "power": ("power_w", 1.0),
}  # fmt: skip
"""Columns of quantities, and the factors that convert them to SI units."""


@cache
def catalogue() -> dict[str, GpuKind]:
    """Return all kinds by name."""
    kinds = {}
    for row in kind_rows("catalogue.csv"):
        peaks = {name: row[f"{name}_tflops"] for name in PRECISIONS}
        peaks["fp32_matrix"] = peaks["fp32_matrix"] or peaks["fp32"]
        stated: dict[str, Any] = {
            field: float(row[column]) * unit for field, (column, unit) in _QUANTITIES.items()
        }
        stated |= {field: row[field] for field in ("architecture", "source")}
        kinds[row["kind"]] = GpuKind(
            name=row["kind"],
            aliases=tuple(row["aliases"].split(";")),
            peaks={name: float(peak) * 1e12 for name, peak in peaks.items() if peak},
            sms=int(row["sms"]),
            **stated,
        )
    return kinds


@cache
def timings() -> tuple[Timing, ...]:
    """Return all bundled timings; for tables of times, the rate is the inverse."""
    stated = ("family", "program", "precision", "kind", "source")
    return tuple(
        Timing(
            **{name: row[name] for name in stated},
            rate=float(row["figure"]) ** (1 if row["is"] == "rate" else -1),
        )
        for row in kind_rows("timings.csv")
    )


def kind_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a bundled table of kinds."""
    paths = (folder / "kinds" / name for folder in data_folders())
    with next(path for path in paths if path.exists()).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def kind_named(name: str, field: str = "--kind") -> GpuKind:
    """Return the kind with a name or alias; case, blanks, hyphens and the vendor are ignored.

    Raises:
        InputError: no kind or several kinds have it.
    """
    known = {_plain(alias): kind for kind in catalogue().values() for alias in kind.aliases}
    known |= {_plain(kind): value for kind, value in catalogue().items()}
    wanted = _plain(name)
    if wanted in known:
        return known[wanted]
    starting = sorted(kind for kind in catalogue() if _plain(kind).startswith(wanted))
    near = starting or difflib.get_close_matches(name, catalogue(), 3, 0.4)
    raise InputError(
        f"{name!r} is not a kind of GPU in the catalogue; near: {', '.join(near) or 'none'}",
        field=field,
    )


def known_kind(name: str | None) -> GpuKind | None:
    """Return the kind with a name; None if the catalogue does not have it."""
    try:
        return kind_named(name or "")
    except InputError:
        return None


def power_limit(name: str | None) -> float:
    """Return the largest power of a kind of GPU (W); infinite if it is not in the catalogue."""
    kind = known_kind(name)
    return float("inf") if kind is None else kind.power


def _plain(name: str) -> str:
    letters = "".join(letter for letter in name.lower() if letter.isalnum())
    for word in ("nvidia", "amd", "intel", "tesla", "geforce", "instinct", "generation"):
        letters = letters.removeprefix(word).removesuffix(word)
    return letters
