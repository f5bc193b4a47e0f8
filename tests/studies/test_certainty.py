"""What is counted of stated probabilities, on answers whose truth is chosen."""

import numpy as np
import pandas as pd
import pytest

from lab.studies import certainty
from other_programs import cutoff, md


def asked() -> certainty.HeldOut:
    """``md``, which knows 1, 2 and 4 GPUs, asked about 4 and 8, the latter twice as long as
    its program takes."""
    n, gpus = np.full(2, 96_000.0), np.array([4.0, 8.0])
    truth = np.array([cutoff(96_000, 4), 2 * cutoff(96_000, 8)])
    about = {"kind": "made", "program": "md"}
    return certainty.HeldOut(about, md(), [96_000.0], [4, 8], truth[None, :], n, gpus, truth)


def test_a_best_count_is_right_where_its_true_time_is_the_shortest() -> None:
    (row,) = certainty.best_counts(asked())
    (best,) = md().best_counts([96_000], [4, 8])
    assert best["gpus"] == 8
    assert (row["gpus"], row["stated"]) == (8, best["probability"])
    assert not row["right"]
    assert row["loses"] == pytest.approx(2 * cutoff(96_000, 8) / cutoff(96_000, 4) - 1)


def test_limits_are_kept_where_few_draws_are_longer_than_what_was_measured() -> None:
    timed = certainty.in_time(asked())
    assert 0.02 < timed.share[0] < 0.98
    assert timed.share[1] > 0.97


def test_each_program_counts_once_in_a_report() -> None:
    """One program of three cells that are right, one of a single cell that is not."""
    stated = pd.DataFrame(
        {"kind": "made", "program": ["a", "a", "a", "b"], "stated": 0.95, "loses": 0.0,
         "right": [True, True, True, False], "loses_stated": 0.01}
    )  # fmt: skip
    timed = pd.DataFrame(
        {"kind": "made", "program": ["a", "a", "a", "b"], "share": [0.2, 0.2, 0.2, 0.99],
         "covered": [True, True, True, False], "error": 0.1, "half_width": 0.2}
    )  # fmt: skip
    lines = list(certainty.report(stated, timed))
    assert "stated 95%, right 50%" in lines[1]
    assert "10%: 0%, 25%: 50%" in lines[2]
    assert "interval 50%" in lines[3]
