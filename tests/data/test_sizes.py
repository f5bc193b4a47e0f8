"""Sizes of any program: real numbers, beyond 32 bits, and shown as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.answers.planning.isoefficiency import from_n_on
from gpucast.data import jsonl
from gpucast.data.records import Step
from gpucast.data.workload import LARGEST_GPUS, LARGEST_N
from gpucast.model import asked
from gpucast.util.units import number, plain
from made_data import step
from records_samples import STEP, relaxed


def read(**changes: object) -> Step:
    record = jsonl.record({**STEP, **changes})
    assert isinstance(record, Step)
    return record


@pytest.mark.parametrize("n", [1, 0.25, 1.5e9, LARGEST_N, 2**53 + 1])
def test_a_size_is_read_as_it_was_given(n: float) -> None:
    step = read(n=n)
    assert step.n == n
    assert jsonl.record(jsonl.to_object(step)) == step


def test_whole_numbers_are_integers_however_they_are_written() -> None:
    written = (read(n=n).n for n in (3_000_000_000, 3e9, 1.0))
    assert [type(n) for n in written] == [int, int, int]
    assert '"n":3000000000,' in jsonl.to_line(read(n=3e9))


def test_records_and_models_have_the_same_limits() -> None:
    assert read(n=LARGEST_N, gpus=LARGEST_GPUS).gpus == 10**6
    assert asked.checked_sizes([LARGEST_N])[0] == 1e18
    assert asked.checked_counts([LARGEST_GPUS])[0] == 1e6


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (1000, "1000"),
        (1_500_000.0, "1500000"),
        (10**9, "1000000000"),
        (3e9, "3e9"),
        (1_234_567_890, "1.23457e9"),
        (10**18, "1e18"),
        (0.25, "0.25"),
        (1.5e-7, "1.5e-7"),
    ],
)
def test_a_size_is_shown_in_the_digits_that_matter(n: float, text: str) -> None:
    assert number(n) == text


@relaxed
@given(st.floats(1e-300, 1e18))
def test_a_size_for_json_is_the_same_number(n: float) -> None:
    assert plain(n) == n
    assert isinstance(plain(n), int) == (n.is_integer() and n < 2**53)


@pytest.mark.parametrize(("low", "high", "wanted"), [(0.25, 8.0, 1.7), (1e15, 1e18, 3.3e17)])
def test_a_crossing_is_found_among_small_and_huge_sizes(
    low: float, high: float, wanted: float
) -> None:
    (smallest,) = from_n_on(lambda n: n >= wanted, 1, low, high)
    assert smallest == pytest.approx(wanted, rel=1e-5)
    assert smallest >= wanted


def test_forecasts_keep_sizes_that_are_no_whole_numbers() -> None:
    record = step(8, 1, [1.0])
    assert record["n"] == 8
    n = asked.spaced(0.5, 4.0, 9)
    assert n.size == 9
    assert (n[0], n[-1]) == (0.5, 4.0)
    assert list(asked.spaced(1, 4, 9)) == [1, 2, 3, 4]
