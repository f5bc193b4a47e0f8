"""What is held against what in lab/studies/traces.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpucast.data import jsonl
from gpucast.data.dataset import from_records
from gpucast.data.traces.trace import RunDescription
from tracing.cells import OWN, Cell, cell_of, skeletons, visits
from tracing.outcomes import Outcome, _floor, table
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
    data = from_records("made", [jsonl.record(each) for each in records])
    assert visits(data) == {Cell("p", "", 3, 1): {"remote": [2.0, 4.0]}}


def test_calls_made_again_are_told_by_the_name_of_their_trace() -> None:
    machine = {"kind": "machine", "id": "m"}
    step = {"kind": "step", "machine": "m", "path": "remote", "program": "skeleton", "n": 3,
            "gpus": 1, "case": "p-n5-gpus1", "seconds": [2.0]}  # fmt: skip
    data = from_records("made", [jsonl.record(each) for each in (machine, step)])
    assert skeletons(data) == {"p-n5-gpus1": {"remote": 2.0}}


OUTCOME = Outcome(
    program="p", case="", n=3, gpus=1, path="remote", measured=2.0, forecast=1.8, low=1.7,
    high=1.9, native=1.0, recorded=1.1, light=1.03, replayed=1.02, visits=2, spread=0.04,
    spread_native=0.03, floor=0.02, repeats=1, calls=4.0, skeleton=2.1, skeleton_native=1.05,
)  # fmt: skip


def test_an_outcome_says_how_far_off_it_is() -> None:
    near, wrong = table([OUTCOME, replace(OUTCOME, forecast=1.05)]).itertuples()
    assert near.error == pytest.approx(-0.1)
    assert not near.covered
    assert near.right  # neither measured nor forecast within 10 % of native
    assert not wrong.right
    assert near.replay_error == pytest.approx(0.02)
    assert near.light_recording == pytest.approx(0.03)
    assert near.recording == pytest.approx(0.1)
    assert near.skeleton_error == pytest.approx(0.05)


def test_a_floor_is_how_far_a_visit_lies_from_the_others() -> None:
    # 2 by the median of 4 and 3: 75 %; 4 by that of 2 and 3: 37.5 %; 3 by that of 2 and 4: 0.
    assert _floor([2.0, 4.0, 3.0]) == pytest.approx((0.75 + 0.375) / 3)
    assert np.isnan(_floor([2.0]))


def test_the_page_says_so_in_short_and_names_the_table_of_cells() -> None:
    rows = table([OUTCOME, replace(OUTCOME, path="remote-sync", forecast=2.1, high=2.2)])
    text = page(
        rows, {"lost": "no steps"}, title="", command="make it", figure="x.png", cells="x.csv"
    )
    assert "2 forecasts of 1 cells: the median error is **7.5 %**" in text
    assert "50 % of the measured steps lie in their 90 % interval" in text
    assert "- lost: no steps" in text
    assert "of all cells, 5.0 % and 12 %" in text
    far = page(
        rows.assign(floor=0.1), {}, title="", command="make it", figure="x.png", cells="x.csv"
    )
    assert "of all cells, 15 % and 12 %" in far
    # Calls against the program, forecast against the calls, forecast against the program.
    assert "| native | 1 | 5.0 % | 5.0 % | 5.0 % | 2.9 % | 2.9 % | -2.9 % | 2.0 %" in text
    assert "| remote | 1 | 5.0 % | 5.0 % | 5.0 % | 14 % | 14 % | -14 % | 10 %" in text
    assert "[x.csv](x.csv)" in text
