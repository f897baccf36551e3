# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products of groups of rows whose sizes only the running program knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal import ir
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import dtype_of
from shoal.frontend.checks import check
from shoal.frontend.conversion import convert
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.products import sizes_of

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = ["ragged_dot", "ragged_einsum"]


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
