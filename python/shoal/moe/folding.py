# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One mesh for two factorisations of the same devices: Megatron-Core's parallel folding.

Attention cuts W devices into tp x cp x dp x pp, experts cut them into etp x ep x edp x pp (arXiv
2504.14960). The mesh has an axis between any two neighbours of all sizes at which either cuts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral

import numpy as np

from shoal.errors import TraceError

__all__ = ["fold", "groups_of"]

Axes = dict[str, tuple[str, ...]]


def fold(*factorisations: Mapping[str, int]) -> tuple[dict[str, int], Axes]:
    """The axes of a mesh, slowest first, and each role's, slowest first.

    factorisations: {role: size}, fastest first, of products that are equal; missing sizes are 1. A role that
      two of them have must lie in the same place. Raises TraceError with both where no mesh refines them.
    """
    for role, size in ((role, size) for roles in factorisations for role, size in roles.items()):
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise TraceError(f'fold: role "{role}": size {size!r} is not a positive integer')
    if not factorisations:
        raise TraceError("fold: expected at least one factorisation of the devices, got none")
    totals = {math.prod(roles.values()) for roles in factorisations}
    if len(totals) != 1:
        listed = " and ".join(f"{dict(roles)} is {math.prod(roles.values())}" for roles in factorisations)
        raise TraceError(f"fold: factorisations of different numbers of devices: {listed}")
    cuts = sorted({1, *(cut for roles in factorisations for cut in _cuts(roles))})
    for low, high in zip(cuts, cuts[1:]):
        if high % low:
            listed = " and ".join(str(dict(roles)) for roles in factorisations)
            raise TraceError(f"fold: no mesh refines {listed}: {low} does not divide {high}")
    axes = {f"x{i}": cuts[i + 1] // cuts[i] for i in reversed(range(len(cuts) - 1))}
    roles: Axes = {}
    for factorisation in factorisations:
        for role, found in _roles(factorisation, cuts).items():
            if roles.setdefault(role, found) != found:
                raise TraceError(f'fold: role "{role}" lies over {roles[role]} and over {found}')
    return axes, roles


def _cuts(roles: Mapping[str, int]) -> list[int]:
    """How many devices the first roles have, the first two, ..."""
    return [int(cut) for cut in np.cumprod(list(roles.values()))]


def _roles(roles: Mapping[str, int], cuts: list[int]) -> Axes:
    low, result = 1, {}
    for role, size in roles.items():
        inside = [i for i in range(len(cuts) - 1) if low <= cuts[i] and cuts[i + 1] <= low * size]
        result[role] = tuple(f"x{i}" for i in reversed(inside))
        low *= size
    return result


def groups_of(axes: Mapping[str, int], along: tuple[str, ...]) -> list[list[int]]:
    """The devices of each group of a collective along some axes of a mesh, in row-major order."""
    names = list(axes)
    devices = np.arange(math.prod(axes.values())).reshape(list(axes.values()))
    behind = range(devices.ndim - len(along), devices.ndim)
    moved = np.moveaxis(devices, [names.index(axis) for axis in along], list(behind))
    return moved.reshape(-1, math.prod(axes[axis] for axis in along)).tolist()
