"""The series that are judged: steps of one program, case and machine of a table."""

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
"""How tables begin that took no part when priors were chosen."""


@dataclass(frozen=True)
class Series:
    """Steps that n and the GPU count alone tell apart.

    Attributes:
        table: file or dataset that it is from.
        label: what tells it from other series of the table; empty where it is the only one.
        tuned: whether the model's priors were chosen on tables of this program, too.
        samples: n, gpus and seconds, a row a measurement.
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
        """What a split trains on, and all cells: those trained on enter the choice of a count."""
        cells = self.cells[["n", "gpus"]]
        return self.samples.merge(cells[split.trained]), cells


def tuned_on(table: str) -> bool:
    """Whether a table took part when the model's priors were chosen."""
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
    """The series of a dataset, in the order they first occur."""
    groups: dict[tuple[str | None, ...], list[Step]] = defaultdict(list)
    for step in data.steps:
        groups[step.program, step.case, step.machine].append(step)
    differ = [i for i, values in enumerate(zip(*groups, strict=True)) if len(set(values)) > 1]
    for group, steps in groups.items():
        label = ", ".join(value for i in differ if (value := group[i]))
        yield Series(table, label, tuned, samples_of(steps))


def samples_of(steps: Iterable[Step]) -> pd.DataFrame:
    """n, gpus and seconds of all that was timed, a row a sample."""
    rows = [(step.n, step.gpus, seconds) for step in steps for seconds in step.seconds]
    return pd.DataFrame(rows, columns=["n", "gpus", "seconds"])


def read(file: Path) -> Dataset:
    """A table's steps, its times in seconds however long they are."""
    return load(file, options=Options(columns={"seconds": "seconds:s"}))


def families(folder: Path = TABLES) -> dict[str, str]:
    """The kind of program of tables: as the README of their folder says, if there is one, and as
    datasets.toml does of bundled ones."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    lines = [line for line in text.splitlines() if line.startswith("| ") and line.count("|") > 2]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    datasets = tomllib.loads(DATASETS.read_text(encoding="utf-8"))
    return {
        **{row[1]: row[2] for row in rows[1:]},
        **{name: about["family"] for name, about in datasets.items()},
    }
