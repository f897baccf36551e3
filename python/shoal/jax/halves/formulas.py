# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arithmetic of complex numbers is, as formulas of JAX's own arithmetic.

Each takes complex arrays and makes what the op makes, by JAX's other ops; it is lowered for the
shapes at hand, and what it is lowered to is rewritten in its turn. Where the formula could leave
the range of numbers that its result does not leave, it scales: |z| as hypot does, and quotients
as Smith's algorithm (CACM 5, 1962). Where jaxlib has a pass that expands a function with care for
branch cuts and rounding, that is what is used, as in XLA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jaxlib.mlir import ir

from shoal.jax.expansions import expansion_of
from shoal.jax.halves.pairs import is_complex
from shoal.jax.halves.rules import rule
from shoal.jax.registry import op_name
from shoal.jax.triangles import lowered
from shoal.jax.types import element_of

Array = jax.Array
_DTYPES = {
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f32": "float32",
    "f64": "float64",
}


def formula(*names: str) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Enters the decorated function as what these ops compute of complex arrays."""

    def enter(function: Callable[..., Array]) -> Callable[..., Array]:
        def written(rewriter: Any, op: ir.Operation) -> list[Any]:
            types = [operand.type for operand in op.operands]
            key = function, *map(str, types)
            if key not in rewriter.formulas:
                shapes = [(tuple(t.shape), _DTYPES[element_of(t)]) for t in types]
                rewriter.formulas[key] = lowered(function, op.context, *shapes)
            return _inlined(rewriter, rewriter.formulas[key], op)

        rule(*names)(written)
        return function

    return enter


def _inlined(rewriter: Any, module: ir.Module, op: ir.Operation) -> list[Any]:
    made = rewriter.inline(module, list(op.operands))
    return [rewriter.pairs[value] if is_complex(value.type) else value for value in made]


_EXPANDED = (
    "stablehlo.exponential",
    "stablehlo.log",
    "stablehlo.log_plus_one",
    "stablehlo.sqrt",
    "chlo.acos",
    "chlo.acosh",
    "chlo.asin",
    "chlo._asin_acos_kernel",
    "chlo.asinh",
    "chlo.atan",
    "chlo.atanh",
    "chlo.broadcast_add",
    "chlo.broadcast_compare",
    "chlo.broadcast_complex",
    "chlo.broadcast_divide",
    "chlo.broadcast_multiply",
    "chlo.broadcast_power",
    "chlo.broadcast_subtract",
    "chlo.conj",
    "chlo.constant",
    "chlo.constant_like",
    "chlo.square",
)


@rule(*_EXPANDED)
def expanded(rewriter: Any, op: ir.Operation) -> list[Any]:
    """What jaxlib's own passes make of it."""
    key = op_name(op), *(str(value.type) for value in (*op.operands, *op.results))
    if op.name == "chlo.constant_like":  # has its number in an attribute
        return _inlined(rewriter, expansion_of(op), op)
    if key not in rewriter.formulas:
        rewriter.formulas[key] = expansion_of(op)
    return _inlined(rewriter, rewriter.formulas[key], op)


def _halves(z: Array) -> tuple[Array, Array]:
    return lax.real(z), lax.imag(z)


@formula("stablehlo.multiply")
def multiply(x: Array, y: Array) -> Array:
    (a, b), (c, d) = _halves(x), _halves(y)
    return lax.complex(a * c - b * d, a * d + b * c)


@formula("stablehlo.divide")
def divide(x: Array, y: Array) -> Array:
    """By the ratio of the divisor's smaller half to its larger one; by 0 as real numbers."""
    (a, b), (c, d) = _halves(x), _halves(y)
    turned = lax.abs(c) < lax.abs(d)
    large, small = lax.select(turned, d, c), lax.select(turned, c, d)
    ratio = lax.select(large == 0, large, small / large)
    scale = large + small * ratio
    first, second = lax.select(turned, b, a), lax.select(turned, a, b)
    imag = second - first * ratio
    return lax.complex(
        (first + second * ratio) / scale, lax.select(turned, -imag, imag) / scale
    )


@formula("stablehlo.abs")
def absolute(z: Array) -> Array:
    """The larger half times sqrt(1 + r^2); infinite where either is."""
    a, b = (lax.abs(half) for half in _halves(z))
    large, small = lax.max(a, b), lax.min(a, b)
    ratio = small / large
    length = large * lax.sqrt(1 + ratio * ratio)
    return lax.select((large == 0) | (large == float("inf")), large, length)


@formula("stablehlo.sign")
def sign(z: Array) -> Array:
    """z / |z|; 0 of 0."""
    size = lax.abs(z)
    safe = lax.select(size == 0, lax.full_like(size, 1), size)
    a, b = _halves(z)
    return lax.complex(a / safe, b / safe)


@formula("stablehlo.exponential_minus_one")
def exponential_minus_one(z: Array) -> Array:
    """(expm1(a) cos b - 2 sin(b/2)^2) + exp(a) sin b i: no difference of nearly equal terms."""
    a, b = _halves(z)
    half = lax.sin(b * 0.5)
    return lax.complex(
        lax.expm1(a) * lax.cos(b) - 2 * half * half, lax.exp(a) * lax.sin(b)
    )


@formula("stablehlo.sine")
def sine(z: Array) -> Array:
    a, b = _halves(z)
    return lax.complex(lax.sin(a) * lax.cosh(b), lax.cos(a) * lax.sinh(b))


@formula("stablehlo.cosine")
def cosine(z: Array) -> Array:
    a, b = _halves(z)
    return lax.complex(lax.cos(a) * lax.cosh(b), -(lax.sin(a) * lax.sinh(b)))


@formula("chlo.sinh")
def sinh(z: Array) -> Array:
    a, b = _halves(z)
    return lax.complex(lax.sinh(a) * lax.cos(b), lax.cosh(a) * lax.sin(b))


@formula("chlo.cosh")
def cosh(z: Array) -> Array:
    a, b = _halves(z)
    return lax.complex(lax.cosh(a) * lax.cos(b), lax.sinh(a) * lax.sin(b))


@formula("stablehlo.tanh")
def tanh(z: Array) -> Array:
    """Kahan's (1987): of large |a| by exp(-2|a|), so that nothing overflows."""
    a, b = _halves(z)
    most = 9.0 if a.dtype == "float32" else 19.0  # from here on tanh(a) rounds to 1
    far = lax.abs(a) > most
    near = lax.select(far, lax.full_like(a, 0), a)
    t, s = lax.tan(b), lax.sinh(near)
    beta = 1 + t * t
    scale = 1 + beta * s * s
    real = beta * lax.sqrt(1 + s * s) * s / scale
    limit = 4 * lax.sin(b) * lax.cos(b) * lax.exp(-2 * lax.abs(a))
    one = lax.select(a > 0, lax.full_like(a, 1), lax.full_like(a, -1))
    return lax.complex(lax.select(far, one, real), lax.select(far, limit, t / scale))


@formula("stablehlo.tan", "chlo.tan")
def tan(z: Array) -> Array:
    """-i tanh(iz)."""
    a, b = _halves(z)
    c, d = _halves(lax.tanh(lax.complex(-b, a)))
    return lax.complex(d, -c)


@formula("stablehlo.rsqrt")
def rsqrt(z: Array) -> Array:
    return lax.full_like(z, 1) / lax.sqrt(z)


@formula("stablehlo.logistic")
def logistic(z: Array) -> Array:
    one = lax.full_like(z, 1)
    return one / (one + lax.exp(-z))


@formula("stablehlo.power")
def power(x: Array, y: Array) -> Array:
    """|x|^c exp(-d arg) (cos q + i sin q), q = c arg + d log|x|; of 0 what real powers are."""
    c, d = _halves(y)
    size, (a, b) = lax.abs(x), _halves(x)
    angle = lax.atan2(b, a)
    zero = size == 0
    safe = lax.select(zero, lax.full_like(size, 1), size)
    length = lax.pow(size, c) * lax.exp(-(d * angle))
    turn = c * angle + d * lax.log(safe)
    none = lax.full_like(c, 0)
    real = lax.select(zero, lax.pow(size, c), length * lax.cos(turn))
    return lax.complex(real, lax.select(zero, none, length * lax.sin(turn)))
