"""Fits of a described program's steps, made anew as visits come, and what they say to questions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.design.cells import Cell
from gpucast.errors import InputError
from gpucast.fitting.fit import fit
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.request import Request
from gpucast.measure.report import FitReport
from gpucast.measure.until import Until, by_series
from gpucast.model.forecaster import Forecaster


class Fits:
    """What is known of a program's steps.

    Attributes:
        series: of its steps.
        model: the last fit; None before there is one.
        until: the questions to each series; none where nothing was asked.
        seconds: of a processor, that the last fit took.
        is_current: whether all that was measured is in it.
    """

    def __init__(
        self,
        request: Request,
        cells: Sequence[Cell],
        costs: VisitCosts,
        visits: Mapping[Cell, int],
    ) -> None:
        """``costs``: of visits, which learn what is forecast; ``visits``: how many of each cell
        were made, kept up to date by the caller."""
        program = request.program
        self.series = StepSelection(path=program.path, program=program.program, case=program.case)
        self.model: Forecaster | None = None
        self.until: dict[StepSelection, Until] = by_series(
            request.until, cells, costs, visits, request.most, program.device
        )
        self.seconds = 0.0
        self.is_current = False
        self._cells = cells
        self._costs = costs
        self._why_not = "nothing measured"

    def update(self, data: Dataset, left: Sequence[Cell]) -> Forecaster | None:
        """Fit once more; None: these do not determine a model.

        Args:
            data: of one machine.
            left: cells that may be visited again.
        """
        begin = time.process_time()
        self.is_current = True
        if not data.steps:
            return None
        try:
            model = fit(coarsened(data), self.series, replicates=0)
        except InputError as error:
            self._why_not = error.message
            return None
        self.model = model
        self._costs.take(self._cells, model)
        for until in self.until.values():
            until.update(model, left)
        self.seconds = time.process_time() - begin
        return model

    def report(self) -> FitReport:
        """How good the last fit is, or why there is none."""
        about = FitReport(
            self.series.path or "", program=self.series.program, case=self.series.case
        )
        model = self.model
        if model is None or model.observations is None or model.quality is None:
            return replace(about, why_not=self._why_not)
        return replace(
            about,
            model=model.chosen,
            cells=model.observations.step_cells,
            median_relative_error=model.quality.median_relative_error,
            p95_relative_error=model.quality.p95_relative_error,
        )
