"""Energy of steps, fitted and forecast: programs whose power is known."""

import json

import pytest

import gpucast as gc
from gpucast.model.energy import Grid, least_energy

SIZES, COUNTS = (1e4, 1e5, 1e6, 1e7), (1, 2, 4, 8)
FIXED = 1e-3


def time_of(n, gpus):
    """A step of 1 ms, and 20 ns per cell that GPUs divide, s."""
    return FIXED + 2e-8 * n / gpus


def records(power, sizes=SIZES, visits=(0.99, 1.01, 1.0)):
    """``power``: W of a GPU by n and GPU count; None: no joules."""
    yield {"kind": "machine", "id": "m", "gpus": [{"name": "a GPU"}]}
    for n in sizes:
        for gpus in COUNTS:
            for factor in visits:
                seconds = time_of(n, gpus) * factor
                step = {"kind": "step", "machine": "m", "path": "native", "program": "toy", "n": n,
                        "gpus": gpus, "seconds": [seconds]}  # fmt: skip
                watts = power(n, gpus)
                yield step | ({} if watts is None else {"joules": gpus * seconds * watts})


def written(tmp_path, *how, **more):
    path = tmp_path / "data.jsonl"
    lines = [json.dumps({"schema": "gpucast.record/1", **one}) for one in records(*how, **more)]
    path.write_text("\n".join(lines) + "\n")
    return path


def fitted(tmp_path, *how, **more):
    return gc.fit(gc.load(written(tmp_path, *how, **more)))


def by_work(n, gpus):
    """120 W while idle, 600 W while working."""
    return 120 + 480 * (1 - FIXED / time_of(n, gpus))


def test_joules_of_cells_that_were_measured_are_those_measured(tmp_path):
    model = fitted(tmp_path, by_work)
    for n in SIZES:
        for gpus in COUNTS:
            (row,) = model.forecast(n, gpus).itertuples()
            assert row.joules == pytest.approx(gpus * time_of(n, gpus) * by_work(n, gpus), rel=0.05)
            assert row.joules_low < row.joules < row.joules_high


def test_energy_beyond_the_cells_grows_with_the_work(tmp_path):
    """120 W all the time and 480 W of work: E = N (0.12 J + 12 uJ n / N)."""
    model = fitted(tmp_path, by_work)
    (row,) = model.forecast(4e7, 16).itertuples()
    assert row.joules == pytest.approx(16 * 0.12 + 600 * 2e-8 * 4e7, rel=0.1)
    assert row.joules_low < 16 * 0.12 + 600 * 2e-8 * 4e7 < row.joules_high


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "a GPU"])
def test_no_gpu_takes_more_than_the_power_of_its_kind(tmp_path, name):
    """Its power grows with the work to 2000 W, but an H100's is at most 700 W."""
    path = written(tmp_path, lambda n, gpus: 1900 * (1 - FIXED / time_of(n, gpus)) + 100)
    path.write_text(path.read_text().replace("a GPU", name))
    frame = gc.fit(gc.load(path)).forecast(1e8, [1, 4])
    for column in ("joules_low", "joules", "joules_high"):
        watts = frame[column] / frame.gpus / frame.high
        assert (watts <= 700.001).all() == (name != "a GPU")


def test_energy_is_that_of_a_fit_of_joules_as_times(tmp_path):
    model = fitted(tmp_path, by_work)
    of_gpu = [
        {**one, "seconds": [one.pop("joules") / one["gpus"]]} if "joules" in one else one
        for one in records(by_work)
    ]
    path = tmp_path / "joules.jsonl"
    schema = {"schema": "gpucast.record/1"}
    path.write_text("".join(json.dumps(schema | one) + "\n" for one in of_gpu))
    as_times = gc.fit(gc.load(path), model="scaling").forecast([1e5, 3e7], [2, 16])
    energy = model.forecast([1e5, 3e7], [2, 16])
    for ours, theirs in (("joules", "seconds"), ("joules_low", "low"), ("joules_high", "high")):
        assert energy[ours].to_numpy() == pytest.approx(
            (as_times.gpus * as_times[theirs]).to_numpy()
        )


def test_least_energy_is_where_gpus_that_wait_are_few(tmp_path):
    model = fitted(tmp_path, lambda n, gpus: 400.0)
    (row,) = least_energy(model, [1e5], [1.0, 2.0, 4.0, 8.0])
    assert (row["gpus"], row["fastest_gpus"]) == (1, 8)
    assert row["joules"] == pytest.approx(400 * 0.003, rel=0.05)
    assert row["fastest_joules"] == pytest.approx(8 * 400 * 0.00125, rel=0.05)


def test_a_model_file_keeps_energy(tmp_path):
    model = fitted(tmp_path, by_work)
    model.save(tmp_path / "model.json")
    kept = gc.load_model(tmp_path / "model.json")
    assert kept.joules_per_gpu == model.joules_per_gpu
    assert kept.forecast(1e5, 2)["joules"][0] == pytest.approx(model.forecast(1e5, 2)["joules"][0])


def test_an_updated_model_tells_no_energy_of_the_other_machine(tmp_path):
    data = gc.load(written(tmp_path, by_work))
    assert "joules" not in gc.fit(data).updated(data).forecast(1e5, 2)


def test_without_joules_nothing_is_said_of_energy(tmp_path):
    model = fitted(tmp_path, lambda n, gpus: None)
    assert model.energy is None
    assert "joules_per_gpu" not in model.content
    assert "joules" not in model.forecast(1e5, 2)


def test_a_kilowatt_hour_has_a_price_and_carbon():
    known = Grid(price=0.3, co2=380).of(7.2e6)
    assert known == pytest.approx({"kwh": 2.0, "energy_cost": 0.6, "co2_kg": 0.76})
    assert Grid().of(3.6e6) == {"kwh": 1.0}
