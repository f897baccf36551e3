# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who writes what: the same plan on every rank, made of shapes and placements alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.checkpoints.dtypes import check_dtype
from shoal.checkpoints.heads import METADATA, TABLE
from shoal.checkpoints.manifest import ArrayEntry, tensor_name
from shoal.checkpoints.regions import Cuts, Region, cells, size_of, whole
from shoal.errors import InputError

# A replica of at least so many bytes for each device that has it is cut.
_LEAST_CUT = 1 << 18


@dataclass(frozen=True)
class Held:
    """An array that is to be saved. regions: the rows that each device has."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    sharding: str
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Piece:
    """A tensor in a shard: these rows of the array with this number."""

    array: int
    name: str
    region: Region


@dataclass(frozen=True)
class Plan:
    """The arrays as the manifest has them, and the pieces of each device's shard."""

    arrays: dict[str, ArrayEntry]
    shards: tuple[tuple[Piece, ...], ...]


def plan(arrays: Sequence[Held], devices: int) -> Plan:
    """A piece is written by one of the devices that have it: large replicas by all of these, a
    part by each, small ones by who has least to write."""
    entries: dict[str, ArrayEntry] = {}
    shards: list[list[Piece]] = [[] for _ in range(devices)]
    load = [0] * devices
    for number, array in enumerate(arrays):
        cuts, holders = _cut(array)
        writers = []
        for cell, having in zip(cells(cuts), holders):
            writer = min(having, key=lambda device: (load[device], device))
            load[writer] += size_of(cell) * array.dtype.itemsize
            writers.append(writer)
            shards[writer].append(Piece(number, tensor_name(array.name, cell, cuts), cell))
        check_dtype(array.dtype, array.name)
        if array.name in (TABLE, METADATA):
            raise InputError(f"an array cannot be called {array.name}, which shards have for their own")
        if array.name in entries:
            raise InputError(f"two arrays would both be called {array.name}")
        entries[array.name] = ArrayEntry(
            array.shape, array.dtype, array.sharding, cuts, tuple(writers)
        )
    for pieces in shards:
        # Each is aligned for its elements then.
        pieces.sort(key=lambda piece: -arrays[piece.array].dtype.itemsize)
        if len({piece.name for piece in pieces}) < len(pieces):
            raise InputError("the name of an array is that of another one's piece")
    return Plan(entries, tuple(map(tuple, shards)))


def _cut(array: Held) -> tuple[Cuts, list[Sequence[int]]]:
    """Where the array is cut, and which devices may write each piece."""
    having: dict[Region, list[int]] = defaultdict(list)
    for device, region in enumerate(array.regions):
        if size_of(region) or not size_of(whole(array.shape)):
            having[region].append(device)
    cuts = tuple(
        tuple(sorted({0, size, *(bound for region in having for bound in region[dim])}))
        if size
        else (0, 0)
        for dim, size in enumerate(array.shape)
    )
    if not size_of(whole(array.shape)):
        cuts = tuple((0, size) for size in array.shape)
        return cuts, [range(len(array.regions))]
    found = cells(cuts)
    if set(found) != having.keys():
        raise InputError(f"{array.name}: its shards are no grid, or rows are missing")
    return _spread(array, cuts, [having[cell] for cell in found])


def _spread(
    array: Held, cuts: Cuts, holders: list[list[int]]
) -> tuple[Cuts, list[Sequence[int]]]:
    """Cuts large replicas for all who have them."""
    parts = min(map(len, holders))
    largest = max(map(size_of, cells(cuts))) * array.dtype.itemsize
    shortest = [min(end - begin for begin, end in zip(dim, dim[1:])) for dim in cuts]
    dim = next((d for d, length in enumerate(shortest) if length >= parts), None)
    if parts == 1 or largest < parts * _LEAST_CUT or dim is None:
        return cuts, list(holders)
    fine = (*cuts[:dim], _refined(cuts[dim], parts), *cuts[dim + 1 :])
    # Cell i of a replica is that of its i-th holder.
    by_cell = dict(zip(cells(cuts), holders))
    positions = {begin: index for index, begin in enumerate(fine[dim])}
    written: list[Sequence[int]] = []
    for cell in cells(fine):
        index = positions[cell[dim][0]]
        coarse = tuple(
            (cuts[d][index // parts], cuts[d][index // parts + 1]) if d == dim else bounds
            for d, bounds in enumerate(cell)
        )
        written.append(by_cell[coarse][index % parts : index % parts + 1])
    return fine, written


def _refined(cuts: Sequence[int], parts: int) -> tuple[int, ...]:
    """Each interval in so many."""
    made = [
        begin + (end - begin) * part // parts
        for begin, end in zip(cuts, cuts[1:])
        for part in range(parts)
    ]
    return (*made, cuts[-1])
