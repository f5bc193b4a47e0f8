"""Several instances on one GPU: the form keeps its bounds, and forecasts what a GPU does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast import _core
from gpucast.data.dataset import from_records
from gpucast.data.jsonl import record
from gpucast.errors import InputError
from gpucast.fitting.sharing import seconds_of
from gpucast.model.files import load_model
from gpucast.model.sharing import shared_forecasts
from simulated_gpu import Program, dataset_of, from_use, held_out, simulated

SIZES = (1e4, 4e4, 2e5)
PROGRAMS = {n: Program(n * 1e-8, 4e-4) for n in SIZES}


def slowdown(
    instances: float, busy: float, switching: float, waiting: float, turning: float, crowding: float
) -> float:
    given = (instances, busy, switching, waiting, turning, crowding)
    return float(_core.sharing_slowdowns(*(np.array([value], dtype=float) for value in given))[0])


@given(
    instances=st.integers(1, 64),
    busy=st.floats(0, 1),
    waiting=st.floats(0, 1),
    costs=st.tuples(st.floats(0, 2), st.floats(0, 20), st.floats(0, 2)),
)
def test_instances_lie_between_the_bounds_of_queues(
    instances: int, busy: float, waiting: float, costs: tuple[float, float, float]
) -> None:
    switching, turning, crowding = costs
    factor = slowdown(instances, busy, switching, waiting, turning, crowding)
    company = min(1, instances - 1)
    work = instances * (busy * (1 + switching * (1 - 1 / instances)) + turning * company)
    alone = 1 + crowding * company
    assert factor >= max(alone, work) * (1 - 1e-9)
    assert factor <= (alone - busy + work) * (1 + 1e-9)
    more = slowdown(instances + 1, busy, switching, waiting, turning, crowding)
    assert more >= factor * (1 - 1e-9)


def test_numbers_that_mean_nothing_are_refused() -> None:
    wrong = [(0.5, 0.5, 0, 0.5, 0, 0), (2, 1.5, 0, 0.5, 0, 0), (2, 0.5, -1, 0.5, 0, 0)]
    wrong += [(2, 0.5, 0, 2, 0, 0), (2, 0.5, 0, 0.5, -1, 0), (2, 0.5, 0, 0.5, 0, -1)]
    for arguments in wrong:
        with pytest.raises(ValueError, match="from 0 to 1"):
            slowdown(*arguments)


def test_turns_that_take_longer_than_the_work_are_forecast() -> None:
    """Next to others each step takes 120 us more of the GPU, whatever it takes alone."""
    lines = [{"kind": "machine", "id": "gpu"}]
    for n, host, gpu in ((1e3, 30e-6, 10e-6), (1e4, 60e-6, 200e-6), (1e5, 300e-6, 2e-3)):
        for count in (1, 2, 4):
            alone = host + gpu
            step = alone if count == 1 else max(alone, count * (gpu + 120e-6))
            together = (
                {"instances": count, "at_once": float(count)}
                if count > 1
                else {"busy": gpu / alone}
            )
            lines += 2 * [
                {"kind": "step", "machine": "gpu", "path": "native", "program": "toy", "n": n,
                 "gpus": 1, "seconds": [step] * 20 * count, **together}
            ]  # fmt: skip
    held = held_out(from_records("turns", [record(line) for line in lines]))
    assert [round(cell.measured, 2) for cell in held] == [0.31, 0.81, 1.08]
    assert max(cell.error for cell in held) < 0.08
    assert all(cell.covered for cell in held)


def test_a_simulated_gpu_serves_one_after_the_other() -> None:
    """The oracle itself: only the GPU, and only the host."""
    full = simulated(Program(gpu=1, host=1e-9, variation=0), 3, 40, seed=1)
    assert full == pytest.approx([3, 3, 3], rel=0.02)
    idle = simulated(Program(gpu=1e-9, host=1, variation=0), 3, 40, seed=1)
    assert idle == pytest.approx([1, 1, 1], rel=0.02)


def test_four_and_eight_are_forecast_from_one_and_two() -> None:
    held = held_out(dataset_of(PROGRAMS, (1, 2, 4, 8)))
    assert len(held) == 6
    assert np.median([cell.error for cell in held]) < 0.08
    assert all(cell.covered for cell in held)


def test_two_are_forecast_from_how_busy_one_keeps_the_gpu() -> None:
    held = from_use(dataset_of(PROGRAMS, (1, 2)))
    assert len(held) == 3
    assert np.median([cell.error for cell in held]) < 0.08


def test_what_one_and_two_leave_open_is_said() -> None:
    """Two instances that hardly meet: without the GPU's use, it is unknown when the GPU is full."""
    programs = {1e4: PROGRAMS[1e4]}

    def width(busy: bool) -> float:
        model = gc.fit(dataset_of(programs, (1, 2), busy=busy))
        forecasts = shared_forecasts(model, [1e4], [8])
        return float(np.log(forecasts.speedup_high / forecasts.speedup_low)[0])

    assert width(False) > 1.2 * width(True)


def test_the_fit_of_one_instance_is_not_touched_by_several(tmp_path: Path) -> None:
    alone = gc.fit(dataset_of(PROGRAMS, (1,)))
    both = gc.fit(dataset_of(PROGRAMS, (1, 2)))
    assert alone.sharing is None
    assert both.sharing is not None
    n, one = np.array(SIZES), np.ones(3)
    np.testing.assert_allclose(alone.seconds(n, one), both.seconds(n, one), rtol=0.02)
    both.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    first, second = (shared_forecasts(data, SIZES, [4, 4, 4]) for data in (both, again))
    np.testing.assert_array_equal(first.seconds, second.seconds)
    with pytest.raises(InputError, match="has no measurements of several instances on one GPU"):
        shared_forecasts(alone, [1e4], [2])


def test_instances_together_are_as_fast_as_their_rates_add_up_to() -> None:
    (step,) = dataset_of({1e4: PROGRAMS[1e4]}, (2,)).shared_steps[:1]
    changed = replace(step, seconds=[1.0, 1.0, 3.0, 3.0])
    # One step a second and a third of one: two instances of 1.5 s each.
    assert seconds_of(changed) == pytest.approx(1.5)


def test_predict_sets_instances_on_one_gpu_beside_gpus_for_one(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "toy.json"
    gc.fit(dataset_of(PROGRAMS, (1, 2))).save(model)
    status, out, err = run("predict", model, "-n", "1e4", "--gpus", "1/4,1/2,1,2", "--json")
    assert status == 0, err
    rows = only_json(out)["instances"]
    assert [(row["gpus"], row["instances"]) for row in rows] == [(1, 4), (1, 2), (1, 1), (2, 1)]
    for row in rows:
        assert row["steps_per_second"] == pytest.approx(row["instances"] / row["seconds"])
        assert row["gpu_hours"] == pytest.approx(1e6 * row["gpus"] / row["steps_per_second"] / 3600)
    assert rows[0]["gain"] > rows[1]["gain"] > rows[2]["gain"] == 1
    status, out, _ = run("predict", model, "-n", "1e4", "--gpus", "1/4,1")
    assert status == 0
    assert "1/4" in out


def test_predict_says_what_to_measure_where_nobody_did(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "toy.json"
    gc.fit(dataset_of(PROGRAMS, (1,))).save(model)
    assert_refused(run("predict", model, "-n", "1e4", "--gpus", "1/4,1"), "--gpus 1/2,1")


@pytest.mark.parametrize("option", ["--best", "--next"])
def test_predict_refuses_what_it_cannot_say_of_instances(
    run: Run, tmp_path: Path, option: str
) -> None:
    model = tmp_path / "toy.json"
    gc.fit(dataset_of(PROGRAMS, (1,))).save(model)
    result = run("predict", model, "-n", "1e4", "--gpus", "1/2,1", option)
    assert_refused(result, f"{option}: knows whole GPU counts only")


SHARED = (
    "n,gpus,instances,ms\n1000,1,1,20.5\n1000,2,1,12\n1000,4,1,7.5\n2000,1,1,41\n2000,2,1,22\n"
    "1000,1,2,41\n2000,1,2,82\n"
)


def test_a_column_of_instances_is_no_column_of_repetitions(tmp_path: Path) -> None:
    """The GPU serves one after the other: two take twice as long, four four times."""
    table = tmp_path / "t.csv"
    table.write_text(SHARED)
    data = gc.read(table)
    assert [len(step.seconds) for step in data.steps] == [1] * 5
    assert [step.instances for step in data.shared_steps] == [2, 2]
    forecasts = shared_forecasts(gc.fit(data), [1000, 2000, 1000], [2, 2, 4])
    # Forecasts of measured cells are the measured times, over the time of one alone.
    assert forecasts.seconds[:2] == pytest.approx([0.041, 0.082], rel=0.03)
    assert forecasts.low[2] < 0.082 < forecasts.high[2]


def test_forecasts_pass_through_cells_whose_ratio_the_form_misses(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    # No queue has this ratio for three, beside that for two.
    table.write_text(SHARED + "1000,1,3,45\n")
    model = gc.fit(gc.read(table))
    alone = model.seconds(np.array([1000.0]), np.ones(1))[0]
    forecasts = shared_forecasts(model, [1000, 1000], [2, 3])
    assert forecasts.seconds / alone == pytest.approx([41 / 20.5, 45 / 20.5], rel=1e-6)


def test_instances_that_hardly_meet_leave_open_whether_they_fill_the_gpu(tmp_path: Path) -> None:
    """Two fit side by side, and no more: four take twice as long."""
    table = tmp_path / "t.csv"
    table.write_text("n,gpus,instances,ms\n1000,1,1,40\n2000,1,1,80\n1000,1,2,41\n2000,1,2,82\n")
    forecasts = shared_forecasts(gc.fit(gc.read(table)), [1000, 2000, 1000], [4, 4, 2])
    assert (forecasts.high[:2] > [0.082, 0.164]).all()
    assert (forecasts.speedup_low[:2] < 2).all()
    # The uncertainty is no larger where it was measured.
    assert forecasts.high[2] < 0.05
