# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants of complex numbers, and constants of one number."""

from __future__ import annotations

import re

import numpy as np
from jaxlib.mlir import ir

from shoal.jax.halves.pairs import half_of, tensor_of
from shoal.jax.refusals import Unsupported


def splat(type: ir.Type, number: float) -> ir.Attribute:
    """A constant that has the number everywhere."""
    with ir.Location.unknown(type.context):
        return ir.DenseElementsAttr.get_splat(type, ir.FloatAttr.get(type.element_type, number))


def halves_of_constant(op: ir.Operation) -> list[ir.Attribute]:
    """The real and the imaginary half of a complex stablehlo.constant's value.

    jaxlib's bindings cannot read complex elements. MLIR's text of them is that of a real tensor
    with one more dimension but for the parentheses, and the bytes are the same.
    """
    type = op.results[0].type
    found = re.search(r"value = dense<([^>]*)>", op.get_asm(print_generic_op_form=True))
    if found is None:
        raise Unsupported("its numbers are not in the text")
    half, numbers = half_of(type), found[1].replace("(", "[").replace(")", "]")
    if not numbers:
        return [ir.DenseElementsAttr.get(np.zeros(type.shape, _dtype(half)))] * 2
    if found[1].startswith("("):  # one number everywhere
        return [_splat_of(half, n) for n in _parsed(numbers, [2], half.element_type)]
    array = _parsed(numbers, [*type.shape, 2], half.element_type)
    return [ir.DenseElementsAttr.get(np.ascontiguousarray(array[..., i])) for i in range(2)]


def _parsed(numbers: str, shape: list[int], element: ir.Type) -> np.ndarray:
    text = f"dense<{numbers}> : {tensor_of(shape, element)}"
    return np.asarray(ir.Attribute.parse(text, element.context))


def _splat_of(type: ir.Type, number: np.generic) -> ir.Attribute:
    """By bits, as NaNs and zeros have a sign."""
    bits = f"0x{number.tobytes()[::-1].hex().upper()}"
    return ir.Attribute.parse(f"dense<{bits}> : {type}", type.context)


def _dtype(type: ir.Type) -> str:
    return {"f32": "float32", "f64": "float64"}[str(type.element_type)]
