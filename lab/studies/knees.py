"""Are forecasts calibrated if small sizes do not fill a GPU and the size that fills it was not run?

    .venv/bin/python -m lab.studies.knees [--seeds 100-104] [--only beyond] [--cells F]

Synthetic steps take a time that does not depend on the division of the work until a GPU has K
elements:

    flat       T = t max(1, f(n) / (f(K) N))                a minimum time, then the work
    thread     T = t f(n)/n K/f(K) max(1, n / (K N))        one element's work, then all of it
    hinge      T = t (1 + max(0, n / (K N) - 1)^p)          work on what is above K

with f(n) = n^p, plus a reduction over all GPUs; each cell is run three times. The knee K lies one
to four times *beyond* the largest share n/N that is run, or before the *last* size alone, or
*inside* with three sizes on either side. The next measurement is forecast at twice and four times
the largest size, on the fewest and the most GPUs. The study prints the share of these in the 90 %
interval, the median error, and the median ratio of the interval's ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gpucast
from gpucast.util.tables import print_table
from lab.studies.beside_truth import beside_truth, parser_of

Array = NDArray[np.float64]

POWERS = {"n": 1.0, "n^(4/3)": 4 / 3, "n^(3/2)": 1.5, "n^2": 2.0}
NOISES = (0.005, 0.015, 0.05)
LARGEST = 4e5
RUNS = 3
FARTHEST_KNEE = 4.0


def flat(x: Array, gpus: Array, p: float) -> Array:
    return np.maximum(1, x**p / gpus)


def thread(x: Array, gpus: Array, p: float) -> Array:
    return x ** (p - 1) * np.maximum(1, x / gpus)


def hinge(x: Array, gpus: Array, p: float) -> Array:
    return 1 + np.maximum(0, x / gpus - 1) ** p


# Times relative to that of K elements on one GPU; x = n / K.
LAWS: dict[str, Callable[[Array, Array, float], Array]] = {
    "flat": flat,
    "thread": thread,
    "hinge": hinge,
}
KNEES = ("beyond", "last", "inside")


@dataclass(frozen=True)
class Draw:
    """A synthetic program, and the sizes and GPU counts of its runs.

    Attributes:
        knee: elements that fill a GPU.
    """

    law: str
    power: str
    noise: float
    where: str
    seed: int
    knee: float
    sizes: Array
    counts: Array

    def seconds(self, n: Array, gpus: Array) -> Array:
        """Without noise."""
        shape = LAWS[self.law](n / self.knee, gpus, POWERS[self.power])
        return 1.2e-3 * shape + 0.06e-3 * np.log2(gpus)

    def measured(self, n: Array, gpus: Array, stream: int) -> Array:
        random = np.random.default_rng([self.seed, stream])
        return self.seconds(n, gpus) * np.exp(self.noise * random.standard_normal(n.size))

    def table(self) -> pd.DataFrame:
        n, gpus = (np.repeat(a.ravel(), RUNS) for a in np.meshgrid(self.sizes, self.counts))
        return pd.DataFrame({"n": n, "gpus": gpus, "seconds": self.measured(n, gpus, 1)})

    def asked(self) -> tuple[Array, Array]:
        """Cells of 2 and 4 times the largest size; with one GPU count also 3 and 6 times."""
        farther = [2.0, 4.0] if self.counts.size > 1 else [2.0, 3.0, 4.0, 6.0]
        ends = np.unique([self.counts[0], self.counts[-1]])
        n, gpus = np.meshgrid(self.sizes[-1] * np.array(farther), ends)
        return n.ravel(), gpus.ravel()


def draws(seeds: range, where: str) -> Iterator[Draw]:
    """A program for each law, power, noise and seed."""
    kinds = product(enumerate(LAWS), enumerate(POWERS), enumerate(NOISES), seeds)
    for (i, law), (j, power), (k, noise), seed in kinds:
        random = np.random.default_rng([seed, i, j, k])
        counts = np.array([1.0] if random.random() < 0.4 else [1.0, 2.0, 4.0, 8.0])
        several = 6 if where == "inside" else int(random.integers(3, 6))
        sizes = np.round(LARGEST / 2.0 ** np.arange(several - 1, -1, -1))
        factor = {"beyond": FARTHEST_KNEE ** random.random(), "last": 0.5, "inside": 1 / 8}
        yield Draw(law, power, noise, where, seed, LARGEST * factor[where], sizes, counts)


def answers(draw: Draw) -> pd.DataFrame:
    """Forecasts and measurements, with the columns that form groups."""
    n, gpus = draw.asked()
    forecasts = gpucast.fit(draw.table()).forecasts(n, gpus)
    rows = beside_truth(forecasts, draw.measured(n, gpus, 2), **asdict(draw, dict_factory=_words))
    return rows.assign(knee=draw.knee / LARGEST, of_largest=n / LARGEST)


def _words(fields: list[tuple[str, object]]) -> dict[str, object]:
    """The fields of a draw, with lengths instead of arrays."""
    return {name: value.size if isinstance(value, np.ndarray) else value for name, value in fields}


def summary(rows: pd.DataFrame) -> list[str]:
    covered, error = 100 * rows.covered.mean(), 100 * rows.error.median()
    wide = (rows.high / rows.low).median()
    return [str(len(rows)), f"{covered:.0f} %", f"{error:.1f} %", f"{wide:.2f}"]


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of("knees", __doc__, "100-104")
    parser.add_argument("--only", choices=KNEES, action="append", help="where the knee lies")
    parser.add_argument("--cells", type=Path, help="file for all forecasts (CSV)")
    options = parser.parse_args(arguments)
    where = options.only or KNEES
    rows = pd.concat([answers(draw) for knee in where for draw in draws(options.seeds, knee)])
    groups = {
        "all": rows["where"].map(lambda _: "all"),
        "law": rows.law,
        "power": "work ~ " + rows.power,
        "noise": rows.noise.map(lambda noise: f"noise {100 * noise:g} %"),
        "counts": rows.counts.map(lambda count: f"{count} count(s)"),
    }
    lines = [
        [knee, name, *summary(group)]
        for knee, at in rows.groupby("where", sort=False)
        for by in groups.values()
        for name, group in at.groupby(by, sort=False)
    ]
    print_table(["knee", "of", "cells", "covered", "median error", "high / low"], lines)
    if options.cells is not None:
        rows.to_csv(options.cells, index=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
