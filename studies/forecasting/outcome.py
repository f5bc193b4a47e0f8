"""All that a run found, JSON-ready; the report and the exit status are made from it alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from forecasting.results import Quarter, RemoteResult, Result, judge
from forecasting.studies import Settings
from gpucast.data.records import Machine
from gpucast.paper.findings import Finding


@dataclass(frozen=True)
class About:
    """What a run was of.

    Attributes:
        earlier: name of the dataset that forecasts of more GPUs were trained on, if it is another.
        samples: steps timed.
    """

    data: str
    digest: str
    earlier: str | None
    command: str
    machines: list[dict[str, object]]
    samples: int
    settings: Settings


@dataclass(frozen=True)
class Outcome:
    """Figures of a run.

    Attributes:
        held_out: by kind of split, group and forecaster.
        quarter, what_if: by group.
        findings: of the paper.
        cells: number of measured cells of each group.
    """

    about: About
    cells: dict[str, int]
    held_out: dict[str, dict[str, dict[str, Result]]]
    quarter: dict[str, Quarter]
    what_if: dict[str, RemoteResult]
    findings: list[Finding]

    def verdicts(self) -> dict[str, dict[str, dict[str, bool]]]:
        """By table and group: of each target whether it is reached."""
        judged = {
            kind: {name: each["gpucast"] for name, each in groups.items()}
            for kind, groups in self.held_out.items()
        }
        # A group without a design has nothing to judge.
        designed = {name: each for name, each in self.quarter.items() if each.refused is None}
        return {
            kind: {name: judge(kind, each) for name, each in groups.items()}
            for kind, groups in {**judged, "quarter": designed, "what_if": self.what_if}.items()
        }

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

    def to_dict(self) -> dict[str, object]:
        """The content of ``--json``."""
        findings = [each.to_dict() for each in self.findings]
        return {**asdict(self), "findings": findings, "targets": self.verdicts()}


def machine_facts(machine: Machine) -> dict[str, object]:
    """What the page says of a machine."""
    gpus = [gpu.name for gpu in machine.gpus or []]
    known = machine.model_dump(include={"id", "cpu", "cpu_cores", "driver", "started"})
    counted = ", ".join(f"{gpus.count(name)} x {name}" for name in dict.fromkeys(gpus))
    return {**known, "gpus": counted}
