# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the StableHLO program says of a value without running it."""

from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from shoal.jax.attributes import case

# The number in each element of their result is that of their operand.
_SPREADS = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.broadcast")


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The op whose result the value is; None for arguments."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def known_op(value: ir.Value) -> ir.Operation | None:
    """The stablehlo.constant that the value is, or that has one number, which is spread."""
    op = first = defining_op(value)
    while op is not None and op.name in _SPREADS:
        op = defining_op(op.operands[0])
    if op is None or op.name != "stablehlo.constant":
        return None
    return op if op == first or op.attributes["value"].is_splat else None


def known_splat(value: ir.Value) -> float | int | bool | None:
    """The number that all elements have, if the program says it."""
    op = defining_op(value)
    while op is not None and op.name in _SPREADS:
        op = defining_op(op.operands[0])
    if op is None or op.name != "stablehlo.constant":
        return None
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    number = attribute.get_splat_value()
    if isinstance(number, ir.BoolAttr):
        return bool(number.value)
    if isinstance(number, (ir.IntegerAttr, ir.FloatAttr)):
        return number.value
    return None


def iota_dim(value: ir.Value) -> int | None:
    """The dimension along which the value counts 0, 1, ..., if the program says it."""
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "stablehlo.iota":
        return ir.IntegerAttr(op.attributes["iota_dimension"]).value
    if op.name == "stablehlo.constant":
        return _counted_dim(op.attributes["value"])
    if op.name == "stablehlo.broadcast_in_dim":
        dims = [int(d) for d in op.attributes["broadcast_dimensions"]]
        inner = iota_dim(op.operands[0])
        if inner is None or op.operands[0].type.shape[inner] != value.type.shape[dims[inner]]:
            return None
        return dims[inner]
    if op.name == "stablehlo.select" and _is_negative_count(op.operands[0]):
        return iota_dim(op.operands[2])
    return None


def _is_negative_count(value: ir.Value) -> bool:
    """Whether it says where a value that counts is below a number <= 0: nowhere."""
    op = defining_op(value)
    if op is None or op.name != "stablehlo.compare" or iota_dim(op.operands[0]) is None:
        return False
    least = known_splat(op.operands[1])
    return case(op, "comparison_direction") == "LT" and least is not None and least <= 0


def _counted_dim(attribute: ir.Attribute) -> int | None:
    """The dimension along which a constant's elements count."""
    is_listed = isinstance(attribute, ir.DenseIntElementsAttr) and not attribute.is_splat
    if not is_listed:
        return None
    array = np.asarray(attribute)
    for dim, size in enumerate(array.shape):
        line = np.arange(size).reshape([size if d == dim else 1 for d in range(array.ndim)])
        if size > 1 and np.array_equal(array, np.broadcast_to(line, array.shape)):
            return dim
    return None
