# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That a state which is to be saved is finite: of one with NaN there is no way back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from shoal.checkpoints.names import named_leaves
from shoal.devices import Array
from shoal.errors import RunError
from shoal.frontend import pytrees
from shoal.train.processes import any_of, job_of

__all__ = ["check_finite"]

Tree = Any
# Elements that are looked at together: what is made of them stays in the caches.
_CHUNK = 1 << 16


def check_finite(state: Tree) -> None:
    """RunError, on all ranks, where a state has floats that are infinite or NaN; it names their arrays.

    Each process reads what it has of the state. In an MPI job it is collective.
    """
    if not any_of(job_of(state), not all(map(_is_finite, _parts(state)))):
        return
    # Each array comes together whole: the run has ended.
    names = [name for name, leaf in named_leaves(state) if not _is_finite(np.asarray(leaf))]
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    number = getattr(state, "step", None)
    place = "" if number is None else f" behind step {int(number)}"
    raise RunError(f"the state{place} is not finite, and is not saved: {listed}")


def _is_finite(array: np.ndarray) -> bool:
    if array.dtype.kind not in "fV":  # floats; those of ml_dtypes have the kind of bytes
        return True
    flat = array.reshape(-1)
    chunks = (flat[begin : begin + _CHUNK] for begin in range(0, flat.size, _CHUNK))
    if array.dtype.itemsize > 2:
        return all(np.isfinite(chunk).all() for chunk in chunks)
    is_finite = _finite_patterns(array.dtype)
    return all(is_finite[chunk.view(f"u{array.dtype.itemsize}")].all() for chunk in chunks)


@cache
def _finite_patterns(dtype: np.dtype) -> np.ndarray:
    """Of each pattern of bits of a narrow type, whether it is finite: a conversion of each element takes five times
    as long."""
    patterns = np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        return np.isfinite(patterns.view(dtype))


def _parts(state: Tree) -> Iterator[np.ndarray]:
    """What this process has, of rows that several of its devices have one copy."""
    for leaf in pytrees.flatten(state)[0]:
        if isinstance(leaf, Array):
            yield from {str(shard.slices): shard.data for shard in leaf.shards}.values()
        else:
            yield np.asarray(leaf)
