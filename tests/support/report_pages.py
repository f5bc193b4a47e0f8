"""Models and pages that the tests of the report share."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import gpucast
from gpucast.cli import main
from gpucast.data.dataset import Dataset, from_records
from gpucast.data.thinning import coarsened
from gpucast.model.fitted import Model
from made_data import NATIVE, dataset, machine, microbenchmarks, steps

HOSTILE = (
    """</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">'&{{7*7}}"""
    """</title></style></textarea><!--<script>window.hacked=3</script>]]>${window.hacked=4}"""
    """<svg onload=window.hacked=5><iframe srcdoc='<script>parent.hacked=6</script>'></iframe>"""
    """<base href=http://127.0.0.1:9/><link rel=stylesheet href=http://127.0.0.1:9/x>"""
    """<meta http-equiv=refresh content=0;url=http://127.0.0.1:9/>' onfocus='window.hacked=7"""
    """\" onmouseover=\"window.hacked=8&lt;script&gt;javascript:window.hacked=9"""
)
"""A name that a page must show and never run, nor ask a network for: it would leave each context in
which a page could put it."""


@cache
def jumping(label: str = "native") -> tuple[Dataset, Model]:
    """Steps by the paper's equations, whose GPU term jumps, of a path of any name; their fit."""
    rng = np.random.default_rng(1)
    records = [
        machine(NATIVE.c, name="m"),
        *steps(NATIVE.seconds, rng, sigma=0.01, path=label),
        *microbenchmarks(NATIVE, rng, path=label),
    ]
    data = dataset(records, name=label)
    return data, gpucast.fit(data, model="paper", replicates=60)


def slower(data: Dataset, factor: float) -> Dataset:
    """The same steps, each taking so many times as long: what refutes a fit to ``data``."""
    records = [
        *data.machines.values(),
        *(
            replace(step, seconds=[factor * seconds for seconds in step.seconds])
            for step in data.steps
        ),
    ]
    return from_records(data.name, records)


@cache
def h200(path: str) -> Model:
    """Steps with the tuned kernel on four H200, native or remote; few samples and given terms, to
    be quick."""
    return gpucast.fit(
        coarsened(gpucast.load("h200-x4")),
        path=path,
        schedule="star-async",
        kernel="tuned",
        model="work+linear+star-async",
        replicates=100,
    )


def h200_page(folder: Path) -> Path:
    """The report of both H200 models with their measurements; model files lie beside it."""
    for path in ("native", "remote"):
        h200(path).save(folder / f"{path}.json", force=True)
    page = folder / "report.html"
    names = (str(folder / "native.json"), str(folder / "remote.json"))
    status = main(["report", *names, "--data", "h200-x4", "-o", str(page), "--force"])
    assert status == 0
    return page
