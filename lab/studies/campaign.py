"""Ratios of times between kinds for one campaign's programs, none of whose timings is known.

The campaign timed language models in fp32 on nine kinds, and each operation of a model's layer on
one of them (``operations.csv``): how long its matrix products took, and how long operations limited
by memory did. So its models are forecast as a family, and kernel by kernel, as a trace would be.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpucast.data.kinds import Timing, kind_named
from gpucast.model import kinds
from gpucast.model.intervals import Z90
from gpucast.paths.traced.kernel_limits import MATRIX, MEMORY

SOURCE = "github trsharm25/NeuSight"
OWN = "A100-PCIe-40GB"
"""The kind whose operations were timed."""
PROGRAMS = (("inference", "fp32_matrix"), (MATRIX, "fp32_matrix"), (MEMORY, "fp32"))
DRAWS = 4000


def judged(rows: Sequence[Timing]) -> list[str]:
    """Rows of a Markdown table: how far the campaign's ratios are from forecasts without it."""
    timed = [row for row in rows if not row.source.startswith(SOURCE)]
    variances = kinds.fit(timed)
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.source.startswith(SOURCE) and row.program.startswith("Transformers"):
            times.setdefault(row.program, {})[row.kind] = 1 / row.rate
    shares = _shares()
    normal = np.random.default_rng(0).standard_normal((len(PROGRAMS), DRAWS))
    own = kind_named(OWN)
    off: dict[str, list[float]] = {}
    inside: dict[str, list[bool]] = {}
    for name in sorted({kind for by_kind in times.values() for kind in by_kind} - {OWN}):
        other = kind_named(name)
        mean, spread = kinds.time_ratios(own, other, PROGRAMS, timed=timed, variances=variances)
        drawn = np.exp(mean[:, None] + np.linalg.cholesky(spread) @ normal)
        for program, by_kind in times.items():
            model = next((model for model in shares if f" {model} " in program), None)
            if model is None or name not in by_kind or OWN not in by_kind:
                continue
            truth = np.log(by_kind[name] / by_kind[OWN])
            share = np.array([shares[model], 1 - shares[model]])
            forecasts = {
                "kernel by kernel": np.log(share @ np.exp(mean[1:])),
                "as a program of inference": mean[0],
                "ratio of peaks": np.log(own.peaks["fp32_matrix"] / other.peaks["fp32_matrix"]),
                "ratio of bandwidths": np.log(own.bandwidth / other.bandwidth),
            }
            low, high = np.log(np.quantile(share @ drawn[1:], (0.05, 0.95)))
            held = {
                "kernel by kernel": low <= truth <= high,
                "as a program of inference": abs(truth - mean[0]) <= Z90 * np.sqrt(spread[0, 0]),
            }
            for rule, forecast in forecasts.items():
                off.setdefault(rule, []).append(abs(np.expm1(forecast - truth)))
                if rule in held:
                    inside.setdefault(rule, []).append(bool(held[rule]))
    return [
        f"| {rule} | {len(errors)} | {np.median(errors):.1%} | {np.quantile(errors, 0.9):.0%} | "
        f"{f'{np.mean(inside[rule]):.0%}' if rule in inside else '-'} |"
        for rule, errors in off.items()
    ]


def _shares() -> dict[str, float]:
    """Share of matrix products in the time of each model's operations."""
    with (Path(__file__).parent / "operations.csv").open(encoding="utf-8") as file:
        return {
            row["model"]: float(row["products_ms"])
            / (float(row["products_ms"]) + float(row["memory_ms"]))
            for row in csv.DictReader(file)
        }
