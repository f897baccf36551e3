# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches on devices: each process reads the rows of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from shoal.devices import Devices, Placement, devices_of
from shoal.frontend import pytrees
from shoal.frontend.annotations import as_sharding
from shoal.mesh import Mesh
from shoal.mesh_sharding import placement_of

Tree = Any


class BatchPlacement:
    """Where the arrays of batches lie, and which of their rows this process needs.

    Nothing is sent between processes.
    """

    def __init__(self, mesh: Mesh, shardings: Any, devices: Devices | None):
        """shardings: of a batch, a tree of P or a prefix of one."""
        self._mesh = mesh
        self._shardings = shardings
        self._given = devices
        self._placements: list[Placement] | None = None

    @cached_property
    def _devices(self) -> Devices:
        return self._given or devices_of(self._mesh.size)

    def rows(self, batch: int, one: Callable[[], Tree]) -> slice:
        """Those of a batch that the devices of this process have. one: a batch of one row."""
        placements = self._of(batch, one)
        parts = [
            placement.slices[rank][0] for placement in placements for rank in self._devices.ranks
        ]
        if len(self._devices.ranks) == self._devices.count:
            return slice(0, batch)
        return slice(min(part.start for part in parts), max(part.stop for part in parts))

    def put(self, rows: Tree, begin: int) -> Tree:
        """The arrays on the devices, of rows that begin with this one of the batch."""
        leaves, spec = pytrees.flatten(rows)
        assert self._placements is not None
        return pytrees.unflatten(
            spec,
            [
                self._devices.put(self._part(leaf, placement, begin), placement)
                for leaf, placement in zip(leaves, self._placements)
            ],
        )

    def _of(self, batch: int, one: Callable[[], Tree]) -> list[Placement]:
        if self._placements is None:
            tree = one()
            leaves, _ = pytrees.flatten(tree)
            given = pytrees.flatten_shardings(self._shardings, tree, "sharding")
            self._placements = [
                self._placement((batch, *leaf.shape[1:]), leaf.dtype, sharding)
                for leaf, sharding in zip(leaves, given)
            ]
        return self._placements

    def _placement(self, shape: tuple[int, ...], dtype: np.dtype, sharding: Any) -> Placement:
        wanted = as_sharding(sharding or (), shape, self._mesh, "sharding")
        return placement_of(wanted, self._mesh, shape, dtype)

    def _part(self, leaf: np.ndarray, placement: Placement, begin: int) -> np.ndarray:
        if len(self._devices.ranks) == self._devices.count:
            return leaf
        rows, *others = placement.slices[self._devices.ranks[0]]
        return leaf[(slice(rows.start - begin, rows.stop - begin), *others)]
