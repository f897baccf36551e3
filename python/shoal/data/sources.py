# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What batches are read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal.files import expect_whole
from shoal.frontend import pytrees

Tree = Any


class Source(ABC):
    """Rows that can be read by their numbers.

    count: how many there are. reads_in_order: whether numbers have to grow.
    """

    count: int
    reads_in_order = False

    @abstractmethod
    def read(self, rows: np.ndarray) -> Tree:
        """The rows of these numbers as arrays [len(rows), ...], in a tree of the source's own."""


def as_source(data: Any) -> Source:
    """InputError for what is none.

    A tree of arrays (an array, also one of `np.load(path, mmap_mode="r")`, or a dict or tuple
    of them) has a row of each in its rows. A list, and whatever else has a length and items by
    numbers, has examples: trees of arrays and numbers. What can only be iterated over has its
    examples in that order.
    """
    if isinstance(data, Source):
        return data
    if hasattr(data, "shape") or isinstance(data, (Mapping, tuple)):
        return _Arrays(data)
    if not hasattr(data, "__len__"):
        raise InputError(f"data: expected arrays, or what has a length, got {type(data).__name__}")
    if hasattr(data, "__getitem__"):
        return _Examples(data)
    return _Stream(data)


class _Arrays(Source):
    def __init__(self, tree: Tree):
        leaves, self._spec = pytrees.flatten(tree)
        for leaf in leaves:
            if not getattr(leaf, "shape", ()):
                raise InputError(f"data: expected arrays with rows, got {type(leaf).__name__}")
        counts = {len(leaf) for leaf in leaves}
        if len(counts) != 1:
            raise InputError(f"data: arrays of {sorted(counts)} rows; expected one number")
        self._leaves = leaves
        (self.count,) = counts

    def read(self, rows: np.ndarray) -> Tree:
        for leaf in self._leaves:
            expect_whole(leaf, "data")
        return pytrees.unflatten(self._spec, [np.asarray(leaf[rows]) for leaf in self._leaves])


class _Examples(Source):
    def __init__(self, examples: Sequence[Tree]):
        self._examples = examples
        self.count = len(examples)

    def read(self, rows: np.ndarray) -> Tree:
        return stack([self._examples[int(row)] for row in rows], rows)


class _Stream(Source):
    reads_in_order = True

    def __init__(self, examples: Iterable[Tree]):
        self._examples = examples
        self.count = len(examples)  # type: ignore[arg-type]
        self._iterator: Iterator[Tree] = iter(())
        self._next = self.count

    def read(self, rows: np.ndarray) -> Tree:
        return stack([self._example(int(row)) for row in rows], rows)

    def _example(self, row: int) -> Tree:
        if row < self._next:
            self._iterator, self._next = iter(self._examples), 0
        for example in self._iterator:
            self._next += 1
            if self._next > row:
                return example
        raise InputError(f"data: ends behind {self._next} of {self.count} examples")


def stack(examples: Sequence[Tree], rows: np.ndarray) -> Tree:
    """One tree of arrays with a row of each example; InputError where these are not alike."""
    columns = []
    first = None
    for row, example in zip(rows, examples):
        leaves, spec = pytrees.flatten(example)
        if first is None:
            first = spec
        if spec != first:
            raise InputError(
                f"data: example {row} has the structure {pytrees.describe(spec)}, "
                f"example {rows[0]} has {pytrees.describe(first)}"
            )
        columns.append(list(map(np.asarray, leaves)))
    made = []
    for column in zip(*columns):
        for row, leaf in zip(rows, column):
            if (leaf.shape, leaf.dtype) != (column[0].shape, column[0].dtype):
                raise InputError(
                    f"data: example {row} has an array {leaf.dtype}{list(leaf.shape)}, "
                    f"example {rows[0]} has {column[0].dtype}{list(column[0].shape)}"
                )
        made.append(np.stack(column))
    return pytrees.unflatten(first, made)
