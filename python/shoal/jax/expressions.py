# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the region of an op computes, as a tree: for recognising reducers and comparators.

A tree is a tuple: ("argument", 2), ("constant", 0.0), ("outer",) for a value
from outside of the region, else the op's name without its dialect, its enum
attributes and the trees of its operands: ("compare", "LT", "FLOAT", a, b).
"""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir import ir

from shoal.jax.attributes import case
from shoal.jax.known import defining_op, known_splat
from shoal.jax.registry import op_name

Tree = tuple[Any, ...]

_COMMUTATIVE = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def argument(index: int) -> Tree:
    return ("argument", index)


def region_trees(block: ir.Block) -> list[Tree]:
    """What the block's terminator returns."""
    terminator = block.operations[len(block.operations) - 1]
    return [tree(value, block) for value in terminator.operands]


def tree(value: ir.Value, block: ir.Block) -> Tree:
    """How a value is computed from the block's arguments."""
    if isinstance(value.owner, ir.Block):
        arguments = list(block.arguments)
        return argument(arguments.index(value)) if value in arguments else ("outer",)
    op = defining_op(value)
    if op.name == "stablehlo.constant":
        number = known_splat(value)
        is_nan = isinstance(number, float) and math.isnan(number)
        return ("constant", "nan" if is_nan else number)
    if _is_identity(op) and op.operands[0].type == value.type:
        return tree(op.operands[0], block)
    name = op.name.partition(".")[2]
    cases = [case(op, key) for key in ("comparison_direction", "compare_type") if case(op, key)]
    index = [value.result_number] if len(op.results) > 1 else []
    return (name, *cases, *index, *(tree(operand, block) for operand in op.operands))


def _is_identity(op: ir.Operation) -> bool:
    """Conversions to the same type, and annotations, which say nothing of scalars.

    JAX annotates what regions compute in the mode in which shardings are in types.
    """
    annotations = ("sdy.sharding_constraint", "sdy.reshard", "stablehlo.custom_call @Sharding")
    return op.name == "stablehlo.convert" or op_name(op) in annotations


def is_binary(found: Tree, name: str, left: Tree, right: Tree) -> bool:
    """Whether a tree is that op of these two, in either order where that does not matter."""
    if found == (name, left, right):
        return True
    return name in _COMMUTATIVE and found == (name, right, left)


def binary_kind(found: Tree, left: Tree, right: Tree) -> str | None:
    """The op's name where a tree is a single commutative op of these two."""
    return next((name for name in _COMMUTATIVE if is_binary(found, name, left, right)), None)
