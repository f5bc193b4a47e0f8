"""Periods of sequences, compared with the simplest way to find them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.traces import repetition
from gpucast.data.traces.repetition import FEWEST_REPEATS

Words = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def is_power(word: list[int]) -> bool:
    """Whether a word is a repeated shorter one."""
    size = len(word)
    return any(size % n == 0 and word == word[:n] * (size // n) for n in range(1, size))


@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_stretches_are_of_one_class_exactly_if_they_are_equal(
    tokens: list[int], data: st.DataObject
) -> None:
    place = st.integers(0, len(tokens))
    pairs = [sorted(data.draw(st.tuples(place, place))) for _ in range(6)]
    begins, ends = np.array(pairs).T
    classes = repetition.classes(np.array(tokens, np.int64), begins, ends)
    for one in range(6):
        for other in range(6):
            same = tokens[begins[one] : ends[one]] == tokens[begins[other] : ends[other]]
            assert (classes[one] == classes[other]) == same


@given(Words, st.integers(FEWEST_REPEATS, 20))
def test_the_period_of_a_word_said_often_is_the_word(word: list[int], times: int) -> None:
    period = repetition.period(np.array(word * times, np.int64))
    assert period is not None
    assert len(word) % period == 0
    assert (period == len(word)) == (not is_power(word))


@given(st.lists(st.integers(0, 4), min_size=FEWEST_REPEATS, max_size=60))
def test_no_shorter_period_repeats_as_well(tokens: list[int]) -> None:
    sequence = np.array(tokens, np.int64)
    period = repetition.period(sequence)
    longest = len(tokens) // FEWEST_REPEATS
    shares = [float(np.mean(sequence[:-n] == sequence[n:])) for n in range(1, longest + 1)]
    best = max(shares)
    if period is None:
        assert best < repetition.FAIR_SHARE
        return
    chance = 3 * np.sqrt(best * (1 - best) / len(tokens))
    enough = best - max(repetition.NOTICEABLE, chance)
    assert period == next(n for n, share in enumerate(shares, 1) if share >= enough)


@given(Words.filter(lambda word: not is_power(word)), st.integers(8, 20), st.data())
def test_repeats_end_at_the_heaviest_place(
    word: list[int], times: int, data: st.DataObject
) -> None:
    heavy = data.draw(st.integers(0, len(word) - 1))
    weights = np.zeros(len(word) * times)
    weights[heavy :: len(word)] = 1.0
    ends = repetition.rhythm(np.array(word * times, np.int64), weights)
    assert ends is not None
    assert repetition.period(np.array(word * times, np.int64)) == len(word)
    everywhere = np.arange(heavy, weights.size, len(word))
    # The first end of a long word may lack the tokens that identify its place.
    assert set(everywhere[1:]) <= set(ends) <= set(everywhere)


def test_what_is_done_between_leaves_the_rhythm() -> None:
    word = [1, 2, 3, 2]
    tokens = np.array([9, 9, *word * 10, 7, 8, *word * 10], np.int64)
    ends = repetition.rhythm(tokens, (tokens == 3).astype(float))
    assert ends is not None
    assert repetition.period(tokens) == 4
    assert set(np.diff(ends)) == {4, 6}


def test_a_sequence_without_any_repeats_has_no_period() -> None:
    assert repetition.period(np.arange(1000)) is None
    assert repetition.period(np.array([1, 2, 1, 2], np.int64)) is None


def test_a_long_period_is_found_among_many_symbols() -> None:
    random = np.random.default_rng(1)
    word = random.integers(0, 300, 5000)
    assert repetition.period(np.tile(word, 40)) == 5000
    noisy = np.tile(word, 40)
    hit = random.random(noisy.size) < 0.05
    noisy[hit] = random.integers(0, 300, int(hit.sum()))
    assert repetition.period(noisy) == 5000


def test_stretches_with_something_more_are_similar() -> None:
    tokens = np.array([1, 2, 3, 4, 1, 2, 9, 3, 4, 1, 2, 3, 5, 6, 7, 8, 5], np.int64)
    begins, ends = np.array([0, 4, 9, 12, 0]), np.array([4, 9, 12, 17, 17])
    similar = repetition.similar(tokens, begins, ends, 0, np.array([1, 2, 3, 4]))
    assert similar.tolist() == [True, True, False, False]
