"""A fit finds the parameters that made the data, and tells which it cannot determine."""

from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.model.fitted import Model
from gpucast.util.remarks import Kind
from made_data import NATIVE, dataset, launch, machine, microbenchmarks, steps, steps_alone, whole
from made_data import step as step_record
from synthetic import N_GRID, TRUTHS, Truth

PARAMETERS = ["t_gpu", "t_cpu", "t_kernel", "L_h2d", "B_h2d", "L_d2h", "B_d2h"]


@pytest.fixture(scope="module", params=["native", "virtualized"])
def truth(request: pytest.FixtureRequest) -> Truth:
    return TRUTHS[request.param]


@pytest.fixture(scope="module")
def alone(truth: Truth) -> Model:
    return gc.fit(steps_alone(truth), model="paper")


@pytest.fixture(scope="module")
def joint() -> Model:
    return gc.fit(whole(), model="paper")


def made_of_steps(*records: dict[str, Any]) -> gc.Dataset:
    return dataset([machine(), *records])


def test_steps_alone_tell_four_of_seven(alone: Model, truth: Truth) -> None:
    assert list(alone.content["parameters"]) == PARAMETERS
    assert alone.content["rank"] == 4
    assert alone.content["k"] == truth.k


def test_steps_alone_have_no_error_where_nothing_is_identified(alone: Model) -> None:
    entries = alone.content["parameters"]
    known = {name for name, entry in entries.items() if entry["identified"]}
    assert known == {"t_gpu", "B_h2d"}
    for name, entry in entries.items():
        assert (entry["stderr"] is None) == (name not in known)
        assert (entry["ci95"] is None) == (name not in known)
    assert any("not identified" in text and "L_h2d" in text for text in alone.warnings)


def test_steps_alone_name_the_two_combinations_that_they_tell(alone: Model, truth: Truth) -> None:
    values = {
        frozenset({"t_cpu", "B_d2h"}): truth.t_cpu + 12 / truth.B_d2h,
        frozenset({"t_kernel", "L_h2d", "L_d2h"}): truth.t_kernel + truth.L_h2d + truth.L_d2h,
    }
    combinations = {frozenset(c["parameters"]): c for c in alone.content["combinations"]}
    assert combinations.keys() == values.keys()
    for names, combination in combinations.items():
        assert abs(combination["value"] - values[names]) < 4 * combination["stderr"]
        low, high = combination["ci95"]
        assert low < combination["value"] < high
        assert all(name in combination["expression"] for name in names)


@pytest.mark.parametrize("name", list(TRUTHS))
def test_steps_with_transfers_and_launches_tell_everything(name: str) -> None:
    truth = TRUTHS[name]
    content = gc.fit(whole(truth, seed=7), model="paper", replicates=0).content
    assert content["rank"] == 7
    assert content["combinations"] == []
    assert content["k"] == truth.k
    for parameter, entry in content["parameters"].items():
        assert entry["identified"]
        assert abs(entry["value"] - getattr(truth, parameter)) < 4 * entry["stderr"], parameter
    assert content["parameters"]["t_gpu"]["stderr"] < 0.02 * truth.t_gpu


def test_the_profile_is_least_at_the_k_found(joint: Model) -> None:
    profile = {entry["k"]: entry["cost"] for entry in joint.content["k_profile"]}
    assert min(profile, key=lambda k: profile[k]) == joint.content["k"] == NATIVE.k
    assert profile[NATIVE.k + 1] > profile[NATIVE.k] + 10


def test_no_k_is_tried_that_a_core_cannot_hold() -> None:
    rng = np.random.default_rng(0)
    small = machine(max_threads_per_sm=2048)  # 2048 x 12 / 2304 = 10.7 threads a core
    data = dataset([small, *steps(NATIVE.seconds, rng)])
    content = gc.fit(data, model="paper", replicates=0).content
    assert [entry["k"] for entry in content["k_profile"]] == list(range(1, 11))


def test_timing_the_cpu_part_tells_t_cpu() -> None:
    rng = np.random.default_rng(1)
    timed = []
    for record in steps(NATIVE.seconds, rng):
        cpu = NATIVE.t_cpu * record["n"] * np.exp(0.03 * rng.standard_normal(5))
        timed.append({**record, "phases": {"cpu": cpu.tolist()}})
    content = gc.fit(made_of_steps(*timed), model="paper", replicates=0).content
    entry = content["parameters"]["t_cpu"]
    assert content["rank"] == 5
    assert entry["identified"]
    assert abs(entry["value"] - NATIVE.t_cpu) < 4 * entry["stderr"] < 0.1 * NATIVE.t_cpu


def test_quality_is_that_of_the_cells(joint: Model) -> None:
    medians = {
        (s.n, s.gpus): np.median(s.seconds) for s in whole().steps
    }  # the data are made again, so that no number of the fit is used
    frame = joint.forecast(N_GRID, range(1, 5))
    error = [
        abs(row.seconds / medians[row.n, row.gpus] - 1) for row in frame.itertuples(index=False)
    ]
    quality = joint.content["quality"]
    assert quality["median_relative_error"] == pytest.approx(np.median(error), rel=1e-9)
    assert quality["p95_relative_error"] == pytest.approx(np.percentile(error, 95), rel=1e-9)
    assert quality["lack_of_fit_p"] > 0.01
    assert 0.5 < quality["reduced_chi2"] < 2
    assert joint.content["noise"]["pure_error"] == pytest.approx(0.03, rel=0.2)
    assert joint.content["observations"]["step_samples"] == 7 * 4 * 5


def test_one_seed_gives_one_answer() -> None:
    first, again, other = (gc.fit(steps_alone(), replicates=60, seed=seed) for seed in (5, 5, 6))
    for model in (first, again, other):
        model.created = None
    assert first.content == again.content
    assert np.array_equal(first.replicates, again.replicates)
    assert not np.array_equal(first.replicates, other.replicates)


def test_without_replicates_there_are_no_intervals_of_parameters() -> None:
    model = gc.fit(whole(), model="paper", replicates=0)
    assert all(entry["ci95"] is None for entry in model.content["parameters"].values())
    assert model.best(1e5)["probability"].isna().all()
    mixed = gc.fit(whole(), replicates=0)
    assert all(entry["ci95"] is None for entry in mixed.content["parameters"].values())
    # A mixture draws from its distribution, not from replicates.
    assert 0 < mixed.best(1e5)["probability"][0] <= 1
    row = model.forecast(1e5, 4).iloc[0]
    assert row.low < row.seconds < row.high  # the noise of a measurement remains


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"replicates": -1}, "replicates"),
        ({"replicates": 10**12}, "replicates"),
    ],
)
def test_seed_and_replicates_have_a_range(arguments: dict[str, int], field: str) -> None:
    with pytest.raises(gc.InputError, match="whole number") as caught:
        gc.fit(steps_alone(), **arguments)
    assert caught.value.field == field


def test_data_of_another_form_are_called_so() -> None:
    def imbalanced(n: Any, gpus: Any) -> Any:
        t_gpu, t_cpu, t_com = NATIVE.terms(n, gpus)
        return t_gpu * (1 + 0.2 * (gpus - 1)) + t_cpu + t_com + 2e-4 * gpus**2

    rng = np.random.default_rng(2)
    model = gc.fit(made_of_steps(*steps(imbalanced, rng)), model="paper", replicates=0)
    assert model.content["quality"]["lack_of_fit_p"] < 1e-6
    (lack,) = [one for one in model.remarks if one.kind == Kind.LACK_OF_FIT]
    assert lack.text.startswith("lack of fit, p ")
    assert lack.short.endswith(" % beyond noise")


def test_disturbed_samples_do_not_move_the_fit() -> None:
    clean = gc.fit(whole(seed=4), model="paper", replicates=0)
    disturbed = gc.fit(whole(seed=4, outliers=0.08), model="paper", replicates=0)
    assert disturbed.content["k"] == NATIVE.k
    assert disturbed.parameter("t_gpu") == pytest.approx(clean.parameter("t_gpu"), rel=0.02)
    assert disturbed.content["quality"]["disturbed_samples"] > 0


def test_a_k_that_the_data_do_not_tell_is_said_with_the_n_that_would() -> None:
    data = steps_alone(n=[500, 1000, 1500, 2000])  # one wave, whatever k is
    model = gc.fit(data, model="paper", replicates=0)
    plausible = model.content["k_plausible"]
    assert plausible == list(range(1, 129))
    (warning,) = [text for text in model.warnings if "k is not determined" in text]
    assert "2304 to 294912 particles" in warning  # 1 and 128 threads on each of 2304 cores


def test_one_n_one_gpu_count_and_one_repetition_are_warned_of() -> None:
    one_n = gc.fit(steps_alone(n=[8000]), replicates=0)
    assert any("one n only" in text for text in one_n.warnings)
    one_count = gc.fit(steps_alone(gpus=[1]), replicates=0)
    assert any("one GPU count only" in text for text in one_count.warnings)
    once = gc.fit(steps_alone(repeats=1), replicates=0)
    assert any("one repetition" in text for text in once.warnings)
    assert once.content["quality"]["lack_of_fit_p"] is None
    assert not any(
        "only" in text or "repetition" in text for text in gc.fit(steps_alone()).warnings
    )


def test_a_form_that_cannot_be_tested_gets_wide_intervals_and_a_warning() -> None:
    # Six cells for a model of rank five, far from its form: the one repetition agrees to 2 %, the
    # model misses by a third.
    cells = {(1000, 1): [0.5, 0.51], (2000, 1): [0.6], (4000, 1): [0.9]}
    cells |= {(1000, 2): [0.3], (2000, 2): [0.4], (4000, 2): [0.6]}
    data = made_of_steps(*(step_record(n, N, times) for (n, N), times in cells.items()))
    model = gc.fit(data, model="work+linear+star-serial")
    result = gc.validate(model, data)
    assert result["max_relative_error"] > 0.2
    assert result["coverage"] >= 0.8
    assert any("form" in text for text in model.warnings)


def test_too_few_observations_are_refused() -> None:
    for count in (1, 3):
        cells = [step_record(1000 * (i + 1), 1, [0.01 * (i + 1) ** 2]) for i in range(count)]
        with pytest.raises(gc.InputError, match=r"cannot determine .* --model auto"):
            gc.fit(made_of_steps(*cells), model="paper")


@pytest.mark.parametrize("schedule", ["star-serial", "star-async", "allgather", "mpi"])
@pytest.mark.parametrize("sizes", [[8000], [1000, 8000], [1000, 8000, 64000]])
def test_of_few_cells_timed_once_auto_forecasts_widely_and_says_what_is_missing(
    schedule: str, sizes: list[int]
) -> None:
    true = NATIVE.seconds(np.array(sizes, float), np.ones(len(sizes)))
    cells = [
        step_record(n, 1, [seconds], schedule=schedule)
        for n, seconds in zip(sizes, true, strict=True)
    ]
    model = gc.fit(made_of_steps(*cells))
    (warning,) = [text for text in model.warnings if "cannot determine" in text]
    assert f"{len(sizes)} observations" in warning
    assert "measure more cells or repetitions" in warning
    assert any("one GPU count only" in text for text in model.warnings)
    assert any("one repetition" in text for text in model.warnings)
    assert not any(parameter.identified for parameter in model.parameters.values())
    assert all(
        parameter.stderr is None and parameter.ci95 is None
        for parameter in model.parameters.values()
    )
    assert model.replicates.shape[0] == 0
    there = model.forecasts([float(sizes[-1])], [1])
    assert there.low[0] <= true[-1] <= there.high[0]
    # Times on four GPUs rest on forms.
    far = model.forecasts([float(sizes[-1])], [4])
    assert far.high[0] / far.low[0] > there.high[0] / there.low[0]
    assert far.low[0] > 0
    assert np.isfinite(far.high[0])


def test_a_model_of_a_single_time_is_kept_and_answers(tmp_path: Any) -> None:
    gc.fit(made_of_steps(step_record(8000, 1, [2e-3]))).save(tmp_path / "one.json")
    model = gc.load_model(tmp_path / "one.json")
    assert model.best([8000, 1e6], [1, 2, 4])["probability"].between(0, 1).all()
    assert gc.validate(model, made_of_steps(step_record(8000, 1, [2e-3])))["coverage"] == 1


@pytest.mark.parametrize("seconds", [5e-324, 1e-31, 1e31, 1.7e308])
def test_times_that_nobody_measured_are_refused(seconds: float) -> None:
    records = [step_record(n, 1, [seconds, 1.0]) for n in (1000, 2000, 3000, 4000)]
    with pytest.raises(gc.InputError, match="no measured time"):
        gc.fit(made_of_steps(*records))
    with pytest.raises(gc.InputError, match="no measured time"):
        gc.validate(gc.fit(steps_alone(), replicates=0), made_of_steps(*records))


def test_launches_of_submit_are_preferred_to_those_that_wait() -> None:
    rng = np.random.default_rng(3)
    waiting = [launch(count, [count * 1e-3] * 3, method="sync") for count in (1, 10)]
    data = dataset(
        [machine(), *steps(NATIVE.seconds, rng), *microbenchmarks(NATIVE, rng), *waiting]
    )
    model = gc.fit(data, model="paper", replicates=0)
    assert model.parameter("t_kernel") == pytest.approx(NATIVE.t_kernel, rel=0.05)
