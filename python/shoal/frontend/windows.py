# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence

from shoal import ir
from shoal.enums import kind_attribute
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.bits import in_signed_order, to_signed_order
from shoal.frontend.broadcasting import as_elements, as_operand, dtype_of
from shoal.frontend.checks import as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import as_float, convert
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.creation import ones_like
from shoal.frontend.elementwise import divide, or_one
from shoal.frontend.reduction import check_reducible
from shoal.frontend.value import Value
from shoal.frontend.window_geometry import Padding, Sizes, Window

__all__ = ["avg_pool", "conv", "max_pool", "min_pool", "reduce_window", "sum_pool"]


def conv(
    x: ArrayLike,
    kernel: ArrayLike,
    spec: str = "b01f,01io->b01f",
    *,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    base_dilation: Sizes = 1,
    window_dilation: Sizes = 1,
    feature_groups: int = 1,
    batch_groups: int = 1,
) -> Value:
    """Products of a kernel with windows of the operand, in one to three spatial dimensions.

    spec: the dimensions of operand, kernel and result. b and f are batch and
      feature, i and o the kernel's features, digits the spatial dimensions.
    strides, dilations: an entry per spatial dimension, or one for all.
    padding: "VALID" has none; "SAME" makes ceil(size / stride) rows; or pairs.

    Sums of bfloat16 and float16 are accumulated in float32.
    """
    dtype = dtypes.promote(dtype_of(x), dtype_of(kernel))
    if dtypes.is_bool(dtype):
        raise TraceTypeError("conv: the operands are bool; use .astype")
    values = [convert(as_value(operand), dtype) for operand in (x, kernel)]
    terms = _terms(spec, [value.ndim for value in values])
    sizes = [dict(zip(term, value.shape)) for term, value in zip(terms, values)]
    spatial = sorted(letter for letter in terms[0] if letter.isdigit())
    groups = _check_groups(spec, sizes, feature_groups, batch_groups)
    window = Window(
        f'conv "{spec}"',
        [sizes[0][letter] for letter in spatial],
        [sizes[1][letter] for letter in spatial],
        strides,
        padding,
        base_dilation,
        window_dilation,
    )
    made = dict(zip(spatial, window.results()))
    made |= {"b": sizes[0]["b"] // batch_groups, "f": sizes[1]["o"]}
    attributes = {"spec": ir.quoted(spec), **window.attributes(), **groups}
    shape = [made[letter] for letter in terms[2]]
    return emit_one("shoal.convolution", values, shape, dtype, attributes)


def _terms(spec: str, ranks: Sequence[int]) -> list[str]:
    operands, _, result = spec.partition("->")
    terms = [*operands.split(","), result]
    digits = "".join(sorted(letter for letter in terms[0] if letter.isdigit()))
    expected = ["bf" + digits, "io" + digits, "bf" + digits]
    check(
        len(terms) == 3
        and digits in ("0", "01", "012")
        and all(sorted(t) == sorted(e) for t, e in zip(terms, expected)),
        f'conv "{spec}": expected the letters "b01f,01io->b01f" in any order',
    )
    for i, (term, rank) in enumerate(zip(terms, ranks)):
        check(
            len(term) == rank,
            f'conv "{spec}": operand {i} has {rank} dimensions and {len(term)} letters, "{term}"',
        )
    return terms


def _check_groups(
    spec: str, sizes: Sequence[dict[str, int]], features: int, batches: int
) -> dict[str, str]:
    operand, kernel = sizes
    features, batches = as_int(features, "feature_groups"), as_int(batches, "batch_groups")
    check(
        features >= 1 and batches >= 1 and 1 in (features, batches),
        f'conv "{spec}": {features} feature groups and {batches} batch groups; one is 1',
    )
    check(
        operand["f"] == kernel["i"] * features,
        f'conv "{spec}": f is {operand["f"]} in the operand, i is {kernel["i"]} in the kernel, '
        f"feature groups: {features}",
    )
    check(
        kernel["o"] % (features * batches) == 0 and operand["b"] % batches == 0,
        f'conv "{spec}": o is {kernel["o"]}, b is {operand["b"]}; {features} feature groups and '
        f"{batches} batch groups do not divide them",
    )
    return {
        "feature_group_count": f"{features} : i64",
        "batch_group_count": f"{batches} : i64",
    }


def reduce_window(
    x: ArrayLike,
    kind: str,
    window: Sequence[int],
    *,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    base_dilation: Sizes = 1,
    window_dilation: Sizes = 1,
    init: ArrayLike | None = None,
) -> Value:
    """Reduces each window, of a size per dimension, to one element.

    kind: sum, prod, max, min, and, or. Padding counts as absent. init: what is
    combined with each window, the kind's identity where it is None.
    """
    value = as_value(x)
    check_reducible(kind, value, "reduce_window")
    check(
        len(window) == value.ndim,
        f"reduce_window: a window of {len(window)} dimensions for {value.ndim}",
    )
    place = Window(
        "reduce_window", value.shape, window, strides, padding, base_dilation, window_dilation
    )
    start = _start(kind, value, init)
    attributes = {
        "kind": kind_attribute(kind),
        "window": ir.i64s(place.window),
        **place.attributes(),
    }

    def run(tensor: Value) -> Value:
        operands = [tensor, start if tensor is value else to_signed_order(start)]
        shape = place.results()
        return emit_one("shoal.reduce_window", operands, shape, tensor.dtype, attributes)

    return in_signed_order(value, run) if kind in ("max", "min") else run(value)


def _start(kind: str, value: Value, init: ArrayLike | None) -> Value:
    if init is None:
        return _identity(kind, value)
    start = as_elements(init, value.dtype, "reduce_window: init")
    check(start.ndim == 0, f"reduce_window: init is {start!r}; expected a scalar")
    return start


def _identity(kind: str, value: Value) -> Value:
    ones = -1 if value.dtype.kind == "i" else dtypes.highest(value.dtype)
    number = {
        "sum": 0,
        "prod": 1,
        "max": dtypes.lowest(value.dtype),
        "min": dtypes.highest(value.dtype),
        "or": 0,
        "and": ones,
    }[kind]
    return as_operand(number, (), value.dtype)


def max_pool(
    x: ArrayLike, window: Sequence[int], strides: Sizes = 1, padding: Padding = "VALID"
) -> Value:
    """The largest element of each window, which has a size per dimension."""
    return reduce_window(x, "max", window, strides=strides, padding=padding)


def min_pool(
    x: ArrayLike, window: Sequence[int], strides: Sizes = 1, padding: Padding = "VALID"
) -> Value:
    """The smallest element of each window."""
    return reduce_window(x, "min", window, strides=strides, padding=padding)


def sum_pool(
    x: ArrayLike, window: Sequence[int], strides: Sizes = 1, padding: Padding = "VALID"
) -> Value:
    """The sum of each window."""
    return reduce_window(x, "sum", window, strides=strides, padding=padding)


def avg_pool(
    x: ArrayLike, window: Sequence[int], strides: Sizes = 1, padding: Padding = "VALID"
) -> Value:
    """The mean of each window's elements, not counting padding, 0 of padding alone; integers as float32."""
    value = as_float(x)
    counts = sum_pool(ones_like(value), window, strides, padding)
    return divide(sum_pool(value, window, strides, padding), or_one(counts))
