# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GSPMD's shardings: the strings of `mhlo.sharding`.

`{devices=[2,4]<=[8]}` tiles a matrix; trailing dimensions of the tile assignment
may be replicated or manual. jaxlib parses them, but ends the process where the
numbers do not add up; so that is checked before.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass

import numpy as np

from shoal.jax.private import xla_client
from shoal.jax.refusals import Unsupported


_Kind = xla_client.OpSharding.Type
# In the order of a Tiling's dimensions.
_SUBGROUPS = (_Kind.MANUAL, _Kind.UNREDUCED, _Kind.REPLICATED)
_LIST = r"([\d,\s]+)"
_TILES = re.compile(rf"devices=\[{_LIST}\]\s*(?:<=\s*\[{_LIST}\]\s*(?:T\({_LIST}\))?|{_LIST})")


@dataclass(frozen=True)
class Tiling:
    """Which device holds which tile, along some dimensions of the devices' array.

    `devices` has a dimension per dimension of the tensor, then one for the
    devices of a manual region's group, one for those that hold addends of one
    tile, and one for those that hold the same.
    """

    devices: np.ndarray
    rank: int

    @property
    def manual(self) -> int:
        """The number of devices in a manual group."""
        return self.devices.shape[self.rank]

    @property
    def alike(self) -> int:
        """The number of devices that hold the same: their order is not said."""
        return self.devices.shape[-1]


@dataclass(frozen=True)
class Everywhere:
    """Every device holds the tensor; also said of tensors on one device."""


@dataclass(frozen=True)
class Manual:
    """The tensor is one device's own, along all axes."""


@dataclass(frozen=True)
class Unreduced:
    """Every device holds an addend of the tensor."""


OpSharding = Tiling | Everywhere | Manual | Unreduced


def parse(text: str) -> list[OpSharding | None]:
    """The shardings of a text, one unless it is a tuple's; None where nothing is said.

    Raises Unsupported for text that is no sharding.
    """
    for tiles in _TILES.finditer(text):
        if problem := _problem(*(_numbers(group) for group in tiles.groups())):
            raise Unsupported(f"mhlo.sharding: {text!r} is no sharding: {problem}")
    try:
        sharding = xla_client.HloSharding.from_string(text)
    except Exception as error:
        said = str(error).splitlines()[0]
        raise Unsupported(f"mhlo.sharding: {text!r} is no sharding: {said}") from None
    elements = sharding.tuple_elements() if text.startswith("{{") else [sharding]
    return [_op_sharding(element, text) for element in elements]


def _numbers(text: str | None) -> list[int] | None:
    return None if text is None else [int(number) for number in text.split(",") if number.strip()]


def _problem(tiles, reshape, transpose, listed) -> str | None:
    """What is wrong with a tile assignment: `tiles`, and either an iota's or listed devices."""
    devices = math.prod(tiles)
    if listed is not None and sorted(listed) != list(range(devices)):
        return f"{devices} tiles but devices {listed}"
    if reshape is not None and math.prod(reshape) != devices:
        return f"{devices} tiles but {math.prod(reshape)} devices"
    if transpose is not None and sorted(transpose) != list(range(len(reshape))):
        return f"{transpose} is no permutation of {len(reshape)} dimensions"
    return None if devices else "no devices"


def _op_sharding(sharding, text: str) -> OpSharding | None:
    if sharding.is_unknown():
        return None
    if sharding.is_manual():
        return Manual()
    if sharding.is_replicated() or sharding.is_maximal():
        return Everywhere()
    if sharding.is_unreduced():
        return Unreduced()
    return _tiling(sharding, text)


def _tiling(sharding, text: str) -> Tiling:
    """Sorted into tensor's, manual's, unreduced and replicated dimensions of the devices.

    Devices that hold the same are listed in any order: ours is ascending.
    """
    sizes = sharding.tile_assignment_dimensions()
    devices = np.array(sharding.tile_assignment_devices(), np.int64).reshape(sizes)
    kinds = list(sharding.subgroup_types())
    if sharding.replicate_on_last_tile_dim():
        kinds = [_Kind.REPLICATED]
    rank = devices.ndim - len(kinds)
    others = [kind for kind in kinds if kind not in _SUBGROUPS]
    if others:
        raise Unsupported(f"mhlo.sharding: {text}: a subgroup of type {others[0]}")
    subgroups = [
        [rank + i for i, kind in enumerate(kinds) if kind == wanted] for wanted in _SUBGROUPS
    ]
    devices = devices.transpose([*range(rank), *itertools.chain(*subgroups)])
    counts = [math.prod(sizes[i] for i in dims) for dims in subgroups]
    return Tiling(np.sort(devices.reshape([*sizes[:rank], *counts]), axis=-1), rank)
