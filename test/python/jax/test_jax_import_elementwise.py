# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops of imported programs: values, also where they are special."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_import_testing import compare_with_jax

X = np.array(
    [[-0.0, 0.0, 1.5, -2.5, np.nan, np.inf], [-np.inf, 0.5, -0.5, 3e38, 1e-20, 2.5]], np.float32
)
Y = np.array([[1, -2, 0.3, 2, 1, 1], [2, -0.5, 3, 2, -1, np.nan]], np.float32)
SMALL = np.array([[0.0, 0.25, 1.5, 2.5, 2, 3], [4, 0.5, 5, 0.75, 1, 2]], np.float32)
INTS = np.array([7, -7, 0, 2**31 - 1, -(2**31), 5], np.int32)
DIVISORS = np.array([2, 3, 0, -1, -1, 40], np.int32)


def unary(x, p):
    on_all = "abs cbrt ceil expm1 floor log log1p neg rsqrt sqrt tanh sign logistic erf erfc"
    on_all += " acos asin atan acosh asinh atanh is_finite"
    results = {f"signed_{name}": getattr(lax, name)(x) for name in on_all.split()}
    results |= {name: getattr(lax, name)(p) for name in "exp tan sin cos sinh cosh".split()}
    results["signed_afz"] = lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)
    results["signed_even"] = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    return results | {"square": lax.square(x), "isinf": jnp.isinf(x), "posinf": jnp.isposinf(x)}


def special(x, p):
    del x
    return {
        "lgamma": lax.lgamma(p + 0.3),
        "digamma": lax.digamma(p + 0.3),
        "erf_inv": lax.erf_inv(p / 6),
        "bessel_i1e": lax.bessel_i1e(p),
        "zeta": lax.zeta(p + 1.5, p + 0.5),
        "polygamma": lax.polygamma(jnp.ones_like(p), p + 0.5),
    }


def narrow_floats(x, p):
    a, b = x.astype(jnp.bfloat16), p.astype(jnp.float16)
    return {"bf16": jnp.tanh(a) * a, "f16": jnp.exp(b) - b, "sigmoid": jax.nn.sigmoid(a)}


def float8(x, p):
    results = {}
    for dtype in (jnp.float8_e4m3fn, jnp.float8_e5m2):
        a, b = (x * 200).astype(dtype), p.astype(dtype)
        results[jnp.dtype(dtype).name] = {
            "product": a * b,
            "larger": jnp.maximum(a, b),
            "isnan": jnp.isnan(a),
            "bfloat16": a.astype(jnp.bfloat16),
            "integers": (b * dtype(4)).astype(jnp.int32),
            "from_integers": jnp.arange(-50, 50).astype(dtype),
            "sum": lax.reduce(b[:1, :3], dtype(0), lax.add, (0, 1)),  # XLA rounds every step
            "most": jnp.max(b, axis=0),
            "place": jnp.argmax(b, axis=1),
            "sorted": jnp.sort(b, axis=0),
            "bits": lax.bitcast_convert_type(b, jnp.uint8),
            "other": a.astype(jnp.float8_e5m2),
            "dot": lax.dot(b, b.T.astype(jnp.float8_e4m3fn), preferred_element_type=jnp.float32),
        }
    return results


@pytest.mark.parametrize(
    "program", [unary, special, narrow_floats, float8], ids=lambda p: p.__name__
)
def test_unary(program):
    compare_with_jax(program, X, SMALL)


def binary(x, y):
    names = "add sub mul div rem max min pow atan2 eq ne lt gt le ge nextafter"
    results = {f"signed_{name}": getattr(lax, name)(x, y) for name in names.split()}
    results["clamp"] = lax.clamp(jnp.float32(-1), x, y)
    return results | {"select": lax.select(y[0, 0] > 0, x, y)}


def test_binary():
    compare_with_jax(binary, X, Y)


def angles(x):
    """Of zeros that are known when a program is compiled, and of those that are not."""
    left, right = jnp.float32([0.0, -0.0, 0.0, -0.0]), jnp.float32([0.0, 0.0, -0.0, -0.0])
    return {
        "signed_constants": jnp.arctan2(left, right),
        "signed_others": jnp.arctan2(left * x[0, 0] ** 2, right * x[0, 0] ** 2),
        "complex": jnp.angle(jnp.complex64([0, 1, -1, 1j])),
    }


def test_angles_of_zeros():
    compare_with_jax(angles, X)


_INTEGER_OPS = """add sub mul div rem max min bitwise_and bitwise_or bitwise_xor
shift_left shift_right_logical shift_right_arithmetic lt le ge eq ne""".split()


def integers(a, b):
    """Signed and unsigned ones: division by zero, wrapping, shifts by more than the width."""
    kinds = {"i": (a, b)}
    kinds["u"] = (lax.bitcast_convert_type(a, jnp.uint32), lax.bitcast_convert_type(b, jnp.uint32))
    kinds["u8"] = (a.astype(jnp.uint8), b.astype(jnp.uint8))
    results = {
        f"{kind}_{name}": getattr(lax, name)(*pair)
        for kind, pair in kinds.items()
        for name in _INTEGER_OPS
    }
    for kind, (left, _) in kinds.items():
        results |= {f"{kind}_count": lax.population_count(left), f"{kind}_clz": lax.clz(left)}
        results |= {f"{kind}_not": ~left, f"{kind}_neg": -left, f"{kind}_sign": lax.sign(left)}
        results[f"{kind}_abs"] = abs(left) if kind == "i" else left
        results[f"{kind}_clamp"] = lax.clamp(left.dtype.type(3), left, left.dtype.type(120))
    return results | {"pow": a**3, "floor_div": a // 3, "mod": a % 3, "mulhi": lax.mulhi(a, b)}


def logic(a, b):
    p, q = a > 0, b > 0
    return {
        "and": p & q,
        "or": p | q,
        "xor": p ^ q,
        "not": ~p,
        "lt": p < q,
        "mul": p * q,
        "add": p + q,
    }


@pytest.mark.parametrize("program", [integers, logic], ids=lambda p: p.__name__)
def test_integers(program):
    compare_with_jax(program, INTS, DIVISORS)


def conversions(x, p):
    """Floats to integers saturate, NaN gives 0; integers wrap."""
    results = {}
    for name in "int32 uint32 int8 uint8 int16 bool bfloat16 float16".split():
        results[f"to_{name}"] = lax.convert_element_type(x * 1.01, name)
        there = lax.convert_element_type(p * 50, name)
        results[f"back_{name}"] = lax.convert_element_type(there, jnp.float32)
    return results | {
        "narrow": lax.convert_element_type(x.astype(jnp.int32), jnp.int8),
        "large": lax.bitcast_convert_type(x, jnp.uint32).astype(jnp.float32),
        "bits": lax.bitcast_convert_type(p, jnp.uint32),
        "bytes": lax.bitcast_convert_type(p, jnp.uint8),
        "signed_e5m3": lax.reduce_precision(x, 5, 3),
        "e8m7": lax.reduce_precision(p * 1.2345, 8, 7),
        "e5m10": lax.reduce_precision(p * 1e-5, 5, 10),
    }


def test_conversions():
    compare_with_jax(conversions, X, SMALL)


def wide(s):
    """64 bits."""
    x = s.astype(jnp.float64)
    return {
        "shift": s >> 3,
        "f32": s.astype(jnp.float32),
        "f64": x,
        "div": s // 7,
        "count": lax.population_count(s),
        "u64": (x * 3).astype(jnp.uint64),
        "i64": x.astype(jnp.int64),
        "sin": jnp.sin(x / 1e19),
        "uniform": jax.random.uniform(jax.random.key(0), (3,), jnp.float64),
    }


def test_64_bits():
    with jax.enable_x64(True):
        compare_with_jax(wide, np.array([5, 2**64 - 2, 2**63], np.uint64))
