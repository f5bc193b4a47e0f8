"""The series that are judged: steps of one program, case and machine in a table."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.formats import Options
from gpucast.data.loading import load
from gpucast.data.records import Step
from lab.forecasters.asking import Question
from lab.forecasters.splits import Split

BUNDLED = (
    "lammps-lj-v100", "gromacs-lumi", "quick-dft", "stencil-cg", "hecbiosim", "openmm-cellulose",
)  # fmt: skip
TABLES = Path(__file__).parent / "tables"
DATASETS = Path(__file__).parents[2] / "data" / "programs" / "source" / "datasets.toml"

_NOT_TUNED_ON = (
    "quick", "hecbiosim", "amber16", "amg2023-lanl", "amrex", "athenak", "devito", "dftfe",
    "dlperf", "dtfft", "fastertransformer", "gamer", "gunrock", "hugectr", "keyshot",
    "llamacpp", "maestroex", "microhh", "mnmgdatalog", "mpt", "mstar", "nanofluidx", "ndg",
    "nekrs", "parthenon", "qex", "quicksilver", "quiver", "speos", "tfcnn", "tnavigator",
    "tuflow", "turbomachinery", "ultrafluidx", "vlasiator", "wrf",
)  # fmt: skip
"""Beginnings of the names of tables on which no priors were chosen."""


@dataclass(frozen=True)
class Series:
    """Steps that differ in n and GPU count alone.

    Attributes:
        table: the file or dataset of the steps.
        label: distinguishes the series from others of the table; empty if it is the only one.
        tuned: whether tables of this program were among those on which priors were chosen.
        samples: n, gpus and seconds, a row for each measurement.
    """

    table: str
    label: str
    tuned: bool
    samples: pd.DataFrame

    @property
    def name(self) -> str:
        return f"{self.table}: {self.label}" if self.label else self.table

    @cached_property
    def cells(self) -> pd.DataFrame:
        """n, gpus and median time (``measured``, s) of each cell, sorted by n and gpus."""
        medians = self.samples.groupby(["n", "gpus"], as_index=False).seconds.median()
        return medians.rename(columns={"seconds": "measured"})

    def question(self, split: Split) -> Question:
        """The measurements that a split trains on, and all cells: trained ones enter the choice of
        a count."""
        cells = self.cells[["n", "gpus"]]
        return self.samples.merge(cells[split.trained]), cells


def tuned_on(table: str) -> bool:
    """Whether the model's priors were chosen on a table."""
    return not table.startswith(_NOT_TUNED_ON)


def bundled() -> Iterator[Series]:
    """Series of the bundled datasets."""
    for name in BUNDLED:
        yield from series_of(gpucast.load(name), name, tuned_on(name))


def published(folder: Path = TABLES) -> Iterator[Series]:
    """Series of the tables in a folder, in the order of their names."""
    for file in sorted(folder.glob("*.csv")):
        yield from series_of(read(file), file.stem, folder == TABLES and tuned_on(file.stem))


def series_of(data: Dataset, table: str, tuned: bool) -> Iterator[Series]:
    """The series of a dataset, in order of their first records."""
    groups: dict[tuple[str | None, ...], list[Step]] = defaultdict(list)
    for step in data.steps:
        groups[step.program, step.case, step.machine].append(step)
    differ = [i for i, values in enumerate(zip(*groups, strict=True)) if len(set(values)) > 1]
    for group, steps in groups.items():
        label = ", ".join(value for i in differ if (value := group[i]))
        yield Series(table, label, tuned, samples_of(steps))


def samples_of(steps: Iterable[Step]) -> pd.DataFrame:
    """n, gpus and seconds of steps, a row for each sample."""
    rows = [(step.n, step.gpus, seconds) for step in steps for seconds in step.seconds]
    return pd.DataFrame(rows, columns=["n", "gpus", "seconds"])


def read(file: Path) -> Dataset:
    """The steps of a table; the unit of its times is seconds and not guessed."""
    return load(file, options=Options(columns={"seconds": "seconds:s"}))


def families(folder: Path = TABLES) -> dict[str, str]:
    """The kind of program of each table, from the README of the folder if there is one, and from
    datasets.toml for bundled ones."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    lines = [line for line in text.splitlines() if line.startswith("| ") and line.count("|") > 2]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    datasets = tomllib.loads(DATASETS.read_text(encoding="utf-8"))
    return {
        **{row[1]: row[2] for row in rows[1:]},
        **{name: about["family"] for name, about in datasets.items()},
    }
