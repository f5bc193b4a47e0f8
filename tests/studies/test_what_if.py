"""Intervals of what-ifs know that hosts differ."""

from __future__ import annotations

import numpy as np
import pytest

import gpucast as gc
from what_if import COVERAGE, WAYS, Judged, judged


@pytest.mark.slow
def test_intervals_hold_a_host_that_is_unlike_its_skeletons() -> None:
    """Steps of h200-shm take up to 0.4 more of the communication than its skeletons say."""
    groups = list(judged(gc.load("h200-shm"), 20, one_gpu=False))
    for way in WAYS:
        covered = [each.covered for each in groups if isinstance(each, Judged) and each.way == way]
        assert np.concatenate(covered).mean() >= COVERAGE
