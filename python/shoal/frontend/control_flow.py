# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches on what only the running program knows, and barriers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import optree

from shoal import ir
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.checks import as_int, check
from shoal.frontend.constants import as_value, is_scalar
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike, Type, emit, region, type_of
from shoal.frontend.creation import zeros
from shoal.frontend.elementwise import add, clip, less, subtract
from shoal.frontend.indexing import At, getitem
from shoal.frontend.value import Value

__all__ = ["cond", "fori_loop", "optimization_barrier", "scan", "switch", "while_loop"]

Tree = Any


def while_loop(cond: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree) -> Tree:
    """Repeats `carry = body(carry)` while `cond(carry)`, a scalar bool, holds.

    carry: a tree of values whose structure, shapes and types the body keeps.
    Both functions are traced once. Every device runs the loop equally often.
    """
    start, tree = _flatten_values(init)
    types = [type_of(value) for value in start]
    with region("while_loop's condition", types) as (condition, carried):
        result = as_value(cond(pytrees.unflatten(tree, carried)), what="while_loop: condition")
        _check_predicate(result, "while_loop: the condition")
        _yield([result])
    with region("while_loop's body", types) as (loop, carried):
        after = body(pytrees.unflatten(tree, carried))
        _yield(_matching(after, tree, start, "while_loop: the body's result"))
    results = emit("shoal.while", start, types, regions=[condition, loop])
    return pytrees.unflatten(tree, results)


def cond(
    pred: ArrayLike, true_fn: Callable[..., Tree], false_fn: Callable[..., Tree], *operands: Tree
) -> Tree:
    """true_fn(*operands) where the scalar bool holds, else false_fn(*operands).

    Both give one structure, with the same shapes and types. They may use values
    from outside without naming them as operands.
    """
    predicate = as_value(pred, what="cond: predicate")
    _check_predicate(predicate, "cond: the predicate")
    return _case(predicate, [true_fn, false_fn], operands, "cond", ("true_fn", "false_fn"))


def switch(index: ArrayLike, branches: Sequence[Callable[..., Tree]], *operands: Tree) -> Tree:
    """branches[index](*operands); an index out of range takes the nearest branch.

    As for `cond`, all branches give one structure, with the same shapes and types.
    """
    check(branches, "switch: no branches")
    number = as_value(index, what="switch: index")
    if number.ndim or not dtypes.is_integer(number.dtype):
        raise TraceTypeError(f"switch: the index is {number!r}; expected a scalar integer")
    number = convert(clip(number, 0, len(branches) - 1), dtypes.INT32)
    names = tuple(f"branch {i}" for i in range(len(branches)))
    return _case(number, branches, operands, "switch", names)


def _case(
    index: Value,
    branches: Sequence[Callable[..., Tree]],
    operands: Sequence[Tree],
    what: str,
    names: Sequence[str],
) -> Tree:
    regions: list[ir.Region] = []
    made: list[tuple[list[Value], optree.PyTreeSpec]] = []
    for branch, name in zip(branches, names):
        with region(f"{what}'s {name}", []) as (body, _):
            result = branch(*operands)
            if made:
                first, tree = made[0]
                values = _matching(result, tree, first, f"{what}: the result of {name}", names[0])
            else:
                made.append(_flatten_values(result))
                values = made[0][0]
            _yield(values)
        regions.append(body)
    first, tree = made[0]
    results = emit("shoal.case", [index], [type_of(value) for value in first], regions=regions)
    return pytrees.unflatten(tree, results)


def fori_loop(
    lower: ArrayLike, upper: ArrayLike, body: Callable[[Value, Tree], Tree], init: Tree
) -> Tree:
    """`carry = body(i, carry)` for i in lower ... upper - 1, scalar int32 or int64."""
    start, stop = as_value(lower), as_value(upper)
    dtype = dtypes.promote(start.dtype, stop.dtype)
    for bound in (start, stop):
        if bound.ndim or not dtypes.is_integer(bound.dtype):
            raise TraceTypeError(f"fori_loop: a bound is {bound!r}; expected a scalar integer")
    end = convert(stop, dtype)

    def advance(state: tuple[Value, Tree]) -> tuple[Value, Tree]:
        i, carry = state
        return add(i, 1), body(i, carry)

    state = while_loop(lambda state: less(state[0], end), advance, (convert(start, dtype), init))
    return state[1]


def scan(
    body: Callable[[Tree, Tree], tuple[Tree, Tree]],
    init: Tree,
    xs: Tree = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Tree, Tree]:
    """`carry, ys[i] = body(carry, xs[i])` for each row i of the leading dimension of xs.

    xs: a tree of values with equally many rows, or None where `length` is given.
    reverse: from the last row to the first; ys[i] still belongs to xs[i].
    Returns (carry, ys), ys with a leading dimension of that length.
    """
    rows, xs_tree = _flatten_values(xs)
    count = _length(rows, length)
    ys_types, ys_tree = _results_of(body, init, rows, xs_tree)
    outputs = [zeros((count, *shape), dtype) for shape, dtype in ys_types]

    def step(i: Value, state: tuple[Tree, list[Value]]) -> tuple[Tree, list[Value]]:
        carry, ys = state
        place = subtract(count - 1, i) if reverse else i
        carry, new = body(carry, pytrees.unflatten(xs_tree, [getitem(row, place) for row in rows]))
        leaves, tree = _flatten_values(new)
        check(tree == ys_tree, f"scan: ys of two structures: {tree} and {ys_tree}")
        return carry, [At(y)[place].set(leaf) for y, leaf in zip(ys, leaves)]

    carry, ys = fori_loop(0, count, step, (init, outputs))
    return carry, pytrees.unflatten(ys_tree, ys)


def optimization_barrier(tree: Tree) -> Tree:
    """The values of a tree; nothing is computed across it, and no equal values are merged."""
    leaves, spec = pytrees.flatten(tree)
    values = [as_value(leaf) for leaf in leaves]
    check(values, "optimization_barrier: no values")
    types = [(value.shape, value.dtype) for value in values]
    return pytrees.unflatten(spec, emit("shoal.optimization_barrier", values, types))


def _length(rows: Sequence[Value], length: int | None) -> int:
    counts = {len(row) for row in rows}
    if length is not None:
        counts.add(as_int(length, "scan: length"))
    if len(counts) != 1:
        raise TraceError(
            f"scan: expected one number of rows in xs and length, got {sorted(counts)}"
        )
    return counts.pop()


def _results_of(
    body: Callable, init: Tree, rows: Sequence[Value], xs_tree: optree.PyTreeSpec
) -> tuple[list[Type], optree.PyTreeSpec]:
    """The types of a step's second result, of a trial whose ops are thrown away."""
    start, tree = _flatten_values(init)
    types = [type_of(value) for value in start]
    types += [(row.shape[1:], row.dtype) for row in rows]
    with region("scan's body", types) as (_, arguments):
        carry = pytrees.unflatten(tree, arguments[: len(start)])
        result = body(carry, pytrees.unflatten(xs_tree, arguments[len(start) :]))
        if not isinstance(result, tuple) or len(result) != 2:
            raise TraceTypeError(f"scan: expected the body to return (carry, y), got {result!r}")
        leaves, ys_tree = _flatten_values(result[1])
        return [type_of(leaf) for leaf in leaves], ys_tree


def _flatten_values(tree: Tree) -> tuple[list[Value], optree.PyTreeSpec]:
    leaves, spec = pytrees.flatten(tree)
    return [as_value(leaf) for leaf in leaves], spec


def _yield(values: Sequence[Value]) -> None:
    emit("shoal.yield", values, [])


def _check_predicate(value: Value, what: str) -> None:
    if value.ndim or not dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"{what} is {value!r}; expected a scalar bool")


def _matching(
    tree: Tree, spec: optree.PyTreeSpec, expected: Sequence[Value], what: str, other: str = "init"
) -> list[Value]:
    """The leaves of a tree that must be like another; Python's numbers take its types."""
    leaves, actual = pytrees.flatten(tree)
    if actual != spec:
        raise TraceError(
            f"{what} has the structure {pytrees.describe(actual)}, "
            f"{other} has {pytrees.describe(spec)}"
        )
    values = []
    for path, leaf, like in zip(pytrees.paths(tree), leaves, expected):
        number = is_scalar(leaf) and dtypes.promote(leaf, like.dtype) == like.dtype
        value = as_value(leaf, like.dtype if number else None)
        if type_of(value) != type_of(like):
            raise TraceTypeError(f"{what}{pytrees.place(path)}: {value!r}, but {like!r} in {other}")
        values.append(value)
    return values
