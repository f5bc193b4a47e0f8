"""Unions of intervals, against a clock that counts every tick."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.traces.parts import Union

Intervals = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12)


def union(pairs: list[tuple[int, int]]) -> Union:
    """The union of intervals given by start and length."""
    return Union.of([start for start, _ in pairs], [start + length for start, length in pairs])


def ticks(pairs: list[tuple[int, int]]) -> set[int]:
    """Every tick within."""
    return {tick for start, length in pairs for tick in range(start, start + length)}


@given(Intervals, Intervals)
def test_a_union_covers_the_ticks_of_its_intervals(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    both = union(one) | union(other)
    assert int((both.ends - both.starts).sum()) == len(ticks(one + other))
    assert np.all(both.starts[1:] > both.ends[:-1])


@given(Intervals, st.lists(st.integers(-5, 50), min_size=2, max_size=8))
def test_what_is_covered_within_bounds_is_counted_tick_by_tick(
    pairs: list[tuple[int, int]], bounds: list[int]
) -> None:
    edges = np.sort(np.array(bounds, np.int64))
    found = union(pairs).within(edges[:-1], edges[1:])
    there = ticks(pairs)
    expected = [len(there & set(range(start, end))) for start, end in pairwise(edges.tolist())]
    assert found.tolist() == expected
