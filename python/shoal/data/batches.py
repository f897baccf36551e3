# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches: from a place in the order of samples to arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shoal.data.orders import Epochs, Mixed, Mixture, Order, Rows
from shoal.data.batch_placement import BatchPlacement
from shoal.data.reader import Reader
from shoal.data.sources import as_source
from shoal.devices import Devices
from shoal.errors import InputError
from shoal.frontend import pytrees
from shoal.mesh import Mesh

Tree = Any
_LASTS = ("rollover", "drop", "pad")


class Batches:
    """The batches of some data, by number: `batches[n]` is always the same.

    They are rows of one endless order of samples, batch n the samples from n times the batch size
    on. So there is nothing to save but how many samples are behind a run (`TrainState.samples`),
    and it goes on at the next one, whatever the size of its batches is then.

    data: arrays, examples (see `as_source`), or a `Mixture`.
    batch_size: rows of a batch, on all devices together.
    seed: of the order, another one in each epoch; None: as they are.
    epochs: how often; None: without an end.
    last: what becomes of rows that do not fill a batch at the end of an epoch. "rollover": the
      next epoch fills it, so that each row comes once in each epoch; rows are left out behind the
      last epoch alone. "drop": others are left out in each epoch, where they are shuffled. "pad":
      the batch is filled with a row, and each item is a pair of a batch and a mask, bool
      [batch_size], false for those. With the latter two the order of samples depends on the batch
      size: a run goes on with its own.
    mesh, sharding: batches are `shoal.Array`s there, a tree of P for a batch or a prefix of
      one. In an MPI job each process then reads the rows of its device alone. Without a mesh
      they are NumPy's, the same whole ones in every process.
    devices: of `launch`; by default those of this process.
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        *,
        seed: int | None = None,
        epochs: int | None = None,
        last: str = "rollover",
        mesh: Mesh | None = None,
        sharding: Any = None,
        devices: Devices | None = None,
    ):
        if batch_size < 1:
            raise InputError(f"batch_size: expected at least 1, got {batch_size}")
        if last not in _LASTS:
            raise InputError(f'last: expected "rollover", "drop" or "pad", got {last!r}')
        if sharding is not None and mesh is None:
            raise InputError("sharding: needs a mesh")
        self.batch_size = batch_size
        self._order = _order_of(data, batch_size, seed, epochs, last)
        self._epochs = epochs
        self.last = last
        self._placement = None if mesh is None else BatchPlacement(mesh, sharding, devices)

    @property
    def per_epoch(self) -> int | None:
        """How many whole batches an epoch has; None of a mixture, which has none."""
        rows = self._order.per_epoch
        return None if rows is None else rows // self.batch_size

    @property
    def _end(self) -> int | None:
        """How many samples there are; None: without an end."""
        rows = self._order.per_epoch
        return None if self._epochs is None or rows is None else self._epochs * rows

    @property
    def count(self) -> int | None:
        """How many there are; None: without an end."""
        return None if self._end is None else self._end // self.batch_size

    def __len__(self) -> int:
        if self.count is None:
            raise TypeError("batches without an end have no length: see epochs")
        return self.count

    def __getitem__(self, number: int) -> Tree:
        if number < 0 or (self.count is not None and number >= self.count):
            raise IndexError(f"batch {number} of {self.count}")
        return self._finish(self._read(number * self.batch_size))

    def __iter__(self) -> Iterator[Tree]:
        return self.start()

    def start(self, *, samples: int = 0, ahead: int = 2) -> Reader:
        """The batches behind so many samples; a thread reads up to `ahead` of them before.

        InputError where there are fewer samples, and where it is no number of whole batches of an
        order that depends on their size (see `last`).
        """
        end = self._end
        if samples < 0 or (end is not None and samples > end):
            raise InputError(f"start: samples: {samples} of {end}")
        if self.last != "rollover" and samples % self.batch_size:
            raise InputError(
                f'start: samples: {samples} is within a batch of {self.batch_size}, and last="{self.last}" '
                'depends on the batch size: last="rollover" goes on with any'
            )
        return Reader(self._read, self._finish, samples, end, self.batch_size, ahead)

    def _read(self, place: int) -> tuple[int, Tree, np.ndarray | None]:
        """Of the batch that begins there what this process needs: its first row, its rows, and the
        mask of the whole batch."""
        places = np.arange(self.batch_size) + place
        mine = slice(0, self.batch_size)
        if self._placement:
            one = self._order.at(places[:1])
            mine = self._placement.rows(self.batch_size, lambda: _joined(one, 1))
        rows = _joined(self._order.at(places[mine]), mine.stop - mine.start)
        mask = self._order.has_row(places) if self.last == "pad" else None
        return mine.start, rows, mask

    def _finish(self, read: tuple[int, Tree, np.ndarray | None]) -> Tree:
        begin, rows, mask = read
        batch = self._placement.put(rows, begin) if self._placement else rows
        return batch if mask is None else (batch, mask)


def _order_of(
    data: Any, batch_size: int, seed: int | None, epochs: int | None, last: str
) -> Order:
    if isinstance(data, Mixture):
        if epochs is not None or last != "rollover":
            raise InputError("a mixture has no epochs of its own, and no last batch")
        _check_shuffled(seed, *data.sources)
        return Mixed(data, seed)
    source = as_source(data)
    _check_shuffled(seed, source)
    rest = source.count % batch_size
    places = source.count + {"rollover": 0, "drop": -rest, "pad": -source.count % batch_size}[last]
    if places < batch_size:
        raise InputError(f"batch_size {batch_size}: there are {source.count} rows")
    return Epochs(source, seed, places)


def _check_shuffled(seed: int | None, *sources: Any) -> None:
    if seed is not None and any(source.reads_in_order for source in sources):
        raise InputError("seed: data that is iterated over cannot be shuffled: make a list of it")


def _joined(parts: list[Rows], count: int) -> Tree:
    """One tree of so many rows."""
    trees = [part.source.read(part.rows) for part in parts]
    if len(parts) == 1:
        return trees[0]
    flat = [pytrees.flatten(tree) for tree in trees]
    first = flat[0][0]
    for leaves, spec in flat:
        types = [(leaf.shape[1:], leaf.dtype) for leaf in leaves]
        if spec != flat[0][1] or types != [(leaf.shape[1:], leaf.dtype) for leaf in first]:
            raise InputError("mixture: the sources' rows are of different structures or types")
    made = [np.empty((count, *leaf.shape[1:]), leaf.dtype) for leaf in first]
    for part, (leaves, _) in zip(parts, flat):
        for whole, leaf in zip(made, leaves):
            whole[part.places] = leaf
    return pytrees.unflatten(flat[0][1], made)
