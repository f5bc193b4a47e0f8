"""The jobs that a campaign would submit."""

from __future__ import annotations

from dataclasses import dataclass

from gpucast.measure.described.dry_run import Plan, PlannedVisit
from gpucast.measure.described.request import Request
from gpucast.measure.described.slurm.batches import within_limit
from gpucast.measure.described.slurm.options import Options, Shape, words_of


@dataclass(frozen=True)
class PlannedJob:
    """A job, and what it would do in order.

    Attributes:
        options: of sbatch.
    """

    gpus: int
    options: list[str]
    visits: list[PlannedVisit]

    def to_dict(self) -> dict[str, object]:
        """One JSON object; visits by their number in the plan's list."""
        return {"gpus": self.gpus, "options": self.options, "visits": len(self.visits)}


def jobs_of(plan: Plan, request: Request, options: Options) -> list[PlannedJob]:
    """The jobs for a plan's visits: for each round and shape of cells one, or as many as their time
    limits need."""
    shapes = {(run.cell.n, run.cell.gpus): Shape.of(run) for run in request.runs}
    jobs: dict[tuple[int, Shape], list[PlannedVisit]] = {}
    for visit in plan.visits:
        jobs.setdefault((visit.number, shapes[visit.n, visit.gpus]), []).append(visit)
    return [
        PlannedJob(shape.gpus, words_of(options.of_job(shape, request.program.path)), some)
        for (_, shape), visits in jobs.items()
        for some in within_limit(visits, lambda visit: visit.seconds or 0.0, options.seconds)
    ]
