"""Models and plans that several tests of planning share."""

from dataclasses import replace
from functools import cache
from typing import Any

import gpucast as gc
from gpucast.answers.planning.option_table import OptionTable, make
from gpucast.answers.planning.reading import of_values
from gpucast.answers.planning.request import Request
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval, at_most
from made_data import NATIVE, VIRTUALIZED, whole

REPLICATES = 30


@cache
def native() -> Model:
    """A model of one form, whose draws are replicates: plain loops can follow it."""
    return _named(gc.fit(whole(NATIVE), model="paper", replicates=REPLICATES), "native")


@cache
def remote() -> Model:
    fitted = gc.fit(whole(VIRTUALIZED, seed=1), model="paper", replicates=REPLICATES)
    return _named(fitted, "remote")


@cache
def mixed() -> dict[str, Model]:
    """The same machines by models that chose their forms, and average over them."""
    return {
        "native": _named(gc.fit(whole(NATIVE), replicates=REPLICATES), "native"),
        "remote": _named(gc.fit(whole(VIRTUALIZED, seed=1), replicates=REPLICATES), "remote"),
    }


def with_misfit(model: Model, between_cells: float) -> Model:
    """The same model, whose true cell times lie so far around it."""
    return replace(model, noise=replace(model.noise, between_cells=between_cells))


def models() -> dict[str, Model]:
    return {"native": with_misfit(native(), 0.02), "remote": with_misfit(remote(), 0.03)}


def only_native() -> dict[str, Model]:
    return {"native": models()["native"]}


def machine(name: str = "native", **other: Any) -> dict[str, Any]:
    return {"name": name, "gpus": 4, "price_per_gpu_hour": 2.0, **other}


def job(name: str = "a", n: int = 8000, steps: int = 1_000_000, **other: Any) -> dict[str, Any]:
    return {"name": name, "n": n, "steps": steps, **other}


def values(**other: Any) -> dict[str, Any]:
    """Two machines and jobs of all kinds, as a plan's file would hold them; now, so that intervals
    are those of a fit."""
    return {
        "interval": "now",
        "machines": [
            machine(gpus=5, gpus_per_host=2, price_per_host_hour=0.7),
            machine("remote", gpus=4, price_per_gpu_hour=0.9, price_per_job_hour=0.1, setup=60.0),
        ],
        "jobs": [
            job(n=1000, deadline="2m"),
            job("b", n=8000, deadline="30m", count=2),
            job("c", n=64000, steps=30_000),
            job("d", n=16000, machines=["remote"], ns_per_day=60.0, timestep_fs=2.0),
            job("e", n=64000, steps=10_000, efficiency=0.9, deadline="1d"),
        ],
        **other,
    }


def hosts_plan(price: float, gpus: str = "2-9") -> tuple[dict[str, Any], float, float]:
    """Three runs on hosts of two GPUs that cost so much an hour, on one host or two each; and the
    hours of a run on either.

    The window leaves time for one run on one host and then one on both hosts of two, not for two
    on one host one after another: two hosts do A and B beside one another and then C on both, three
    hosts do one each.
    """
    model = only_native()["native"]
    forecasts = model.forecasts([64000.0, 64000.0], [2.0, 4.0], Interval.later)
    two, four = (1e6 * forecasts.seconds * at_most(model.log_width(forecasts.spread), 0.9)).tolist()
    assert four < 0.9 * two
    box = machine(
        gpus=gpus,
        gpu_counts=[2, 4],
        gpus_per_host=2,
        price_per_gpu_hour=0.0,
        price_per_host_hour=price,
    )
    plan = {
        "machines": [box],
        "jobs": [job(n=64000, count=3)],
        "window": (two + four + 2 * two) / 2,
    }
    hours = 1e6 / 3600 * forecasts.seconds
    return plan, float(hours[0]), float(hours[1])


def request(**other: Any) -> Request:
    plan = values(**other)
    names = [entry["name"] for entry in plan["machines"]]
    return of_values(plan, {name: model for name, model in models().items() if name in names})


def table(**other: Any) -> OptionTable:
    return make(request(**other))


def _named(model: Model, name: str) -> Model:
    model.name = name
    return model
