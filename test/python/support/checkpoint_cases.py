# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random trees of arrays on random meshes, in one process that plays all devices or one rank."""

import functools
import math

import ml_dtypes
import numpy as np

from shoal.devices.memory import Memory
from shoal.devices.store import Store, assemble
from shoal.mesh import Axis, Dim, Mesh, Sharding
from shoal.mesh_sharding import placement_of

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64",
    "complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
]  # fmt: skip
MESHES = [
    Mesh(a=1), Mesh(a=2), Mesh(a=3), Mesh(a=4), Mesh(a=2, b=2), Mesh(a=5), Mesh(a=2, b=3),
    Mesh(a=8), Mesh(a=2, b=4), Mesh(a=2, b=2, c=2), Mesh(a=4, b=2, device_ids=[3, 1, 2, 0, 7, 6, 4, 5]),
]  # fmt: skip


class Devices(Store):
    """Arrays of devices without processes; `rank`: of that one alone."""

    def __init__(self, count, rank=None):
        super().__init__(count, Memory(), range(count) if rank is None else range(rank, rank + 1))

    def gather(self, array):
        placement = array.placement
        return assemble(placement, {rank: array.part(rank) for rank in placement.speakers})


devices = functools.cache(Devices)


def random_array(rng, shape, dtype):
    """Of any bits."""
    dtype = np.dtype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    raw = rng.integers(0, 256, math.prod(shape) * dtype.itemsize, np.uint8)
    return raw.view(dtype).reshape(shape)


def random_shape(rng, most=3000):
    shape = [int(rng.integers(1, 14)) for _ in range(rng.integers(0, 4))]
    if shape and rng.random() < 0.3:
        shape[rng.integers(len(shape))] = int(rng.integers(1, most // math.prod(shape) + 2))
    if shape and rng.random() < 0.05:
        shape[rng.integers(len(shape))] = 0
    return tuple(shape)


def random_placement(rng, mesh, shape, dtype):
    """Each axis splits some dimension, or none; a dimension of a few rows may leave devices without."""
    dims = [[] for _ in shape]
    for name in rng.permutation(list(mesh.axes)):
        if shape and rng.random() < 0.7:
            dims[rng.integers(len(shape))].append(Axis(str(name)))
    sharding = Sharding(mesh.name, tuple(Dim(tuple(axes)) for axes in dims))
    return placement_of(sharding, mesh, shape, np.dtype(dtype))


def random_tree(rng, count=4):
    made = {}
    for number in range(count):
        dtype = DTYPES[rng.integers(len(DTYPES))]
        made[f"x{number}"] = random_array(rng, random_shape(rng), dtype)
    return made


def placed(rng, tree, mesh, store):
    """The tree on devices; scalars may stay NumPy's."""
    return {
        name: store.put(array, random_placement(rng, mesh, array.shape, array.dtype))
        if array.ndim or rng.random() < 0.5
        else array
        for name, array in tree.items()
    }


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    assert one.tobytes() == other.tobytes()
