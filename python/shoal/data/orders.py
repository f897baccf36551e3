# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which rows a batch has: a function of its place in the order of all samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.data.permutation import permuted
from shoal.data.sources import Source, as_source
from shoal.errors import InputError

# Weights of sources are parts of so many at most: the pattern of a mixture is not longer.
_PATTERN = 1000


class Rows(NamedTuple):
    """Rows of one source, and which places of a batch they take."""

    source: Source
    places: np.ndarray
    rows: np.ndarray


class Order(ABC):
    """Examples in the order of training.

    per_epoch: how many places an epoch has; None where there are no epochs.
    """

    per_epoch: int | None = None

    @abstractmethod
    def at(self, places: np.ndarray) -> list[Rows]:
        """The rows at these places of the order, from 0 on."""

    def has_row(self, places: np.ndarray) -> np.ndarray:
        """Of each place, whether it is one of a row that fills no gap."""
        return np.ones(places.shape, bool)


class Epochs(Order):
    """One source, again and again, in another order each time where there is a seed."""

    def __init__(self, source: Source, seed: int | None, per_epoch: int):
        """per_epoch: more than there are rows where the last batch has gaps, fewer where it is dropped."""
        self._source = source
        self._seed = seed
        self.per_epoch = per_epoch

    def at(self, places: np.ndarray) -> list[Rows]:
        epochs, inside = np.divmod(places, self.per_epoch)
        # A gap has some row of this epoch: no value of its own that could mislead.
        inside = np.where(inside < self._source.count, inside, self._source.count - 1)
        return [Rows(self._source, np.arange(len(places)), self._rows(epochs, inside))]

    def has_row(self, places: np.ndarray) -> np.ndarray:
        return places % self.per_epoch < self._source.count

    def _rows(self, epochs: np.ndarray, inside: np.ndarray) -> np.ndarray:
        return _shuffled(self._source.count, self._seed, epochs, inside)


class Mixture:
    """Several sources, each as often as its weight says; each begins again where it ends.

    Of every so many examples the same ones are of each source, as evenly as can be; in which
    order a source's examples come follows from the seed and the source's own epoch.
    """

    def __init__(self, sources: Sequence[Any], weights: Sequence[float]):
        """weights: of each source, relative to the others, kept to a thousandth of their sum."""
        if len(sources) != len(weights) or not sources:
            raise InputError(f"mixture: {len(sources)} sources but {len(weights)} weights")
        if any(not 0.0 < weight < float("inf") for weight in weights):
            raise InputError(f"mixture: expected weights above 0, got {list(weights)}")
        self.sources = [as_source(source) for source in sources]
        for number, source in enumerate(self.sources):
            if not source.count:
                raise InputError(f"mixture: source {number} has no rows")
        self.pattern = _pattern(weights)


class Mixed(Order):
    """A mixture's examples, without an end."""

    def __init__(self, mixture: Mixture, seed: int | None):
        self._mixture = mixture
        self._seed = seed
        pattern = mixture.pattern
        ones = pattern[None] == np.arange(len(mixture.sources))[:, None]
        # Of each source, how many examples it has before each place of the pattern, and in it.
        self._before = np.cumsum(ones, 1) - ones
        self._in_pattern = ones.sum(1)

    def at(self, places: np.ndarray) -> list[Rows]:
        patterns, inside = np.divmod(places, len(self._mixture.pattern))
        chosen = self._mixture.pattern[inside]
        found = []
        for number, source in enumerate(self._mixture.sources):
            mine = np.flatnonzero(chosen == number)
            if mine.size:
                turns = patterns[mine] * self._in_pattern[number] + self._before[number, inside[mine]]
                epochs, rows = np.divmod(turns, source.count)
                seed = None if self._seed is None else self._seed + number
                found.append(Rows(source, mine, _shuffled(source.count, seed, epochs, rows)))
        return found


def _shuffled(
    count: int, seed: int | None, epochs: np.ndarray, inside: np.ndarray
) -> np.ndarray:
    """The rows at these places of these epochs."""
    if seed is None:
        return inside
    rows = np.empty_like(inside)
    for epoch in np.unique(epochs):
        here = epochs == epoch
        rows[here] = permuted(inside[here], count, seed, int(epoch))
    return rows


def _pattern(weights: Sequence[float]) -> np.ndarray:
    """Numbers of sources, each as often as its weight says: the one that is most behind is next."""
    counts = _counts(np.asarray(weights, np.float64))
    total = int(counts.sum())
    behind = np.zeros(len(counts), np.int64)
    pattern = np.empty(total, np.int64)
    for place in range(total):
        behind += counts
        pattern[place] = chosen = int(np.argmax(behind))
        behind[chosen] -= total
    return pattern


def _counts(weights: np.ndarray) -> np.ndarray:
    """Whole numbers in the weights' proportions, at least 1: the fewest that are exact, or parts
    of a thousand."""
    shares = weights / weights.sum()
    for total in range(len(shares), _PATTERN + 1):
        counts = np.rint(shares * total)
        if np.allclose(counts, shares * total, rtol=1e-9, atol=1e-9):
            return counts.astype(np.int64)
    return np.maximum(np.rint(shares * _PATTERN), 1).astype(np.int64)
