# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model's functions are given: parameters like its own, and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.arrays import Array, ArrayLike, as_value, is_array, shape_of
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.laws import shown
from shoal.models import parameters
from shoal.models.config import ModelConfig
from shoal.models.stages import stage_shapes, stages_of
from shoal.moe.layout import Layout

__all__ = ["as_tokens", "check_params"]


def as_tokens(tokens: ArrayLike, function: str, sizes: str, like: Any = None) -> Array:
    """Of two dimensions, `sizes` in words; NumPy's in the world of `like`. TraceTypeError where they are no integers, TraceError for other shapes."""
    if isinstance(tokens, Mapping):
        raise TraceTypeError(f"{function}: tokens: expected integers {sizes}, got a mapping with {sorted(tokens)}")
    value = as_value(tokens, like, f"{function}: tokens")
    if dtypes.is_float(value.dtype) or dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"{function}: tokens: expected integers {sizes}, got {value.dtype}{list(value.shape)}")
    if value.ndim != 2:
        raise TraceError(f"{function}: tokens: expected {sizes}, got {list(value.shape)}")
    return value


def check_params(params: Any, function: str, config: ModelConfig, layout: Layout) -> None:
    """TraceError names the first parameter of the model that is missing or of another shape. Others may stand beside."""
    shapes = stage_shapes(parameters.shapes(config), stages_of(config, layout))
    _check_like(params, shapes, f"{function}: params")


def _check_like(params: Any, shapes: Any, place: str) -> None:
    if isinstance(shapes, Mapping):
        if not isinstance(params, Mapping):
            raise TraceTypeError(f"{place}: expected a mapping with {sorted(shapes)}, got {_kind(params)}")
        for name, of_part in shapes.items():
            if name not in params:
                raise TraceError(f'{place}: "{name}" is missing; there are {shown(sorted(params))}')
            _check_like(params[name], of_part, f'{place}["{name}"]')
    elif isinstance(shapes, list):
        if not isinstance(params, (list, tuple)) or len(params) != len(shapes):
            found = len(params) if isinstance(params, (list, tuple)) else _kind(params)
            raise TraceError(f"{place}: expected a list of {len(shapes)}, got {found}")
        for number, of_part in enumerate(shapes):
            _check_like(params[number], of_part, f"{place}[{number}]")
    elif is_array(params) or hasattr(params, "shape"):
        if shape_of(params) != tuple(shapes):
            raise TraceError(f"{place}: expected {list(shapes)}, got {list(shape_of(params))}")


def _kind(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "shape") else shown(value)
