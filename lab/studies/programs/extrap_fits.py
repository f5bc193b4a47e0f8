"""Extra-P's models of many lines, for extrap_lines.py. Runs under .venv-extrap's interpreter.

Reads from stdin a JSON list of objects with parameters, points, seconds and asked; prints one JSON
object: without and with negative exponents, for each line the seconds at the points asked for, or
null where Extra-P makes no model.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measurement
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
        coordinate = Coordinate(*point)
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, callpath, metric, [seconds]))
    return experiment


def forecast(line: dict[str, list[Any]], negative: bool) -> list[float] | None:
    try:
        generator = ModelGenerator(experiment_of(line), modeler="Default")
        modeler = generator.modeler
        modeler = getattr(modeler, "single_parameter_modeler", modeler)
        modeler.allow_negative_exponents = negative
        generator.model_all(DUMMY_PROGRESS)
        function = next(iter(generator.models.values())).hypothesis.function
        single = len(line["parameters"]) == 1
        return [float(function.evaluate(at[0] if single else at)) for at in line["asked"]]
    except Exception as error:  # whatever Extra-P raises where it finds no model
        print(f"{line['parameters']}: {type(error).__name__}: {error}", file=ERRORS)
        return None


ERRORS = sys.stderr


def main() -> None:
    lines = json.load(sys.stdin)
    # Extra-P prints progress and advice; only the answer belongs on stdout.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        answer = {
            "no negative exponents": [forecast(line, False) for line in lines],
            "negative exponents": [forecast(line, True) for line in lines],
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
