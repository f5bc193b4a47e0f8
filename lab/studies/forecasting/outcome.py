"""The results of a run: scores of groups, summaries over groups, and targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from forecasting import floor
from forecasting.rivals import RIVALS
from forecasting.scores import OWN, TARGETS, Score, Target, over_groups, table
from gpucast.data.dataset import Dataset

FLOOR, PROTOTYPE = "floor", "prototype"
PROTOTYPES = Path(__file__).with_name("prototype.csv")
OF_PROTOTYPE = "h200-x4-mixed"
"""The dataset of the figures in prototype.csv."""


@dataclass(frozen=True)
class Outcome:
    """Figures of a run.

    Attributes:
        command: the command of the run.
        rows: tables of all cells (``answers``, ``rivals``), by dataset.
        whole: whether all groups are included, as targets require.
        groups: a table of dataset, group, split, forecaster, and the fields of ``Score``.
    """

    command: str
    rows: Mapping[str, pd.DataFrame]
    groups: pd.DataFrame
    whole: bool = True

    def score(self, dataset: str, split: str, forecaster: str = OWN, part: str = "") -> Score:
        """The score over the groups whose name contains ``part``."""
        named = self.groups[["dataset", "split", "forecaster"]] == [dataset, split, forecaster]
        with_part = self.groups.group.str.contains(part, regex=False)
        return over_groups(self.groups[named.all(axis=1) & with_part])

    def splits(self, dataset: str) -> list[str]:
        """The splits of a dataset."""
        return list(dict.fromkeys(self.rows[dataset].split))

    def targets(self) -> Iterator[tuple[Target, Score]]:
        """The targets of this run's datasets, each with its score."""
        for target in TARGETS:
            if self.whole and target.dataset in self.rows:
                yield target, self.score(target.dataset, target.split, part=target.part)

    def missed(self) -> list[Target]:
        """The targets that are not reached."""
        return [target for target, score in self.targets() if not target.reached(score)]

    def refusals(self) -> dict[str, str]:
        """Reasons of missing forecasts, by dataset, group and split."""
        reasons = {}
        for name, rows in self.rows.items():
            for (group, split, why), _ in rows.groupby(["group", "split", "refused"], sort=False):
                if why:
                    reasons[f"{name}, {group}, {split}"] = str(why)
        return reasons


def outcome(
    command: str,
    whole: bool,
    datasets: Mapping[str, Dataset],
    rows: Mapping[str, pd.DataFrame],
    elsewhere: Dataset | None = None,
) -> Outcome:
    """Score all rows, with floors, and with the prototype's figures if it had the same data.

    ``elsewhere``: a dataset whose visits give the noise of cells that were visited once.
    """
    of_datasets = []
    for name, cells in rows.items():
        own = table(cells, [OWN, *(rival for rival in RIVALS if rival in cells)])
        tables = [own, _floors(own, floor.floors(datasets[name], elsewhere))]
        if name == OF_PROTOTYPE:
            known = pd.read_csv(PROTOTYPES, comment="#").assign(forecaster=PROTOTYPE)
            tables.append(known.merge(own[["group", "split"]].drop_duplicates()))
        of_datasets.append(pd.concat(tables).assign(dataset=name))
    groups = pd.concat(of_datasets, ignore_index=True)
    first = ["dataset", "group", "split", "forecaster"]
    return Outcome(command, rows, groups[[*first, *(c for c in groups if c not in first)]], whole)


def _floors(own: pd.DataFrame, floors: pd.DataFrame) -> pd.DataFrame:
    """A row for each group and split whose floor is known."""
    of_gpucast = own[own.forecaster == OWN][["group", "split", "cells"]]
    joined = of_gpucast.merge(floors, left_on="group", right_index=True)
    return joined.assign(forecaster=FLOOR)
