# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which world an array is of: the values that `shoal.frontend` traces, or JAX's arrays.

What is of neither, NumPy's arrays and numbers, is taken for either: the first array that is of one decides.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, TypeAlias

from shoal.arrays import shoal_
from shoal.frontend.value import Value

__all__ = ["Array", "ArrayLike", "is_array", "like", "world_of"]

Array: TypeAlias = Value
"""An array of either world: of type checkers the frontend's value, whose operators and methods JAX's arrays have, too."""
ArrayLike: TypeAlias = Any
"""An array of either world, one of NumPy's or a number."""


def is_jax(x: Any) -> bool:
    """Whether it is an array of JAX's, also one that is traced. JAX need not be there, and is not imported."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def is_array(x: Any) -> bool:
    """Whether it is an array of one of the worlds, whose elements may be known when the program runs alone."""
    return isinstance(x, Value) or is_jax(x)


def world_of(*operands: Any) -> Any:
    """The module that has the functions of the first array's world; the frontend's where there is none, which says
    where it can be called."""
    for operand in operands:
        if isinstance(operand, Value):
            return shoal_
        if is_jax(operand):
            return jax_world()
    return shoal_


def jax_world() -> Any:
    """The functions of JAX's world, which imports JAX."""
    return importlib.import_module("shoal.arrays.jax_")


def like(*trees: Any) -> Any:
    """The first array of a world in these values, dicts and tuples of them: what `as_value` is told of those of neither."""
    for tree in trees:
        parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else None
        found = tree if parts is None else like(*parts)
        if is_array(found):
            return found
    return None
