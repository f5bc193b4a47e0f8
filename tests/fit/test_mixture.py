"""The data and forms of the mixture for our own programs, and its answers
for any table of times."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpucast as gc
from gpucast import _core
from gpucast.data.steps import medians_of
from gpucast.fitting.mixture import _log_odds, fit_mixture, forms, visits_of
from gpucast.fitting.problem import Problem
from gpucast.fitting.selection import problem_of
from gpucast.model.intervals import Interval
from made_data import (
    BLOCK,
    NATIVE,
    dataset,
    launch,
    machine,
    microbenchmarks,
    step,
    steps,
    whole,
)
from records_samples import relaxed

# ---- measurements ----


def posed(*records: dict[str, Any], gpu: dict[str, Any] | None = None) -> Problem:
    return problem_of(dataset([gpu or machine(), *records]))


def test_a_record_is_a_visit_of_its_cell() -> None:
    n, gpus, _, _, visits = visits_of(
        posed(
            step(1000, 1, [1.0e-3, 1.1e-3, 1.3e-3]),
            step(2000, 2, [5e-3]),
            step(1000, 1, [2e-3], uncertainty=0.05),
        )
    ).columns()
    assert n.tolist() == [1000, 2000]
    assert gpus.tolist() == [1, 2]
    cell, seconds, variance, cpu, cpu_variance = visits.T
    assert cell.tolist() == [0, 1, 0]
    assert seconds == pytest.approx([1.1e-3, 5e-3, 2e-3])
    # Three samples: 1.4826 times the median absolute deviation of the logarithms, ln(1.1), and
    # pi / (2 * 3 + pi - 2) of its square. One sample: a clock's, and a third of its rounding's.
    of_three = (1.4826 * np.log(1.1)) ** 2 * np.pi / (4 + np.pi)
    assert variance == pytest.approx([of_three, 1e-6, 1e-6 + 0.05**2 / 3])
    assert np.isnan(cpu).all()
    assert cpu_variance.tolist() == [0, 0, 0]


def test_samples_that_repeat_exactly_vary_as_a_clock_does() -> None:
    seen = visits_of(posed(step(1000, 1, [1e-3] * 5)))
    assert seen.visits.variance[0] == pytest.approx(1e-6)


def test_host_phases_are_of_visits_and_kernel_phases_of_cells() -> None:
    phases = {"cpu": [2e-6, 0.0, 4e-6], "kernel": [5e-4, 0.0, 7e-4]}
    seen = visits_of(
        posed(
            step(1000, 1, [1e-3] * 3, phases=phases),
            step(1000, 1, [1e-3], phases={"kernel": [8e-4]}),
            step(2000, 1, [4e-3]),
        )
    )
    # A phase without any time was not timed. The cell's kernel is between 6e-4 and 8e-4.
    assert seen.kernel[0] == pytest.approx(7e-4)
    assert seen.kernel_variance[0] == pytest.approx(0.003**2 + (2e-6 / 7e-4) ** 2)
    assert seen.kernel[1] is None
    assert seen.kernel_variance[1] == 0
    assert seen.visits.cpu == [pytest.approx(3e-6), None, None]
    assert seen.visits.cpu_variance[0] == pytest.approx(0.01**2 + (1e-7 / 3e-6) ** 2)


@pytest.mark.parametrize(("schedule", "alone"), [("star-serial", True), ("star-async", False)])
def test_kernel_phases_count_where_they_are_the_kernel_alone(schedule: str, alone: bool) -> None:
    timed = step(1000, 2, [1e-3], schedule=schedule, phases={"kernel": [8e-4]})
    assert (visits_of(posed(timed)).kernel[0] is not None) == alone


# ---- launches ----


def test_launches_speak_against_what_hides_and_against_turns() -> None:
    waits, does_not = ["star-serial"], ["star-serial", "star-serial-poll", "star-serial-hide"]
    assert [_log_odds(com, waits, True) for com in does_not] == [0, -4, -4]
    assert [_log_odds(com, does_not, False) for com in does_not] == [0, 0, 0]
    assert _log_odds("star-async-turns", ["star-async"], False) == -8


def test_turns_are_rare_where_no_launch_says_so() -> None:
    left = ["star-async", "star-async-turns"]
    assert [_log_odds(com, left, None) for com in left] == [0, -2.2]
    assert _log_odds("star-async-turns", ["star-async-turns"], True) == 0


def test_nothing_hides_in_a_mixture_whose_path_waits() -> None:
    cells = [
        step(n, gpus, [1e-4 + 1e-12 * n * n / gpus] * 2) for n in (1000, 8000) for gpus in (1, 2)
    ]

    def odds(sync: float) -> float:
        timed = (launch(1, [3e-6] * 3), launch(1, [sync] * 3, method="sync"))
        model = gc.fit(dataset([machine(), *cells, *timed]), replicates=0)
        plain = sum(e.weight for e in model.mixture.forms if e.terms.com == "star-serial")
        return (1 - plain) / plain

    # Launches that were submitted took as long on both paths, so that nothing else differs.
    # Forms of less than a thousandth of the heaviest are dropped.
    assert odds(5e-6) / odds(10e-6) == pytest.approx(np.exp(-4), rel=0.05)


def test_the_tick_at_which_a_kernel_is_seen_to_end_is_found() -> None:
    """The host sees kernels of these steps end at ticks of 8 us, which makes a valley of parameters
    for each of them; begun in another one, the form that has ticks got a weight of 0.01."""
    steps = gc.load("h200-x4-mixed").where(lambda each: each.gpus < 3)
    chosen = {"path": "native", "schedule": "star-serial", "kernel": "tuned", "memory": "pinned"}
    model = gc.fit(steps, replicates=0, **chosen)
    ticks = sum(e.weight for e in model.mixture.forms if e.terms.com == "star-serial-poll")
    assert ticks > 0.2


# ---- forms ----


@pytest.mark.parametrize(
    ("schedule", "coms", "cpus"),
    [
        (
            "star-serial",
            {"star-serial", "star-serial-poll", "star-serial-hide"},
            {"bent", "linear"},
        ),
        (
            "star-async",
            {"star-async-queue", "star-async-poll", "star-async-turns"},
            {"bent", "linear"},
        ),
        ("allgather", {"allgather", "allgather-queue", "allgather-once"}, {"none"}),
        ("mpi", {"mpi"}, {"bent", "linear"}),
    ],
)
def test_each_schedule_has_its_forms(schedule: str, coms: set[str], cpus: set[str]) -> None:
    cells = [step(n, 2, [1e-3], schedule=schedule, block=BLOCK) for n in (1000, 2000)]
    names = forms(posed(*cells), None)
    assert {form.com for form in names} == coms
    assert {form.cpu for form in names} == cpus
    assert {form.gpu for form in names} == {"occupancy", "work"}
    assert len(names) == len(set(names)) == 2 * len(coms) * len(cpus)


def test_terms_that_the_catalogue_has_by_name_only_are_in_no_form() -> None:
    everything = [*_core.GPU_TERMS.values(), *_core.CPU_TERMS.values(), *_core.COM_TERMS.values()]
    by_name = {term.name for term in everything if term.tried == "by_name"} - {"none"}
    assert {"wave", "affine", "star-async"} <= by_name
    for schedule in ("star-serial", "star-async", "allgather", "mpi"):
        cells = [step(n, 2, [1e-3], schedule=schedule, block=BLOCK) for n in (1000, 2000)]
        tried = forms(posed(*cells), None)
        assert by_name.isdisjoint(word for form in tried for word in (form.gpu, form.cpu, form.com))


def test_work_of_a_program_s_own_is_tried_in_its_parts() -> None:
    cutoff = {
        "name": "cutoff",
        "visits": {"factor": 40.0},
        "to_gpu": {"factor": 24.0, "gpus": -1.0},
        "from_gpu": {"factor": 0.0},
    }
    own = posed(step(1000, 2, [1e-3], workload=cutoff))
    assert "neighbours" in {form.gpu for form in forms(own, None)}
    assert "neighbours" not in {form.gpu for form in forms(posed(step(1000, 2, [1e-3])), None)}


def test_forms_whose_facts_are_not_known_are_left_out_and_said() -> None:
    without = posed(step(1000, 1, [1e-3]), step(2000, 1, [2e-3]), gpu=machine(None))
    assert {form.gpu for form in forms(without, None)} == {"work"}
    assert any("occupancy" in note for note in without.notes)


def test_the_paper_is_among_the_forms_with_the_k_that_made_the_steps() -> None:
    model = gc.fit(whole(seed=3), replicates=0)
    waves = [form for form in model.mixture.forms if form.terms.gpu == "wave"]
    assert waves
    assert {form.integer for form in waves} == {NATIVE.k}
    others = [form for form in model.mixture.forms if form.terms.gpu != "wave"]
    assert all(form.integer is None for form in others)


def test_the_paper_is_shown_where_it_has_no_weight() -> None:
    def queued(n: Any, gpus: Any) -> Any:
        return 1e-5 + 2e-11 * np.ceil(n / gpus) * n + 1e-8 * n + 3e-5 * gpus

    rng = np.random.default_rng(0)
    cells = steps(queued, rng, n=[500, 1000, 2000, 4000, 8000], sigma=0.005, schedule="mpi")
    model = gc.fit(dataset([machine(), *cells]), replicates=0)
    assert model.own_program
    (paper,) = [candidate for candidate in model.candidates if candidate.model == "paper"]
    assert paper.weight == 0
    assert paper.cv_error is not None
    assert all(
        str(candidate.terms) != "wave+linear+star-serial" for candidate in model.mixture.forms
    )


def test_host_work_is_told_as_bent_only_where_times_say_so() -> None:
    def host(n: Any, bends: bool) -> Any:
        return 1e-8 * n * (1 + (2.0 * n / (n + 2e4) if bends else 0.0))

    for bends in (False, True):
        rng = np.random.default_rng(1)
        cells = []
        for n in (1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000):
            for gpus in (1, 2):
                gpu = 1e-5 + 2e-13 * np.ceil(n / gpus) * n
                both = np.exp(0.005 * rng.standard_normal((2, 5)))
                cpu = host(n, bends) * both[0]
                seconds = (gpu + gpus * 3e-5) * both[1] + cpu
                cells.append(step(n, gpus, seconds, phases={"cpu": cpu.tolist()}))
        model = gc.fit(dataset([machine(), *cells]), replicates=0)
        assert model.own_program
        assert model.terms.cpu == ("bent" if bends else "linear")


# ---- accuracy ----


@pytest.mark.parametrize(("field", "at"), [("gpus", 4), ("n", 64000)])
def test_held_out_errors_are_those_of_a_fit_without_the_largest(field: str, at: float) -> None:
    data = whole(seed=2)
    model = gc.fit(data, replicates=0)
    assert model.quality is not None
    without = gc.fit(data.where(lambda step: getattr(step, field) < at), replicates=0)
    left_out = medians_of(step for step in data.steps if getattr(step, field) == at)
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*left_out, strict=True))
    errors = np.abs(without.forecasts(n, gpus).seconds / list(left_out.values()) - 1)
    stated = {"gpus": model.quality.held_out_gpus_error, "n": model.quality.held_out_n_error}[field]
    assert stated == pytest.approx(np.median(errors), rel=1e-3)


def test_two_values_leave_too_little_to_forecast_the_largest_by() -> None:
    few = whole().where(lambda each: each.gpus <= 2)
    quality = gc.fit(few, replicates=0).quality
    assert quality.held_out_gpus_error is None
    assert quality.held_out_n_error is not None


def test_cells_left_out_are_missed_by_what_fits_without_them_miss() -> None:
    """The closed form uses a single point of parameters, and so errs a little less."""
    problem = problem_of(whole(seed=5))
    tried = forms(problem, None)
    (plain,) = [
        candidate for candidate in tried if str(candidate.name) == "work+linear+star-serial"
    ]
    mixture = fit_mixture(problem, [plain])
    missed = mixture.left_out(0)
    assert missed.shape == (28,)
    assert np.sqrt(np.mean(missed**2)) < 0.5
    n, gpus, _, _, visits = visits_of(problem).columns()
    fitted = mixture.forecast(n, gpus, np.ones(28), np.zeros(28), np.zeros(28))[0]
    inside = np.log(visits[:, 1] / fitted)
    assert np.mean(np.abs(missed)) > np.mean(np.abs(inside))


# ---- robust, and always with an answer ----


def test_a_disturbed_visit_does_not_move_the_others() -> None:
    """One record of 28 takes three times the right time, because of a neighbour."""
    clean = whole(seed=4)
    records = [
        step(
            record.n, record.gpus,
            np.array(record.seconds) * (3 if (record.n, record.gpus) == (8000, 2) else 1),
        )
        for record in clean.steps
    ]  # fmt: skip
    bench = microbenchmarks(NATIVE, np.random.default_rng(4))
    disturbed = gc.fit(dataset([machine(), *records, *bench]), replicates=0)
    n = np.array([3000.0, 8000.0, 30000.0, 200000.0])
    for gpus in (1, 2, 4, 6):
        there = np.full(4, float(gpus))
        forecasts = disturbed.forecasts(n, there).seconds
        assert forecasts == pytest.approx(NATIVE.seconds(n, there), rel=0.06)


times = st.floats(1e-4, 1e3)
tables = st.dictionaries(
    st.tuples(st.integers(10, 10**6), st.integers(1, 8)),
    st.lists(st.lists(times, min_size=1, max_size=3), min_size=1, max_size=2),
    min_size=1,
    max_size=8,
)


@settings(relaxed, max_examples=25)
@example(table={(1000, 1): [[1e-3]]}, schedule="star-serial", cores=2304)
@example(
    table={(n, 1): [[t] * 3] for n, t in ((1000, 1e-4), (2000, 1e3), (4000, 1e-4))},
    schedule="star-async",
    cores=None,
)
@example(
    table={(8000, gpus): [[1e-3 * gpus**3]] * 2 for gpus in (1, 2, 4)},
    schedule="allgather",
    cores=64,
)
@example(  # forms differ so much that noise between them moved an end for measurements in
    table={(n, 4): [[t] * 5] for n, t in ((1000, 4e-4), (8000, 2.4e-3), (64000, 0.033))},
    schedule="star-serial",
    cores=2304,
)
@example(  # the median of what is measured was beyond the interval of the expected time
    table={
        (374, 1): [[559.0, 1e-4, 1.0], [204.5, 599.2, 155.1]],
        (489, 8): [[134.6], [571.5]],
        (170, 3): [[297.8, 243.1]],
        (10444, 1): [[886.7, 31.7, 437.0], [38.4, 493.2]],
        (3866, 2): [[1000.0, 253.6]],
        (2834, 8): [[869.1]],
        (3999, 7): [[292.6, 214.5, 232.5], [0.09572]],
        (10, 1): [[995.8]],
    },
    schedule="star-serial",
    cores=None,
)
@example(
    table={
        (231, 2): [[500.0, 214.0], [297.0, 694.0]],
        (410, 1): [[1.0, 281.0, 805.0], [1.75]],
        (49894, 7): [[16.0, 1e-4]],
        (37, 1): [[1.0, 172.0, 256.0], [566.0, 701.0, 1.0]],
        (160, 4): [[1.0, 67.0, 45.0], [1.0, 416.0]],
        (26660, 6): [[896.0]],
        (584, 1): [[4.0, 0.0625]],
        (129, 1): [[129.0, 301.0]],
    },
    schedule="star-async",
    cores=None,
)
@given(
    table=tables,
    schedule=st.sampled_from(["star-serial", "star-async", "allgather", "mpi"]),
    cores=st.sampled_from([None, 64, 2304]),
)
def test_any_table_of_positive_times_gives_forecasts(
    table: dict[tuple[int, int], list[list[float]]], schedule: str, cores: int | None
) -> None:
    cells = [
        step(n, gpus, seconds, schedule=schedule, block=BLOCK)
        for (n, gpus), visits in table.items()
        for seconds in visits
    ]
    model = gc.fit(dataset([machine(cores), *cells]), replicates=0)
    assert model.own_program
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*table, strict=True))
    far_n, far_gpus = (
        np.append(n, [1.0, 1e9, 1.0, 1e9]), np.append(gpus, [1.0, 1.0, 1e3, 1e3])
    )  # fmt: skip
    for interval in Interval:
        forecasts = model.forecasts(far_n, far_gpus, interval)
        for times in (
            forecasts.seconds,
            forecasts.low,
            forecasts.high,
            forecasts.mean_low,
            forecasts.mean_high,
        ):
            assert np.isfinite(times).all()
            assert (times > 0).all()
        assert (forecasts.low <= forecasts.mean_low).all()
        assert (forecasts.mean_low <= forecasts.seconds).all()
        assert (forecasts.seconds <= forecasts.mean_high).all()
        assert (forecasts.mean_high <= forecasts.high).all()


sizes = st.lists(st.sampled_from([500, 1000, 3000, 8000, 20000, 64000, 200000]), min_size=1,
                 max_size=5, unique=True)  # fmt: skip


@settings(relaxed, max_examples=25)
@given(
    n=sizes,
    gpus=st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True),
    repeats=st.sampled_from([1, 3]),
    sigma=st.sampled_from([0.0, 0.03, 0.3]),
    seed=st.integers(0, 1000),
)
def test_forecasts_of_measured_cells_lie_in_the_range_of_what_was_measured(
    n: list[int], gpus: list[int], repeats: int, sigma: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    cells = steps(NATIVE.seconds, rng, n=n, gpus=gpus, repeats=repeats, sigma=sigma, block=BLOCK)
    model = gc.fit(dataset([machine(), *cells]), replicates=0)
    assert model.own_program
    forecasts = model.forecasts(model.cells.n, np.array(model.cells.gpus, float))
    # A cell that all others contradict is forecast from them: single steps scatter as much.
    widened = np.max(forecasts.high / forecasts.low) * np.exp(3 * sigma)
    assert forecasts.seconds.max() <= max(model.cells.seconds) * widened
    assert forecasts.seconds.min() >= min(model.cells.seconds) / widened
