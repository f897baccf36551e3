# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognises by what the comparator of a sort orders.

A comparator is a formula of comparisons, each of two elements of one operand or of what the region
makes of these. It is an order by keys where its value for all outcomes of these comparisons is
that of one, so that every way to write an order is known.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir

from shoal.jax.expressions import Tree, argument, region_trees, tree
from shoal.jax.types import element_of

# Of so many keys all outcomes are tried one by one; of more, what is known of each part of a formula for itself.
_FEW_KEYS = 5

_COMPARISONS = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}
_LOGIC = {"and": operator.and_, "or": operator.or_, "xor": operator.ne}

# What two elements may be to each other, as numbers that are so.
_LESS, _EQUAL, _GREATER = (0, 1), (0, 0), (1, 0)
_NAN_AND_NUMBER, _NUMBER_AND_NAN = (math.nan, 0), (0, math.nan)
_NANS = (_NAN_AND_NUMBER, _NUMBER_AND_NAN, (math.nan, math.nan))

Outcome = tuple[float, float]


@dataclass(frozen=True)
class Key:
    """One key: which operand, and in which order.

    computed: what the region makes of the operand's element before it compares, as its bits;
    None for the element itself.
    is_total: floats by IEEE 754's totalOrder, which tells -0.0 from 0.0 and
    NaNs by their bits; else as JAX sorts: zeros are equal, NaNs equal.
    has_nan_first: whether NaNs are in front; None where the comparator does not say.
    """

    operand: int
    is_descending: bool = False
    is_total: bool = False
    computed: Tree | None = None
    has_nan_first: bool | None = None


@dataclass(frozen=True)
class _Basis:
    """What is compared: `made` of either element of an operand, here of the first, and how.

    kind: FLOAT, TOTALORDER, NORMAL (as JAX writes it), INTEGER, or BOOL of a predicate.
    """

    made: Tree
    kind: str

    @property
    def operand(self) -> int:
        return next(iter(_arguments(self.made))) // 2

    @property
    def equal(self) -> tuple[Outcome, ...]:
        return (_EQUAL, (1, 1)) if self.kind == "BOOL" else (_EQUAL,)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return (_LESS, *self.equal, _GREATER, *(_NANS if self.kind == "FLOAT" else ()))


class _NoOrder(Exception):
    """The comparator has a part that compares no element with its like."""


def sort_keys(block: ir.Block) -> list[Key] | None:
    """The keys by which a comparator orders, major to minor; None for another one."""
    trees = region_trees(block)
    if len(trees) != 1:
        return None
    formula = _Formula(trees[0], [element_of(a.type) for a in block.arguments])
    try:
        found = sorted(formula.bases(trees[0]), key=repr)
        return _order(formula, found, {})
    except _NoOrder:
        return None


def _order(
    formula: _Formula, bases: Sequence[_Basis], fixed: Mapping[_Basis, tuple[Outcome, ...]]
) -> list[Key] | None:
    """The keys among the bases that order where those of `fixed` are equal."""
    if len(formula.values(bases, fixed)) == 1:
        return []
    for basis in bases:
        results = [formula.values(bases, {**fixed, basis: (o,)}) for o in basis.outcomes]
        known = {o: next(iter(r)) for o, r in zip(basis.outcomes, results) if len(r) == 1}
        less, greater = known.get(_LESS), known.get(_GREATER)
        if less is None or greater is None or less == greater:
            continue
        rest = [other for other in bases if other != basis]
        more = _order(formula, rest, {**fixed, basis: basis.equal})
        if more is not None:
            return [_key(basis, bool(greater), known), *more]
    return None


def _key(basis: _Basis, is_descending: bool, known: Mapping[Outcome, bool]) -> Key:
    ends = known.get(_NAN_AND_NUMBER), known.get(_NUMBER_AND_NAN)
    has_nan_first = {(True, False): True, (False, True): False}.get(ends)
    made = None if basis.made == argument(2 * basis.operand) else basis.made
    is_total = basis.kind == "TOTALORDER"
    return Key(basis.operand, is_descending, is_total, made, has_nan_first)


@dataclass(frozen=True)
class _Formula:
    """A comparator's tree, and the elements of its arguments."""

    found: Tree
    elements: Sequence[str]

    def values(
        self, bases: Sequence[_Basis], fixed: Mapping[_Basis, tuple[Outcome, ...]]
    ) -> set[bool]:
        """What it gives where the outcomes of these are among the fixed ones, if there are some."""
        if len(bases) > _FEW_KEYS:
            every = itertools.product(*fixed.values())
            return set().union(*(self._possible(self.found, dict(zip(fixed, known))) for known in every))
        known = dict(fixed)
        choices = [known.pop(basis, basis.outcomes) for basis in bases]
        every = itertools.product(*choices, *known.values())
        names = (*bases, *known)
        return {self._value(self.found, dict(zip(names, outcomes))) for outcomes in every}

    def _possible(self, found: Tree, known: Mapping[_Basis, Outcome]) -> set[bool]:
        """What it gives and maybe more: parts are taken as if they had nothing to do with each other."""
        basis = self._basis(found)
        if basis is not None:
            outcomes = [known[basis]] if basis in known else basis.outcomes
            return {self._compared(found, outcome) for outcome in outcomes}
        if found[0] == "select":
            condition, *branches = (self._possible(part, known) for part in _parts(found))
            return set().union(*(branches[0] if value else branches[1] for value in condition))
        parts = [self._possible(part, known) for part in _parts(found)]
        return {self._combined(found, values) for values in itertools.product(*parts)}

    def bases(self, found: Tree) -> set[_Basis]:
        """All that a formula compares."""
        basis = self._basis(found)
        if basis is not None:
            return {basis}
        if found[0] == "constant":
            return set()
        return set().union(*map(self.bases, _parts(found)))

    def _value(self, found: Tree, outcomes: Mapping[_Basis, Outcome]) -> bool:
        basis = self._basis(found)
        if basis is not None:
            return self._compared(found, outcomes[basis])
        return self._combined(found, [self._value(part, outcomes) for part in _parts(found)])

    @staticmethod
    def _combined(found: Tree, values: Sequence[bool]) -> bool:
        """Of a formula the value where its parts have these."""
        name = found[0]
        if name == "constant":
            return bool(found[1])
        if name == "compare":
            return _COMPARISONS[found[1]](*values)
        if name == "not":
            return not values[0]
        if name == "select":
            return values[1] if values[0] else values[2]
        return _LOGIC[name](*values)

    def _compared(self, found: Tree, outcome: Outcome) -> bool:
        """A comparison's value, or that of a predicate of one element."""
        if found[0] != "compare" or not self._is_comparison(found):
            return bool(outcome[min(_arguments(found)) % 2])
        sides = (outcome[min(_arguments(side)) % 2] for side in found[-2:])
        return _COMPARISONS[found[1]](*sides)

    def _basis(self, found: Tree) -> _Basis | None:
        """Of a comparison of numbers or a predicate; None of a formula of several."""
        if self._is_comparison(found):
            return self._comparison(found)
        is_formula = found[0] in (*_LOGIC, "not", "select", "compare", "constant")
        if is_formula and (found[0] == "constant" or all(map(self._is_bool, _parts(found)))):
            return None
        return _Basis(self._of_first(found), "BOOL")

    def _is_comparison(self, found: Tree) -> bool:
        """Whether it is one of two elements of one operand, or asks whether one is NaN."""
        if found[0] != "compare" or any(map(self._is_bool, found[-2:])):
            return False
        is_nan = found[1] in ("EQ", "NE") and found[-1] == found[-2]
        return is_nan or len(_arguments(found)) == 2

    def _comparison(self, found: Tree) -> _Basis:
        sides = [_stripped(side) for side in found[-2:]]
        made = [self._of_first(side) for side, _ in sides]
        if made[0] != made[1] or sides[0][1] != sides[1][1]:
            raise _NoOrder
        kind = found[2] if len(found) == 5 else "NOTYPE"
        if kind == "TOTALORDER":
            return _Basis(made[0], "TOTALORDER" if sides[0][1] else "NORMAL")
        is_integer = kind in ("SIGNED", "UNSIGNED")
        if kind == "NOTYPE" and made[0][0] == "argument":
            is_integer = "i" in self.elements[made[0][1]]
        return _Basis(made[0], "INTEGER" if is_integer else "FLOAT")

    def _is_bool(self, found: Tree) -> bool:
        if found[0] == "argument":
            return self.elements[found[1]] == "i1"
        if found[0] == "constant":
            return isinstance(found[1], bool)
        if found[0] in ("compare", "is_finite"):
            return True
        branches = found[2:] if found[0] == "select" else found[1:]
        is_logic = found[0] in (*_LOGIC, "not", "select")
        return is_logic and all(map(self._is_bool, branches))

    def _of_first(self, found: Tree) -> Tree:
        """What is made of one element, of the first of its operand."""
        arguments = _arguments(found)
        if len(arguments) != 1 or _reads_outer(found):
            raise _NoOrder
        return _renamed(found, min(arguments) // 2 * 2)


def _parts(found: Tree) -> list[Tree]:
    return [part for part in found[1:] if isinstance(part, tuple)]


def _renamed(found: Tree, index: int) -> Tree:
    """The tree of another argument."""
    if found[0] == "argument":
        return argument(index)
    return tuple(_renamed(part, index) if isinstance(part, tuple) else part for part in found)


def _reads_outer(found: Tree) -> bool:
    return found == ("outer",) or any(map(_reads_outer, _parts(found)))


def computed_value(block: ir.Block, key: Key) -> ir.Value:
    """The comparator's value that the key's tree is of."""
    return next(value for value in _values(block) if tree(value, block) == key.computed)


def _values(block: ir.Block) -> Iterator[ir.Value]:
    for op in block.operations:
        yield from op.operation.results


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
    return set().union(*map(_arguments, _parts(found)))
