"""Extra-P's models, for extra_p.py. Runs under .venv-extrap's interpreter.

Reads from stdin one JSON object: lines (parameters, points, seconds, asked) and options (whether
exponents may be negative; median or mean). Prints one: for each set of options and each line, the
seconds at the points asked for and the seconds that modelling took (interpreter start and imports
not counted); or why there are none.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from typing import Any

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measure, Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers.model_generator import ModelGenerator
from extrap.util.progress_bar import DUMMY_PROGRESS


def experiment_of(line: dict[str, list[Any]]) -> Experiment:
    experiment = Experiment()
    metric, callpath = Metric("seconds"), Callpath("step")
    experiment.add_metric(metric)
    experiment.add_callpath(callpath)
    for name in line["parameters"]:
        experiment.add_parameter(Parameter(name))
    for point, seconds in zip(line["points"], line["seconds"], strict=True):
        coordinate = Coordinate(*map(float, point))
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, callpath, metric, seconds))
    return experiment


def fit(line: dict[str, list[Any]], negative: bool, measure: str) -> dict[str, object]:
    begin = time.perf_counter()
    try:
        generator = ModelGenerator(
            experiment_of(line), modeler="Default", use_measure=Measure[measure.upper()]
        )
        modeler = getattr(generator.modeler, "single_parameter_modeler", generator.modeler)
        modeler.allow_negative_exponents = negative
        generator.model_all(DUMMY_PROGRESS)
        function = next(iter(generator.models.values())).hypothesis.function
        single = len(line["parameters"]) == 1
        seconds = [float(function.evaluate(at[0] if single else at)) for at in line["asked"]]
    except Exception as error:  # whatever Extra-P raises where it finds no model
        return {"error": f"{type(error).__name__}: {error}"}
    return {"forecast": seconds, "elapsed": time.perf_counter() - begin}


def main() -> None:
    given = json.load(sys.stdin)
    # Extra-P prints progress and advice; only the answer belongs on stdout.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        answer = {
            name: [fit(line, *options) for line in given["lines"]]
            for name, options in given["options"].items()
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
