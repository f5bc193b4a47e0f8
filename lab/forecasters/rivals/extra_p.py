"""Extra-P 4.2.5 with different options. Runs under .venv-extrap's interpreter.

Extra-P gets a table as an experienced user would give it: with both parameters, n and gpus; or as
lines of one parameter, while the other (or the share n/N of weak scaling) is constant; both with
and without negative exponents, which Extra-P has for strong scaling.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import numpy as np
import pandas as pd
from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measure, Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers.model_generator import ModelGenerator
from extrap.util.progress_bar import DUMMY_PROGRESS
from numpy.typing import NDArray

Line = tuple[list[str], pd.DataFrame, NDArray[np.bool_]]
"""Parameters of a model, the measurements it is fitted to, and the cells that it forecasts."""


def forecast(
    measured: pd.DataFrame,
    asked: pd.DataFrame,
    layout: str | None = None,
    negative: bool = True,
    measure: str = "median",
) -> pd.DataFrame:
    """Forecast with the models of one layout: ``gpus``, ``n`` or ``n and gpus``.

    Without a layout, each cell gets the first of these that has a model of it, a choice that does
    not depend on the outcome. ``measure``: median or mean of a point's samples.
    """
    seconds = np.full(len(asked), np.nan)
    for parameters_of in (layout,) if layout else ("gpus", "n", "n and gpus"):
        for parameters, own, cells in lines(measured, asked, parameters_of):
            wanted = cells & np.isnan(seconds)
            if not wanted.any():
                continue
            with contextlib.suppress(Exception):  # Extra-P may raise anything if it has no model
                seconds[wanted] = modelled(parameters, own, asked[wanted], negative, measure)
    return asked.assign(seconds=seconds)


def lines(measured: pd.DataFrame, asked: pd.DataFrame, layout: str) -> Iterator[Line]:
    """The models that a layout needs, with two points or more each."""
    left = np.ones(len(asked), bool)
    if layout == "n and gpus":
        yield ["n", "gpus"], measured, left
        return
    for held in ("gpus",) if layout == "n" else ("n", "share"):
        known, wanted = (t.assign(share=t.n / t.gpus)[held] for t in (measured, asked))
        for value in np.unique(wanted):
            own, cells = measured[known == value], (wanted == value).to_numpy() & left
            if own[layout].nunique() >= 2 and cells.any():
                yield [layout], own, cells
                left &= ~cells


def modelled(
    parameters: list[str], own: pd.DataFrame, asked: pd.DataFrame, negative: bool, measure: str
) -> list[float]:
    """Seconds of the cells by the model that Extra-P chooses."""
    experiment = Experiment()
    metric, callpath = Metric("seconds"), Callpath("step")
    experiment.add_metric(metric)
    experiment.add_callpath(callpath)
    for name in parameters:
        experiment.add_parameter(Parameter(name))
    for point, samples in own.groupby(parameters).seconds:
        coordinate = Coordinate(*map(float, point))
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, callpath, metric, samples.tolist()))
    # Extra-P prints progress and advice, which are not wanted here.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        generator = ModelGenerator(
            experiment, modeler="Default", use_measure=Measure[measure.upper()]
        )
        modeler = getattr(generator.modeler, "single_parameter_modeler", generator.modeler)
        modeler.allow_negative_exponents = negative
        generator.model_all(DUMMY_PROGRESS)
        function = next(iter(generator.models.values())).hypothesis.function
        points = asked[parameters].to_numpy(float).tolist()
        return [float(function.evaluate(p[0] if len(parameters) == 1 else p)) for p in points]
