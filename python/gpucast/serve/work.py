"""From files to all that the report says: read, fit each path of a series, hold it against them."""

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
"""Models are compared with the first of them."""


@dataclass(frozen=True)
class Source:
    """Files of one folder; ``bundled``: a name may also be that of a bundled dataset."""

    folder: str
    names: tuple[str, ...]
    bundled: bool = False


@dataclass(frozen=True)
class Order:
    """What is to be answered.

    Attributes:
        source: the files.
        stated: what they do not say, as text, by the names of ``SETTINGS``.
        series: which of several series, as ``Answer.series`` numbers them; None: the one with the
            most steps.
    """

    source: Source
    stated: Mapping[str, str] = field(default_factory=dict)
    series: int | None = None


@dataclass(frozen=True)
class Answer:
    """What a page shows.

    Attributes:
        content: of the report.
        understood: a line for each file that had to be imported, and more.
        warnings: a line for each path that could not be fitted.
        series: what tells the series of these files apart; ``chosen``: the one that is answered.
        models: names and contents of model files.
        downloads: texts of files that the page offers to save, by their names.
    """

    content: JsonObject
    understood: list[str]
    warnings: list[str]
    series: list[str]
    chosen: int
    models: list[tuple[str, str]]
    downloads: dict[str, str]


SETTINGS = {
    "columns": "of a table: n=atoms,gpus=cards,seconds=run:ms",
    "timestep": "simulated time of a step, such as 2fs",
    "program": "what ran",
    "unit": "what n counts",
    "regex": "of a log of no known format: step time (?P<seconds>[0-9.]+)",
    "gpus": "GPUs of a log that does not say them; of several files, a list",
    "n": "size of a log that does not say it; of several files, a list",
    "size_of": "of what that is the size: all, or gpu (weak scaling)",
    "gpus_per_node": "where only nodes are said",
    "steps": "of each run, where only whole runs are timed",
    "per_gpu": "n of each GPU where it grows with them, such as the batch of each",
    **{name: field.metadata["help"] for name, field in Throughput.__dataclass_fields__.items()},
    "counts": "GPU counts to ask about, also beyond those measured, such as 1-16,64",
}
"""What files may leave unsaid, named as the options of ``gpucast import``; and what is asked."""


def answer(order: Order) -> Answer:
    """Read the files, fit, and say what follows. The process's folder becomes that of the files.

    Raises:
        InputError: names file, line and field, as the commands do.
    """
    os.chdir(order.source.folder)
    names = order.source.names
    data = load(
        # A path is never taken for the name of a bundled dataset.
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
    asked = order.stated.get("counts", "").strip()
    per_gpu = order.stated.get("per_gpu", "").strip()
    report = content(
        models,
        data,
        gpus=counts(asked, "counts") if asked else None,
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
    """The fields that are stated."""
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
    """Steps that differ in n, GPU count and path alone, and what they agree in."""

    selection: StepSelection
    steps: list[Step]


def _labels(series: Iterable[Series]) -> list[str]:
    """What tells series apart: their machines only where there are several."""
    kinds = [one.selection for one in series]
    several = len({kind.machine for kind in kinds}) > 1
    return [
        ", ".join(filter(None, (kind.label, kind.machine if several else None))) for kind in kinds
    ]


def series_of(steps: Iterable[Step]) -> list[Series]:
    """What can be answered together: steps of one program, case, kernel, ... on one host."""
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
            of_case = [step for step in own if step.case in (None, case)]
            series.append(Series(replace(kind, case=str(case)), of_case))
    return series


def _fitted(data: Dataset, series: Series) -> tuple[list[Model], list[str]]:
    """A model for each path, and what is wrong with paths that cannot be fitted."""
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
    """``function(given)``, computed in a fresh process that ends with it or with this one: what it
    reads may be large or hostile, and take long.

    Raises:
        GpucastError: what the function raised, or that its process died.
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
    # Ctrl-C in a terminal reaches this process, too; its parent ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sender.send(function(given))
    except GpucastError as error:
        sender.send(error)
