# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of StableHLO as Shoal's.

Integers lose their sign: `ui32` becomes `i32`, and the op chosen says what
its bits mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jaxlib.mlir import ir

from shoal.ir import TensorType
from shoal.jax.refusals import Unsupported

FLOATS8 = ("f8E4M3FN", "f8E5M2")
FLOATS = ("f64", "f32", "bf16", "f16", *FLOATS8)
_INTEGERS = ("i64", "i32", "i16", "i8", "i1")
_BITS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16, "f8E4M3FN": 8, "f8E5M2": 8}
# Digits of the significand that are stored, and of the exponent.
MANTISSA_BITS = {"f64": 52, "f32": 23, "bf16": 7, "f16": 10, "f8E4M3FN": 3, "f8E5M2": 2}
EXPONENT_BITS = {"f64": 11, "f32": 8, "bf16": 8, "f16": 5, "f8E4M3FN": 4, "f8E5M2": 5}


class UnsupportedTypeError(Unsupported):
    """A type that Shoal has no counterpart of; the message says which and why."""


@dataclass(frozen=True)
class ScalarType(TensorType):
    """A scalar inside a combiner, where StableHLO has tensors of rank 0."""

    def __str__(self) -> str:
        return self.element


def bits(element: str) -> int:
    """How many bits an element has."""
    return _BITS.get(element) or int(element[1:])


def is_float(type: TensorType) -> bool:
    return type.element in FLOATS


def is_bool(type: TensorType) -> bool:
    return type.element == "i1"


def element_of(type: ir.Type) -> str:
    """The element type's name in MLIR, with its sign: `ui32`."""
    return str(type.element_type) if isinstance(type, ir.ShapedType) else str(type)


def is_unsigned(type: ir.Type) -> bool:
    """Whether an IR type has unsigned elements; those of i1 count as such."""
    element = element_of(type)
    return element.startswith("ui") or element == "i1"


def tensor_type(type: ir.Type) -> TensorType:
    """The Shoal type of a ranked tensor of static shape; else UnsupportedTypeError."""
    if not isinstance(type, ir.RankedTensorType):
        raise UnsupportedTypeError(f"type {type}")
    if not type.has_static_shape:
        raise UnsupportedTypeError(f"{type} has no static shape")
    element = re.sub(r"^ui", "i", element_of(type))
    if element not in FLOATS and element not in _INTEGERS:
        raise UnsupportedTypeError(f"elements of {element_of(type)} in {type}")
    return TensorType(tuple(type.shape), element)


def is_token(type: ir.Type) -> bool:
    """Whether values of the type are none: the order of a program's ops says what tokens do."""
    return str(type) == "!stablehlo.token"


def tensors_in(type: ir.Type) -> list[ir.Type]:
    """The type, or those of all that is in a tuple, in their order."""
    if not isinstance(type, ir.TupleType):
        return [type]
    parts = (type.get_type(i) for i in range(type.num_types))
    return [tensor for part in parts for tensor in tensors_in(part)]


def with_element(type: TensorType, element: str) -> TensorType:
    """The type with other elements, still a scalar where it was one."""
    return type.__class__(type.shape, element)


def with_shape(type: TensorType, shape) -> TensorType:
    return TensorType(tuple(shape), type.element)


def scalar_of(type: TensorType) -> TensorType:
    """The tensor of rank 0 with the type's elements, or the scalar."""
    return type if isinstance(type, ScalarType) else TensorType((), type.element)
