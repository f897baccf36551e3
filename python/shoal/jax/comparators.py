# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognises by what the comparator of a sort orders."""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir

from shoal.jax.expressions import Tree, argument, region_trees, tree


@dataclass(frozen=True)
class Key:
    """One key: which operand, and in which order.

    computed: what the region makes of the operand's element before it compares, as its bits;
    None for the element itself.
    is_total: floats by IEEE 754's totalOrder, which tells -0.0 from 0.0 and
    NaNs by their bits; else as JAX sorts: zeros are equal, NaNs equal and last.
    """

    operand: int
    is_descending: bool = False
    is_total: bool = False
    computed: Tree | None = None


def sort_keys(block: ir.Block) -> list[Key] | None:
    """The keys by which a comparator orders, major to minor; None for another one."""
    trees = region_trees(block)
    return _keys(trees[0]) if len(trees) == 1 else None


def _keys(found: Tree) -> list[Key] | None:
    """Of `a < b`, or of `a < b or (a == b and ...)`."""
    if found[0] == "compare" and found[1] in ("LT", "GT"):
        key = _key(found, is_descending=found[1] == "GT")
        return [key] if key else None
    if found[0] != "or":
        return None
    for strict, rest in (found[1:], found[:0:-1]):
        first = _keys(strict)
        if first is None or len(first) != 1 or rest[0] != "and":
            continue
        for equal, less in (rest[1:], rest[:0:-1]):
            more = _keys(less)
            if equal[:2] == ("compare", "EQ") and equal[2:] == strict[2:] and more:
                return [*first, *more]
    return None


def _key(comparison: Tree, *, is_descending: bool) -> Key | None:
    sides = [_stripped(side) for side in comparison[-2:]]
    (left, left_is_plain), (right, right_is_plain) = sides
    if left[0] != "argument" or right[0] != "argument" or left_is_plain != right_is_plain:
        return _computed_key(comparison, is_descending=is_descending)
    if left[1] // 2 != right[1] // 2 or left == right:
        return None
    is_total = comparison[2] == "TOTALORDER" and left_is_plain
    return Key(left[1] // 2, is_descending != (left[1] > right[1]), is_total)


def _computed_key(comparison: Tree, *, is_descending: bool) -> Key | None:
    """Where both sides are the same function of either element of one operand."""
    left, right = comparison[-2:]
    of_left, of_right = _arguments(left), _arguments(right)
    if len(of_left) != 1 or len(of_right) != 1 or _reads_outer(left):
        return None
    (first,), (second,) = of_left, of_right
    if first == second or first // 2 != second // 2 or _renamed(left, second) != right:
        return None
    is_total = comparison[2] == "TOTALORDER"
    return Key(first // 2, is_descending != (first > second), is_total, left)


def _renamed(found: Tree, index: int) -> Tree:
    """The tree of another argument."""
    if found[0] == "argument":
        return argument(index)
    return tuple(_renamed(part, index) if isinstance(part, tuple) else part for part in found)


def _reads_outer(found: Tree) -> bool:
    parts = (part for part in found if isinstance(part, tuple))
    return found == ("outer",) or any(map(_reads_outer, parts))


def computed_value(block: ir.Block, key: Key) -> ir.Value:
    """The comparator's value that the key's tree is of."""
    values = (op.operation.operands[0] for op in block.operations if op.name == "stablehlo.compare")
    return next(value for value in values if tree(value, block) == key.computed)


def _stripped(side: Tree) -> tuple[Tree, bool]:
    """An argument without JAX's normal form of zeros and NaNs, and whether it had none."""
    for index in _arguments(side):
        value = argument(index)
        zeroed = (
            "select",
            ("compare", "EQ", "FLOAT", value, ("constant", 0.0)),
            ("constant", 0.0),
            value,
        )
        is_nan = ("compare", "NE", "FLOAT", value, value)
        if side == ("select", is_nan, ("constant", "nan"), zeroed):
            return value, False
    return side, True


def _arguments(found: Tree) -> set[int]:
    if found[0] == "argument":
        return {found[1]}
    parts = [_arguments(part) for part in found if isinstance(part, tuple)]
    return set().union(*parts)
