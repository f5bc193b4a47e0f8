"""A fitted model: forecasts and best counts as tables, updates for other machines, its file."""

from __future__ import annotations

import dataclasses
import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from gpucast.data.kinds import power_limit
from gpucast.data.loading import Source, dataset_of
from gpucast.data.selection import ANY, SelectionArguments, StepSelection
from gpucast.data.steps import samples_of
from gpucast.errors import InputError
from gpucast.model.asked import Numbers, as_list, outer
from gpucast.model.averaged_totals import AveragedTotals
from gpucast.model.forecasting import Forecasting
from gpucast.model.forecasts import Forecasts, ends
from gpucast.model.intervals import Z90, Array, Interval, interval_named
from gpucast.model.update import machine_factors, steps_of_kind
from gpucast.util import files
from gpucast.util.remarks import Kind, remark
from gpucast.util.tables import html_listing, html_table
from gpucast.util.typed_json import from_json
from gpucast.util.units import percent

if TYPE_CHECKING:
    import pandas

    from gpucast.data.dataset import Dataset

SCHEMA = "gpucast.model/1"

_PARTS = ("t_gpu", "t_cpu", "t_com")
_FIRST = ("model", "n", "gpus", "seconds", "low", "high")
_RATES = ("measured", "steps_per_second", "ns_per_day", "efficiency", "reference_gpus")
_UNKNOWN = ("ns_per_day", "measured")
"""Columns of forecasts that are left out if empty."""


class Model(Forecasting):
    """A fitted model of step times: for our own programs by terms for the parts of a step, for any
    other program by forms of the total.

    Its attributes are those of ``gpucast.model.facts.Fitted``.
    """

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.form}"]
        if self.own_program:
            width = max(map(len, self.parameters), default=0)
            lines += [f"  {name:{width}}  {entry}" for name, entry in self.parameters.items()]
        else:
            lines += [
                f"  {100 * (form.weight or 0):3.0f} %  {form.model}" for form in self.candidates
            ]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return model_text(self)

    def _repr_html_(self) -> str:
        return model_html(self)

    @cached_property
    def energy(self) -> Model | None:
        """A model of a GPU's energy in a step (J), whose times are joules
        (``gpucast.model.energy``); None if no energy was measured for its forecasts."""
        elsewhere = self.data.what_if is not None or self.machine_factors is not None
        if self.joules_per_gpu is None or elsewhere:
            return None
        given = {key: value for key, value in self.joules_per_gpu.items() if key != "model"}
        return from_json(Model, given)

    def joules(self, forecasts: Forecasts) -> dict[str, Array]:
        """Return the energy of steps (J), all GPUs together, with the 90 % interval of one
        measurement: joules, joules_low, joules_high; empty if no energy was measured.

        Energy is limited by the power limit of the kind of GPU over the upper end of the step time;
        over the forecast time, which may be too short, intervals would be too narrow."""
        if self.energy is None:
            return {}
        per_gpu = self.energy.forecasts(forecasts.n, forecasts.gpus, forecasts.interval)
        ends = {"joules": per_gpu.seconds, "joules_low": per_gpu.low, "joules_high": per_gpu.high}
        most = power_limit(self.machine.name) * forecasts.high
        return {key: forecasts.gpus * np.minimum(value, most) for key, value in ends.items()}

    def forecast(self, n: Numbers, gpus: Numbers, interval: str = Interval.now) -> pandas.DataFrame:
        """Return forecasts of every n with every GPU count, one row each.

        ``interval`` selects the measurement that low and high are about: now, later on this
        machine, or on another machine of the same kind.

        Columns: model, n, gpus, seconds, low, high (90 % prediction interval of one measurement),
        mean_low, mean_high (90 % interval of the expected time), t_gpu, t_cpu, t_com, extrapolated.
        If only step times of the program are known, there are measured (s), steps_per_second,
        ns_per_day, efficiency and reference_gpus (``model.rates``) after the first interval, but no
        parts unless they were measured, and no columns that are empty in all rows. If energy was
        measured, joules, joules_low and joules_high of a step come last.
        """
        import pandas

        from gpucast.model.rates import columns

        forecasts = self.forecasts(*outer(n, gpus), interval_named(interval))
        frame = pandas.DataFrame(forecasts.columns())
        frame.insert(0, "model", self.name)
        energy_columns = self.joules(forecasts)
        if self.own_program:
            return frame.assign(**energy_columns)
        for name, column in (columns(self, forecasts) | energy_columns).items():
            frame[name] = column
        parts = () if self.timed_parts else _PARTS
        empty = [name for name in _UNKNOWN if frame[name].isna().all()]
        order = dict.fromkeys((*_FIRST, *_RATES, "extrapolated", *frame))
        return frame[[name for name in order if name not in (*parts, *empty)]]

    def plot(self, n: Numbers | None = None, gpus: Numbers | None = None, **how: Any) -> Any:
        """Draw how the program scales: ``gpucast.figures.scaling`` with this model."""
        import gpucast

        return gpucast.figures.scaling(self, n, gpus, **how)

    def best(
        self, n: Numbers, gpus: Numbers | None = None, interval: str = Interval.now
    ) -> pandas.DataFrame:
        """Return the fastest GPU count for each n, one row each: see ``best_counts``.

        ``gpus`` are the counts to choose from, by default the usual ones; ``interval`` selects what
        the probability is about.
        """
        import pandas

        counts = self.usual_counts if gpus is None else as_list(gpus)
        return pandas.DataFrame(self.best_counts(as_list(n), counts, interval_named(interval)))

    def updated(
        self,
        data: Dataset | Source,
        selection: StepSelection = ANY,
        **choice: Unpack[SelectionArguments],
    ) -> Self:
        """Return the model for the machine (or the time) at which some cells were timed: see
        ``gpucast.model.update``.

        Raises:
            InputError: the steps are not of the kind that the model forecasts, or of several
                machines; or the model is itself an updated one.
        """
        known = self.machine_factors
        if known is not None and known.cells.n:
            raise InputError(
                f"is {known.words} already; update the model that was fitted, by "
                "all cells together",
                file=self.name,
            )
        data = dataset_of(data)
        steps = steps_of_kind(self.selection, data, dataclasses.replace(selection, **choice))
        cells = samples_of(steps)
        plain = dataclasses.replace(self, machine_factors=None)
        forecasts = plain.forecasts([n for n, _ in cells], [gpus for _, gpus in cells])
        repetitions = [len(cell.seconds) for cell in cells.values()]
        rounding = np.array([cell.rounding for cell in cells.values()])
        visits = [cell.visits for cell in cells.values()]
        low, high = plain.cell_intervals(forecasts, repetitions, rounding, visits)
        parts = np.column_stack([forecasts.t_gpu, forecasts.t_cpu, forecasts.t_com])
        # Parts of averaged forms add up to the mean, but the forecast is the median.
        parts *= (forecasts.seconds / parts.sum(axis=1))[:, np.newaxis]
        if known is not None and isinstance(self.engine, AveragedTotals):
            parts = forecasts.seconds[:, np.newaxis] * self.engine.kind_shares(
                forecasts.n, forecasts.gpus
            )
        factors, added = machine_factors(
            data,
            steps,
            self.machine,
            self.common_factors,
            parts,
            np.square(np.log(high / low) / (2 * Z90)),
            known,
        )
        remarks = [*self.remarks, *(remark(Kind.UNLIKE, text) for text in added)]
        return dataclasses.replace(self, machine_factors=factors, remarks=remarks)

    def to_json(self) -> str:
        """Return the content of the model file."""
        content = {"schema": SCHEMA, **self.content}
        if self.own_program:
            content["bootstrap"] = {
                "parameters": [name for name, _, _ in self.core.parameters],
                "integers": self.integers,
                "values": [[float(f"{x:.9g}") for x in row] for row in self.replicates.tolist()],
            }
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model file, completely or not at all."""
        files.write_text(path, self.to_json(), force=force)


def model_text(model: Model) -> str:
    """Return a summary of the model: its data, fit quality and number of warnings."""
    return "\n  ".join([f"Model {model.name}: {model.form}", *_facts(model)])


def model_html(model: Model) -> str:
    """Return the summary as HTML, with warnings and the values of identified parameters."""
    facts = html_listing(f"Model {model.name}: {model.form}", _facts(model, True))
    known = {
        name: parameter for name, parameter in model.parameters.items() if parameter.identified
    }
    rows = [(name, str(parameter), parameter.meaning) for name, parameter in known.items()]
    return facts + (html_table("Parameters", ("", "value", "meaning"), rows) if rows else "")


def _facts(model: Model, warnings: bool = False) -> list[str]:
    counts, quality, domain = model.observations, model.quality, model.domain
    fitted = f"n {ends(domain.n)}, {ends(domain.gpus)} GPUs of {model.data.name}"
    if counts is not None:
        fitted = f"{counts.step_samples} step times in {counts.step_cells} cells: {fitted}"
    facts = [fitted]
    if quality is not None:
        facts.append(f"error of fitted cells: median {percent(quality.median_relative_error)}")
    if warnings:
        return [*facts, *(f"warning: {warning}" for warning in model.warnings)]
    if model.warnings:
        count = len(model.warnings)
        facts.append(f"{count} warning{'s' * (count > 1)}: see .warnings")
    return facts
