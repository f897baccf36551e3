# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arguments must be: raising the TraceError that says what they are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from shoal.errors import TraceError, TraceTypeError


def check(condition: Any, message: str) -> None:
    """TraceError with the message unless the condition holds."""
    if not condition:
        raise TraceError(message)


def as_int(number: Any, what: str) -> int:
    """A Python integer; TraceTypeError for floats, Values and others."""
    try:
        return operator.index(number)
    except TypeError:
        raise TraceTypeError(
            f"{what}: expected a Python integer, got {type(number).__name__}"
        ) from None


def as_shape(shape: int | Sequence[int], what: str) -> tuple[int, ...]:
    """Sizes that are not negative."""
    listed = shape if isinstance(shape, Sequence) else (shape,)
    sizes = tuple(as_int(size, f"{what}: size") for size in listed)
    check(all(size >= 0 for size in sizes), f"{what}: shape {list(sizes)} has a negative size")
    return sizes


def as_axis(axis: Any, rank: int, what: str) -> int:
    """A dimension, counted from the end where negative."""
    number = as_int(axis, f"{what}: axis")
    check(-rank <= number < rank, f"{what}: axis {number} of {rank} dimensions")
    return number % rank


def as_axes(axes: int | Sequence[int] | None, rank: int, what: str) -> list[int]:
    """Distinct dimensions in ascending order; all of them for None."""
    if axes is None:
        return list(range(rank))
    listed = axes if isinstance(axes, Sequence) else (axes,)
    result = sorted(as_axis(axis, rank, what) for axis in listed)
    check(len(set(result)) == len(result), f"{what}: an axis occurs twice in {list(listed)}")
    return result
