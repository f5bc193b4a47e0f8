"""Forecasts compared with measured times, for studies of synthetic programs."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.model.forecasts import Forecasts


def beside_truth(found: Forecasts, measured: NDArray[np.float64], **about: object) -> pd.DataFrame:
    """A row for each cell: n, gpus, the forecast and its 90 % interval (low, seconds, high) and the
    measured time, s; whether the interval contains it, the relative error and half the interval's
    width in ln T. ``about``: columns that are equal in all rows."""
    rows = pd.DataFrame(
        {"n": found.n, "gpus": found.gpus.astype(int), "low": found.low, "seconds": found.seconds,
         "high": found.high, "measured": measured}
    )  # fmt: skip
    return rows.assign(
        covered=(rows.low <= measured) & (measured <= rows.high),
        error=(rows.seconds / measured - 1).abs(),
        half_width=np.log(rows.high / rows.low) / 2,
        **about,
    )


def parser_of(study: str, documentation: str | None, seeds: str) -> argparse.ArgumentParser:
    """The command line of a study of synthetic programs."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lab.studies.{study}",
        description=documentation,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seeds", type=_seeds, default=seeds, help="first and last (default: %(default)s)"
    )
    return parser


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
