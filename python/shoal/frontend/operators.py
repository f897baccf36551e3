# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be done with values: operators, methods and indexing, as NumPy's arrays have them."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import (
    contraction,
    elementwise,
    indexing,
    numpy_protocol,
    ordering,
    reduction,
    structure,
)
from shoal.frontend.core import ArrayLike
from shoal.frontend.reshape import reshaped, squeeze
from shoal.frontend.value import Value

Axes = int | Sequence[int] | None


class Operators(Value):
    """What `Value` has besides its data: this module attaches all of it."""

    __slots__ = ()

    # Shape.

    @property
    def T(self) -> Value:  # noqa: N802
        """With all dimensions in reverse order."""
        return structure.transpose(self)

    def reshape(self, *sizes: int | Sequence[int]) -> Value:
        """x.reshape(2, -1) or x.reshape((2, -1)); one size may be -1."""
        return reshaped(self, _unpacked(sizes))

    def transpose(self, *permutation: int | Sequence[int]) -> Value:
        """Dimension i of the result is dimension permutation[i]; reversed where none is given."""
        return structure.transpose(self, _unpacked(permutation) or None)

    def swapaxes(self, first: int, second: int) -> Value:
        """Two dimensions in each other's place."""
        return structure.swapaxes(self, first, second)

    def ravel(self) -> Value:
        """All elements in one dimension, row-major."""
        return reshaped(self, (-1,))

    flatten = ravel

    def squeeze(self, axis: Axes = None) -> Value:
        """Without the dimensions of size 1, or those of `axis`."""
        return squeeze(self, axis)

    def astype(self, dtype: Any) -> Value:
        """Floats to integers: towards zero, beyond the range unspecified. To bool: is not zero."""
        return elementwise.astype(self, dtype)

    # Parts.

    def __getitem__(self, index: Any) -> Value:
        return indexing.getitem(self, index)

    @property
    def at(self) -> indexing.At:
        """x.at[index].set(y): x with a part replaced. Also add, multiply, max, min."""
        return indexing.At(self)

    def __iter__(self) -> Iterator[Value]:
        return (self[i] for i in range(len(self)))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TraceTypeError("values do not change: write x = x.at[index].set(y)")

    # Reductions.

    def sum(self, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None) -> Value:
        """See `shoal.sum`; axis: a dimension, several, or None for all."""
        return reduction.sum(self, axis, keepdims=keepdims, dtype=dtype)

    def prod(self, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None) -> Value:
        """See `shoal.prod`."""
        return reduction.prod(self, axis, keepdims=keepdims, dtype=dtype)

    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Value:
        """See `shoal.max`."""
        return reduction.max(self, axis, keepdims=keepdims)

    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Value:
        """See `shoal.min`."""
        return reduction.min(self, axis, keepdims=keepdims)

    def mean(self, axis: Axes = None, *, keepdims: bool = False) -> Value:
        """See `shoal.mean`."""
        return reduction.mean(self, axis, keepdims=keepdims)

    def var(self, axis: Axes = None, *, keepdims: bool = False) -> Value:
        """See `shoal.var`."""
        return reduction.var(self, axis, keepdims=keepdims)

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Value:
        """Whether an element is not zero."""
        return reduction.any(self, axis, keepdims=keepdims)

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Value:
        """Whether no element is zero."""
        return reduction.all(self, axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None) -> Value:
        """See `shoal.argmax`."""
        return ordering.argmax(self, axis)

    def argmin(self, axis: int | None = None) -> Value:
        """See `shoal.argmin`."""
        return ordering.argmin(self, axis)

    def cumsum(self, axis: int) -> Value:
        """See `shoal.cumsum`."""
        return reduction.cumsum(self, axis)

    # Arithmetic.

    def __add__(self, other: ArrayLike) -> Value:
        return elementwise.add(self, other)

    def __radd__(self, other: ArrayLike) -> Value:
        return elementwise.add(other, self)

    def __sub__(self, other: ArrayLike) -> Value:
        return elementwise.subtract(self, other)

    def __rsub__(self, other: ArrayLike) -> Value:
        return elementwise.subtract(other, self)

    def __mul__(self, other: ArrayLike) -> Value:
        return elementwise.multiply(self, other)

    def __rmul__(self, other: ArrayLike) -> Value:
        return elementwise.multiply(other, self)

    def __truediv__(self, other: ArrayLike) -> Value:
        return elementwise.divide(self, other)

    def __rtruediv__(self, other: ArrayLike) -> Value:
        return elementwise.divide(other, self)

    def __floordiv__(self, other: ArrayLike) -> Value:
        return elementwise.floor_divide(self, other)

    def __rfloordiv__(self, other: ArrayLike) -> Value:
        return elementwise.floor_divide(other, self)

    def __mod__(self, other: ArrayLike) -> Value:
        return elementwise.remainder(self, other)

    def __rmod__(self, other: ArrayLike) -> Value:
        return elementwise.remainder(other, self)

    def __pow__(self, other: ArrayLike) -> Value:
        return elementwise.power(self, other)

    def __rpow__(self, other: ArrayLike) -> Value:
        return elementwise.power(other, self)

    def __matmul__(self, other: ArrayLike) -> Value:
        return contraction.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Value:
        return contraction.matmul(other, self)

    def __neg__(self) -> Value:
        return elementwise.negative(self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return elementwise.abs(self)

    # Bits and truth.

    def __and__(self, other: ArrayLike) -> Value:
        return elementwise.bitwise_and(self, other)

    def __rand__(self, other: ArrayLike) -> Value:
        return elementwise.bitwise_and(other, self)

    def __or__(self, other: ArrayLike) -> Value:
        return elementwise.bitwise_or(self, other)

    def __ror__(self, other: ArrayLike) -> Value:
        return elementwise.bitwise_or(other, self)

    def __xor__(self, other: ArrayLike) -> Value:
        return elementwise.bitwise_xor(self, other)

    def __rxor__(self, other: ArrayLike) -> Value:
        return elementwise.bitwise_xor(other, self)

    def __lshift__(self, other: ArrayLike) -> Value:
        return elementwise.left_shift(self, other)

    def __rlshift__(self, other: ArrayLike) -> Value:
        return elementwise.left_shift(other, self)

    def __rshift__(self, other: ArrayLike) -> Value:
        return elementwise.right_shift(self, other)

    def __rrshift__(self, other: ArrayLike) -> Value:
        return elementwise.right_shift(other, self)

    def __invert__(self) -> Value:
        return elementwise.bitwise_not(self)

    def __eq__(self, other: ArrayLike) -> Value:  # type: ignore[override]
        return elementwise.equal(self, other)

    def __ne__(self, other: ArrayLike) -> Value:  # type: ignore[override]
        return elementwise.not_equal(self, other)

    def __lt__(self, other: ArrayLike) -> Value:
        return elementwise.less(self, other)

    def __le__(self, other: ArrayLike) -> Value:
        return elementwise.less_equal(self, other)

    def __gt__(self, other: ArrayLike) -> Value:
        return elementwise.greater(self, other)

    def __ge__(self, other: ArrayLike) -> Value:
        return elementwise.greater_equal(self, other)

    # What Python and NumPy ask of arrays that have elements already.

    def __bool__(self) -> bool:
        raise _unknown(self, "bool", "write shoal.cond, shoal.while_loop or shoal.where")

    def __int__(self) -> int:
        raise _unknown(self, "int", "write .astype")

    def __float__(self) -> float:
        raise _unknown(self, "float", "write .astype")

    def __index__(self) -> int:
        raise _unknown(
            self, "an index", "x[i] with a Value i reads at run time; sizes are Python's"
        )

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise _unknown(self, "a NumPy array", "use functions of shoal")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Value:
        return numpy_protocol.ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable, *_: Any) -> Any:
        return numpy_protocol.function(function)


def _unpacked(sizes: tuple) -> tuple[int, ...]:
    """(2, 3), ((2, 3),) and ([2, 3],) are (2, 3)."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return tuple(sizes[0])
    return sizes


def _unknown(value: Value, kind: str, advice: str) -> TraceError:
    return TraceTypeError(
        f"{value!r} as {kind}: its elements are known only when the program runs; {advice}"
    )


def _attach() -> None:
    for name, member in vars(Operators).items():
        if isinstance(member, (types.FunctionType, property)):
            setattr(Value, name, member)


_attach()
