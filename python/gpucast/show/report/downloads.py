"""Files that a page offers to save: figure and table as in ``gpucast proposal``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucast.answers.proposal import Asked, proposal_of
from gpucast.model.fitted import Model
from gpucast.show.proposal.tables import Numerals, csv
from gpucast.util import JsonObject


def downloads(models: Sequence[Model], content: JsonObject) -> dict[str, str]:
    """Return files by name: each model's scaling as CSV and, if matplotlib is installed, as SVG.

    Args:
        content: content of the page about these models.
    """
    files: dict[str, str] = {}
    for model, shown in zip(models, content["models"], strict=True):
        label = re.sub("[^0-9A-Za-z]+", "-", shown["label"]).strip("-")
        name = f"scaling-{label}" if len(models) > 1 else "scaling"
        asked = Asked(n=[content["n"]["start"]], efficiency=content["efficiency"])
        files[f"{name}.csv"] = csv(proposal_of(model, asked).content, Numerals())
        try:
            from gpucast.show.plots import scaling, style
        except ModuleNotFoundError:
            continue
        lines = scaling.lines_of(model)
        figure = scaling.figure(lines, ["time", "efficiency"], threshold=content["efficiency"])
        files[f"{name}.svg"] = style.render(figure, "svg").decode()
    return files
