"""The series that are judged: steps of one program, case and machine of a table."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gpucast
from gpucast.data.dataset import Dataset, from_records
from gpucast.data.formats import Options
from gpucast.data.loading import load
from gpucast.data.records import Step
from gpucast.data.steps import medians_of
from programs.splits import Split

Array = NDArray[np.float64]

BUNDLED = (
    "lammps-lj-v100", "gromacs-lumi", "quick-dft", "stencil-cg", "hecbiosim", "openmm-cellulose",
)  # fmt: skip
TABLES = Path(__file__).parent / "tables"
DATASETS = Path(__file__).parents[3] / "data" / "programs" / "source" / "datasets.toml"

_NOT_TUNED_ON = (
    "quick", "hecbiosim", "amber16", "amg2023-lanl", "amrex", "athenak", "devito", "dftfe",
    "dlperf", "dtfft", "fastertransformer", "gamer", "gunrock", "hugectr", "keyshot",
    "llamacpp", "maestroex", "microhh", "mnmgdatalog", "mpt", "mstar", "nanofluidx", "ndg",
    "nekrs", "parthenon", "qex", "quicksilver", "quiver", "speos", "tfcnn", "tnavigator",
    "tuflow", "turbomachinery", "ultrafluidx", "vlasiator", "wrf",
)  # fmt: skip
"""How tables begin that took no part when priors were chosen."""


@dataclass(frozen=True)
class Series:
    """Steps that n and the GPU count alone tell apart.

    Attributes:
        table: file or dataset that it is from.
        label: what tells it from other series of the table; empty where it is the only one.
        data: its steps.
    """

    table: str
    label: str
    data: Dataset

    @property
    def name(self) -> str:
        return f"{self.table}: {self.label}" if self.label else self.table

    @property
    def tuned(self) -> bool:
        """Whether the model's priors were chosen on tables of this program, too."""
        return tuned_on(self.table)

    @property
    def n(self) -> Array:
        """Size of each measured cell, sorted by size and count."""
        return self._cells[0]

    @property
    def gpus(self) -> Array:
        """GPU count of each measured cell."""
        return self._cells[1]

    @property
    def seconds(self) -> Array:
        """Median step time of each measured cell, s."""
        return self._cells[2]

    def trained_on(self, split: Split) -> Dataset:
        """The steps of the cells that a split trains on."""
        kept = split.trained
        cells = set(zip(self.n[kept].tolist(), self.gpus[kept].tolist(), strict=True))
        return self.data.where(lambda step: (step.n, step.gpus) in cells)

    @cached_property
    def _cells(self) -> Array:
        medians = medians_of(self.data.steps)
        return np.array([(n, gpus, seconds) for (n, gpus), seconds in medians.items()], float).T


def tuned_on(table: str) -> bool:
    """Whether a table took part when the model's priors were chosen."""
    return not table.startswith(_NOT_TUNED_ON)


def bundled() -> Iterator[Series]:
    """Series of the bundled datasets."""
    for name in BUNDLED:
        yield from series_of(gpucast.load(name), name)


def published(folder: Path = TABLES) -> Iterator[Series]:
    """Series of the tables in a folder, in the order of their names."""
    for file in sorted(folder.glob("*.csv")):
        yield from series_of(read(file), file.stem)


def series_of(data: Dataset, table: str) -> Iterator[Series]:
    """The series of a dataset, in the order they first occur."""
    groups: dict[tuple[str | None, ...], list[Step]] = defaultdict(list)
    for step in data.steps:
        groups[step.program, step.case, step.machine].append(step)
    differ = [i for i, values in enumerate(zip(*groups, strict=True)) if len(set(values)) > 1]
    for group, steps in groups.items():
        label = ", ".join(value for i in differ if (value := group[i]))
        machines = [data.machines[step.machine] for step in steps[:1]]
        yield Series(table, label, from_records(table, [*machines, *steps]))


def read(file: Path) -> Dataset:
    """A table's steps, its times in seconds however long they are."""
    return load(file, options=Options(columns={"seconds": "seconds:s"}))


def families() -> dict[str, str]:
    """The kind of program of every table, as the README of the tables and datasets.toml say."""
    lines = (TABLES / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| ")]
    datasets = tomllib.loads(DATASETS.read_text(encoding="utf-8"))
    return {
        **{row[1]: row[2] for row in rows[1:]},
        **{name: about["family"] for name, about in datasets.items()},
    }
