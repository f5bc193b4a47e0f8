"""Repetition in a sequence of numbers, with parts that only some repeats have.

All functions take O(n log n) for n numbers, in numpy.

Stretches are compared by a hash: with r(t) a fixed random 64-bit number of token t and B odd,
S(i) = sum over j < i of r(x_j) B^j modulo 2^64, and (S(b) - S(a)) B^-a is the same for equal
stretches [a, b) wherever they begin, and for different ones with a chance of about 2^-64.

The quality of a period p is the share of i with x_i = x_(i+p). For all p at once it is an
autocorrelation: each token becomes a random point z of the unit circle, and the mean of z_i conj
z_(i+p), computed by an FFT, is that share with noise of 1/sqrt(n). Good candidates are then counted
exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FEWEST_REPEATS = 5
NOTICEABLE = 0.02
"""A longer period is better only if this additional share of the sequence repeats after it."""
FAIR_SHARE = 0.5
"""The least share of a sequence that repeats after a period."""

ALIKE = 0.9
"""The least share of tokens that similar stretches have in common."""
MOST_COMPARED = 5000
"""Limit of the stretches that are compared with the usual one."""

_ROUNDS = 4
_COUNTED_EXACTLY = 64
_BASE = np.uint64(0x9E3779B97F4A7C15)


def classes(tokens: Ints, begins: Ints, ends: Ints) -> Ints:
    """Return a number from 0 for each stretch [begin, end); equal stretches have equal numbers."""
    size = tokens.size
    with np.errstate(over="ignore"):
        powers = np.full(size + 1, _BASE)
        powers[0] = 1
        powers = np.cumprod(powers, dtype=np.uint64)
        inverse = np.full(size + 1, np.uint64(pow(int(_BASE), -1, 2**64)))
        inverse[0] = 1
        inverse = np.cumprod(inverse, dtype=np.uint64)
        sums = np.zeros(size + 1, np.uint64)
        np.cumsum(_random(tokens) * powers[:-1], out=sums[1:], dtype=np.uint64)
        hashes = (sums[ends] - sums[begins]) * inverse[begins]
    numbers: Ints = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    return numbers


def ranked(tokens: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the class of each stretch, 0 for the most frequent one, and for each class its first
    stretch and its size."""
    numbers = classes(tokens, begins, ends)
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    return rank[numbers], first[order], counts[order]


def _random(tokens: Ints) -> NDArray[np.uint64]:
    """Return a pseudo-random number for each token (splitmix64)."""
    with np.errstate(over="ignore"):
        z = (tokens.astype(np.uint64) + np.uint64(1)) * _BASE
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def period(tokens: Ints) -> int | None:
    """Return the smallest period after which the sequence repeats as well as after any other.

    None if no period that fits ``FEWEST_REPEATS`` times has a sufficient share.
    """
    most = tokens.size // FEWEST_REPEATS
    if most < 1:
        return None
    looked = _shares(tokens)[1 : most + 1]
    noise = 3 / np.sqrt(_ROUNDS * tokens.size)
    candidates = np.flatnonzero(looked >= looked.max() - NOTICEABLE - 2 * noise)[:_COUNTED_EXACTLY]
    best = np.argsort(-looked, kind="stable")[:_COUNTED_EXACTLY]
    lags = np.unique(np.concatenate([candidates, best])) + 1
    shares = np.array([np.mean(tokens[:-lag] == tokens[lag:]) for lag in lags])
    best_share = float(shares.max())
    if best_share < FAIR_SHARE:
        return None
    # Among many multiples of a period, one repeats best by chance.
    chance = 3 * np.sqrt(best_share * (1 - best_share) / tokens.size)
    return int(lags[np.flatnonzero(shares >= best_share - max(NOTICEABLE, chance))[0]])


def _shares(tokens: Ints) -> Floats:
    """Return the approximate share of the sequence that is the same after each lag."""
    size = tokens.size
    padded = 1 << (2 * size - 1).bit_length()
    random = np.random.default_rng(20)
    numbers = np.unique(tokens, return_inverse=True)[1]
    total = np.zeros(size)
    for _ in range(_ROUNDS):
        points = np.exp(2j * np.pi * random.random(int(numbers.max()) + 1))[numbers]
        spectrum = np.fft.fft(points, padded)
        total += np.fft.ifft(np.abs(spectrum) ** 2).real[:size]
    return np.asarray(total / _ROUNDS / (size - np.arange(size)))


def rhythm(tokens: Ints, weights: Floats) -> Ints | None:
    """Return the positions at which repeats end, ascending: the place of the period with the
    largest mean weight. None if nothing repeats.

    Two ends may be more than a period apart if something else lies between.
    """
    length = period(tokens)
    if length is None:
        return None
    if length == 1:
        return np.flatnonzero(tokens == np.bincount(tokens).argmax())
    # Ends (exclusive) of a period in the steady part, one for each of its places.
    ends = _steady_end(tokens, length) - length + 1 + np.arange(length)
    context = 1  # number of tokens before a place that identify it within the period
    while context < length and np.unique(classes(tokens, ends - context, ends)).size < length:
        context = min(2 * context, length)
    begins = np.arange(tokens.size - context + 1)
    contexts = classes(tokens, begins, begins + context)
    means = np.bincount(contexts, weights[context - 1 :]) / np.bincount(contexts)
    of_places = contexts[ends - context]
    best = of_places[np.argmax(means[of_places])]
    return np.flatnonzero(contexts == best) + context - 1


def _steady_end(tokens: Ints, length: int) -> int:
    """Return the end (exclusive) of a period in the middle of the longest periodic stretch, with
    another period before it."""
    same = tokens[length:] == tokens[:-length]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(np.int8), [0]])))
    starts, stops = edges[::2], edges[1::2]
    longest = int(np.argmax(stops - starts))
    # The stretch [start, stop + length) has the period; its ends may belong to something else.
    start, stop = int(starts[longest]), int(stops[longest]) + length
    middle = start + length * ((stop - start) // length // 2 + 1)
    end = stop if stop - start < 3 * length else middle
    return min(max(end, 2 * length), tokens.size)


def similar(tokens: Ints, begins: Ints, ends: Ints, usual: int, others: Ints) -> NDArray[np.bool_]:
    """Return whether stretches equal another one up to additional or missing tokens.

    They share nine tenths of the shorter one's tokens, and none is more than twice as long.

    Args:
        usual, others: the indices of the compared stretches.
    """
    size = int(ends[usual] - begins[usual])
    lengths = (ends - begins)[others]
    near = (size <= 2 * lengths) & (lengths <= 2 * size)
    shared = np.zeros(others.size, np.int64)
    shared[near] = _shared(tokens, begins, ends, usual, others[near])
    return np.asarray(near & (shared >= ALIKE * np.minimum(size, lengths)))


def containing(
    tokens: Ints, begins: Ints, ends: Ints, usual: int, others: Ints
) -> NDArray[np.bool_]:
    """Return whether stretches have nine tenths of another one's tokens, whatever else they
    have."""
    size = int(ends[usual] - begins[usual])
    return _shared(tokens, begins, ends, usual, others) >= ALIKE * size


def _shared(tokens: Ints, begins: Ints, ends: Ints, usual: int, others: Ints) -> Ints:
    """Return the number of tokens that each of the others (the first ``MOST_COMPARED``) has in
    common with the usual one."""
    kinds = int(tokens.max()) + 1 if tokens.size else 1
    own = np.bincount(tokens[begins[usual] : ends[usual]], minlength=kinds)
    shared = np.zeros(others.size, np.int64)
    for place, other in enumerate(others[:MOST_COMPARED].tolist()):
        there = np.bincount(tokens[begins[other] : ends[other]], minlength=kinds)
        shared[place] = np.minimum(own, there).sum()
    return shared
