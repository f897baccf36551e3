# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A complex value as two real ones."""

from __future__ import annotations

from typing import NamedTuple

from jaxlib.mlir import ir


class Pair(NamedTuple):
    """The halves of a complex value: two real ones of its shape."""

    real: ir.Value
    imag: ir.Value


def is_complex(type: ir.Type) -> bool:
    """Whether it is a tensor of complex elements."""
    return isinstance(type, ir.RankedTensorType) and isinstance(type.element_type, ir.ComplexType)


def half_of(type: ir.Type) -> ir.Type:
    """The type of either half; a type that is not complex as it is."""
    if not is_complex(type):
        return type
    return tensor_of(type.shape, ir.ComplexType(type.element_type).element_type)


def tensor_of(shape: list[int], element: ir.Type) -> ir.Type:
    with ir.Location.unknown(element.context):
        return ir.RankedTensorType.get(list(shape), element)
