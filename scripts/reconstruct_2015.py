"""Make the models of the 2015 machine and its page, from data/reconstructed/*.toml.

    python scripts/reconstruct_2015.py

Quantities with bounds are drawn from a triangular distribution of their logarithm, which is most
likely at `value` and ends at `low` and `high`; each from a stream of its own, so that a quantity
added here changes no other. Both paths share what concerns GPUs and host, draw by draw: what they
differ in is communication alone. The draws are the models' replicates, so every forecast carries
what is not known.
"""

from __future__ import annotations

import tomllib
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.model.content import (
    Domain,
    FittedSteps,
    Gpu,
    Noise,
    Parameter,
    Quantity,
    Reconstruction,
    Terms,
)  # fmt: skip
from gpucast.model.fitted import Model
from gpucast.util import files
from gpucast.util.units import duration, interval, percent, quantity

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "data" / "reconstructed"
PAGE = ROOT / "docs" / "machine-2015.md"
NAME = "reconstructed-2015"
PATHS = {"native": "expansion-box", "remote": "ds-cuda"}
"""Words of ours, so that no measured path of another machine is taken for one of these."""

DRAWS = 200
T90 = 1.645  # a normal distribution's: the draws stand for all that is held possible
DIGITS = 6  # of what is written; platforms differ in the last of a double

Array = NDArray[np.float64]


def read() -> tuple[dict[str, Any], dict[str, list[Quantity]]]:
    """Title and label, and the quantities of ``both``, ``native`` and ``remote``."""
    content = tomllib.loads((FOLDER / f"{NAME}.toml").read_text(encoding="utf-8"))
    found = {
        group: [Quantity(name, **entry) for name, entry in content.pop(group).items()]
        for group in ("both", *PATHS)
    }
    for each in (each for group in found.values() for each in group):
        _check(each)
    return content, found


def _check(each: Quantity) -> None:
    if (each.source is None) == (each.assumed is None):
        raise SystemExit(f"{each.name}: needs either a source or why it was assumed")
    bounded = each.low is not None and each.high is not None
    if bounded != (each.range is not None):
        raise SystemExit(f"{each.name}: low, high and range go together")
    if bounded and not each.low <= each.value <= each.high:
        raise SystemExit(f"{each.name}: its value lies outside its bounds")


def draws(path: str, each: Quantity) -> Array:
    """DRAWS values of a quantity; the same for the same name of the same path."""
    if each.low is None or each.high is None:
        return np.full(DRAWS, float(each.value))
    stream = np.random.default_rng([2015, zlib.crc32(f"{path}.{each.name}".encode())])
    return np.exp(stream.triangular(np.log(each.low), np.log(each.value), np.log(each.high), DRAWS))


def parameters(values: dict[str, Any]) -> dict[str, Any]:
    """The paper's parameters from quantities; numbers or arrays alike."""
    box = values.get("L_box", 0.0)
    return {
        "t_gpu": values["cycles_per_pair"] / (values["cores"] * values["clock"]),
        "t_cpu": values["t_cpu"],
        "t_kernel": values["t_kernel"],
        "L_h2d": values.get("L_copy", values.get("L_h2d")) + box,
        "B_h2d": values["B_h2d"],
        "L_d2h": values.get("L_copy", values.get("L_d2h")) + box,
        "B_d2h": values["B_d2h"],
    }


def model(path: str) -> Model:
    """The reconstruction of one path, as a fit would have written it."""
    about, groups = read()
    made_of = [*((each, "both") for each in groups["both"]), *((q, path) for q in groups[path])]
    known = {each.name: each.value for each, _ in made_of}
    drawn = parameters({each.name: draws(group, each) for each, group in made_of})
    likely = parameters(known)
    core = _core.Model("wave", "linear", "star-serial", cores=int(known["cores"]),
                       sms=int(known["sms"]), integer=int(known["k"]))  # fmt: skip
    return Model(
        name=f"{NAME}-{path}",
        terms=Terms(gpu="wave", cpu="linear", com="star-serial"),
        k=int(known["k"]),
        p=None,
        breakpoints={"h2d": [], "d2h": []},
        parameters={
            name: _parameter(unit, meaning, likely[name], drawn[name])
            for name, unit, meaning in core.parameters
        },
        combinations=[],
        noise=Noise(
            sample=known["form_error"],
            pure_error=None,
            between_cells=known["form_error"],
            t90=T90,
        ),
        # Nothing was fitted: every forecast but of one particle on one GPU extrapolates.
        domain=Domain(n=(1, 1), gpus=(1, 1)),
        machine=Gpu(cores=int(known["cores"]), sms=int(known["sms"]), block=0),
        data=FittedSteps(name=NAME, path=PATHS[path], schedule="star-serial", kernel="claret"),
        warnings=[f"{about['label']}; every forecast is an extrapolation"],
        reconstruction=Reconstruction(
            title=about["title"],
            label=about["label"],
            path=about["paths"][path],
            quantities=[each for each, _ in made_of],
        ),
        replicates=_rounded(np.column_stack([drawn[name] for name, _, _ in core.parameters])),
        integers=[int(known["k"])] * DRAWS,
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


def _rounded(values: Any) -> Array:
    return np.vectorize(lambda x: float(f"{x:.{DIGITS}g}"), otypes=[float])(values)


# --- findings -------------------------------------------------------------------------------

GPUS = tuple(range(1, 9))
SMALL, LARGE = 1000, 100_000


def seconds(of: Model, n: float, gpus: tuple[int, ...] = GPUS) -> tuple[Array, Array, Array]:
    """T, T_com of each draw, shape (draws, GPU counts); and T of the most likely values."""
    counts = np.array(gpus, dtype=np.float64)
    sizes = np.full(counts.size, float(n))
    each = [
        _core.forecast(of.core, row, np.empty((0, row.size)), [], sizes, counts)
        for row in of.replicates
    ]
    total = np.array([t_gpu + t_cpu + t_com for t_gpu, t_cpu, t_com, _ in each])
    com = np.array([t_com for _, _, t_com, _ in each])
    return total, com, of.forecasts(sizes, counts).seconds


def findings(native: Model, remote: Model) -> list[tuple[str, str, float]]:
    """What the paper finds; where; and the share of draws in which the reconstruction agrees."""
    result: list[tuple[str, str, float]] = []
    for of in (native, remote):
        small, com, _ = seconds(of, SMALL)
        large, _, _ = seconds(of, LARGE)
        share = com / small
        words = of.name.removeprefix(f"{NAME}-")
        result += [
            (f"with few particles Gflops fall with N (n = {SMALL}, N = 1 to 8)", words,
             _agree(np.diff(small) > 0)),
            (f"with many particles Gflops rise with N (n = {LARGE}, N = 1, 2, 4, 8)", words,
             _agree(np.diff(large[:, [0, 1, 3, 7]]) < 0)),
            (f"the share of T_com grows with N (n = {SMALL})", words,
             _agree(np.diff(share) > 0)),
            ("step time is linear in n for small n (to k c N = 9216 on one GPU)", words,
             _agree(np.abs(_curvature(of, [1024, 2048, 4096, 8192])) < 1e-6)),
            ("step time is quadratic for large n (doubling it from 1e6: 3.6 to 4 times)", words,
             _agree((_doubling(of, 1e6) > 3.6) & (_doubling(of, 1e6) <= 4.01))),
        ]  # fmt: skip
    result += [
        (f"{name} is larger with DS-CUDA", "both", float(np.mean(_higher(native, remote, name))))
        for name in ("L_h2d", "L_d2h", "1/B_h2d", "1/B_d2h", "t_kernel")
    ]
    few, few_remote = seconds(native, SMALL)[0], seconds(remote, SMALL)[0]
    many, many_remote = seconds(native, LARGE)[0], seconds(remote, LARGE)[0]
    ratio, ratio_many = few_remote / few, many_remote / many
    result += [
        (f"remote over native grows with N at small n (n = {SMALL})", "both",
         _agree(np.diff(ratio) > 0)),
        (f"it is larger at small n than at large n (N = 8, n = {SMALL} and {LARGE})", "both",
         float(np.mean(ratio[:, -1] > ratio_many[:, -1]))),
    ]  # fmt: skip
    return result


def _agree(holds: NDArray[np.bool_]) -> float:
    """Share of draws in which all of a row holds."""
    return float(np.mean(np.all(np.atleast_2d(holds.T).T, axis=1)))


def _curvature(of: Model, n: list[int]) -> Array:
    """How far T(n) is from a straight line through the first and the last n, relative."""
    times = np.column_stack([seconds(of, size, (1,))[0] for size in n])
    straight = np.array([np.interp(n, [n[0], n[-1]], [row[0], row[-1]]) for row in times])
    return np.asarray(times / straight - 1)


def _doubling(of: Model, n: float) -> Array:
    return np.asarray(seconds(of, 2 * n, (1,))[0] / seconds(of, n, (1,))[0])


def _higher(native: Model, remote: Model, name: str) -> NDArray[np.bool_]:
    names = [each for each, _, _ in native.core.parameters]
    at = names.index(name.removeprefix("1/"))
    first, second = native.replicates[:, at], remote.replicates[:, at]
    return np.asarray(first > second if name.startswith("1/") else first < second)


# --- the page -------------------------------------------------------------------------------


TRUST = """\
## How far to trust it

- That step time is linear for small n and quadratic for large n is the form of equations 1 to 3,
  whatever the parameters; so is that the share of T_com grows where n fits one wave.
- That latencies and launches are longer with DS-CUDA is what its own tables say of 2012 hardware,
  and the bounds of the two paths do not overlap: it is put in, not found. How Gflops move with N,
  and where, is what comes out.
- The finding that does not hold in every draw says where the paper's machine must have been better
  than DS-CUDA's tables of 2012, or its particles more: with 100,000, eight remote GPUs are not
  always faster than four.
- Gflops count 78 operations a pair, as Claret does. The chip executes fewer, so one GPU can exceed
  the 3977 Gflops of its peak (2 operations a core and cycle at 863 MHz) in this count.
- The times may be off by factors, not by per cent. Where it matters most we know least: t_kernel
  and the host's work a particle.
- Copies of `star-serial` follow one another, so GPUs that share a box's uplink do not slow each
  other down; with copies at once they would (source document 5).
"""


def page(models: dict[str, Model]) -> str:
    """docs/machine-2015.md."""
    about, groups = read()
    return "\n".join(
        [
            "# The machine of 2015, reconstructed",
            "",
            f"**A {about['label']}.**",
            "Source document 1 (Setoguchi & Narumi) prints no fitted values. This page and its",
            "models say what public figures lead one to expect of its machine. Nothing here was",
            "measured on it, and nothing may be quoted as the paper's.",
            "",
            "    gpucast data list                   # names them apart from what was measured",
            f"    gpucast data show {NAME}-native",
            f"    gpucast predict {NAME}-native {NAME}-remote -n 1000,1e5 --gpus 1-8",
            "",
            f"`scripts/reconstruct_2015.py` makes models and page from"
            f" `data/reconstructed/{NAME}.toml`.",
            "",
            *_groups(about, groups),
            *_drawn(),
            *_derived(models),
            *_forecasts(models),
            *_findings(models),
            TRUST,
        ]
    )


def _groups(about: dict[str, Any], groups: dict[str, list[Quantity]]) -> list[str]:
    titles = {
        "both": "Both paths",
        "native": f"Native: {about['paths']['native']}",
        "remote": f"Remote: {about['paths']['remote']}",
    }
    lines = ["## What it is made of", ""]
    for group, entries in groups.items():
        lines += [f"### {titles[group]}", "", "| | value | bounds | from |", "|---|---|---|---|"]
        lines += [
            f"| `{each.name}`, {each.meaning} | {_value(each.value, each.unit)} |"
            f" {_bounds(each)} | {_from(each)} |"
            for each in entries
        ]
        lines.append("")
    return lines


def _value(value: float, unit: str) -> str:
    if unit in ("s", "B/s"):
        return str(quantity(value, unit))
    return f"{value / 1e6:.4g} MHz" if unit == "Hz" else f"{value:.4g} {unit}".strip()


def _bounds(each: Quantity) -> str:
    if each.low is None or each.high is None:
        return "-"
    return f"{_value(each.low, each.unit)} ... {_value(each.high, each.unit)}"


def _from(each: Quantity) -> str:
    value = f"**source**: {each.source}" if each.source else f"**assumed**: {each.assumed}"
    return value if each.range is None else f"{value}. Bounds: {each.range}"


def _drawn() -> list[str]:
    return [
        f"A quantity with bounds is drawn {DRAWS} times, its logarithm from a triangle that peaks",
        "at the value and ends at the bounds; the draws are the model's replicates. Both paths",
        "share what concerns GPUs and host, draw by draw.",
        "",
    ]


def _derived(models: dict[str, Model]) -> list[str]:
    lines = [
        "## The paper's parameters",
        "",
        "t_gpu = cycles_per_pair / (cores clock); latencies are L_copy + L_box, native. In",
        "brackets: where 95 % of the draws lie.",
        "",
        "| | native | remote |",
        "|---|---|---|",
    ]
    native, remote = (models[path].parameters for path in PATHS)
    return [
        *lines,
        *(
            f"| `{name}` | {_with_interval(native[name])} | {_with_interval(remote[name])} |"
            for name in native
        ),
        "",
    ]


def _with_interval(each: Parameter) -> str:
    if each.value < 1e-9 and each.unit == "s" and each.ci95 is not None:
        low, high = (f"{1e12 * x:.3g}" for x in each.ci95)
        return f"{1e12 * each.value:.3g} ps ({low} ... {high} ps)"
    return f"{quantity(each.value, each.unit)} ({interval(each.ci95, each.unit)})"


def _forecasts(models: dict[str, Model]) -> list[str]:
    lines = [
        "## What comes out",
        "",
        "| n | N | native step (90 %) | Gflops | T_com | remote step (90 %) | Gflops | T_com |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n in (SMALL, 10_000, LARGE):
        for gpus in (1, 2, 4, 8):
            cells = [_cell(models[path], n, gpus) for path in PATHS]
            lines.append(f"| {n} | {gpus} | {' | '.join(cells)} |")
    return [*lines, ""]


def _cell(of: Model, n: int, gpus: int) -> str:
    found = of.forecasts([n], [gpus])
    low, high = duration(float(found.mean_low[0])), duration(float(found.mean_high[0]))
    rate = of.workload.gflops(n, float(found.seconds[0]))
    share = percent(float(found.t_com[0] / found.seconds[0]), 0)
    return f"{duration(float(found.seconds[0]))} ({low} ... {high}) | {rate:.3g} | {share}"


def _findings(models: dict[str, Model]) -> list[str]:
    return [
        "## The paper's findings",
        "",
        "Each is asked of every draw: the last column is the share of draws in which it holds.",
        "",
        "| finding | path | holds in |",
        "|---|---|---|",
        *(
            f"| {words} | {path} | {percent(share, 0)} |"
            for words, path, share in findings(models["native"], models["remote"])
        ),
        "",
    ]


def main() -> None:
    models = {path: model(path) for path in PATHS}
    for path, each in models.items():
        each.save(FOLDER / f"{NAME}-{path}.json", force=True)
    files.write_text(PAGE, page(models), force=True)


if __name__ == "__main__":
    main()
