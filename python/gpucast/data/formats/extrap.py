"""Extra-P's JSON, JSON Lines and text formats, so that models can be cross-checked.

The parameters are ``n`` and ``gpus``, the metric is ``seconds``, and a series of steps is a call
path PATH->SCHEDULE->KERNEL (reserved characters in labels are percent-encoded; ``none`` stands
for a schedule or kernel that the steps do not state). Extra-P requires that all series are measured
at the same points. Files are written and read as by Extra-P 4.2.5: its JSON is
{"parameters": [...], "measurements": {CALLPATH: {METRIC: [{"point": [...], "values": [...]}]}}},
its older JSON lists parameters, coordinates, call paths and metrics with ids; its JSON Lines have
{"params": {...}, "callpath", "metric", "value"}; its text has lines PARAMETER, POINTS, REGION,
METRIC and DATA (one DATA line per point).

Machines, thread blocks, phases and rounding have no place in these formats and are not written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, get_args
from urllib.parse import unquote

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset
from gpucast.data.formats import (
    Format,
    Imported,
    Options,
    check_single_kind,
    check_single_machine,
    entry,
)  # fmt: skip
from gpucast.data.records import Entry
from gpucast.data.vocabulary import Schedule
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, remark

PARAMETERS = ("n", "gpus")
METRIC = "seconds"
# Extra-P's names of run time, and the name that its readers assume if a file has no metric.
_TIME = {"seconds", "time", "runtime", "<default>", ""}
_KEYWORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")

_NONE = "none"

Json = dict[str, Any]
"""A JSON object whose keys are not checked beforehand; exceptions are reported."""

Number = int | float | str
Sample = tuple[str, str, Mapping[str, object], list[object], int | None]
"""Call path, metric, point (by parameter), values, line."""


# --- between steps and series ---------------------------------------------------------------


def series(data: Dataset) -> dict[str, dict[tuple[float, int], list[float]]]:
    """Return the steps in Extra-P's form: seconds by point (n, gpus), by call path.

    Raises:
        InputError: no steps, steps of several machines, or series measured at different points.
    """
    check_single_machine(data, data.steps, "step")
    check_single_kind(data)
    by_name: dict[str, dict[tuple[float, int], list[float]]] = {}
    for step in data.steps:
        name = "->".join(map(_encoded, (step.path, step.schedule, step.kernel)))
        points = by_name.setdefault(name, {})
        points.setdefault((step.n, step.gpus), []).extend(step.seconds)
    every = sorted({point for points in by_name.values() for point in points})
    for name, points in by_name.items():
        for point in every:
            if point not in points:
                raise InputError(
                    f"{name} has no steps of n = {point[0]} on {point[1]} GPUs, which another "
                    "series has; Extra-P wants the same points in all: choose with --path, "
                    "--schedule or --kernel",
                    file=data.name,
                )
    return {name: {point: points[point] for point in every} for name, points in by_name.items()}


def labels(name: str, options: Options) -> dict[str, str]:
    """Return the path of a call path and, if it has them, schedule and kernel.

    A call path that gpucast did not write becomes the kernel's label.
    """
    parts = name.split("->")
    if len(parts) == 3 and parts[1] in (*get_args(Schedule), _NONE) and parts[0] and parts[2]:
        written = {"schedule": parts[1], "kernel": parts[2]}
        stated = {key: unquote(label) for key, label in written.items() if label != _NONE}
        return {"path": unquote(parts[0]), **stated}
    unnamed = name in ("", "<root>")
    given = {"schedule": options.schedule, "kernel": options.kernel if unnamed else name}
    stated = {key: label for key, label in given.items() if label is not None}
    return {"path": options.path, **stated}


def _encoded(label: str | None) -> str:
    if label is None:
        return _NONE
    if label == _NONE:
        return f"%{ord(label[0]):02X}{label[1:]}"
    # White space, because the text format merges it; "->", because it separates.
    return re.sub(r"%|->|\s", lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), label)


def _imported(samples: Iterable[Sample], file: str, options: Options) -> Imported:
    """Return step records, one per point and series; metrics other than times become notes."""
    gathered: dict[tuple[str, Number, Number], tuple[list[object], int | None]] = {}
    others: Counter[str] = Counter()
    for call, metric, point, values, line in samples:
        # Lists and objects cannot be keys; the record's check then reports them.
        known: dict[str, Number] = {
            name.strip().lower(): value if isinstance(value, (int, float, str)) else repr(value)
            for name, value in point.items()
        }
        if known.keys() != {*PARAMETERS}:
            told = ", ".join(known) or "none"
            raise InputError(f"the parameters must be n and gpus, not {told}",
                             file=file, field="parameters")  # fmt: skip
        if metric.lower() not in _TIME:
            others[metric] += len(values)
            continue
        gathered.setdefault((call, known["n"], known["gpus"]), ([], line))[0].extend(values)
    entries: list[Entry] = []
    for (call, n, gpus), (seconds, line) in gathered.items():
        value: dict[str, object] = {"kind": "step", **labels(call, options), "n": n, "gpus": gpus}
        value |= {"seconds": seconds} | ({"block": options.block} if options.block else {})
        entries.append(entry(options, value, file=file, line=line))
    if not entries:
        there = ", ".join(others) or "none"
        raise InputError(f"holds no step times (metric seconds or time); there are: {there}",
                         file=file)  # fmt: skip
    for metric, count in others.items():
        text = f"metric {metric!r} ({count} values) is not a time in seconds and was left out"
        entries.append(entry(options, {"kind": "note", "text": text}, file=file))
    remarks = [
        remark(Kind.LEFT_OUT, f"{file}: metric {metric!r} was left out", about=metric)
        for metric in others
    ]
    return Imported(entries, {}, remarks)


# --- JSON -----------------------------------------------------------------------------------


def detect_json(text: str) -> bool:
    """Return whether the text is one JSON object with parameters and measurements."""
    may_be = text.lstrip().startswith("{") and '"measurements"' in text
    return may_be and {"parameters", "measurements"} <= _keys(text)


def read_json(text: str, file: str, options: Options) -> Imported:
    """Read step records from Extra-P's JSON, new or old. Raises InputError."""
    value = _json(text, file)
    try:
        read = _old_samples if "callpaths" in value else _new_samples
        return _imported(read(value, file), file, options)
    except KeyError as error:
        raise InputError("missing", file=file, field=str(error.args[0])) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"not as Extra-P writes it: {error}", file=file) from None


def write_json(data: Dataset) -> str:
    """Return the steps as Extra-P's JSON. Raises InputError as ``series``."""
    measurements = {
        name: {
            METRIC: [{"point": list(point), "values": values} for point, values in points.items()]
        }
        for name, points in series(data).items()
    }
    value = {"parameters": list(PARAMETERS), "measurements": measurements}
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _keys(text: str) -> set[str]:
    """Return the keys of a JSON object; an empty set for other texts."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return {*value} if isinstance(value, dict) else set()


def _json(text: str, file: str, line: int | None = None) -> Json:
    value = jsonl.load(text, file, line)
    if not isinstance(value, dict):
        raise InputError("must be a JSON object", file=file, line=line)
    return value


def _new_samples(value: Json, file: str) -> Iterator[Sample]:
    names = dict.fromkeys(map(str, value["parameters"]))
    for call, metrics in value["measurements"].items():
        for metric, measurements in metrics.items():
            for measurement in measurements:
                point, values = _list(measurement["point"]), _list(measurement["values"])
                if len(point) != len(names):
                    raise InputError(
                        f"has {len(point)} coordinates for {len(names)} parameters",
                        file=file, field="point",
                    )  # fmt: skip
                yield call, metric, dict(zip(names, point, strict=True)), values, None


def _old_samples(value: Json, file: str) -> Iterator[Sample]:
    calls, metrics, parameters = (
        {row["id"]: str(row["name"]) for row in value[key]}
        for key in ("callpaths", "metrics", "parameters")
    )
    points = {
        row["id"]: {
            parameters[pair["parameter_id"]]: float(pair["parameter_value"])
            for pair in row["parameter_value_pairs"]
        }
        for row in value["coordinates"]
    }
    for row in value["measurements"]:
        call, metric = calls[row["callpath_id"]], metrics[row["metric_id"]]
        yield call, metric, points[row["coordinate_id"]], [row["value"]], None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


# --- JSON Lines -----------------------------------------------------------------------------


def detect_jsonl(text: str) -> bool:
    """Return whether the first line is a JSON object with ``params`` and ``value``."""
    return {"params", "value"} <= _keys(text.lstrip().split("\n", 1)[0])


def read_jsonl(text: str, file: str, options: Options) -> Imported:
    """Read step records from Extra-P's JSON Lines. Raises InputError."""
    samples: list[Sample] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        value = _json(line, file, number)
        for field, is_there in (
            ("params", isinstance(value.get("params"), dict)), ("value", "value" in value)
        ):  # fmt: skip
            if not is_there:
                raise InputError("missing", file=file, line=number, field=field)
        call, metric = str(value.get("callpath", "")), str(value.get("metric", ""))
        samples.append((call, metric, value["params"], _list(value["value"]), number))
    return _imported(samples, file, options)


def write_jsonl(data: Dataset) -> str:
    """Return the steps as Extra-P's JSON Lines, one per sample. Raises InputError as ``series``."""
    return "".join(
        json.dumps(
            {
                "params": dict(zip(PARAMETERS, point, strict=True)),
                "callpath": name,
                "metric": METRIC,
                "value": seconds,
            },
            ensure_ascii=False,
        )
        + "\n"
        for name, points in series(data).items()
        for point, values in points.items()
        for seconds in values
    )


# --- text -----------------------------------------------------------------------------------


def detect_text(text: str) -> bool:
    """Return whether the first line that is not a comment begins with a keyword of the format."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            return line.split(None, 1)[0] in _KEYWORDS
    return False


def read_text(text: str, file: str, options: Options) -> Imported:
    """Read step records from Extra-P's text format. Raises InputError."""
    parameters: dict[str, None] = {}  # in their order
    points: list[dict[str, object]] = []
    samples: list[Sample] = []
    call = metric = ""
    at = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        error = partial(InputError, file=file, line=number)
        keyword, _, rest = " ".join(line.split()).partition(" ")
        if keyword == "PARAMETER":
            parameters |= dict.fromkeys(rest.split(" "))
        elif keyword == "POINTS":
            for group in re.findall(r"\(([^()]*)\)", rest) if "(" in rest else rest.split(" "):
                point = _numbers(group.split(), error, keyword)
                if len(point) != len(parameters):
                    message = f"has {len(point)} coordinates for {len(parameters)} parameters"
                    raise error(f"a point {message}", field=keyword)
                points.append(dict(zip(parameters, point, strict=True)))
        elif keyword == "REGION":
            call, at = rest, 0
        elif keyword == "METRIC":
            metric, at = rest, 0
        elif keyword == "DATA":
            if at >= len(points):
                raise error(f"more DATA lines than POINTS ({len(points)})")
            values = _numbers(rest.split(" "), error, keyword)
            samples.append((call, metric, points[at], values, number))
            at += 1
        else:
            known = ", ".join(_KEYWORDS)
            raise error(f"{keyword[:20]!r} is unknown; lines start with {known}")
    return _imported(samples, file, options)


def write_text(data: Dataset) -> str:
    """Return the steps in Extra-P's text format. Raises InputError as ``series``."""
    by_name = series(data)
    points = next(iter(by_name.values()))
    lines = [f"PARAMETER {name}" for name in PARAMETERS]
    lines.append("POINTS " + " ".join(f"({n} {gpus})" for n, gpus in points))
    for name, measured in by_name.items():
        lines += ["", f"REGION {name}", f"METRIC {METRIC}"]
        lines += ["DATA " + " ".join(map(repr, values)) for values in measured.values()]
    return "\n".join(lines) + "\n"


def _numbers(words: list[str], error: Callable[..., InputError], field: str) -> list[object]:
    try:
        return [float(word) for word in words]
    except ValueError:
        raise error("holds something that is not a number", field=field) from None


FORMATS = (
    Format("extrap-json", "Extra-P's JSON", detect_json, read_json, write_json),
    Format("extrap-jsonl", "Extra-P's JSON Lines", detect_jsonl, read_jsonl, write_jsonl),
    Format("extrap-text", "Extra-P's text format", detect_text, read_text, write_text),
)
