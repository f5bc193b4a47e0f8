"""How accurate are fits and forecasts? Made data, targets, and Extra-P beside.

    .venv/bin/python studies/accuracy.py [--seeds 24] [--extrap-seeds 5]

Prints a table with the target of each figure and ends with status 1 if one is missed. What the
data are and what is left out: study.py. Extra-P 4.2.5 gets identical data; of its options the best
in hindsight is taken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.formats.extrap import write_text
from gpucast.util.tables import print_table
from study import (
    OUTLIERS,
    TRUTHS,
    Outcome,
    held_out,
    made,
    outcome,
    wrong_model,
)

ROOT = Path(__file__).resolve().parents[1]
EXTRAP = ROOT / ".venv-extrap" / "bin" / "python"

# What must be reached: the figure, how it is summed up, and the bound.
Target = tuple[str, Callable[[Sequence[Outcome]], float], Callable[[float], bool], str]


def errors(outcomes: Sequence[Outcome]) -> np.ndarray:
    return np.concatenate([each.errors for each in outcomes])


def targets(outliers: float) -> list[Target]:
    k_share = 0.95 if outliers else 0.99
    return [
        (
            "held-out error, median",
            lambda o: float(np.median(errors(o))),
            lambda x: x <= 0.015,
            "<= 1.5 %",
        ),
        (
            "held-out error, maximum",
            lambda o: float(errors(o).max()),
            lambda x: x <= 0.05,
            "<= 5 %",
        ),
        (
            "times finite and positive",
            lambda o: float(np.mean([e.finite for e in o])),
            lambda x: x == 1,
            "all",
        ),
        (
            "k right",
            lambda o: float(np.mean([e.k_right for e in o])),
            lambda x: x >= k_share,
            f">= {k_share:.0%}",
        ),
        (
            "best count right",
            lambda o: sum(e.hits for e in o) / sum(e.total for e in o),
            lambda x: x >= 0.95,
            ">= 95 %",
        ),
        (
            "mean regret",
            lambda o: float(np.mean(np.concatenate([e.regrets for e in o]))),
            lambda x: x <= 0.01,
            "<= 1 %",
        ),
        (
            "90 % prediction intervals cover",
            lambda o: float(np.mean(np.concatenate([e.covered_single for e in o]))),
            lambda x: 0.85 <= x <= 0.95,
            "85-95 %",
        ),
        (
            "lack of fit flagged (should not be)",
            lambda o: float(np.mean([e.lack_of_fit_p < 0.05 for e in o])),
            lambda x: x <= 0.1,
            "<= 10 %",
        ),
    ]


def study(seeds: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for outliers in (0.0, OUTLIERS):
        for name, truth in TRUTHS.items():
            found = [outcome(made(truth, seed, outliers)) for seed in range(seeds)]
            label = f"{name}, 8 % outliers" if outliers else f"{name}, clean"
            for title, summarize, reached, bound in targets(outliers):
                value = summarize(found)
                rows.append([label, title, f"{100 * value:.2f} %", bound, verdict(reached(value))])
    return rows


def lack_of_fit(seeds: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, truth in TRUTHS.items():
        flagged = [
            outcome(wrong_model(made(truth, seed, 0.0))).lack_of_fit_p < 0.05
            for seed in range(seeds)
        ]
        share = float(np.mean(flagged))
        rows.append(
            [
                f"{name}, wrong form",
                "lack of fit flagged",
                f"{100 * share:.2f} %",
                ">= 90 %",
                verdict(share >= 0.9),
            ]
        )
    return rows


def against_extrap(seeds: int) -> list[list[object]]:
    """Median error at N = 8, ours and Extra-P's, of the same data."""
    n, gpus = held_out()
    points = [(a, b) for a, b in zip(n.tolist(), gpus.tolist(), strict=True) if b == 8]
    sizes, counts = (np.array(column) for column in zip(*points, strict=True))
    rows: list[list[object]] = []
    for name, truth in TRUTHS.items():
        data = [made(truth, seed, 0.0).dataset() for seed in range(seeds)]
        true = truth.seconds(sizes, counts)
        theirs, options = min(
            (median_error([fit["forecast"] for fit in fits], true), options)
            for options, fits in extrap_fits(data, points).items()
        )
        ours = median_error([gpucast.fit(d).forecasts(sizes, counts).seconds for d in data], true)
        rows.append(
            [
                f"{name}, clean",
                f"error at N = 8: gpucast {100 * ours:.2f} %, "
                f"Extra-P {100 * theirs:.1f} % ({options})",
                f"{theirs / ours:.0f} times nearer",
                ">= 10 times",
                verdict(theirs >= 10 * ours),
            ]
        )
    return rows


def median_error(forecasts: Sequence[Any], true: NDArray[np.float64]) -> float:
    return float(np.median([np.abs(np.array(each) / true - 1) for each in forecasts]))


def extrap_fits(
    data: Sequence[Dataset], points: Sequence[tuple[float, float]]
) -> dict[str, list[dict[str, Any]]]:
    """Extra-P's fits of each dataset, by its options: ``forecast`` at the points (n, N), and
    ``elapsed`` (s). Runs under the interpreter `EXTRAP`."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "points.json"
        at.write_text(json.dumps(points), encoding="utf-8")
        files = []
        for seed, dataset in enumerate(data):
            files.append(Path(folder) / f"{seed}.txt")
            files[-1].write_text(write_text(dataset), encoding="utf-8")
        script = Path(__file__).with_name("extrap_models.py")
        answer = subprocess.run(
            [EXTRAP, script, at, *files], check=True, capture_output=True, text=True
        )
    found: dict[str, list[dict[str, Any]]] = json.loads(answer.stdout)
    return found


def verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--extrap-seeds", type=int, default=5)
    options = parser.parse_args()
    rows = study(options.seeds) + lack_of_fit(options.seeds)
    if EXTRAP.exists():
        rows += against_extrap(options.extrap_seeds)
    else:
        print(f"Extra-P left out: no {EXTRAP} (scripts/setup.sh extrap makes it)", file=sys.stderr)
    print_table(["data", "figure", "reached", "target", ""], rows, "llrll")
    return int(any(row[-1] == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
