"""A plan of 1,000 jobs x 3 models x 64 GPU counts; benchmarks/plan_speed.py prints the figures."""

from __future__ import annotations

import pytest

import plan_speed
import speed


@pytest.mark.serial
def test_a_thousand_jobs_are_planned_within_a_second() -> None:
    found = plan_speed.measurements(runs=5)
    slower = speed.slowness()
    # Of the processor: a machine that others use as well says nothing of this work by its clock.
    assert [(what, cpu) for what, _, cpu, bound in found if cpu > bound * slower] == []
