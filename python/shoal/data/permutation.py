# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shuffling by arithmetic: where a row comes to lie follows from its number alone."""

from __future__ import annotations

import numpy as np

_ROUNDS = 6
# Of SplitMix64 (Steele et al., OOPSLA 2014).
_GAMMA = 0x9E3779B97F4A7C15
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_WORD = (1 << 64) - 1


def permuted(places: np.ndarray, count: int, *keys: int) -> np.ndarray:
    """The rows at these places of a shuffled order of `count` rows; int64 both.

    keys: what the order follows from, as a seed and an epoch.

    A Feistel network over the least 4^k >= count numbers (64 at least), repeated while it leads beyond the
    rows (cycle walking): a bijection that needs no memory, so that a run can go on anywhere.
    """
    half = max(3, ((count - 1).bit_length() + 1) // 2)  # fewer bits mix badly
    rounds = _round_keys(keys)
    rows = places.astype(np.uint64)
    outside = np.arange(rows.size)
    while outside.size:
        rows[outside] = _feistel(rows[outside], half, rounds)
        outside = outside[rows[outside] >= count]
    return rows.astype(np.int64)


def _feistel(numbers: np.ndarray, half: int, rounds: np.ndarray) -> np.ndarray:
    """A bijection of the numbers of 2 * half bits."""
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = numbers >> bits, numbers & mask
    for key in rounds:
        left, right = right, left ^ (_mixed(right + key) & mask)
    return (left << bits) | right


def _mixed(words: np.ndarray) -> np.ndarray:
    """SplitMix64's finalizer; products are modulo 2^64."""
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return words ^ (words >> _SHIFTS[2])


def _round_keys(keys: tuple[int, ...]) -> np.ndarray:
    """A word for each round, of which every one depends on all keys."""
    state = np.zeros(1, np.uint64)
    for key in keys:
        state = _mixed(state + np.uint64((key + 1) * _GAMMA & _WORD))
    counters = np.array([(i + 1) * _GAMMA & _WORD for i in range(_ROUNDS)], np.uint64)
    return _mixed(state + counters)
