"""How long do fits, bootstraps, forecasts and a report take? Each figure with its bound.

    .venv/bin/python benchmarks/speed.py [--keep]

The least of several runs is reported: machines are shared, and the least is what the work costs.
Bounds are for two idle cores of the machine that README's figures are of. Extra-P's fit of the same
data stands beside ours, where there is Extra-P. ``--keep`` adds the figures to history.jsonl.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))

import numpy as np

import gpucast
from accuracy import EXTRAP, extrap_fits
from gpucast import _core
from gpucast.data import jsonl
from gpucast.fitting import selection as problem
from gpucast.model import fitted as models
from study import GPU_GRID, N_GRID, TRUTHS, made, synthetic
from timing import Figure, finish, least, parser

GPUCAST = Path(sys.executable).parent / "gpucast"
LARGEST_K = 128


def core_model() -> _core.Model:
    return _core.Model("wave", "linear", "star-serial", cores=TRUTHS["native"].c)


def samples(repeats: int) -> _core.Observations:
    truth = TRUTHS["native"]
    n, gpus = synthetic.grid(N_GRID, GPU_GRID, repeats)
    seconds = synthetic.noisy(truth.seconds(n, gpus), np.random.default_rng(1), outliers=0.08)
    zeros = np.zeros(len(n))
    kinds = zeros.astype(np.uint8)
    return _core.Observations(kinds, kinds, n, gpus, zeros, zeros, zeros, seconds, zeros)


def measurements() -> list[Figure]:
    model = core_model()
    integers = _core.default_integers(model, LARGEST_K)
    few = samples(5)
    many = samples(100_000 // (len(N_GRID) * len(GPU_GRID)) + 1)
    fitted = _core.fit(model, few, integers)
    data = made(TRUTHS["native"], 1, 0.08).dataset()
    whole = gpucast.fit(data)
    n = np.repeat(np.geomspace(1e3, 1e6, 125_000).round(), 8)
    gpus = np.tile(np.arange(1.0, 9.0), 125_000)
    posed = problem.pose(data)
    lines = (jsonl.to_line(data.steps[0]) + "\n").encode() * 100_000
    return [
        least(
            "fit of 140 samples, k from 1 to 128",
            lambda: _core.fit(model, few, integers), 20, 0.02,
        ),
        least("1000 bootstrap refits of it", lambda: fitted.bootstrap(1000, 1), 5, 1.0),
        least(
            f"fit of {many.sample_count} samples", lambda: _core.fit(model, many, integers), 3, 2.0
        ),
        least("1,000,000 forecasts with intervals", lambda: whole.forecasts(n, gpus), 3, 1.0),
        least("gpucast.fit: model chosen, 400 refits", lambda: gpucast.fit(data), 10, 0.5),
        least("records to arrays", posed.observations, 20, 0.02),
        least("100,000 records read", lambda: jsonl.parse(lines, "data.jsonl"), 2, 2.0),
    ]  # fmt: skip


def of_commands() -> list[Figure]:
    """From the shell to the answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def command(*words: object) -> Callable[[], object]:
            whole = [GPUCAST, *map(str, words)]
            return lambda: subprocess.run(whole, check=True, capture_output=True, cwd=folder)

        gpucast.fit(made(TRUTHS["native"], 1, 0.08).dataset()).save(folder / "model.json")
        for path in ("native", "remote"):
            gpucast.fit(
                gpucast.load("h200-x4"), path=path, schedule="star-async", kernel="tuned",
                model="work+linear+star-async", replicates=100,
            ).save(folder / f"{path}.json")  # fmt: skip
        predict = command("predict", "model.json", "-n", "1000,1e5", "--gpus", "1-8")
        report = command(
            *("report", "native.json", "remote.json", "--data", "h200-x4"),
            *("-o", "report.html", "--force"),
        )
        return [
            least("model file read", lambda: models.load_model(folder / "model.json"), 20, 0.05),
            least("gpucast predict, shell to answer", predict, 10, 0.5),
            least("gpucast report of two measured paths", report, 3, 5.0),
        ]


def beside_extrap() -> list[Figure]:
    """A fit of ours, without the intervals that Extra-P does not give, and Extra-P's."""
    if not EXTRAP.exists():
        return []
    data = [made(TRUTHS["native"], seed, 0.0).dataset() for seed in range(3)]
    theirs = extrap_fits(data, [(1000.0, 8.0)])
    elapsed = min(fit["elapsed"] for fits in theirs.values() for fit in fits if "elapsed" in fit)
    return [
        least("fit without intervals", lambda: gpucast.fit(data[0], replicates=0), 5, elapsed),
        Figure("Extra-P's fit of the same", elapsed, elapsed),
    ]


def main() -> int:
    keep = parser(__doc__).parse_args().keep
    return finish("speed", [*measurements(), *of_commands(), *beside_extrap()], keep)


if __name__ == "__main__":
    sys.exit(main())
