"""What is held against what in lab/studies/traces.py."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gpucast.data import jsonl
from gpucast.data.dataset import from_records
from gpucast.data.traces.trace import RunDescription
from tracing.cells import OWN, Cell, cell_of, visits
from tracing.outcomes import Outcome, _floor, deviations, table
from tracing.page import page


def test_a_cell_is_what_the_command_line_names() -> None:
    words = ["build/halo_exchange", "--n", "64", "--case", "pinned", "--gpus", "2", "-o", "x"]
    assert cell_of(RunDescription("cupti", words)) == Cell("halo-exchange", "pinned", 64, 2)
    words = ["x/gpucast-mdapp", "measure", "--n", "8", "--schedule", "star-async",
             "--memory", "pinned"]  # fmt: skip
    assert cell_of(RunDescription("cupti", words)) == Cell(OWN, "star-async, pinned", 8, 1)
    assert cell_of(RunDescription("cupti", ["python", "train.py"])) is None


def test_each_record_is_a_visit_of_its_cell() -> None:
    machine = {"kind": "machine", "id": "m"}
    step = {"kind": "step", "machine": "m", "path": "remote", "program": "p", "n": 3, "gpus": 1}
    records = [machine, {**step, "seconds": [3.0, 1.0, 2.0]}, {**step, "seconds": [4.0]}]
    data = from_records("made", [jsonl.record(record) for record in records])
    assert visits(data) == {Cell("p", "", 3, 1): {"remote": [2.0, 4.0]}}


OUTCOME = Outcome(
    program="p", case="", n=3, gpus=1, path="remote", measured=2.0, forecast=1.8, native=1.0,
    recorded=1.1, traced=1.02, visits=2, spread=0.04, spread_native=0.03, floor=0.02, repeats=1,
    calls=4.0,
)  # fmt: skip


def test_an_outcome_says_how_far_off_it_is() -> None:
    near, wrong = table([OUTCOME, replace(OUTCOME, forecast=1.05)]).itertuples()
    assert near.error == pytest.approx(-0.1)
    assert near.low < 1.8 < near.high
    assert near.right  # neither measured nor forecast within 10 % of native
    assert not wrong.right
    assert not wrong.covered
    assert near.native_error == pytest.approx(0.02)
    assert near.recording == pytest.approx(0.1)


def test_an_interval_is_learnt_from_the_other_programs() -> None:
    """One program errs by 1 %, the other by 30: each is given the other's width."""
    outcomes = [
        replace(OUTCOME, program=program, forecast=2.0 * (1 + sign * error))
        for program, error in (("near", 0.01), ("far", 0.3)) for sign in (-1, 1)
    ]  # fmt: skip
    rows = table(outcomes).groupby("program")[["low", "high"]].first()
    width = np.log(rows.high / rows.low)
    assert width["near"] > 0.6
    assert width["far"] < 0.1


def test_deviations_are_those_of_the_errors() -> None:
    """90 % of Laplace's lie within ln 10 times its size, and of a normal one within 1.645."""
    drawn = np.random.default_rng(1).laplace(0, 0.1 * 1.645 / np.log(10), 4000)
    rows = table([replace(OUTCOME, forecast=1.02, native=1.02)] * 4000)
    rows = rows.assign(measured=rows.forecast * np.exp(drawn), extra=0.0)
    assert deviations(rows)[0] == pytest.approx(0.1, abs=0.006)


def test_a_floor_is_how_far_a_visit_lies_from_the_others() -> None:
    # 2 by the median of 4 and 3: 75 %; 4 by that of 2 and 3: 37.5 %; 3 by that of 2 and 4: 0.
    assert _floor([2.0, 4.0, 3.0]) == pytest.approx((0.75 + 0.375) / 3)
    assert np.isnan(_floor([2.0]))


def test_the_page_says_so_in_short_and_names_the_table_of_cells() -> None:
    about = {"rules": "None.", "command": "make it", "figure": "x.png", "cells": "x.csv"}
    render = partial(page, title="", **about)
    rows = table([OUTCOME, replace(OUTCOME, path="remote-sync", forecast=2.1)])
    text = render(rows, {"lost": "no steps"})
    assert "2 forecasts of 1 cells: the median error is **7.5 %**" in text
    assert "100 % of the measured steps lie in their 90 % interval" in text
    assert "- lost: no steps" in text
    assert "of all cells, 6.0 % and 20 %" in text
    assert "[x.csv](x.csv)" in text
    assert "of all cells, 15 % and 20 %" in render(rows.assign(floor=0.1), {})
    other = render(rows, {}, [rows.assign(data="far")])
    assert "| far, remote | 1 | 10 % | 10 % | -10 % | 100 % |" in other
