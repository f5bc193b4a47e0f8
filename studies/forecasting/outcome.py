"""All that a run found, JSON-ready; the report and the exit status are made from it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from forecasting.studies import ALONE, Settings, Study
from forecasting.targets import judge
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.steps import data_of
from gpucast.paper.findings import Finding


@dataclass(frozen=True)
class Outcome:
    """Figures of a run.

    Attributes:
        about: the dataset, the one that forecasts of more GPUs were trained on if it is another,
            machine, command and settings.
        held_out: by kind of split, group and forecaster.
        quarter, what_if: by group.
        findings: of the paper.
        cells: number of measured cells of each group.
    """

    about: dict[str, Any]
    cells: dict[str, int]
    held_out: dict[str, dict[str, dict[str, Any]]]
    quarter: dict[str, dict[str, Any]]
    what_if: dict[str, dict[str, Any]]
    findings: list[dict[str, Any]]

    def verdicts(self) -> dict[str, dict[str, dict[str, bool]]]:
        """By table and group: of each target whether it is reached."""
        found = {
            kind: {name: judge(kind, each["gpucast"]) for name, each in groups.items()}
            for kind, groups in self.held_out.items()
        }
        # A build without the design has nothing to judge.
        built = {name: each for name, each in self.quarter.items() if "cells" in each["design"]}
        found["quarter"] = {name: judge("quarter", each) for name, each in built.items()}
        found["what_if"] = {name: judge("what_if", each) for name, each in self.what_if.items()}
        return found

    def counted(self, name: str | None = None) -> tuple[int, int]:
        """Targets reached, and all; of one group or of all."""
        each = [
            reached
            for groups in self.verdicts().values()
            for group, figures in groups.items()
            if name in (None, group)
            for reached in figures.values()
        ]
        return sum(each), len(each)

    def to_dict(self) -> dict[str, Any]:
        """The content of ``--json``."""
        return {**asdict(self), "targets": self.verdicts()}


def gather(
    data: Dataset,
    studies: Mapping[StepSelection, Study],
    names: Mapping[StepSelection, str],
    what_ifs: Mapping[StepSelection, Any],
    findings: Sequence[Finding],
    settings: Settings,
    command: str,
    earlier: Dataset | None = None,
) -> Outcome:
    """Put together what the parts found."""
    return Outcome(
        about={
            "data": data.name,
            "digest": data.digest,
            "earlier": None if earlier is None else earlier.name,
            "command": command,
            "machines": [_machine(data, group) for group in _first_of_machines(studies)],
            "samples": sum(
                len(step.seconds) for group in studies for step in data_of(data, group).steps
            ),
            "settings": asdict(settings),
        },
        cells={names[group]: len(study.measured) for group, study in studies.items()},
        held_out={
            kind: {
                names[group]: study.results[kind]
                for group, study in studies.items()
                if kind in study.results
            }
            for kind in ALONE
        },
        quarter={names[group]: study.quarter for group, study in studies.items()},
        what_if={names[group]: each for group, each in what_ifs.items()},
        findings=[each.to_dict() for each in findings],
    )


def _first_of_machines(studies: Mapping[StepSelection, Study]) -> list[StepSelection]:
    return list({group.machine: group for group in studies}.values())


def _machine(data: Dataset, group: StepSelection) -> dict[str, Any]:
    machine = data.machines[group.machine]
    gpus = [gpu.name for gpu in machine.gpus or []]
    return {
        "id": machine.id,
        "gpus": ", ".join(f"{gpus.count(name)} x {name}" for name in dict.fromkeys(gpus)),
        "cpu": machine.cpu,
        "cpu_cores": machine.cpu_cores,
        "driver": machine.driver,
        "started": machine.started,
    }
