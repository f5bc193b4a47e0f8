"""Intervals of what-ifs know that hosts differ."""

from __future__ import annotations

import pytest

import gpucast as gc
from what_if import COVERAGE, WAYS, Judged, judged, pooled


@pytest.mark.slow
def test_intervals_hold_a_host_that_is_unlike_its_skeletons() -> None:
    """Steps of h200-shm take up to 0.4 more of the communication than its skeletons say."""
    groups = list(judged(gc.load("h200-shm"), 20))
    for way in WAYS:
        judgements = [group for group in groups if isinstance(group, Judged) and group.way == way]
        assert pooled(judgements) >= COVERAGE
