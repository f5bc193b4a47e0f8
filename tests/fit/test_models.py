"""Forecasts of a fitted model, and its file."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucast as gc
from gpucast.errors import GpucastError
from gpucast.model.fitted import Model
from made_data import NATIVE, dataset, machine, microbenchmarks, steps, steps_alone, whole
from records_samples import json_values, relaxed

COLUMNS = {
    "model": "str",
    "n": "int64",
    "gpus": "int64",
    "seconds": "float64",
    "low": "float64",
    "high": "float64",
    "mean_low": "float64",
    "mean_high": "float64",
    "t_gpu": "float64",
    "t_cpu": "float64",
    "t_com": "float64",
    "extrapolated": "bool",
}


@pytest.fixture(scope="module")
def model() -> Model:
    return gc.fit(whole(), replicates=100)


@pytest.fixture(scope="module")
def saved(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "native.json"
    model.save(path)
    return path


def test_a_forecast_has_a_row_for_every_n_with_every_count(model: Model) -> None:
    frame = model.forecast(n=[1e3, 1e5], gpus=range(1, 5))
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == COLUMNS
    assert list(zip(frame.n, frame.gpus, strict=True)) == [
        (n, gpus) for n in (1000, 100000) for gpus in (1, 2, 3, 4)
    ]
    assert set(frame.model) == {"native"}


def test_forecasts_are_those_of_the_truth_at_unmeasured_sizes(model: Model) -> None:
    n = np.repeat([500.0, 3000.0, 50000.0, 256000.0], 8)
    gpus = np.tile(np.arange(1.0, 9.0), 4)
    forecasts = model.forecasts(n, gpus)
    for mine, truth in zip(
        (forecasts.t_gpu, forecasts.t_cpu, forecasts.t_com), NATIVE.terms(n, gpus), strict=True
    ):
        # A term with a small share of the time is less certain; the host's term is determined by
        # step times only.
        assert np.all(np.abs(mine - truth) < 0.04 * NATIVE.seconds(n, gpus))
    assert forecasts.seconds == pytest.approx(NATIVE.seconds(n, gpus), rel=0.03)
    assert forecasts.seconds == pytest.approx(
        forecasts.t_gpu + forecasts.t_cpu + forecasts.t_com, rel=1e-12
    )


def test_what_lies_outside_the_measured_n_or_counts_is_extrapolated(model: Model) -> None:
    cells = [(1000, 1), (64000, 4), (999, 1), (64001, 1), (1000, 5)]
    forecasts = model.forecasts(*(list(map(float, column)) for column in zip(*cells, strict=True)))
    assert forecasts.extrapolated.tolist() == [False, False, True, True, True]


def test_more_a_gpu_than_any_had_is_extrapolated_within_the_measured_n_and_counts() -> None:
    """4,000 were timed on 1 GPU at most, 16,000 on 4: 8,000 and 16,000 on 1 did not run."""
    cells = [(1000, 1), (4000, 1), (4000, 2), (8000, 2), (8000, 4), (16000, 4), (1000, 4)]
    rng = np.random.default_rng(0)
    run = [
        record
        for size, count in cells
        for record in steps(NATIVE.seconds, rng, n=[size], gpus=[count])
    ]
    data = dataset([machine(NATIVE.c), *run, *microbenchmarks(NATIVE, rng)])
    model = gc.fit(data, model="paper", replicates=5)
    assert model.most_per_gpu == 4000
    asked = [(4000, 1), (4400, 1), (4401, 1), (8000, 1), (16000, 1), (16000, 2), (16000, 4)]
    forecasts = model.forecasts(*(list(map(float, column)) for column in zip(*asked, strict=True)))
    assert forecasts.extrapolated.tolist() == [False, False, True, True, True, True, False]


def test_the_best_count_is_the_fastest_of_the_truth(model: Model) -> None:
    counts = np.arange(1.0, 9.0)
    for n in (1000, 10000, 100000):
        truth = NATIVE.seconds(np.full(8, float(n)), counts)
        (row,) = model.best(n).to_dict("records")
        fastest = int(counts[np.argmin(truth)])
        assert row["gpus"] == fastest
        close = counts[truth <= 1.005 * truth.min()]
        assert set(close.astype(int)) <= set(row["within_2_percent"])
        far = counts[truth > 1.05 * truth.min()]
        assert not set(far.astype(int)) & set(row["within_2_percent"])
        assert 0 < row["probability"] <= 1
        assert row["extrapolated"] is bool(model.extrapolates(np.array(n), np.array(fastest)))


def test_best_is_a_frame_with_a_row_an_n(model: Model) -> None:
    frame = model.best([1000, 64000], gpus=[4, 1, 1])
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.n) == [1000, 64000]
    assert set(frame.gpus) <= {1, 4}
    assert not frame.extrapolated.any()


@pytest.mark.parametrize("n", [0, -1, 1.1e18, float("nan"), float("inf"), "12", "x", None])
def test_no_forecast_of_an_n_that_is_none(model: Model, n: Any) -> None:
    with pytest.raises(gc.InputError):
        model.forecast(n, 1)


@pytest.mark.parametrize("gpus", [0, 10**6 + 1, 1.5, "2"])
def test_no_forecast_of_a_count_that_is_none(model: Model, gpus: Any) -> None:
    with pytest.raises(gc.InputError):
        model.forecast(1000, gpus)


def test_whole_sizes_stay_integers_in_tables_and_others_are_numbers(model: Model) -> None:
    assert model.forecast([1000, 3e9], 1).n.tolist() == [1000, 3_000_000_000]
    assert model.forecast([1000, 3e9], 1).n.dtype == np.int64
    assert model.forecast([1000, 1000.5], 1).n.tolist() == [1000, 1000.5]
    assert [type(row["n"]) for row in model.best_counts([1000, 0.5], [1])] == [int, float]


def test_the_largest_size_and_count_are_forecast(model: Model) -> None:
    row = model.forecast(1e18, 10**6).iloc[0]
    assert 0 < row.low <= row.seconds <= row.high < np.inf


def test_a_billion_particles_are_forecast(model: Model) -> None:
    row = model.forecast(1e9, 8).iloc[0]
    truth = NATIVE.seconds(np.array([1e9]), np.array([8.0]))[0]
    assert row.seconds == pytest.approx(truth, rel=0.05)
    assert (row.n, row.extrapolated) == (10**9, True)


def test_nothing_asked_is_nothing_forecast_but_no_best_count(model: Model) -> None:
    assert model.forecast([], [1, 2]).empty
    assert model.forecast([1], []).empty
    assert model.best([]).empty
    with pytest.raises(gc.InputError, match="at least one GPU count"):
        model.best([1], [])


def test_many_cells_are_forecast_with_fewer_replicates_alike(model: Model) -> None:
    n = np.full(300_000, 8000.0)
    many = model.forecasts(n, np.ones(n.size))
    one = model.forecasts([8000.0], [1.0])
    assert many.seconds[0] == one.seconds[0]
    assert many.high[0] == pytest.approx(one.high[0], rel=0.02)


def test_a_model_is_named_for_its_file(saved: Path) -> None:
    assert set(gc.load_model(saved).forecast(1000, 1).model) == {"native"}


def test_an_existing_model_file_is_kept_unless_forced(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text("mine")
    with pytest.raises(gc.InputError, match="exists already"):
        model.save(path)
    assert path.read_text() == "mine"
    model.save(path, force=True)
    assert gc.load_model(path).content == model.content


def refused(path: Path) -> str:
    with pytest.raises(gc.InputError) as caught:
        gc.load_model(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("not JSON", "no JSON"),
        ("[]", "is no model file"),
        ("3", "is no model file"),
        ("{}", "is no model file"),
        ('{"schema": "gpucast.model/2"}', "'gpucast.model/2'; this version reads"),
        (
            '{"schema": "gpucast.record/1", "kind": "note", "text": "x"}',
            "holds records, not a model",
        ),
        ('{"schema": {"a": 1}}', "this version reads"),
        ('{"schema": "gpucast.model/1"}', "missing"),
        ("[" * 100_000, "no model file"),
        ("9" * 5000, "no model file"),
    ],
)
def test_what_is_no_model_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    assert said in refused(path)


def test_files_that_cannot_be_read_are_refused(saved: Path, tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.json")
    assert "directory" in refused(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"schema": "\xe4"}')
    assert "UTF-8" in refused(tmp_path / "latin.json")
    for share in (0.1, 0.5, 0.99):
        cut = tmp_path / "cut.json"
        cut.write_bytes(saved.read_bytes()[: int(share * saved.stat().st_size)])
        assert "no JSON" in refused(cut)


Damage = Callable[[dict[str, Any]], None]


def without(*keys: str) -> Damage:
    def damage(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return damage


def replaced(value: Any, *keys: str | int) -> Damage:
    def damage(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without("parameters"), "parameters: missing"),
        (without("parameters", "t_gpu"), "t_gpu"),
        (without("parameters", "t_gpu", "value"), "parameters.t_gpu.value: missing"),
        (without("bootstrap"), "bootstrap: missing"),
        (without("noise", "t90"), "noise.t90: missing"),
        (without("data", "path"), "data.path: missing"),
        (replaced(float("nan"), "parameters", "t_cpu", "value"), "NaN"),
        (replaced(-1e-9, "parameters", "t_cpu", "value"), "parameters.t_cpu.value: must be"),
        (replaced("4", "k"), "k: must be"),
        (replaced(0, "k"), "k: must be"),
        (replaced(2**70, "k"), "k: must be"),
        (replaced(10**400, "observations", "step_samples"), "step_samples: must be"),
        (replaced("waves", "model", "gpu"), "waves"),
        (replaced([2, 1], "domain", "n"), "domain.n: must be"),
        (replaced("t_gpus", "bootstrap", "parameters", 0), "other parameters"),
        (replaced(-1.0, "bootstrap", "values", 3, 0), "bootstrap.values[3][0]: must be"),
        (replaced([1.0], "bootstrap", "values", 3), "is a damaged model file"),
        (replaced(float("inf"), "bootstrap", "values", 0, 0), "Infinity"),
        (replaced([4], "bootstrap", "integers"), "is a damaged model file"),
        (replaced({"h2d": [1e3], "moon": []}, "breakpoints"), "is a damaged model file"),
        (replaced("no list", "warnings"), "warnings: must be a list"),
        (replaced("no list", "remarks"), "remarks: must be a list"),
        (replaced(["a text"], "remarks"), "remarks[0]: must be an object"),
        (replaced([{"kind": "data", "text": "x"}], "remarks"), "remarks[0].severity: missing"),
    ],
)
def test_a_damaged_model_file_is_refused_by_key(
    saved: Path, tmp_path: Path, damage: Damage, said: str
) -> None:
    content = json.loads(saved.read_text())
    damage(content)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content))
    assert said in refused(path)


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value[:2]))
    places = [at] if at else []
    for key, child in inner:
        places += _places(child, (*at, key))
    return places


_numbers = st.sampled_from([0, -1, 1, 0.5, 1e150, 1e300, 5e-324, 10**400, float("nan")])


@pytest.mark.slow
@given(data=st.data())
@settings(relaxed, max_examples=300)
def test_whatever_is_changed_in_a_model_file_is_refused_or_works(
    data: st.DataObject, saved: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = json.loads(saved.read_text())
    for key in data.draw(st.lists(st.sampled_from(_places(content)), min_size=1, max_size=2)):
        try:
            if data.draw(st.booleans()):
                without(*key)(content)
            else:
                replaced(data.draw(_numbers | json_values), *key)(content)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # the first change removed the place of the second
    path = tmp_path_factory.getbasetemp() / "changed.json"
    path.write_text(json.dumps(content))
    far = dataset([machine(), *microbenchmarks(NATIVE, np.random.default_rng(0), path="far")])
    with contextlib.suppress(GpucastError):
        model = gc.load_model(path)
        times = model.forecast([1, 1e5], [1, 8])[["seconds", "low", "high"]].to_numpy()
        assert np.isfinite(times).all()
        assert (times > 0).all()
        model.best([1e5])
        gc.validate(model, steps_alone(n=[1000], repeats=1))
        gc.compare(model, model, 1000, 1)
        gc.what_if(model, far)
        model.save(path, force=True)
