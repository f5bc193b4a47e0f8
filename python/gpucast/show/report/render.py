"""Renders the report as one HTML file that needs no network.

Styles, scripts, numbers and pictures are in the file. A content security policy forbids the browser
to fetch anything, or to run other scripts. All values from data are escaped: texts by the
template's autoescaping, JSON by escaping everything that could end the script element.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import importlib.resources
import re
from collections.abc import Mapping, Sequence

import jinja2
from markupsafe import Markup

from gpucast.answers.throughput import columns_of
from gpucast.answers.validation import summarize
from gpucast.show.report.picture import picture
from gpucast.util import JsonObject
from gpucast.util.units import duration, interval, percent, quantity

_SCRIPTS = (
    *("vendor/d3.min.js", "vendor/plot.umd.min.js"),
    *("static/question.js", "static/report.js"),
)

_LOADING = "static/loading.js"

# Parameters of a chain's or a curve's pieces are numbered from 1.
_PIECE = re.compile(r"_[1-9]\d*$")

# Keys that the page's scripts need; the rest is text in the page.
_PAGE_KEYS = ("n", "gpus", "most", "sure", "models", "extra", "unit", "steps")
_MODEL_KEYS = (
    *("label", "domain", "curves", "shares", "cells", "k_profile", "k_plausible"),
    *("parts", "timestep", "believed"),
)


def page(
    content: JsonObject,
    *,
    version: str = "unknown",
    command: str | None = None,
    panel: JsonObject | None = None,
    downloads: Mapping[str, str] | None = None,
) -> str:
    """Return the whole file.

    Args:
        content: see ``gpucast.show.report.content.content``.
        version: version of gpucast.
        command: the command line that made the report.
        panel: data of a page that can load files, see ``loading_page``.
        downloads: texts of files that the page offers to save, by name.
    """
    shown = [n for n in content["gpus"] if n <= content["most"]]
    start = content["n"]["start"]
    return _rendered(
        "report.html",
        (*_SCRIPTS, *([_LOADING] if panel else [])),
        c={
            **content,
            "models": [_shown(model) for model in content["models"]],
            "size_label": f"n, {content['unit']}" if content["unit"] else "n",
        },
        page={
            **{key: content[key] for key in _PAGE_KEYS},
            "models": [{key: model[key] for key in _MODEL_KEYS} for model in content["models"]],
        },
        panel=panel,
        downloads={
            name: base64.b64encode(text.encode()).decode()
            for name, text in (downloads or {}).items()
        },
        further=columns_of(content["weak"][0]["rows"][0], content["throughput"]),
        start_row=next(row for row in content["table"] if row["n"] == start),
        pictures=[picture(model, shown) for model in content["models"]],
        points=sum(len(c["n"]) for model in content["models"] for c in model["curves"]),
        interpolation=max(model["interpolation_error"] for model in content["models"]),
        made={
            "version": version,
            "command": command,
            "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        },
    )


def loading_page(panel: JsonObject) -> str:
    """Return a page for loading files, before there is an answer.

    Args:
        panel: loaded ``files``, ``error`` (a line, or None), ``warnings``, ``understood`` (lines),
            ``settings`` [{name, meaning, value}], ``series`` and the ``chosen`` one, ``most``
            (largest upload in bytes) and ``downloads`` (names).
    """
    return _rendered("start.html", (_LOADING,), panel=panel)


def _rendered(template: str, names: Sequence[str], **context: object) -> str:
    scripts = [_resource(name) for name in names]
    hashes = Markup(" ").join(map(_hash, scripts))
    own = {"css": _resource("static/report.css"), "scripts": scripts, "script_hashes": hashes}
    return _environment().get_template(template).render(**own, **context)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: str(_resource(f"templates/{name}"))),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The filter tojson escapes <, >, & and ', so that no text can end the script element.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {
        "about": lambda seconds: duration(float(f"{seconds:.2g}")),
        "chance": _chance,
        "count": lambda value: f"{value:,}",
        "duration": lambda seconds: _typeset(duration(seconds)),
        "interval": lambda ends, unit: _typeset(interval(ends, unit)),
        "number": lambda value: f"{value:.4g}",
        "percent": lambda share, digits=1: percent(share, digits) or "-",
        "quantity": lambda value, unit: _typeset(quantity(value, unit)),
    }
    return environment


def _chance(share: float | None) -> str:
    # Some hundred refits cannot resolve smaller probabilities.
    if share is None:
        return "-"
    return "> 99 %" if share > 0.99 else "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _typeset(text: str | None) -> str | None:
    return None if text is None else text.replace(" us", " µs").replace("...", "…")


def _hash(script: str) -> Markup:
    """Return the hash by which the content security policy allows a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return Markup(f"'sha256-{base64.b64encode(digest).decode()}'")


def _resource(name: str) -> Markup:
    # Only the project's own and vendored files are marked as safe.
    folder = importlib.resources.files("gpucast.show.report")
    return Markup(folder.joinpath(name).read_text(encoding="utf-8"))


def _shown(model: JsonObject) -> JsonObject:
    """Return a model's content with additional values for the page's text."""
    unknown = ("median_relative_error", "held_out_gpus_error", "held_out_n_error")
    quality = dict.fromkeys(unknown) | model["quality"]
    held_out = [e["cv_error"] for e in model["candidates"] if e["model"] == model["chosen"]]
    about = model["data"]
    kind = [about.get(key) for key in ("program", "case", "schedule", "kernel")]
    pieces = [parameter for parameter in model["parameters"] if _PIECE.search(parameter["name"])]
    return {
        **model,
        # Keys that a model file may lack.
        "data": {"digest": None, "what_if": None, **model["data"]},
        "machine": {"id": None, **model["machine"]},
        "observations": {"samples": None, "cells": None, **model["observations"]},
        "quality": quality,
        "known": [*filter(None, [model["refuted"]]), *model["warnings"]],
        "held_out": held_out[0] if held_out else None,
        "summary": summarize(model["cells"]) if model["cells"] else None,
        "kind": ", ".join(filter(None, kind)),
        "form": model["chosen"].replace("+", " + ") if model["parts"] else model["chosen"],
        "main": [parameter for parameter in model["parameters"] if parameter not in pieces],
        "pieces": pieces,
    }
