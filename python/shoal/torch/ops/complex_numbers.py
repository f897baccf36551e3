# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers: ops that make them of real ones, and these of them, and arithmetic by halves.

Quotients are Smith's (CACM 5, 1962) and lengths scaled as hypot's, so that nothing leaves the range of numbers that the
result does not leave. An op that does the same to either half says so where it is imported: `imports(..., halves=True)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from shoal.frontend import contraction, creation, elementwise, fourier, structure
from shoal.frontend.broadcasting import broadcast_to
from shoal.frontend.value import Value
from shoal.torch.halves import Pair
from shoal.torch.op import Op
from shoal.torch.ops import arithmetic, elementwise as real, products, structure as places
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports_complex

# What is real and imaginary of an operand: values or numbers; None for an imaginary half that there is not.
_Parts = tuple[Any, Any]


def _parts(op: Op, x: Any) -> _Parts:
    """In the type of the result's halves."""
    if isinstance(x, Pair):
        return op.value(x.real), op.value(x.imag)
    if isinstance(x, complex):
        return x.real, x.imag or None
    return op.value(x) if isinstance(x, Value) else x, None


def _pair(op: Op, x: Any) -> Pair:
    """The same with zeros for an imaginary half that there is not."""
    a, b = _parts(op, x)
    shape = a.shape if isinstance(a, Value) else ()
    return Pair(op.value(a, shape), op.value(0 if b is None else b, shape))


def _spread(op: Op, *halves: Value) -> Pair:
    return Pair(*(broadcast_to(half, op.shape) for half in halves))


# Halves taken and given


@imports_complex("aten.view_as_complex.default")
def view_as_complex(op: Op, self: Value) -> Pair:
    return Pair(self[..., 0], self[..., 1])


@imports_complex("aten.view_as_real.default", "aten.view_as_real_copy.default")
def view_as_real(op: Op, self: Pair) -> Value:
    return structure.stack(list(self), -1)


@imports_complex("aten.complex.default")
def complex_(op: Op, real: Value, imag: Value) -> Pair:
    return _spread(op, *op.cast(real, imag))


@imports_complex("aten.polar.default")
def polar(op: Op, abs: Value, angle: Value) -> Pair:
    return _spread(op, abs * elementwise.cos(angle), abs * elementwise.sin(angle))


@imports_complex("aten.real.default")
def real_half(op: Op, self: Pair) -> Value:
    return self.real


@imports_complex("aten.imag.default")
def imaginary_half(op: Op, self: Pair) -> Value:
    return self.imag


@imports_complex("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.type_as.default")
def to(op: Op, self: Any, dtype: Any = None, other: Any = None) -> Any:
    """A real number has no imaginary half; of a complex one the real half alone stays."""
    if not op.is_complex:
        return elementwise.astype(self.real, op.dtype)
    return _pair(op, self)


# Made of numbers


@imports_complex("aten.full.default", "aten.full_like.default", "aten.new_full.default", "aten.scalar_tensor.default")
def full(op: Op, fill_value: Any = None, s: Any = None, self: Any = None, size: Any = None, dtype: Any = None) -> Any:
    if not op.is_complex:
        return creation.full(op.shape, op.value(fill_value), op.dtype)
    return _spread(op, *_pair(op, s if fill_value is None else fill_value))


@imports_complex("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(op: Op, size: Any = None, self: Any = None, dtype: Any = None) -> Any:
    one = creation.ones(op.shape, op.dtype)
    return Pair(one, creation.zeros(op.shape, op.dtype)) if op.is_complex else one


# Lists, whose real tensors become complex ones


@imports_complex("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(op: Op, tensors: list[Any], dim: int = 0) -> Pair:
    return Pair(*(places.cat(op, list(halves), dim) for halves in zip(*(_pair(op, x) for x in tensors))))


@imports_complex("aten.stack.default")
def stack(op: Op, tensors: list[Any], dim: int = 0) -> Pair:
    return Pair(*(places.stack(op, list(halves), dim) for halves in zip(*(_pair(op, x) for x in tensors))))


@imports_complex("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf")
def where(op: Op, condition: Value, self: Any, other: Any) -> Pair:
    return Pair(*(real.where(op, condition, a, b) for a, b in zip(_pair(op, self), _pair(op, other))))


@imports_complex("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(op: Op, self: Pair, mask: Value, value: Any) -> Pair:
    return Pair(*(real.masked_fill(op, a, mask, b) for a, b in zip(self, _pair(op, value))))


# Arithmetic


@imports_complex("aten.add.Tensor", "aten.add.Scalar")
def add(op: Op, self: Any, other: Any, alpha: Any = 1) -> Pair:
    return _spread(op, *(arithmetic.add(op, a, b, alpha) for a, b in zip(_pair(op, self), _pair(op, other))))


@imports_complex("aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor")
def sub(op: Op, self: Any, other: Any, alpha: Any = 1) -> Pair:
    return _spread(op, *(arithmetic.sub(op, a, b, alpha) for a, b in zip(_pair(op, self), _pair(op, other))))


@imports_complex("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(op: Op, self: Any, other: Any, alpha: Any = 1) -> Pair:
    return sub(op, other, self, alpha)


@imports_complex("aten.neg.default", "aten.negative.default")
def negative(op: Op, self: Pair) -> Pair:
    return Pair(*map(elementwise.negative, self))


@imports_complex("aten._conj.default", "aten.conj.default", "aten._conj_physical.default", "aten.conj_physical.default")
def conjugate(op: Op, self: Pair) -> Pair:
    return Pair(self.real, elementwise.negative(self.imag))


@imports_complex("aten.resolve_conj.default", "aten.resolve_neg.default")
def resolved(op: Op, self: Pair) -> Pair:
    return self


def _multiplied(op: Op, x: Any, y: Any, product: Callable[[Any, Any], Value]) -> Pair:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc) i for what is linear in both; halves that there are not cost no product."""
    (a, b), (c, d) = _parts(op, x), _parts(op, y)
    both = b is not None and d is not None
    whole = product(a, c)
    crossed = [product(*factors) for factors, half in (((a, d), d), ((b, c), b)) if half is not None]
    imag = creation.zeros(whole.shape, whole.dtype) if not crossed else crossed[0] if len(crossed) == 1 else crossed[0] + crossed[1]
    return _spread(op, whole - product(b, d) if both else whole, imag)


@imports_complex("aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor")
def multiply(op: Op, self: Any, other: Any) -> Pair:
    return _multiplied(op, self, other, lambda a, b: op.value(elementwise.multiply(a, b)))


@imports_complex("aten.matmul.default", "aten.mm.default", "aten.mv.default", "aten.dot.default", "aten.bmm.default")
def matmul(op: Op, self: Any, other: Any = None, mat2: Any = None, vec: Any = None, tensor: Any = None) -> Pair:
    second = next(value for value in (other, mat2, vec, tensor) if value is not None)
    return _multiplied(op, self, second, contraction.matmul)


@imports_complex("aten.linear.default")
def linear(op: Op, input: Any, weight: Any, bias: Any = None) -> Pair:
    product = _multiplied(op, input, weight, lambda x, w: products.linear(op, x, w))
    return product if bias is None else add(op, product, bias)


@imports_complex("aten.outer.default", "aten.ger.default")
def outer(op: Op, self: Any, vec2: Any) -> Pair:
    return _multiplied(op, self, vec2, contraction.outer)


@imports_complex("aten.einsum.default")
def einsum(op: Op, equation: str, tensors: list[Any], path: Any = None) -> Pair:
    if len(tensors) > 2:
        raise Unsupported(f"complex elements, of {len(tensors)} operands; expected two at most")
    if len(tensors) == 1:
        return Pair(*(products.einsum(op, equation, [half]) for half in tensors[0]))
    return _multiplied(op, *tensors, lambda a, b: products.einsum(op, equation, [a, b]))


@imports_complex("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def divide(op: Op, self: Any, other: Any) -> Pair:
    (a, b), (c, d) = _pair(op, self), _parts(op, other)
    if d is None:
        return _spread(op, elementwise.divide(a, c), elementwise.divide(b, c))
    return _spread(op, *_quotient(Pair(a, b), _pair(op, other)))


@imports_complex("aten.reciprocal.default")
def reciprocal(op: Op, self: Pair) -> Pair:
    return _spread(op, *_quotient(_pair(op, 1), self))


def _quotient(x: Pair, y: Pair) -> Pair:
    """By the ratio of the divisor's smaller half to its larger one."""
    (a, b), (c, d) = x, y
    turned = elementwise.less(elementwise.abs(c), elementwise.abs(d))
    large, small = elementwise.where(turned, d, c), elementwise.where(turned, c, d)
    ratio = elementwise.where(elementwise.equal(large, 0), large, small / large)
    scale = large + small * ratio
    first, second = elementwise.where(turned, b, a), elementwise.where(turned, a, b)
    imag = second - first * ratio
    return Pair((first + second * ratio) / scale, elementwise.where(turned, -imag, imag) / scale)


@imports_complex("aten.abs.default")
def length(op: Op, self: Pair) -> Value:
    """The larger half times sqrt(1 + r^2); infinite where either is."""
    a, b = map(elementwise.abs, self)
    large, small = elementwise.maximum(a, b), elementwise.minimum(a, b)
    is_whole = elementwise.logical_or(elementwise.equal(large, 0), elementwise.equal(large, math.inf))
    ratio = small / elementwise.where(is_whole, 1.0, large)
    return elementwise.where(is_whole, large, large * elementwise.sqrt(1 + ratio * ratio))


@imports_complex("aten.angle.default")
def angle(op: Op, self: Pair) -> Value:
    return elementwise.arctan2(self.imag, self.real)


@imports_complex("aten.exp.default")
def exponential(op: Op, self: Pair) -> Pair:
    return polar(op, elementwise.exp(self.real), self.imag)


@imports_complex("aten.eq.Tensor", "aten.eq.Scalar")
def equal(op: Op, self: Any, other: Any) -> Value:
    return _compared(self, other, elementwise.equal, elementwise.logical_and)


@imports_complex("aten.ne.Tensor", "aten.ne.Scalar")
def not_equal(op: Op, self: Any, other: Any) -> Value:
    return _compared(self, other, elementwise.not_equal, elementwise.logical_or)


def _compared(x: Any, y: Any, compare: Callable[..., Value], join: Callable[..., Value]) -> Value:
    (a, b), (c, d) = (v if isinstance(v, Pair) else (v.real, v.imag) if isinstance(v, complex) else (v, 0) for v in (x, y))
    return join(compare(a, c), compare(b, d))


# Fourier transforms, one dimension after the other, so that devices may split all but the one at hand


@imports_complex("aten._fft_c2c.default")
def transform(op: Op, self: Pair, dim: Sequence[int], normalization: int, forward: bool) -> Pair:
    pair = _along(self, dim, not forward)
    return Pair(*(half * _scale(self, dim, normalization, not forward) for half in pair))


@imports_complex("aten._fft_r2c.default")
def transform_of_reals(op: Op, self: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Pair:
    *others, last = dim
    if onesided:
        pair = Pair(*fourier.rfft(self, last))
    else:
        pair = Pair(*fourier.fft(self, creation.zeros(self.shape, self.dtype), last))
    pair = _along(pair, others, False)
    return Pair(*(half * _scale(self, dim, normalization, False) for half in pair))


@imports_complex("aten._fft_c2r.default")
def inverse_to_reals(op: Op, self: Pair, dim: Sequence[int], normalization: int, last_dim_size: int) -> Value:
    *others, last = dim
    pair = _along(self, others, True)
    made = fourier.irfft(*pair, last_dim_size, last)
    return made * _scale(made, dim, normalization, True)


def _along(pair: Pair, dims: Sequence[int], inverse: bool) -> Pair:
    for dim in dims:
        pair = Pair(*fourier.fft(*pair, dim, inverse=inverse))
    return pair


def _scale(like: Any, dims: Sequence[int], normalization: int, is_divided: bool) -> float:
    """By torch's modes: 0 none, 1 by the root of how many numbers a transform has, 2 by how many. is_divided: by these already."""
    shape = like.real.shape if isinstance(like, Pair) else like.shape
    count = math.prod(shape[dim] for dim in dims)
    return (count if is_divided else 1) / (1, math.sqrt(count), count)[normalization]
