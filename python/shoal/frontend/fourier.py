# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms along a dimension. A complex tensor is two, its real and imaginary half."""

from __future__ import annotations

from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import join
from shoal.frontend.checks import as_axis, as_int, check
from shoal.frontend.conversion import as_float
from shoal.frontend.core import ArrayLike, emit
from shoal.frontend.value import Value

__all__ = ["fft", "irfft", "rfft"]


def fft(
    real: ArrayLike, imag: ArrayLike, axis: int = -1, *, inverse: bool = False
) -> tuple[Value, Value]:
    """The halves of the discrete Fourier transform of complex lines, as numpy.fft.fft and ifft."""
    values = _halves("fft", real, imag)
    dim = _line("fft", values[0], axis)
    return tuple(_emit(values, [values[0].shape] * 2, dim, inverse))


def rfft(operand: ArrayLike, axis: int = -1) -> tuple[Value, Value]:
    """The halves of the first N // 2 + 1 elements of the transform of N real numbers."""
    (value,) = _halves("rfft", operand)
    dim = _line("rfft", value, axis)
    shape = _resized(value.shape, dim, value.shape[dim] // 2 + 1)
    return tuple(_emit([value], [shape] * 2, dim, False))


def irfft(
    real: ArrayLike, imag: ArrayLike, size: int | None = None, axis: int = -1
) -> Value:
    """The inverse of `rfft`: lines of `size` real numbers, by default an even number of them.

    The imaginary parts of the first element and, for an even size, of the last one do not count.
    """
    values = _halves("irfft", real, imag)
    dim = _line("irfft", values[0], axis)
    given = values[0].shape[dim]
    count = 2 * (given - 1) if size is None else as_int(size, "irfft: size")
    check(
        count >= 1 and count // 2 + 1 == given,
        f"irfft: {count} real numbers have {count // 2 + 1} elements of a transform, not {given}",
    )
    return _emit(values, [_resized(values[0].shape, dim, count)], dim, True)[0]


def _halves(name: str, *operands: ArrayLike) -> list[Value]:
    """Tensors of one shape, and one type of float32 and float64."""
    values = join(name, *map(as_float, operands))
    if values[0].dtype not in (dtypes.FLOAT32, dtypes.FLOAT64):
        raise TraceTypeError(f"{name}: of {values[0].dtype}; use .astype to float32 or float64")
    return values


def _line(name: str, value: Value, axis: int) -> int:
    dim = as_axis(axis, value.ndim, name)
    check(value.shape[dim] > 0, f"{name}: dimension {dim} of {list(value.shape)} has no elements")
    return dim


def _resized(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])


def _emit(
    values: list[Value], shapes: list[tuple[int, ...]], dim: int, inverse: bool
) -> list[Value]:
    attributes: dict[str, str | None] = {"dim": f"{dim} : i64"}
    if inverse:
        attributes["inverse"] = None
    types = [(shape, values[0].dtype) for shape in shapes]
    return emit("shoal.fft", values, types, attributes)
