# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognises what the region of a reduction does."""

from __future__ import annotations

import math

from jaxlib.mlir import ir

from shoal.enums import kind_attribute
from shoal.jax.arithmetic import largest
from shoal.jax.expressions import Tree, argument, binary_kind, region_trees
from shoal.jax.known import iota_dim, known_splat
from shoal.jax.types import bits, element_of, is_unsigned

# Shoal's ReduceKind for StableHLO's ops; spelled as attributes.
KINDS = {
    "add": kind_attribute("sum"),
    "multiply": kind_attribute("prod"),
    "maximum": kind_attribute("max"),
    "minimum": kind_attribute("min"),
    "and": kind_attribute("and"),
    "or": kind_attribute("or"),
}
# Those that round.
SUMS = ("add", "multiply")
# What sums and extrema of i1 are.
AS_LOGIC = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


def reduce_kind(block: ir.Block) -> str | None:
    """A key of KINDS where the block combines its two arguments so; else None.

    Maxima and minima of unsigned integers are none: Shoal's ops have signed
    ones (see `unsigned_extremum`). Sums and extrema of i1 are logic.
    """
    trees = region_trees(block)
    if len(trees) != 1 or len(block.arguments) != 2:
        return None
    return tree_kind(trees[0], block.arguments[0].type)


def tree_kind(found: Tree, type: ir.Type) -> str | None:
    """As `reduce_kind`, of what a block makes of two arguments of this type."""
    kind = binary_kind(found, argument(0), argument(1))
    if kind not in KINDS:
        return None
    if element_of(type) == "i1":
        return AS_LOGIC.get(kind, kind)
    return None if kind in ("maximum", "minimum") and is_unsigned(type) else kind


def is_identity(
    kind: str, number: float | int | bool | None, element: str, *, unsigned: bool = False
) -> bool:
    """Whether combining with this number changes nothing."""
    if number is None:
        return False
    if kind in ("maximum", "minimum"):
        lowest, most = _range(element, unsigned)
        return number == (lowest if kind == "maximum" else most)
    if kind == "and":  # all bits, as a number with or without a sign
        return number in (True, -1) if element == "i1" else number in (-1, (1 << bits(element)) - 1)
    return number == (1 if kind == "multiply" else 0)


def _range(element: str, unsigned: bool) -> tuple[float | int, float | int]:
    """The smallest and the largest number."""
    if element == "f8E4M3FN":  # has no infinity
        return -448.0, 448.0
    if not element.startswith("i"):
        return -math.inf, math.inf
    if unsigned:
        return 0, (1 << bits(element)) - 1
    most = largest(element)
    return -most - 1, most


def places_of_extremum(op: ir.Operation, dims: list[int]) -> str | None:
    """ "max" or "min" where a reduce of a value and its places is JAX's argmax or argmin."""
    if len(op.results) != 2 or len(dims) != 1:
        return None
    places = op.operands[1]
    if iota_dim(places) != dims[0] or known_splat(op.operands[3]) != 0:
        return None
    if places.type.shape[dims[0]] == 0:
        return None
    element, unsigned = element_of(op.operands[0].type), is_unsigned(op.operands[0].type)
    found = [_typeless(part) for part in region_trees(op.regions[0].blocks[0])]
    for direction, symbol in (("max", "GT"), ("min", "LT")):
        is_jax = found == _extremum_trees(symbol, has_nan=True)
        # Where there are no NaNs, others do not ask for them.
        is_other = "i" in element and found == _extremum_trees(symbol, has_nan=False)
        init = known_splat(op.operands[2])
        lowest = is_identity(f"{direction}imum", init, element.lstrip("u"), unsigned=unsigned)
        if (is_jax or is_other) and lowest:
            return direction
    return None


def _typeless(found: Tree) -> Tree:
    """Comparisons without their type: the elements' says it."""
    parts = tuple(_typeless(part) if isinstance(part, tuple) else part for part in found)
    is_plain = parts[0] == "compare" and parts[2] in ("FLOAT", "SIGNED", "UNSIGNED")
    return (*parts[:2], *parts[3:]) if is_plain else parts


def _extremum_trees(symbol: str, *, has_nan: bool) -> list[Tree]:
    """JAX's reducer: (a, i), (b, j) to the larger value and, of equal ones, the first place."""
    a, b, i, j = argument(0), argument(2), argument(1), argument(3)
    picks = ("compare", symbol, a, b)
    if has_nan:
        picks = ("or", picks, ("compare", "NE", a, a))
    earlier = ("and", ("compare", "EQ", a, b), ("compare", "LT", i, j))
    return [("select", picks, a, b), ("select", ("or", picks, earlier), i, j)]


def unsigned_extremum(block: ir.Block) -> str | None:
    """ "maximum" or "minimum" where the block is that of unsigned integers."""
    trees = region_trees(block)
    if len(trees) != 1 or len(block.arguments) != 2:
        return None
    return unsigned_tree_extremum(trees[0], block.arguments[0].type)


def unsigned_tree_extremum(found: Tree, type: ir.Type) -> str | None:
    """As `unsigned_extremum`, of what a block makes of two arguments of this type."""
    kind = binary_kind(found, argument(0), argument(1)) if is_unsigned(type) else None
    return kind if kind in ("maximum", "minimum") else None
