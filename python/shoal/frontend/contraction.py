# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Einstein summation and what is written by it, also over groups of rows."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal import ir
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import broadcast_shapes, broadcast_to, dtype_of
from shoal.frontend.checks import as_axis, check
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.elementwise import multiply
from shoal.frontend.value import Value

__all__ = ["dot", "einsum", "matmul", "outer", "ragged_dot", "ragged_einsum", "tensordot"]


def einsum(spec: str, *operands: ArrayLike, dtype: Any = None) -> Value:
    """NumPy's einsum of any number of operands; without "->" the result is as there.

    A letter a dimension, no ellipsis. Several operands are multiplied two by
    two, in the order that np.einsum_path finds cheapest. Sums of bfloat16 and
    float16 are accumulated in float32.

    dtype: the result's type, at least as wide as that of the operands; of
    floats of 8 bits, which may be of both kinds, float32 unless given.
    TraceError where a letter has two sizes or a rank does not fit.
    """
    if len(operands) == 2 and all(dtypes.is_float8(dtype_of(x)) for x in operands):
        return _product_of_float8(spec, [as_value(x) for x in operands], dtype)
    kind = dtypes.promote(*map(dtype_of, operands)) if operands else dtypes.FLOAT32
    if dtypes.is_float8(kind):
        kind = dtypes.FLOAT32
    values = [convert(as_value(operand, kind), kind) for operand in operands]
    terms, output = _parse(spec, values)
    sizes_of(f'einsum "{spec}"', terms, values)
    if dtypes.is_bool(kind):
        raise TraceTypeError(f'einsum "{spec}": the operands are bool; convert them with .astype')
    result = dtypes.as_dtype(dtype) if dtype is not None else kind
    if dtypes.promote(kind, result) != result or dtypes.is_float(kind) != dtypes.is_float(result):
        raise TraceTypeError(f'einsum "{spec}": the sum of {kind} cannot be {result}')
    terms, values = _multiply_until_two(terms, output, values, kind)
    return _einsum(f"{','.join(terms)}->{output}", values, result)


def _product_of_float8(spec: str, values: list[Value], dtype: Any) -> Value:
    terms, output = _parse(spec, values)
    result = dtypes.as_dtype(dtype) if dtype is not None else dtypes.FLOAT32
    if not dtypes.is_float(result) or dtypes.is_float8(result):
        raise TraceTypeError(
            f'einsum "{spec}": the sum of {values[0].dtype} cannot be {result}; expected float32, '
            "bfloat16 or float16"
        )
    return _einsum(f"{','.join(terms)}->{output}", values, result)


def _einsum(spec: str, values: Sequence[Value], dtype: np.dtype) -> Value:
    terms, output = spec.split("->")
    sizes = sizes_of(f'einsum "{spec}"', terms.split(","), values)
    shape = [sizes[letter] for letter in output]
    if terms == output and values[0].dtype == dtype:
        return values[0]
    return emit_one("shoal.einsum", values, shape, dtype, {"spec": ir.quoted(spec)})


def _parse(spec: str, values: Sequence[Value]) -> tuple[list[str], str]:
    """The terms of the operands and of the result."""
    inputs, arrow, output = spec.replace(" ", "").partition("->")
    terms = inputs.split(",")
    letters = inputs.replace(",", "")
    for letter in letters + output:
        check(
            letter in string.ascii_letters,
            f'einsum "{spec}": expected letters, "," and "->", got "{letter}"',
        )
    check(
        values and len(terms) == len(values),
        f'einsum "{spec}": {len(terms)} operands in the spec, {len(values)} given',
    )
    if not arrow:  # NumPy's rule: letters that occur once, sorted
        output = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    for letter in output:
        check(letter in letters, f'einsum "{spec}": letter {letter} of the result is in no operand')
        check(output.count(letter) == 1, f'einsum "{spec}": the result has letter {letter} twice')
    return terms, output


def sizes_of(what: str, terms: Sequence[str], values: Sequence[Value]) -> dict[str, int]:
    """The size of each letter; TraceError where a rank does not fit or a letter has two."""
    sizes: dict[str, int] = {}
    owner: dict[str, int] = {}
    for i, (term, value) in enumerate(zip(terms, values)):
        check(
            len(term) == value.ndim,
            f"{what}: operand {i} has {value.ndim} dimensions, {list(value.shape)}, "
            f'and {len(term)} letters, "{term}"',
        )
        for letter, size in zip(term, value.shape):
            if sizes.setdefault(letter, size) != size:
                raise TraceError(
                    f"{what}: letter {letter} is {sizes[letter]} in operand {owner[letter]} "
                    f"and {size} in operand {i}"
                )
            owner.setdefault(letter, i)
    return sizes


def _multiply_until_two(
    terms: list[str], output: str, values: list[Value], dtype: np.dtype
) -> tuple[list[str], list[Value]]:
    """The op takes two operands: multiplies others before, in the cheapest order."""
    if len(values) <= 2:
        return terms, values
    # No elements: views of one zero have the shapes that the path is found by.
    shapes = [np.broadcast_to(np.float32(0), value.shape) for value in values]
    path, _ = np.einsum_path(f"{','.join(terms)}->{output}", *shapes, optimize="greedy")
    left = list(zip(terms, values))
    for step in path[1:]:
        group = [left.pop(i) for i in sorted(step, reverse=True)][::-1]
        while len(group) > 1 and len(group) + len(left) > 2:
            (a, x), (b, y), *rest = group
            needed = set(output).union(*(term for term, _ in left + rest))
            between = "".join(dict.fromkeys(letter for letter in a + b if letter in needed))
            group = [(between, _einsum(f"{a},{b}->{between}", [x, y], dtype)), *rest]
        left += group
    return [term for term, _ in left], [value for _, value in left]


def matmul(a: ArrayLike, b: ArrayLike) -> Value:
    """NumPy's @: matrix products over the last two dimensions, the others broadcast."""
    lhs, rhs = as_value(a), as_value(b)
    check(lhs.ndim and rhs.ndim, "matmul: an operand is a scalar; use *")
    inner = (lhs.shape[-1], rhs.shape[-2] if rhs.ndim > 1 else rhs.shape[0])
    check(
        inner[0] == inner[1],
        f"matmul: {list(lhs.shape)} @ {list(rhs.shape)}: {inner[0]} columns and {inner[1]} rows",
    )
    batch = broadcast_shapes([lhs.shape[:-2], rhs.shape[:-2]], "matmul")
    left, right = ("K" if value.ndim == 1 else term for value, term in ((lhs, "IK"), (rhs, "KJ")))
    letters = string.ascii_lowercase[: len(batch)]

    def operand(value: Value, own: str) -> tuple[Value, str]:
        """A dimension of size 1 that the other does not have so is repeated."""
        outer = value.shape[:-2]
        mine = batch[len(batch) - len(outer) :]
        if outer != mine:
            value = broadcast_to(value, (*mine, *value.shape[-2:]))
        return value, letters[len(batch) - len(outer) :] + own

    lhs, left_term = operand(lhs, left)
    rhs, right_term = operand(rhs, right)
    output = letters + left.replace("K", "") + right.replace("K", "")
    return einsum(f"{left_term},{right_term}->{output}", lhs, rhs)


def dot(a: ArrayLike, b: ArrayLike) -> Value:
    """NumPy's dot: sums over the last dimension of a and the last but one of b."""
    lhs, rhs = as_value(a), as_value(b)
    if not lhs.ndim or not rhs.ndim:
        return multiply(lhs, rhs)
    return tensordot(lhs, rhs, ([lhs.ndim - 1], [max(rhs.ndim - 2, 0)]))


def tensordot(
    a: ArrayLike, b: ArrayLike, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Value:
    """NumPy's tensordot: sums over axes[0] of a with axes[1] of b, or the last and first n."""
    lhs, rhs = as_value(a), as_value(b)
    if isinstance(axes, int):
        check(0 <= axes <= min(lhs.ndim, rhs.ndim), f"tensordot: {axes} axes of {lhs} and {rhs}")
        axes = (range(lhs.ndim - axes, lhs.ndim), range(axes))
    check(len(axes[0]) == len(axes[1]), f"tensordot: {len(axes[0])} axes with {len(axes[1])}")
    left = list(string.ascii_lowercase[: lhs.ndim])
    right = list(string.ascii_uppercase[: rhs.ndim])
    for i, j in zip(*axes):
        right[as_axis(j, rhs.ndim, "tensordot")] = left[as_axis(i, lhs.ndim, "tensordot")]
    summed = set(left) & set(right)
    output = "".join(letter for letter in left + right if letter not in summed)
    return einsum(f"{''.join(left)},{''.join(right)}->{output}", lhs, rhs)


def outer(a: ArrayLike, b: ArrayLike) -> Value:
    """The products of every element of one vector with every element of the other."""
    return einsum("i,j->ij", a, b)


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    spec: str = "TM,EMH,E->TH",
    rows: str = "T",
    *,
    dtype: Any = None,
) -> Value:
    """An einsum over groups of consecutive rows: jax.lax.ragged_dot.

    Group e has the group_sizes[e] rows behind those of the groups before it;
    rows behind the last group give zero. See `ragged_einsum` for the spec.
    """
    return _ragged("shoal.ragged_dot", spec, rows, lhs, rhs, [group_sizes], dtype)


def ragged_einsum(
    spec: str,
    rows: str,
    lhs: ArrayLike,
    rhs: ArrayLike,
    begins: ArrayLike,
    ends: ArrayLike,
    *,
    dtype: Any = None,
) -> Value:
    """An einsum whose rows belong to groups: "TM,EMH,E->TH" with rows "T".

    The third term has the letters of both bounds, its last letter the group's.
    Row t is multiplied with the matrices of the groups e with begins[e] <= t <
    ends[e], and these products are added. Bounds are int32 or int64.
    """
    return _ragged("shoal.ragged_einsum", spec, rows, lhs, rhs, [begins, ends], dtype)


def _ragged(
    op: str,
    spec: str,
    rows: str,
    lhs: ArrayLike,
    rhs: ArrayLike,
    bounds: Sequence[ArrayLike],
    dtype: Any,
) -> Value:
    what = f'{op.removeprefix("shoal.")} "{spec}"'
    kind = dtypes.promote(dtype_of(lhs), dtype_of(rhs))
    values = [convert(as_value(operand), kind) for operand in (lhs, rhs)]
    limits = [as_value(bound) for bound in bounds]
    for limit in limits:
        if limit.dtype not in (dtypes.INT32, dtypes.INT64):
            raise TraceTypeError(f"{what}: bounds of {limit.dtype}; expected int32 or int64")
    inputs, arrow, output = spec.partition("->")
    terms = inputs.split(",")
    check(arrow and len(terms) == 3, f"{what}: expected three terms and a result")
    sizes = sizes_of(what, [*terms, *terms[2:] * (len(limits) - 1)], [*values, *limits])
    check(
        len(rows) == 1 and rows in terms[0] + terms[1] and rows not in terms[2],
        f'{what}: rows "{rows}" is not a letter of the first two terms alone',
    )
    for letter in output:
        check(letter in sizes, f"{what}: letter {letter} of the result is in no operand")
    result = kind if dtype is None else dtypes.as_dtype(dtype)
    attributes = {"spec": ir.quoted(spec), "rows": ir.quoted(rows)}
    shape = [sizes[letter] for letter in output]
    return emit_one(op, [*values, *limits], shape, result, attributes)
