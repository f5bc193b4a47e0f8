"""Extra-P's forecasts, for extra_p.py. Runs under .venv-extrap's interpreter.

Usage: extrap_models.py POINTS.json FILE.txt...    (text format, parameters n and gpus)

Prints one JSON object: for each set of options and each file, the forecasts at the points and the
seconds that modelling took (interpreter start and imports not counted); or why there are none.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time

from extrap.entities.measurement import Measure
from extrap.fileio.file_reader.text_file_reader import TextFileReader
from extrap.modelers.model_generator import ModelGenerator

OPTIONS = {
    "default, median": (False, Measure.MEDIAN),
    "default, mean": (False, Measure.MEAN),
    "negative exponents, median": (True, Measure.MEDIAN),
    "negative exponents, mean": (True, Measure.MEAN),
}


def forecasts(path: str, points: list[list[float]], options: str) -> dict[str, object]:
    negative, measure = OPTIONS[options]
    begin = time.perf_counter()
    try:
        experiment = TextFileReader().read_experiment(path)
        generator = ModelGenerator(experiment, modeler="Default", use_measure=measure)
        generator.modeler.single_parameter_modeler.allow_negative_exponents = negative
        generator.model_all()
        function = next(iter(generator.models.values())).hypothesis.function
        seconds = [float(function.evaluate(point)) for point in points]
    except Exception as error:  # whatever Extra-P raises where it finds no model
        return {"error": f"{type(error).__name__}: {error}"}
    return {"forecast": seconds, "elapsed": time.perf_counter() - begin}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        points = json.load(file)
    # Extra-P prints progress and advice; only the answer belongs on stdout.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        answer = {
            options: [forecasts(path, points, options) for path in sys.argv[2:]]
            for options in OPTIONS
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
