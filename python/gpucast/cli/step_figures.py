"""Common parts of the commands for figures of steps: data, models and captions."""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from gpucast.cli.output import load, warn
from gpucast.errors import InputError
from gpucast.util.number_lists import counts, sizes
from gpucast.util.processes import spread
from gpucast.util.units import plain

if TYPE_CHECKING:
    from gpucast.cli.figure_files import Draw
    from gpucast.data.dataset import Dataset
    from gpucast.data.selection import StepSelection
    from gpucast.model.fitted import Model
    from gpucast.show.plots.step_series import Series

NO_MODEL = "none"


FIGURES = "gpucast.show.plots.of_steps"
"""The package of the figures of steps, a module each."""

_SAMPLES = 15
_REPLICATES = 60
"""Numbers of samples per record (evenly spaced quantiles) and of bootstrap replicates in fits for
figures: medians and bands hardly differ, but take a fraction of the time."""


@dataclass
class Subject:
    """The subject of a figure: data, series with their models, and models fitted for it."""

    data: Dataset | None
    series: list[Series]
    fitted: dict[str, Model] = field(default_factory=dict)

    @property
    def models(self) -> dict[StepSelection, Model]:
        """The models by their group of steps."""
        return {
            series.group: series.model
            for series in self.series
            if series.group is not None and series.model is not None
        }

    @property
    def words(self) -> str:
        """A description of the steps for titles."""
        from gpucast.show.plots.step_series import kind_in_words

        return kind_in_words(self.series)

    def caption(self, reading: str) -> str:
        """The caption: how to read the figure, and the origin of its numbers."""
        return " ".join(filter(None, (reading, whose(self.data), self._models())))

    def _models(self) -> str:
        own = [f"{s.label}: {s.model.chosen}" for s in self.series if s.model is not None]
        return f"Models: {'; '.join(own)}." if own else ""


def helps() -> dict[str, str]:
    """Return the help of each figure's command by the figure's name, that of times first. The
    modules are not loaded: they load matplotlib."""
    texts = {
        file.name.removesuffix(".py"): file.read_text(encoding="utf-8")
        for file in resources.files(FIGURES).iterdir()
        if file.name.endswith(".py") and not file.name.startswith("_")
    }
    return {
        name: ast.get_docstring(ast.parse(texts[name])) or ""
        for name in sorted(texts, key=lambda name: (name != "steps", name))
    }


def module(name: str) -> Any:
    """Return the module of a figure."""
    return importlib.import_module(f"{FIGURES}.{name}")


def subject(inputs: Sequence[str], wanted: StepSelection, model: str) -> Subject:
    """Return the named data and models; paths without a model are fitted.

    Args:
        model: the model to fit without a model file: ``auto``, ``paper``, ... or ``none``.
    """
    from dataclasses import replace

    from gpucast.show.plots.step_series import series_of

    data, models = read(inputs)
    series = series_of(data, models, wanted)
    made = Subject(data, series)
    if data is None or model == NO_MODEL:
        return made
    lacking = [i for i, s in enumerate(series) if s.model is None and s.group is not None]
    answers = spread([partial(_fit_or_why_not, *_lean(data, series[i]), model) for i in lacking])
    for at, answer in zip(lacking, answers, strict=True):
        label = series[at].label
        if isinstance(answer, str):
            warn(f"{label}: no model is drawn, {answer}")
            continue
        series[at] = replace(series[at], model=answer)
        made.fitted[label] = answer
    return made


def read(inputs: Sequence[str]) -> tuple[Dataset | None, list[Model]]:
    """Return the dataset and the models among names and files."""
    from gpucast.data import bundled_files
    from gpucast.model.files import is_model, load_model

    bundled = bundled_files()
    are_models = [name not in bundled and is_model(name) for name in inputs]
    names = [name for name, is_model in zip(inputs, are_models, strict=True) if not is_model]
    models = [load_model(name) for name in inputs if name not in names]
    data = load(*names) if names else None
    warn(*(data.warnings if data is not None else ()))
    return data, models


def models_of_groups(data: Dataset, models: Sequence[Model]) -> dict[StepSelection, Model]:
    """Return the models by their group of steps; models without steps here are left out."""
    from gpucast.data.steps import groups_of
    from gpucast.show.plots.step_series import is_about

    return {group: model for group in groups_of(data) for model in models if is_about(model, group)}


def whose(data: Dataset | None) -> str:
    """Return the names, machines and, for published data, the source of a dataset."""
    if data is None:
        return ""
    gpus: list[str] = []
    for machine in data.machines.values():
        names = [gpu.name for gpu in machine.gpus or []]
        used = {step.gpus for step in data.steps if step.machine == machine.id}
        if used and len(set(names)) == 1 and max(used) > len(names):
            # A log names the kind of its GPUs once for all of them.
            few, most = min(used), max(used)
            several = f"{names[0]}, {few} to {most} GPUs"
            gpus.append(several if few < most else f"{most} x {names[0]}")
        else:
            gpus += [f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]
    sources = dict.fromkeys(m.source for m in data.machines.values() if m.source)
    # Folders are of no use to a reader, and may be private.
    files = " + ".join(os.path.basename(name) for name in data.name.split(" + "))
    words = f"Measured: {files}"
    if gpus:
        words += f" ({', '.join(dict.fromkeys(gpus))})"
    return f"{words}. Source: {'; '.join(sources)}." if sources else f"{words}."


def draws(
    subject: Subject, n: str | None, gpus: str | None, only: Iterable[str]
) -> dict[str, Draw]:
    """Return functions that draw the possible figures of steps, by names for their files."""
    from gpucast.show.plots import steps
    from gpucast.show.plots.style import COLOURS

    series, kind = subject.series, subject.words
    chosen_n = [plain(size) for size in sizes(n)] if n else None
    chosen_gpus = [int(count) for count in counts(gpus)] if gpus else None
    most = len(COLOURS)
    for field_, values in (("n", chosen_n), ("gpus", chosen_gpus)):
        if values and len(values) > most:
            raise InputError(f"{len(values)} lines; at most {most} can be told apart", field=field_)
    asked = steps.Asked(series, chosen_n, chosen_gpus)
    return {
        drawing.name: partial(
            drawing.draw,
            series,
            drawing.chosen,
            # Steps that state no kind have no words for it.
            f"{drawing.title}: {kind}" if kind else drawing.title,
            subject.caption(drawing.reading(series)),
        )
        for name in only
        for drawing in module(name).drawings(asked)
    }


def _lean(data: Dataset, series: Series) -> tuple[Dataset, StepSelection]:
    from gpucast.data.steps import data_of
    from gpucast.data.thinning import thinned, without_unused_routes

    group = series.group
    assert group is not None
    lean = without_unused_routes(thinned(data_of(data, group), _SAMPLES), group.schedule)
    return lean, group


def _fit_or_why_not(data: Dataset, selection: StepSelection, model: str) -> Model | str:
    from gpucast.fitting.fit import fit

    try:
        return fit(data, selection, model=model, replicates=_REPLICATES)
    except InputError as error:
        return error.message
