# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's own functions called with Values: np.exp(x), array + x, np.float32(2) * x."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import TraceTypeError
from shoal.frontend import elementwise, functions, logic, products

if TYPE_CHECKING:
    from shoal.frontend.value import Value

_MODULES = (elementwise, functions, logic)
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
        return products.matmul(*inputs)
    name = _RENAMED.get(function.__name__, function.__name__)
    ours = next((getattr(m, name) for m in _MODULES if name in m.__all__), None)
    if ours is None or method != "__call__" or options:
        how = f".{method}" if method != "__call__" else ""
        given = "".join(f", {option}=" for option in options)
        raise TraceTypeError(
            f"np.{function.__name__}{how}(...{given}) does not take Values; use functions of shoal"
        )
    return ours(*inputs)


def function(called: Callable) -> Any:
    """np.sum, np.concatenate and so on read elements: name what to call instead."""
    import shoal

    name = called.__name__
    instead = f"shoal.{name}" if name in shoal.__all__ else "functions of shoal"
    raise TraceTypeError(f"np.{name} does not take Values; use {instead}")
