"""Make the models of the 2015 machine and its page, from data/reconstructed/*.toml.

    python lab/data/reconstruct_2015.py

Quantities with bounds are drawn from a triangular distribution of their logarithm, which is most
likely at `value` and ends at `low` and `high`; each has a random stream of its own, so that a
quantity added here changes no other. Both paths share the draws of GPU and host quantities and
differ in communication alone. The draws are the models' replicates, so that every forecast carries
the uncertainty.
"""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
from jinja2 import Environment, StrictUndefined
from numpy.typing import ArrayLike, NDArray

from gpucast import _core
from gpucast.model.content import Domain, FittedSteps, Noise, Parameter, Quantity, Reconstruction
from gpucast.model.fitted import Model
from gpucast.model.values import Gpu, Terms
from gpucast.util import files
from gpucast.util.remarks import Kind, remark
from gpucast.util.units import duration, interval, percent, quantity

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "data" / "reconstructed"
PAGE = ROOT / "docs" / "machine-2015.md"
TEMPLATE = Path(__file__).with_name("machine-2015.md.jinja")
NAME = "reconstructed-2015"
PATHS = {"native": "expansion-box", "remote": "ds-cuda"}
"""Names of our own, so that no measured path of another machine is taken for one of these."""

DRAWS = 200
T90 = 1.645  # of a normal distribution: the draws stand for all values thought possible
DIGITS = 6  # written; platforms differ in the last digit of a double

Array = NDArray[np.float64]


class About(TypedDict):
    """Title and label of the models, and a description of each path."""

    title: str
    label: str
    paths: dict[str, str]


def read() -> tuple[About, dict[str, list[Quantity]]]:
    """Title and label, and the quantities of ``both``, ``native`` and ``remote``."""
    content = tomllib.loads((FOLDER / f"{NAME}.toml").read_text(encoding="utf-8"))
    groups = {
        group: [Quantity(name, **entry) for name, entry in content.pop(group).items()]
        for group in ("both", *PATHS)
    }
    for one in (one for group in groups.values() for one in group):
        _check(one)
    return content, groups


def _check(entry: Quantity) -> None:
    if (entry.source is None) == (entry.assumed is None):
        raise SystemExit(f"{entry.name}: needs either a source or why it was assumed")
    bounded = entry.low is not None and entry.high is not None
    if bounded != (entry.range is not None):
        raise SystemExit(f"{entry.name}: low, high and range go together")
    if bounded and not entry.low <= entry.value <= entry.high:
        raise SystemExit(f"{entry.name}: its value lies outside its bounds")


def draws(path: str, entry: Quantity) -> Array:
    """DRAWS values of a quantity; the same path and name always give the same draws."""
    if entry.low is None or entry.high is None:
        return np.full(DRAWS, float(entry.value))
    stream = np.random.default_rng([2015, zlib.crc32(f"{path}.{entry.name}".encode())])
    return np.exp(
        stream.triangular(np.log(entry.low), np.log(entry.value), np.log(entry.high), DRAWS)
    )


def parameters(values: dict[str, Array]) -> dict[str, Array]:
    """The paper's parameters from quantities, which may be numbers or arrays."""
    t_gpu = values["cycles_per_pair"] / (values["cores"] * values["clock"])
    if "L_copy" not in values:
        return {**values, "t_gpu": t_gpu}
    latency = values["L_copy"] + values["L_box"]
    return {**values, "t_gpu": t_gpu, "L_h2d": latency, "L_d2h": latency}


def model(path: str) -> Model:
    """The reconstruction of one path, in the form of a fitted model."""
    about, groups = read()
    made_of = [*((q, "both") for q in groups["both"]), *((q, path) for q in groups[path])]
    known = {q.name: q.value for q, _ in made_of}
    drawn = parameters({q.name: draws(group, q) for q, group in made_of})
    likely = parameters(known)
    cores, sms, k = (int(known[name]) for name in ("cores", "sms", "k"))
    core = _core.Model("wave", "linear", "star-serial", cores=cores, sms=sms, integer=k)
    error = known["form_error"]
    return Model(
        name=f"{NAME}-{path}",
        terms=Terms(gpu="wave", cpu="linear", com="star-serial"),
        k=k,
        breakpoints={"h2d": [], "d2h": []},
        parameters={
            name: _parameter(unit, meaning, likely[name], drawn[name])
            for name, unit, meaning in core.parameters
        },
        combinations=[],
        noise=Noise(sample=error, pure_error=None, between_cells=error, t90=T90),
        # Nothing was fitted: every forecast extrapolates, except for one particle on one GPU.
        domain=Domain(n=(1, 1), gpus=(1, 1)),
        machine=Gpu(cores=cores, sms=sms, block=0),
        data=FittedSteps(name=NAME, path=PATHS[path], schedule="star-serial", kernel="claret"),
        remarks=[remark(Kind.ASSUMED, f"{about['label']}; every forecast is an extrapolation")],
        reconstruction=Reconstruction(
            title=about["title"],
            label=about["label"],
            path=about["paths"][path],
            quantities=[q for q, _ in made_of],
        ),
        replicates=_rounded(np.column_stack([drawn[name] for name, _, _ in core.parameters])),
        integers=[k] * DRAWS,
    )


def _parameter(unit: str, meaning: str, value: float, drawn: Array) -> Parameter:
    low, high = _rounded(np.percentile(drawn, [2.5, 97.5]))
    return Parameter(
        value=float(_rounded(value)),
        unit=unit,
        identified=False,  # by measurements: there are none
        stderr=None,
        ci95=(float(low), float(high)),
        meaning=meaning,
    )


def _rounded(values: ArrayLike) -> Array:
    return np.vectorize(lambda x: float(f"{x:.{DIGITS}g}"), otypes=[float])(values)


GPUS = tuple(range(1, 9))
SMALL, LARGE = 1000, 100_000


def seconds(of: Model, n: float, gpus: Sequence[int] = GPUS) -> tuple[Array, Array]:
    """T and T_com of each draw, shape (draws, GPU counts)."""
    counts = np.array(gpus, dtype=np.float64)
    sizes = np.full(counts.size, float(n))
    terms = np.array([
        _core.forecast(of.core, row, np.empty((0, row.size)), [], sizes, counts)[:3]
        for row in of.replicates
    ])  # fmt: skip
    return terms.sum(axis=1), terms[:, 2]


def findings(native: Model, remote: Model) -> list[tuple[str, str, float]]:
    """The paper's findings, their path, and the share of draws in which the reconstruction
    agrees."""
    result: list[tuple[str, str, NDArray[np.bool_]]] = []
    times = {}
    for path, made in (("native", native), ("remote", remote)):
        small, com = seconds(made, SMALL)
        large, _ = seconds(made, LARGE)
        times[path] = small, large
        n = [1024, 2048, 4096, 8192]
        few = np.column_stack([seconds(made, size, [1])[0] for size in n])
        straight = np.array([np.interp(n, [n[0], n[-1]], [row[0], row[-1]]) for row in few])
        doubling = seconds(made, 2e6, [1])[0] / seconds(made, 1e6, [1])[0]
        result += [
            (f"with few particles Gflops fall with N (n = {SMALL}, N = 1 to 8)", path,
             np.diff(small) > 0),
            (f"with many particles Gflops rise with N (n = {LARGE}, N = 1, 2, 4, 8)", path,
             np.diff(large[:, [0, 1, 3, 7]]) < 0),
            (f"the share of T_com grows with N (n = {SMALL})", path,
             np.diff(com / small) > 0),
            ("step time is linear in n for small n (to k c N = 9216 on one GPU)", path,
             np.abs(few / straight - 1) < 1e-6),
            ("step time is quadratic for large n (doubling it from 1e6: 3.6 to 4 times)", path,
             (doubling > 3.6) & (doubling <= 4.01)),
        ]  # fmt: skip
    names = [name for name, _, _ in native.core.parameters]
    for name in ("L_h2d", "L_d2h", "1/B_h2d", "1/B_d2h", "t_kernel"):
        at = names.index(name.removeprefix("1/"))
        higher = native.replicates[:, [at]] < remote.replicates[:, [at]]
        holds = ~higher if name.startswith("1/") else higher
        result.append((f"{name} is larger with DS-CUDA", "both", holds))
    ratio, ratio_many = (far / near for near, far in zip(*times.values(), strict=True))
    result += [
        (f"remote over native grows with N at small n (n = {SMALL})", "both", np.diff(ratio) > 0),
        (f"it is larger at small n than at large n (N = 8, n = {SMALL} and {LARGE})", "both",
         ratio[:, -1:] > ratio_many[:, -1:]),
    ]  # fmt: skip
    return [(words, where, float(holds.all(axis=1).mean())) for words, where, holds in result]


def page(models: dict[str, Model]) -> str:
    """The text of docs/machine-2015.md, from its template."""
    about, groups = read()
    titles = {"both": "Both paths"}
    titles |= {path: f"{path.capitalize()}: {about['paths'][path]}" for path in PATHS}
    native, remote = (models[path].parameters for path in PATHS)
    template = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    ).from_string(TEMPLATE.read_text("utf-8"))
    return template.render(
        name=NAME, label=about["label"], draws=DRAWS,
        groups={titles[group]: map(_row, quantities) for group, quantities in groups.items()},
        parameters=[[f"`{x}`", *map(_with_interval, (native[x], remote[x]))] for x in native],
        forecasts=[
            [n, gpus, *(cell for path in PATHS for cell in _cells(models[path], n, gpus))]
            for n in (SMALL, 10_000, LARGE) for gpus in (1, 2, 4, 8)
        ],
        findings=[
            [words, path, percent(share, 0)]
            for words, path, share in findings(models["native"], models["remote"])
        ],
    )  # fmt: skip


def _row(entry: Quantity) -> list[str]:
    bounds = (
        f"{_value(entry.low, entry.unit)} ... {_value(entry.high, entry.unit)}"
        if entry.low is not None and entry.high is not None
        else "-"
    )
    known = f"**source**: {entry.source}" if entry.source else f"**assumed**: {entry.assumed}"
    why = known if entry.range is None else f"{known}. Bounds: {entry.range}"
    return [f"`{entry.name}`, {entry.meaning}", _value(entry.value, entry.unit), bounds, why]


def _value(value: float, unit: str) -> str:
    if unit in ("s", "B/s"):
        return str(quantity(value, unit))
    return f"{value / 1e6:.4g} MHz" if unit == "Hz" else f"{value:.4g} {unit}".strip()


def _with_interval(parameter: Parameter) -> str:
    if parameter.value < 1e-9 and parameter.unit == "s" and parameter.ci95 is not None:
        low, high = (f"{1e12 * x:.3g}" for x in parameter.ci95)
        return f"{1e12 * parameter.value:.3g} ps ({low} ... {high} ps)"
    return (
        f"{quantity(parameter.value, parameter.unit)} ({interval(parameter.ci95, parameter.unit)})"
    )


def _cells(of: Model, n: int, gpus: int) -> list[str]:
    forecasts = of.forecasts([n], [gpus])
    step, low, high = (
        duration(float(times[0]))
        for times in (forecasts.seconds, forecasts.mean_low, forecasts.mean_high)
    )
    rate = of.workload.gflops(n, float(forecasts.seconds[0]))
    share = percent(float(forecasts.t_com[0] / forecasts.seconds[0]), 0)
    return [f"{step} ({low} ... {high})", f"{rate:.3g}", share]


def main() -> None:
    models = {path: model(path) for path in PATHS}
    for path, made in models.items():
        made.save(FOLDER / f"{NAME}-{path}.json", force=True)
    files.write_text(PAGE, page(models), force=True)


if __name__ == "__main__":
    main()
