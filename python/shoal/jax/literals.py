# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of numbers as Shoal's MLIR spells them."""

from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir


def spelled(attribute: ir.Attribute) -> str:
    """MLIR's own spelling, exact for every element type; without the type."""
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        return _as_bytes(np.asarray(attribute))
    text = str(attribute).rsplit(" : ", 1)[0]
    if attribute.type.element_type == ir.IntegerType.get_signless(1) and text.startswith('dense<"'):
        return _as_bytes(np.asarray(attribute))
    return text


def _as_bytes(array: np.ndarray) -> str:
    """Elements in row-major order, low bytes first; eight booleans a byte.

    jaxlib's MLIR has a byte for each boolean.
    """
    array = np.ascontiguousarray(array)
    if array.dtype == bool:
        data = np.packbits(array, bitorder="little").tobytes()
    else:
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return f'dense<"0x{data.hex().upper()}">'
