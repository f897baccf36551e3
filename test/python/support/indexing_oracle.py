# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What gather, scatter and dynamic slices mean, from the words of StableHLO's
specification: one element at a time, in NumPy."""

import itertools

import numpy as np

COMBINERS = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "max": max,
    "min": min,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "overwrite": lambda a, b: b,
}


def box(whole, starts, sizes):
    """The slices of a box whose starts are clamped."""
    return tuple(
        slice(start, start + size)
        for start, size in (
            (min(max(int(s), 0), n - size), size)
            for s, size, n in zip(starts, sizes, whole)
        )
    )


def dynamic_slice(x, starts, sizes):
    return x[box(x.shape, starts, sizes)]


def dynamic_update_slice(x, update, starts):
    result = x.copy()
    result[box(x.shape, starts, update.shape)] = update
    return result


class Windows:
    """The dimension numbers of a gather; those of a scatter under its names."""

    def __init__(self, offset, collapsed, operand_batching, indices_batching, index_map, vector_dim):
        self.offset, self.collapsed = offset, collapsed
        self.operand_batching, self.indices_batching = operand_batching, indices_batching
        self.index_map, self.vector_dim = index_map, vector_dim

    def operand_index(self, operand_shape, indices, at, sizes=None):
        """The operand's index for the windows tensor's index `at`; with `sizes`
        starts are clamped."""
        batch = [i for d, i in enumerate(at) if d not in self.offset]
        index = list(batch)
        if self.vector_dim < indices.ndim:
            index.insert(self.vector_dim, slice(None))
            start = indices[tuple(index)]
        else:
            start = [indices[tuple(index)]]
        full = [0] * len(operand_shape)
        for component, dim in enumerate(self.index_map):
            full[dim] = int(start[component])
            if sizes is not None:
                full[dim] = min(max(full[dim], 0), operand_shape[dim] - sizes[dim])
        for dim, indices_dim in zip(self.operand_batching, self.indices_batching):
            place = indices_dim - (indices_dim > self.vector_dim)
            full[dim] = batch[place]
        kept = [
            d
            for d in range(len(operand_shape))
            if d not in self.collapsed and d not in self.operand_batching
        ]
        for dim, offset_dim in zip(kept, self.offset):
            full[dim] += at[offset_dim]
        return tuple(full)


def gather(x, indices, windows, sizes, shape):
    result = np.empty(shape, x.dtype)
    for at in itertools.product(*map(range, shape)):
        result[at] = x[windows.operand_index(x.shape, indices, at, sizes)]
    return result


def scatter(kind, x, indices, updates, windows):
    result = x.copy()
    for at in itertools.product(*map(range, updates.shape)):
        place = windows.operand_index(x.shape, indices, at)
        if all(0 <= i < n for i, n in zip(place, x.shape)):
            result[place] = COMBINERS[kind](result[place], updates[at])
    return result
