"""How accurate are fits and forecasts? Made data, targets, and Extra-P beside.

    .venv/bin/python lab/studies/accuracy.py [--seeds 24] [--extrap-seeds 5]

Prints a table with the target of each figure and ends with status 1 if one is missed. What the
data are and what is left out: study.py. Extra-P 4.2.5 gets identical data; of its options the best
in hindsight is taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

import extra_p
import gpucast
from gpucast.util.tables import print_table
from study import OUTLIERS, Outcome, held_out, made, outcome, wrong_model
from synthetic import TRUTHS

Array = NDArray[np.float64]

# What must be reached: the figure, how it is summed up, whether that is enough, and the bound.
Target = tuple[str, Callable[[Sequence[Outcome]], float], Callable[[float], bool], str]


def joined(outcomes: Sequence[Outcome], what: str) -> Array:
    """One of the arrays of all outcomes."""
    return np.concatenate([getattr(each, what) for each in outcomes])


def targets(outliers: float) -> list[Target]:
    k_share = 0.95 if outliers else 0.99

    def mean(of: Callable[[Outcome], bool]) -> Callable[[Sequence[Outcome]], float]:
        return lambda outcomes: float(np.mean([of(each) for each in outcomes]))

    return [
        ("held-out error, median", lambda o: float(np.median(joined(o, "errors"))),
         lambda x: x <= 0.015, "<= 1.5 %"),
        ("held-out error, maximum", lambda o: float(joined(o, "errors").max()),
         lambda x: x <= 0.05, "<= 5 %"),
        ("times finite and positive", mean(lambda e: e.finite), lambda x: x == 1, "all"),
        ("k right", mean(lambda e: e.k_right), lambda x: x >= k_share, f">= {k_share:.0%}"),
        ("best count right", lambda o: sum(e.hits for e in o) / sum(e.total for e in o),
         lambda x: x >= 0.95, ">= 95 %"),
        ("mean regret", lambda o: float(joined(o, "regrets").mean()),
         lambda x: x <= 0.01, "<= 1 %"),
        ("90 % prediction intervals cover", lambda o: float(joined(o, "covered").mean()),
         lambda x: 0.85 <= x <= 0.95, "85-95 %"),
        ("lack of fit flagged (should not be)", mean(lambda e: e.lack_of_fit_p < 0.05),
         lambda x: x <= 0.1, "<= 10 %"),
    ]  # fmt: skip


def study(seeds: int) -> Iterator[list[object]]:
    for outliers, kind in ((0.0, "clean"), (OUTLIERS, "8 % outliers")):
        for name, truth in TRUTHS.items():
            found = [outcome(made(truth, seed, outliers)) for seed in range(seeds)]
            for title, summarize, reached, bound in targets(outliers):
                value = summarize(found)
                yield row(f"{name}, {kind}", title, f"{100 * value:.2f} %", bound, reached(value))


def lack_of_fit(seeds: int) -> Iterator[list[object]]:
    for name, truth in TRUTHS.items():
        found = [outcome(wrong_model(made(truth, seed, 0.0))) for seed in range(seeds)]
        share = float(np.mean([each.lack_of_fit_p < 0.05 for each in found]))
        title = "lack of fit flagged"
        yield row(f"{name}, wrong form", title, f"{100 * share:.2f} %", ">= 90 %", share >= 0.9)


def against_extrap(seeds: int) -> Iterator[list[object]]:
    """Median error at N = 8, ours and Extra-P's, of the same data."""
    n, gpus = held_out()
    points = [(a, b) for a, b in zip(n.tolist(), gpus.tolist(), strict=True) if b == 8]
    sizes, counts = (np.array(column) for column in zip(*points, strict=True))
    for name, truth in TRUTHS.items():
        data = [made(truth, seed, 0.0).dataset() for seed in range(seeds)]
        true = truth.seconds(sizes, counts)
        theirs, options = min(
            (median_error([fit["forecast"] for fit in fits], true), options)
            for options, fits in extra_p.fits(data, points).items()
        )
        ours = median_error([gpucast.fit(d).forecasts(sizes, counts).seconds for d in data], true)
        yield row(
            f"{name}, clean",
            f"error at N = 8: gpucast {100 * ours:.2f} %, Extra-P {100 * theirs:.1f} % ({options})",
            f"{theirs / ours:.0f} times nearer",
            ">= 10 times",
            theirs >= 10 * ours,
        )


def median_error(forecasts: Sequence[Sequence[float] | Array], true: Array) -> float:
    return float(np.median(np.abs(np.array(forecasts) / true - 1)))


def row(data: str, figure: str, value: str, bound: str, reached: bool) -> list[object]:
    return [data, figure, value, bound, "reached" if reached else "MISSED"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--extrap-seeds", type=int, default=5)
    options = parser.parse_args()
    rows = [*study(options.seeds), *lack_of_fit(options.seeds)]
    if extra_p.available():
        rows += against_extrap(options.extrap_seeds)
    else:
        why = f"no {extra_p.PYTHON} (scripts/setup.sh extrap makes it)"
        print(f"Extra-P left out: {why}", file=sys.stderr)
    print_table(["data", "figure", "reached", "target", ""], rows, "llrll")
    return int(any(row[-1] == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
