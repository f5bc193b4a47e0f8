"""Copies at the same time: what they share, and forecasts of several from few."""

from typing import Any

import pytest

from command_line import Run, answer_of, assert_refused
from contention_samples import BYTES, DOWN, DUPLEX, LINK, NVLINK, UP, WRITES, four_gpus, record
from gpucast.data import jsonl
from gpucast.errors import InputError
from gpucast.paths.contention import Contention, contention, describe, fair_rates
from made_data import dataset, machine


def found(records: list[dict[str, Any]]) -> Contention:
    (only,) = contention(dataset([machine(), *records]))
    return only


def test_what_is_shared_is_told_from_what_is_not() -> None:
    answer = found(four_gpus())
    pairs = {tested.copies for tested in answer.pairs if tested.disturbed}
    assert pairs == {
        pair for up, down in zip(UP, DOWN, strict=True) for pair in ((up, down), (down, up))
    }
    (duplex,) = [tested for tested in answer.pairs if tested.copies == (UP[0], DOWN[0])]
    assert duplex.factor == pytest.approx(LINK / (DUPLEX / 2))
    assert duplex.interval[0] < duplex.factor < duplex.interval[1]


def test_sets_are_forecast_from_single_copies_pairs_and_the_other_sets() -> None:
    answers = found(four_gpus()).forecasts
    forecasts = {answer.measured.label: answer for answer in answers}
    assert set(forecasts) == {
        *("3 up", "4 up", "3 down", "4 down"),
        *("2 up and 2 down", "3 up and 3 down", "4 up and 4 down"),
        *("gpu0 to 3 others", "3 others to gpu0"),
        "gpu0>gpu1, gpu1>gpu0, gpu2>gpu3, gpu3>gpu2",
    }
    assert len(answers) == len(forecasts) + 3  # both directions of three sets were timed
    for answer in answers:
        assert abs(answer.fitted_error) < 0.01
        assert abs(answer.error) < 0.01, answer
    assert forecasts["gpu0 to 3 others"].limit == "egress of gpu0"
    assert forecasts["4 down"].limit == "host memory, writes"


def test_a_memory_that_no_other_set_fills_is_not_guessed() -> None:
    made = [record(copy, LINK) for copy in DOWN]
    made += [record(DOWN[0], LINK, DOWN[1]), record(DOWN[0], WRITES / 4, *DOWN[1:])]
    (down,) = found(made).forecasts
    assert down.error == pytest.approx(WRITES / 4 / LINK - 1, rel=0.01)
    assert abs(down.fitted_error) < 0.01


def test_a_pair_with_a_copy_that_was_not_timed_alone_stops_nothing() -> None:
    made = [record(copy, LINK) for copy in DOWN]
    made += [record(DOWN[0], LINK, ("gpu0", "gpu9")), record(DOWN[0], WRITES / 4, *DOWN[1:])]
    answer = found(made)
    assert (len(answer.pairs), len(answer.forecasts)) == (1, 1)


def test_copies_that_share_one_port_pairwise_share_it_all_together() -> None:
    # Three links of 50 GB/s behind one port of 60.
    made = [record(copy, LINK) for copy in UP[:3]]
    made += [record(a, 30e9, b) for a in UP[:3] for b in UP[:3] if a != b]
    made.append(record(UP[0], 20e9, UP[1], UP[2]))
    (forecast,) = found(made).forecasts
    assert abs(forecast.error) < 0.01
    assert forecast.limit.startswith("shared by")


def test_rates_are_max_min_fair() -> None:
    a, b, c = ("host", "a"), ("host", "b"), ("host", "c")
    shared = {"slow": {a: 1 / 10}, "wide": dict.fromkeys((a, b, c), 1 / 100)}
    rates = fair_rates([a, b, c], shared)
    assert rates == {a: (10, "slow"), b: (45, "wide"), c: (45, "wide")}
    with pytest.raises(ValueError, match="nothing limits"):
        fair_rates([a], {})


def test_sets_have_short_names() -> None:
    assert describe(UP) == "4 up"
    assert describe([UP[0], *DOWN]) == "1 up and 4 down"
    assert describe([UP[0], DOWN[0]]) == "host>gpu0, gpu0>host"


def test_copies_are_held_against_those_alone_with_the_same_memory() -> None:
    def in_memory(made: dict[str, Any], memory: str) -> dict[str, Any]:
        return {**made, "memory": memory}

    made = [
        in_memory(record(UP[0], LINK / 3), "pageable"),
        in_memory(record(UP[0], LINK), "mapped"),
        in_memory(record(UP[0], LINK / 6, UP[1]), "pageable"),
    ]
    (pair,) = found(made).pairs
    assert pair.factor == pytest.approx(2)


def test_sets_may_mix_sizes_and_copies_that_the_receiver_makes_stand_apart() -> None:
    def sized(made: dict[str, Any], size: int) -> dict[str, Any]:
        scale = size / made["bytes"]
        return {**made, "bytes": size, "seconds": [s * scale for s in made["seconds"]]}

    out = [("gpu0", "gpu1"), ("gpu0", "gpu2")]
    large = 8 * BYTES
    made = [record(UP[0], LINK), *(sized(record(copy, NVLINK), large) for copy in out)]
    made += [record(copy, NVLINK / 4) for copy in out]  # not the size of those in the set
    made.pop(2)  # gpu0>gpu2, which has another size left
    made.append(sized(record(out[1], NVLINK), large // 2))
    several = sized(record(out[0], NVLINK / 2, out[1], UP[0]), large)
    several["concurrent"][1]["bytes"] = BYTES
    made.append(several)
    reads = [
        {**sized(record(copy, NVLINK / 5), large), "issuer": copy[1]} for copy in out
    ]  # alone, by the receiver: another setting, without sets
    (forecast,) = found([*made, *reads]).forecasts
    assert forecast.measured.bytes == large
    assert forecast.measured.factor == pytest.approx(2)
    assert abs(forecast.error) < 0.01


def test_nothing_at_the_same_time_is_an_error() -> None:
    with pytest.raises(InputError, match="beside others"):
        contention(dataset([machine(), record(UP[0], LINK)]))
    with pytest.raises(InputError, match="alone"):
        contention(dataset([machine(), record(UP[0], LINK, UP[1])]))


def write(path: Any, records: list[dict[str, Any]]) -> Any:
    path.write_text(jsonl.to_text(dataset([machine(), *records])._all()))
    return path


def test_the_command_prints_matrix_statement_and_forecasts(run: Run, tmp_path: Any) -> None:
    file = write(tmp_path / "d.jsonl", four_gpus())
    status, out, err = run("data", "contention", file)
    assert (status, err) == (0, "")
    assert "4 of 24 timed copies are not disturbed" in out
    assert "host memory" in out
    assert "4 up and 4 down" in out
    (answer,) = answer_of(run("data", "contention", file, "--json"))["contention"]
    assert {entry["bytes"] for entry in answer["pairs"]} == {BYTES}
    assert sum(pair["shared"] for pair in answer["pairs"]) == 8
    assert all(abs(entry["relative_error"]) < 0.01 for entry in answer["forecasts"])


def test_the_command_refuses_data_without_concurrent_copies(run: Run) -> None:
    assert_refused(run("data", "contention", "p2p-copy"), "p2p-copy", "concurrent")
    assert_refused(run("data", "contention", "pcie-contention-cirrascale"), "alone")
