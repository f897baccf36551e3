# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a process writes of a tree of arrays."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from shoal.checkpoints.heads import PAGE
from shoal.checkpoints.manifest import ArrayEntry
from shoal.checkpoints.names import Names, check_unmasked
from shoal.checkpoints.planning import Held, Piece, Plan, plan
from shoal.checkpoints.ranks import Ranks, ranks_of
from shoal.checkpoints.regions import Region, region_of, shape_of, size_of, slices_of, whole, within
from shoal.checkpoints.shards import Contents, NamedRows
from shoal.devices import Array
from shoal.errors import InputError


class Plans:
    """The plan of the tree that was saved last: that of the next one, too, if its arrays lie so.

    names: of its leaves.
    """

    def __init__(self) -> None:
        self.names = Names()
        self._key: object = None
        self._plan = Plan({}, ())

    def of(self, leaves: Sequence[tuple[str, Any]], devices: int) -> Plan:
        key = devices, [(name, _layout(leaf)) for name, leaf in leaves]
        if key != self._key:
            self._plan = plan([_held(name, leaf, devices) for name, leaf in leaves], devices)
            self._key = key
        return self._plan


def _layout(leaf: Any) -> object:
    """Equal where two arrays have the same rows of one type on the same devices."""
    return leaf.placement if isinstance(leaf, Array) else (leaf.shape, leaf.dtype)


class Copies:
    """Memory for the copy of a snapshot, kept from one to the next."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def of(self, shards: Mapping[int, Contents]) -> dict[int, Contents]:
        """Images of them. Valid until the next call."""
        total = sum(_in_pages(shard.nbytes) for shard in shards.values())
        if len(self._memory) < total:
            self._memory = np.empty(0, np.uint8)  # never both
            self._memory = np.frombuffer(_map(total), np.uint8)
        made, begin = {}, 0
        for device, shard in shards.items():
            image = self._memory[begin : begin + shard.nbytes]
            made[device] = _copy_into(image, shard)
            begin += _in_pages(shard.nbytes)
        return made


def _map(size: int) -> mmap.mmap:
    """Memory that begins a page, and has large ones where the system has some."""
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _in_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _copy_into(image: np.ndarray, shard: Contents) -> Contents:
    pieces, begin = [], 0
    for name, rows in shard.pieces:
        copy = image[begin : begin + rows.nbytes].view(rows.dtype).reshape(rows.shape)
        copy[...] = rows
        pieces.append(NamedRows(name, copy))
        begin += rows.nbytes
    return Contents(pieces, image)


class Snapshot:
    """The pieces that this process writes, by the device whose shard has them.

    Views of the arrays' memory, until `copy_to`. InputError, on all ranks, where arrays cannot
    be saved together.
    """

    ranks: Ranks
    devices: int
    arrays: dict[str, ArrayEntry]
    shards: dict[int, Contents]

    def __init__(self, tree: Any, plans: Plans):
        leaves = [
            (name, leaf if isinstance(leaf, Array) else _as_array(leaf, name))
            for name, leaf in plans.names.named_leaves(tree)
        ]
        self.ranks = ranks_of(leaf for _, leaf in leaves)
        self.devices, local = _devices_of(leaves, self.ranks)
        planned = plans.of(leaves, self.devices)
        self.arrays = planned.arrays
        self.shards = {
            device: Contents(
                [_rows(leaves[piece.array][1], device, piece) for piece in planned.shards[device]]
            )
            for device in local
        }

    def copy_to(self, copies: Copies) -> None:
        """From now on arrays may be written to, or given away."""
        self.shards = copies.of(self.shards)


def _as_array(leaf: Any, name: str) -> np.ndarray:
    check_unmasked(leaf, name)
    array = np.asarray(leaf)
    if array.dtype.hasobject:
        raise InputError(f"{name}: {type(leaf).__name__} is no array")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _devices_of(leaves: Sequence[tuple[str, Any]], ranks: Ranks) -> tuple[int, range]:
    """How many there are, and those of this process."""
    found: tuple[str, int] | None = None
    local = range(ranks.rank, ranks.rank + 1)
    for name, leaf in leaves:
        if isinstance(leaf, Array):
            if found is not None and leaf.devices.count != found[1]:
                raise InputError(
                    f"{name} is on {leaf.devices.count} devices, but {found[0]} on {found[1]}"
                )
            found, local = (name, leaf.devices.count), leaf.devices.ranks
    return (found[1] if found else ranks.size), local


def _regions(leaf: Array) -> tuple[Region, ...]:
    return tuple(map(region_of, leaf.placement.slices))


def _held(name: str, leaf: Any, devices: int) -> Held:
    if isinstance(leaf, Array):
        return Held(name, leaf.shape, leaf.dtype, leaf.sharding, _regions(leaf))
    return Held(name, leaf.shape, leaf.dtype, "", (whole(leaf.shape),) * devices)


def _rows(leaf: Any, device: int, piece: Piece) -> NamedRows:
    if not size_of(piece.region):
        # Of an array without elements a device may have another shape than the whole.
        return NamedRows(piece.name, np.empty(shape_of(piece.region), leaf.dtype))
    part, base = leaf, whole(leaf.shape)
    if isinstance(leaf, Array):
        part, base = leaf.part(device), region_of(leaf.placement.slices[device])
    # With an ellipsis a scalar stays an array.
    return NamedRows(piece.name, part[(*slices_of(within(piece.region, base)), ...)])


