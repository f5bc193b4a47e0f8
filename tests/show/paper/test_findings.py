"""The paper's findings are told true from false, on made data of which each is known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.steps import groups_of
from gpucast.show.paper import findings
from made_data import (
    NATIVE,
    VIRTUALIZED,
    Array,
    dataset,
    machine,
    microbenchmarks,
    step,
    steps,
    steps_alone,
)
from other_programs import md, records

Seconds = Callable[[Array, Array], Array]
NOT_YET = (
    "it grows quadratically nowhere that was measured; whether it does at larger n is not known"
)
NAMES = ("small", "large", "growth", "share", "dearer", "gap")


def made(*records: dict[str, Any]) -> Dataset:
    return dataset([machine(), *records])


def native(seconds: Seconds = NATIVE.seconds, **other: Any) -> list[dict[str, Any]]:
    return steps(seconds, np.random.default_rng(5), repeats=3, sigma=1e-4, **other)


def links(truth: Any, path: str, repeats: int = 5) -> list[dict[str, Any]]:
    rng = np.random.default_rng(6)
    return microbenchmarks(truth, rng, repeats=repeats, sigma=1e-3, path=path)


def found(data: Dataset, **how: Any) -> dict[str, findings.Finding]:
    return dict(zip(NAMES, findings.findings(data, **how), strict=True))


def verdicts(data: Dataset) -> dict[str, str]:
    return {name: finding.verdict for name, finding in found(data).items()}


def timed(share_of: Callable[[int], float]) -> list[dict[str, Any]]:
    """Steps of 1000 particles whose copies take a known share of the phases."""
    result = []
    for gpus in (1, 2, 4):
        share = share_of(gpus)
        parts = {"h2d": share / 2, "d2h": share / 2, "kernel": 0.9 * (1 - share)}
        phases = {name: [1e-3 * part] for name, part in {**parts, "cpu": 0.1 * (1 - share)}.items()}
        result.append(step(1000, gpus, [1e-3], phases=phases))
    return result


def test_the_papers_own_model_shows_what_the_paper_found() -> None:
    data = made(
        *native(), *links(NATIVE, "native"),
        *native(VIRTUALIZED.seconds, path="remote"), *links(VIRTUALIZED, "remote"),
    )  # fmt: skip
    # Shares need phases or models, which these have not.
    assert verdicts(data) == dict.fromkeys(NAMES, "true") | {"share": "cannot be told"}


def test_exponents_of_n_are_seen() -> None:
    sizes = [1000 * 2**i for i in range(8)]
    squares = findings.local_exponents([(n, 3e-9 * n**2) for n in sizes])
    assert [slope for _, slope in squares] == pytest.approx([2.0] * len(squares))
    assert squares[0][0] == pytest.approx(2000)  # 1000 to 4000: the next size at least 3 times


def test_gflops_that_never_fall_or_never_rise_are_told() -> None:
    scales = found(made(*native(lambda n, gpus: 1e-5 * n / gpus)))
    assert (scales["small"].verdict, scales["large"].verdict) == ("false", "true")
    assert scales["small"].numbers == pytest.approx([4.0], rel=1e-3)
    stays = found(made(*native(lambda n, gpus: 1e-5 * n * gpus)))
    assert (stays["small"].verdict, stays["large"].verdict) == ("true", "false")
    assert stays["large"].range == pytest.approx((0.25, 0.25), rel=1e-3)


def test_a_finding_may_hold_of_some_groups() -> None:
    data = made(*native(), *native(lambda n, gpus: 1e-5 * n / gpus, kernel="tuned"))
    small = found(data)["small"]
    assert small.verdict == "true in 1 of 2"
    assert small.holds == [True, False]
    assert small.reason is None


def test_what_speaks_against_a_finding_is_named_with_its_counts_and_values() -> None:
    """Three GPUs are slower than two, though four are faster: 1, 1.5, 1.4, 1.6 times as fast."""
    rates = np.array([np.nan, 1.0, 1.5, 1.4, 1.6])
    data = made(*native(lambda n, gpus: 1e-5 * n / rates[gpus.astype(int)]))
    large = found(data)["large"]
    assert large.why == ["N = 3 has 1.400, N = 2 1.500"]
    assert large.rows[0][-1] == "false: N = 3 has 1.400, N = 2 1.500"
    assert (large.verdict, large.reason) == ("false", "N = 3 has 1.400, N = 2 1.500")
    small = found(data)["small"]
    assert small.why == ["N = 2 has 1.500, N = 1 1.000"]
    still = found(made(*native(lambda n, gpus: 1e-5 * n + 0 * gpus)))["large"]
    assert still.why == ["N = 4 has 1.000, N = 1 1.000"]
    cubic = found(made(*native(lambda n, gpus: 1e-14 * n**3 + 0 * gpus)))["growth"]
    assert cubic.why == ["at the largest n the exponent is 3.00"]
    shares = found(made(*timed(lambda gpus: 0.5 / gpus)))["share"]
    assert shares.why == ["N = 2 has 25 %, N = 1 50 %"]


def test_groups_that_are_open_are_not_counted_as_true() -> None:
    data = made(
        *native(lambda n, gpus: 1e-6 * n + 1e-10 * n**2 + 0 * gpus),
        *native(lambda n, gpus: 1e-6 * n + 0 * gpus, kernel="tuned"),
    )
    growth = found(data)["growth"]
    assert growth.holds == [True, None]
    assert growth.verdict == "true in 1 of 2, 1 open"
    assert growth.rows[1][-1] == f"open: {NOT_YET}"


def test_linear_then_quadratic_is_open_where_n_is_too_small() -> None:
    def growth(seconds: Seconds) -> findings.Finding:
        return found(made(*native(seconds)))["growth"]

    assert growth(lambda n, gpus: 1e-6 * n + 1e-10 * n**2).verdict == "true"
    linear = growth(lambda n, gpus: 1e-6 * n)
    assert (linear.holds, linear.verdict) == ([None], "cannot be told")
    assert linear.numbers == pytest.approx([1.0], abs=0.01)
    assert linear.reason == NOT_YET
    assert growth(lambda n, gpus: 1e-14 * n**3).verdict == "false"


def test_the_share_of_communication_is_that_of_the_timed_phases() -> None:
    grows = found(made(*timed(lambda gpus: 0.1 * gpus)))["share"]
    assert grows.verdict == "true"
    assert grows.numbers == pytest.approx([0.3])
    assert grows.rows[0][1:] == ["10 %", "20 %", "40 %", "true"]
    assert found(made(*timed(lambda gpus: 0.5 / gpus)))["share"].verdict == "false"


def test_a_model_that_does_not_split_steps_is_not_said_to_be_missing() -> None:
    data = records()
    (group,) = groups_of(data)
    share = found(data, models={group: md()})["share"]
    assert share.reason == (
        "its phases were not timed, and a model of its kind does not split a step into T_gpu, "
        "T_cpu and T_com"
    )


def test_shares_at_a_size_of_one_count_are_open_for_that() -> None:
    data = made(step(1000, 1, [1e-3]), step(8000, 1, [8e-3]), step(8000, 2, [5e-3]))
    assert found(data)["share"].reason == "n = 1000 was measured on one number of GPUs only"


def test_a_models_shares_stand_in_for_phases_nobody_timed() -> None:
    data = steps_alone(sigma=1e-4)
    alone = found(data)["share"]
    assert alone.reason == "its phases were not timed, and no model is given"
    (group,) = groups_of(data)
    model = gc.fit(data, model="paper", replicates=0)
    share = found(data, models={group: model})["share"]
    assert share.verdict == "true"
    _, _, com = NATIVE.terms(np.array([1000.0, 1000.0]), np.array([1.0, 4.0]))
    truth = com / NATIVE.seconds(np.array([1000.0, 1000.0]), np.array([1.0, 4.0]))
    assert share.numbers == pytest.approx([truth[1] - truth[0]], abs=0.1)


def test_a_remote_path_is_dearer_in_every_quantity() -> None:
    data = made(*links(NATIVE, "native"), *links(VIRTUALIZED, "remote"))
    dearer = found(data)["dearer"]
    assert dearer.verdict == "true"
    by_name = {row[0]: n for row, n in zip(dearer.rows, dearer.numbers, strict=True)}
    assert set(by_name) == {
        "L_h2d, pinned", "1/B_h2d, pinned", "L_d2h, pinned", "1/B_d2h, pinned",
        "t_kernel, submitted",
    }  # fmt: skip
    expected = {
        "t_kernel, submitted": VIRTUALIZED.t_kernel / NATIVE.t_kernel,
        "1/B_h2d, pinned": NATIVE.B_h2d / VIRTUALIZED.B_h2d,
        "L_d2h, pinned": VIRTUALIZED.L_d2h / NATIVE.L_d2h,
    }
    for name, ratio in expected.items():
        assert by_name[name] == pytest.approx(ratio, rel=0.05)
    # Five samples have no 95 % interval of their median; nine have.
    assert dearer.intervals == [None] * 5
    dearer = found(made(*links(NATIVE, "native", 9), *links(VIRTUALIZED, "remote", 9)))["dearer"]
    for number, ends in zip(dearer.numbers, dearer.intervals, strict=True):
        assert 0.95 * number < ends[0] < number < ends[1] < 1.05 * number


def test_a_remote_path_that_is_cheaper_refutes() -> None:
    data = made(*links(VIRTUALIZED, "native"), *links(NATIVE, "remote"))
    assert found(data)["dearer"].verdict == "false"
    alone = found(made(*links(NATIVE, "native")))["dearer"]
    assert alone.verdict == "cannot be told"
    assert "both 'native' and another path" in str(alone.reason)


def test_the_gap_is_widest_at_small_n_and_many_gpus_or_not() -> None:
    def gap(extra: Seconds) -> findings.Finding:
        far = native(lambda n, gpus: 1e-5 * n + extra(n, gpus), path="remote")
        return found(made(*native(lambda n, gpus: 1e-5 * n), *far))["gap"]

    latency = gap(lambda n, gpus: 1e-3 * gpus)
    assert latency.verdict == "true"
    assert latency.numbers == pytest.approx([0.4], rel=1e-2)  # 4 ms beyond 10 ms
    assert gap(lambda n, gpus: 1e-6 * n * gpus).verdict == "false"  # a share that n leaves as it is
    assert gap(lambda n, gpus: 1e-3 / gpus).verdict == "false"


def test_the_native_path_is_found_by_its_name_or_given() -> None:
    data = made(*native(VIRTUALIZED.seconds, path="far"), *native(path="local"))
    assert findings.native_path(data) == "local"
    assert found(data)["gap"].rows[0][0].startswith("far")
    assert found(data, native="far")["gap"].rows[0][0].startswith("local")
    with pytest.raises(gc.InputError, match="there are: far, local"):
        findings.findings(data, native="moon")


def test_data_without_anything_to_tell_are_refused() -> None:
    with pytest.raises(gc.InputError, match="no steps, transfers or launches"):
        findings.findings(gc.load("host-memory-gtx480"))


def test_published_steps_on_one_gpu_cannot_tell_but_say_why() -> None:
    for finding in findings.findings(gc.load("dscuda")):
        assert finding.verdict == "cannot be told"
        assert finding.reason
