# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That a state which is to be saved is finite: of one with NaN there is no way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shoal.checkpoints.names import named_leaves
from shoal.devices import Array
from shoal.errors import RunError
from shoal.frontend import pytrees
from shoal.frontend.constants import as_value
from shoal.frontend.elementwise import isfinite, where
from shoal.frontend.reduction import sum
from shoal.train.processes import any_of, job_of

__all__ = ["check_finite"]

Tree = Any
# The metric by which a step says it.
FINITE = "finite"


def check_finite(state: Tree, metrics: Mapping[str, Any] | None = None) -> None:
    """RunError, on all ranks, where a state has floats that are infinite or NaN; it names their arrays.

    metrics: of the step that made the state. Where they have "finite", as those of `train.step`
      do, that number is all that is read; else each process reads what it has of the state. In an
      MPI job it is collective.
    """
    flag = (metrics or {}).get(FINITE)
    if flag is None:
        is_finite = not any_of(job_of(state), not all(map(_is_finite, _parts(state))))
    else:
        is_finite = bool(np.asarray(flag))
    if is_finite:
        return
    # Each array comes together whole: the run has ended.
    names = [name for name, leaf in named_leaves(state) if not _is_finite(np.asarray(leaf))]
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    number = getattr(state, "step", None)
    place = "" if number is None else f" behind step {int(number)}"
    raise RunError(f"the state{place} is not finite, and is not saved: {listed}")


def all_finite(state: Tree) -> Any:
    """In a traced function, 1 where all floats of a state are finite, else 0: a number, as logs write metrics as such."""
    total = as_value(0, np.dtype(np.int32))
    for leaf in map(as_value, pytrees.flatten(state)[0]):
        if _may_be_infinite(leaf.dtype):
            wide = leaf if leaf.dtype.itemsize >= 4 else leaf.astype("float32")
            # Partial sums are added before they meet.
            total = total + sum(where(isfinite(wide), 0, 1).astype("int32"))
    return (total == 0).astype("int32")


def _may_be_infinite(dtype: np.dtype) -> bool:
    """Of floats; those of ml_dtypes have the kind of bytes."""
    return dtype.kind in "fV"


def _is_finite(array: np.ndarray) -> bool:
    return not _may_be_infinite(array.dtype) or bool(np.isfinite(array).all())


def _parts(state: Tree) -> Iterator[np.ndarray]:
    """What this process has, of rows that several of its devices have one copy."""
    for leaf in pytrees.flatten(state)[0]:
        if isinstance(leaf, Array):
            yield from {str(shard.slices): shard.data for shard in leaf.shards}.values()
        else:
            yield np.asarray(leaf)
