"""Makes the report's content from files: reads them, fits each path, and compares with the data."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from gpucast.answers.throughput import Throughput
from gpucast.data.dataset import Dataset
from gpucast.data.formats import Options
from gpucast.data.loading import load
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection, case_says_nothing, distinct, host_of, selection_of
from gpucast.data.traces.records import TRACES
from gpucast.errors import GpucastError, InputError
from gpucast.fitting.fit import fit
from gpucast.model.fitted import Model
from gpucast.show.report.content import MOST_MODELS, content
from gpucast.show.report.downloads import downloads
from gpucast.util import JsonObject
from gpucast.util.number_lists import counts, size

Given = TypeVar("Given")
Found = TypeVar("Found")

FIRST_PATHS = ("native", "host")
"""The other models are compared with the first of these."""


@dataclass(frozen=True)
class Source:
    """Files of one folder; ``bundled``: whether names may be those of bundled datasets."""

    folder: str
    names: tuple[str, ...]
    bundled: bool = False


@dataclass(frozen=True)
class Order:
    """A request to read and fit files.

    Attributes:
        source: the files.
        stated: settings that the files lack, as text, by the names of ``SETTINGS``.
        series: index of the series in ``Answer.series``; None: the one with the most steps.
    """

    source: Source
    stated: Mapping[str, str] = field(default_factory=dict)
    series: int | None = None


@dataclass(frozen=True)
class Answer:
    """The data of a page.

    Attributes:
        content: content of the report.
        understood: lines about imported files.
        warnings: lines about paths that could not be fitted.
        series: labels of the series in these files; ``chosen``: index of the current one.
        models: names and contents of model files.
        downloads: texts of files for download, by name.
    """

    content: JsonObject
    understood: list[str]
    warnings: list[str]
    series: list[str]
    chosen: int
    models: list[tuple[str, str]]
    downloads: dict[str, str]


SETTINGS = {
    "columns": "columns of a table: n=atoms,gpus=cards,seconds=run:ms",
    "timestep": "simulated time of a step, such as 2fs",
    "program": "name of the program",
    "unit": "what n counts",
    "regex": "for a log of unknown format: step time (?P<seconds>[0-9.]+)",
    "gpus": "GPU count of a log that does not state it; for several files, a list",
    "n": "size of a log that does not state it; for several files, a list",
    "size_of": "whether that is the size of all work (all) or of each GPU's (gpu, weak scaling)",
    "gpus_per_node": "GPUs per node, if only nodes are stated",
    "steps": "steps of each run, if only whole runs are timed",
    "per_gpu": "n of each GPU if it grows with their number, such as a batch per GPU",
    **{name: field.metadata["help"] for name, field in Throughput.__dataclass_fields__.items()},
    "counts": "GPU counts to forecast, also beyond the measured ones, such as 1-16,64",
}
"""Settings that files may lack, with the names of options of ``gpucast import``, and GPU counts."""


def answer(order: Order) -> Answer:
    """Read and fit the files, and make the page's data. Changes the working folder to the files'.

    Raises:
        InputError: the files are invalid; the message names file, line and field, as for commands.
    """
    os.chdir(order.source.folder)
    names = order.source.names
    data = load(
        # A Path never stands for a bundled dataset.
        *(names if order.source.bundled else map(Path, names)),
        options=Options(**_read(Options, order.stated)),
        others=(TRACES,),
    )
    series = series_of(data.steps)
    if not series:
        raise InputError("there are no steps to fit", file=data.name)
    chosen = order.series
    if chosen is None or chosen >= len(series):
        chosen = max(range(len(series)), key=lambda at: len(series[at].steps))
    models, failed = _fitted(data, series[chosen])
    gpu_counts = order.stated.get("counts", "").strip()
    per_gpu = order.stated.get("per_gpu", "").strip()
    report = content(
        models,
        data,
        gpus=counts(gpu_counts, "counts") if gpu_counts else None,
        per_gpu=size(per_gpu, "per_gpu") if per_gpu else None,
        throughput=Throughput(**_read(Throughput, order.stated)),
    )
    return Answer(
        content=report,
        understood=list(data.understood),
        warnings=failed,
        series=_labels(series),
        chosen=chosen,
        models=[
            (shown["label"], model.to_json())
            for shown, model in zip(report["models"], models, strict=True)
        ],
        downloads=downloads(models, report),
    )


def _read(kind: type[Options | Throughput], stated: Mapping[str, str]) -> dict[str, Any]:
    reads = {field.name: field.metadata.get("read") for field in fields(kind)}
    if kind is Options:
        reads |= {"gpus_per_node": _whole, "steps": _whole, "size_of": _size_of}
    names = {"gpus": "gpus_of_files", "n": "size_of_files"}
    return {
        names.get(name, name): read(text.strip(), option) if read else text.strip()
        for name, text in stated.items()
        if text.strip() and names.get(name, name) in reads
        for read in [reads[names.get(name, name)]]
        for option in ["-n" if name == "n" else f"--{name.replace('_', '-')}"]
    }


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{text!r} is no whole number", field=option) from None


def _size_of(text: str, option: str) -> str:
    if text not in ("all", "gpu"):
        raise InputError(f"{text!r} is neither all nor gpu", field=option)
    return text


@dataclass(frozen=True)
class Series:
    """Steps that differ only in n, GPU count and path, and what they have in common."""

    selection: StepSelection
    steps: list[Step]


def _labels(series: Iterable[Series]) -> list[str]:
    """Return labels of series, with machines if there are several."""
    kinds = [one.selection for one in series]
    several = len({kind.machine for kind in kinds}) > 1
    return [
        ", ".join(filter(None, (kind.label, kind.machine if several else None))) for kind in kinds
    ]


def series_of(steps: Iterable[Step]) -> list[Series]:
    """Group steps that can be answered together: of one program, case, kernel, ... on one host."""
    by_kind: dict[StepSelection, list[Step]] = {}
    for step in steps:
        kind = selection_of(step)
        common = replace(kind, path=None, case=None, machine=host_of(kind.machine))
        by_kind.setdefault(common, []).append(step)
    series = []
    for kind, own in by_kind.items():
        if len(distinct(own, "case")) < 2 or case_says_nothing(own):
            series.append(Series(kind, own))
            continue
        for case in distinct(own, "case"):
            case_steps = [step for step in own if step.case in (None, case)]
            series.append(Series(replace(kind, case=str(case)), case_steps))
    return series


def _fitted(data: Dataset, series: Series) -> tuple[list[Model], list[str]]:
    """Return a model for each path, and the errors of paths that cannot be fitted."""
    models: list[Model] = []
    failed: list[InputError] = []
    paths = sorted(
        map(str, distinct(series.steps, "path")),
        key=lambda path: FIRST_PATHS.index(path) if path in FIRST_PATHS else len(FIRST_PATHS),
    )
    for path in paths[:MOST_MODELS]:
        own = [step for step in series.steps if step.path == path]
        machine = next(iter(distinct(own, "machine")), None)
        wanted = replace(
            series.selection, path=path, machine=None if machine is None else str(machine)
        )
        try:
            models.append(fit(data, wanted))
        except InputError as error:
            failed.append(error)
    if not models:
        raise failed[0]
    return models, [str(problem) for problem in failed]


def apart(function: Callable[[Given], Found], given: Given) -> Found:
    """Return ``function(given)``, computed in a fresh process that ends with this one: its input
    may be large or hostile, and it may take long.

    Raises:
        GpucastError: the function raised it, or its process died.
    """
    fresh = multiprocessing.get_context("spawn")
    receiver, sender = fresh.Pipe(duplex=False)
    process = fresh.Process(target=_run, args=(sender, function, given), daemon=True)
    process.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        raise GpucastError("reading or fitting ended unexpectedly, as for want of memory") from None
    finally:
        receiver.close()
        process.kill()
        process.join()
    if isinstance(outcome, GpucastError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def _run(sender: Connection, function: Callable[[Given], Found], given: Given) -> None:
    # Ctrl-C in a terminal also reaches this process, which its parent ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sender.send(function(given))
    except GpucastError as error:
        sender.send(error)
