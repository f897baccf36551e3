# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's own functions called with Values: np.exp(x), array + x, np.float32(2) * x."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import TraceTypeError
from shoal.frontend import (
    contraction,
    creation,
    elementwise,
    indexing,
    ordering,
    reduction,
    reshape,
    structure,
)
from shoal.frontend.value import Value

# Families with functions that NumPy has, too.
_FAMILIES = (
    contraction, creation, elementwise, indexing, ordering, reduction, reshape, structure,
)  # fmt: skip
# Ours that have another name than NumPy's.
_RENAMED = {
    "absolute": "abs",
    "true_divide": "divide",
    "invert": "bitwise_not",
    "mod": "remainder",
    "rint": "round",
}


def ufunc(
    function: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Value:
    """The function of the same name in this package; TraceTypeError where there is none."""
    if function is np.matmul and method == "__call__" and not options:
        return contraction.matmul(*inputs)
    name = _RENAMED.get(function.__name__, function.__name__)
    ours = getattr(elementwise, name) if name in elementwise.__all__ else None
    if ours is None or method != "__call__" or options:
        how = f".{method}" if method != "__call__" else ""
        given = "".join(f", {option}=" for option in options)
        raise TraceTypeError(
            f"np.{function.__name__}{how}(...{given}) does not take Values; use functions of shoal"
        )
    return ours(*inputs)


def function(called: Callable) -> Any:
    """np.sum, np.concatenate and so on read elements: name what to call instead."""
    name = called.__name__
    is_ours = any(name in family.__all__ for family in _FAMILIES)
    instead = f"shoal.{name}" if is_ours else "functions of shoal"
    raise TraceTypeError(f"np.{name} does not take Values; use {instead}")
