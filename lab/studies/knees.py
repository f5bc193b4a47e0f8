"""Do forecasts hold where small sizes do not fill a GPU, and the size that fills it was not run?

    .venv/bin/python -m lab.studies.knees [--seeds 100-104] [--only beyond] [--cells]

Steps are made whose time does not depend on how the work is shared out until a GPU has K elements:

    flat       T = t max(1, f(n) / (f(K) N))                a least time, then the work
    thread     T = t f(n)/n K/f(K) max(1, n / (K N))        one element's work, then all of it
    hinge      T = t (1 + max(0, n / (K N) - 1)^p)          work on what is above K

with f(n) = n^p, a sum over all GPUs, and three runs a cell. The knee K lies one to four times
*beyond* the largest share n/N that is run, or before the *last* size alone, or *inside* with three
sizes on either side. Asked is the next measurement at twice and four times the largest size, on the
fewest and the most GPUs. Printed are the share of these in the 90 % interval, the median error, and
the median of the interval's upper over its lower end.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from lab.studies.beside_truth import BesideTruth
from numpy.typing import NDArray

import gpucast
from gpucast.util.tables import print_table

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


# Times over the time of K elements on one GPU; x = n / K.
LAWS: dict[str, Callable[[Array, Array, float], Array]] = {
    "flat": flat,
    "thread": thread,
    "hinge": hinge,
}
KNEES = ("beyond", "last", "inside")


@dataclass(frozen=True)
class Draw:
    """A made program, and the sizes and GPU counts that it was run with.

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
        """2 and 4 times the largest size, and 3 and 6 times, too, of one GPU."""
        farther = [2.0, 4.0] if self.counts.size > 1 else [2.0, 3.0, 4.0, 6.0]
        ends = np.unique([self.counts[0], self.counts[-1]])
        n, gpus = np.meshgrid(self.sizes[-1] * np.array(farther), ends)
        return n.ravel(), gpus.ravel()


def draws(seeds: range, where: str) -> Iterator[Draw]:
    """One of each law, power, noise and seed."""
    for law in LAWS:
        for power in POWERS:
            for noise in NOISES:
                for seed in seeds:
                    own = (list(LAWS).index(law), list(POWERS).index(power), NOISES.index(noise))
                    random = np.random.default_rng([seed, *own])
                    counts = np.array([1.0] if random.random() < 0.4 else [1.0, 2.0, 4.0, 8.0])
                    several = 6 if where == "inside" else int(random.integers(3, 6))
                    sizes = np.round(LARGEST / 2.0 ** np.arange(several - 1, -1, -1))
                    factor = {
                        "beyond": FARTHEST_KNEE ** random.random(),
                        "last": 0.5,
                        "inside": 1 / 8,
                    }
                    knee = LARGEST * factor[where]
                    yield Draw(law, power, noise, where, seed, knee, sizes, counts)


@dataclass(frozen=True, kw_only=True)
class Answer(BesideTruth):
    """One forecast beside the measurement."""

    draw: Draw


def answers(draw: Draw) -> list[Answer]:
    n, gpus = draw.asked()
    found = gpucast.fit(draw.table()).forecasts(n, gpus)
    return Answer.rows(found, draw.measured(n, gpus, 2), draw=draw)


def summary(found: list[Answer]) -> list[str]:
    covered = 100 * np.mean([each.covered for each in found])
    error = 100 * np.median([each.error for each in found])
    wide = np.median([each.high / each.low for each in found])
    return [str(len(found)), f"{covered:.0f} %", f"{error:.1f} %", f"{wide:.2f}"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.knees",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", default="100-104", help="first and last (100-104)")
    parser.add_argument("--only", choices=KNEES, action="append", help="where the knee lies")
    parser.add_argument("--cells", action="store_true", help="print each forecast")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    rows = []
    for where in options.only or KNEES:
        found = [
            each
            for draw in draws(range(int(first), int(last or first) + 1), where)
            for each in answers(draw)
        ]
        if options.cells:
            for a in found:
                print(
                    f"{where:6} {a.draw.law:6} {a.draw.power:7} {a.draw.noise:5} {a.draw.seed:3} "
                    f"knee {a.draw.knee / LARGEST:4.2f} {len(a.draw.sizes)} sizes on "
                    f"{a.draw.counts[-1]:.0f}: {a.n / LARGEST:.0f} x on {a.gpus}: "
                    f"{1e3 * a.measured:8.3f} ms, {1e3 * a.seconds:8.3f} "
                    f"({1e3 * a.low:8.3f} ... {1e3 * a.high:8.3f}) {'' if a.covered else 'MISSED'}"
                )
        groups: dict[str, list[Answer]] = defaultdict(list)
        for each in found:
            for name in (
                "all",
                each.draw.law,
                f"work ~ {each.draw.power}",
                f"noise {100 * each.draw.noise:g} %",
                f"{each.draw.counts.size} count(s)",
            ):
                groups[name].append(each)
        rows += [[where, name, *summary(group)] for name, group in groups.items()]
    print_table(["knee", "of", "cells", "covered", "median error", "high / low"], rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
