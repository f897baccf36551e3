# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, element by element."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program

MATRIX = "f32[8@x,16@y]"


@program("x=2 y=4", f"{MATRIX} f32[8@x,16@y]")
def add_multiply_subtract(x, y):
    return (x + y) * x - y / 2


@program("x=2 y=4", f"{MATRIX} f32[8@y,16@x]", out=P("x", "y"))
def add_of_other_sharding(x, y):
    return x + y


@program("x=8", "f32[16@x,6] f32[6]")
def bias_over_rows(x, bias):
    return x + bias


@program("x=2 y=4", f"{MATRIX}")
def exponentials(x):
    return jnp.exp(x), jnp.expm1(x), jnp.exp2(x)


@program("x=2 y=4", "f32[8@x,16@y]>0")
def logarithms(x):
    return jnp.log(x), jnp.log1p(x), jnp.log2(x), jnp.sqrt(x), jax.lax.rsqrt(x), jnp.cbrt(x)


@program("x=8", "f32[64@x]")
def trigonometry(x):
    return jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.arctan(x), jnp.tanh(x), jnp.sinh(x)


@program("x=8", "f32[64@x] f32[64@x]>0")
def inverse_trigonometry(x, y):
    return jnp.arcsin(jnp.tanh(x)), jnp.arccos(jnp.tanh(x)), jnp.arctan2(x, y), jnp.arcsinh(x)


@program("x=8", "f32[64@x]")
def activations(x):
    return jax.nn.relu(x), jax.nn.gelu(x), jax.nn.silu(x), jax.nn.softplus(x), jax.nn.elu(x)


@program("x=8", "f32[64@x]")
def more_activations(x):
    exact = jax.nn.gelu(x, approximate=False)
    return exact, jax.nn.leaky_relu(x), jax.nn.hard_swish(x), jax.nn.log_sigmoid(x), jax.nn.selu(x)


@program("x=8", "f32[64@x]")
def error_functions(x):
    inverse = jax.scipy.special.erfinv(jnp.tanh(x))
    return jax.scipy.special.erf(x), jax.scipy.special.erfc(x), inverse


@program("x=4 y=2", "f32[12@x,4@y] f32[12@x,4@y]")
def minimum_maximum_clip(x, y):
    return jnp.minimum(x, y), jnp.maximum(x, y), jnp.clip(x, -0.5, 0.5)


@program("x=4 y=2", "f32[12@x,4@y] f32[12@x,4@y]>0")
def powers(x, y):
    return y**x, x**3, x**-2, jnp.square(x), jnp.power(y, 0.3)


@program("x=8", "f32[32@x] f32[32@x]")
def comparisons_and_select(x, y):
    return jnp.where(x > y, x, -y), x <= y, (x == y) | (x != y), ~(x < y)


@program("x=8", "f32[32@x]")
def rounding(x):
    return jnp.floor(x), jnp.ceil(x), jnp.round(x * 3), jnp.trunc(x), jnp.sign(x), jnp.abs(x)


@program("x=8", "f32[32@x] f32[32@x]>0")
def remainders(x, y):
    return jnp.fmod(x, y), jnp.mod(x, y), jnp.floor_divide(x, y)


@program("x=8", "f32[32@x]>0")
def classification(x):
    y = jnp.log(x - 0.5)
    return jnp.isnan(y), jnp.isfinite(1 / (x - x[0])), jnp.nan_to_num(y), jnp.isinf(x)


@program("x=8", "i32[32@x] i32[32@x]<7")
def integer_arithmetic(x, y):
    return x + y, x * y, x // (y + 1), x % (y + 1), -x, jnp.abs(x), jnp.sign(x)


@program("x=8", "u32[32@x] u32[32@x]<7")
def unsigned_arithmetic(x, y):
    return x - y, x * y, x // (y + 1), x % (y + 1), jnp.maximum(x, y), x > y


@program("x=8", "i32[32@x] i32[32@x]<20")
def bits(x, y):
    return x & y, x | y, x ^ y, ~x, x << (y % 8), x >> (y % 8)


@program("x=8", "u32[32@x] u32[32@x]<20")
def unsigned_bits(x, y):
    return x >> (y % 8), jax.lax.population_count(x), jax.lax.clz(x), x << y


@program("x=8", "pred[32@x] pred[32@x]")
def booleans(x, y):
    return x & y, x | y, x ^ y, ~x, jnp.where(x, 1.0, 2.0)


@program("x=8", "f32[32@x] i32[32@x]")
def conversions(x, i):
    return (
        x.astype(jnp.int32),
        i.astype(jnp.float32),
        x.astype(jnp.bfloat16),
        i.astype(jnp.int8),
        x.astype(jnp.float16).astype(jnp.float32),
        (i > 0).astype(jnp.float32),
    )


@program("x=8", "f32[32@x]")
def bit_casts(x):
    bits = jax.lax.bitcast_convert_type(x, jnp.int32)
    return bits, jax.lax.bitcast_convert_type(bits ^ 1, jnp.float32)


@program("x=8", "bf16[32@x,8] bf16[32@x,8]")
def bfloat16_arithmetic(x, y):
    return x * y + x, jnp.exp(x), jnp.tanh(y)


@program("x=8", "f16[32@x] f16[32@x]")
def float16_arithmetic(x, y):
    return x * y + x, jnp.maximum(x, y), x / (y * y + 1)


@program("x=2 y=2 z=2", "f32[4@x,4@y,4@z]")
def three_axes(x):
    return at(jnp.sin(x) + 1, "z", "y", "x")


@program("x=8", "f32[32@x]")
def next_after_and_reduce_precision(x):
    return jnp.nextafter(x, 0 * x), jax.lax.reduce_precision(x, 8, 7)


@program("x=8", "f64[32@x] i64[32@x]", x64=True)
def double_precision(x, i):
    return jnp.exp(x) * 2, x.astype(jnp.float32), i * i + 1, jnp.sum(x)


@program("x=8", "f32[16@x,3]")
def uneven_constraint(x):
    """Ten rows over eight devices inside the program."""
    y = at(x[:10] * 2, "x", None)
    return at(y + 1, None, None)


@program("x=8", "f32[16@x]")
def special_functions(x):
    positive = jnp.abs(x) + 0.5
    return jax.scipy.special.gammaln(positive), jax.scipy.special.digamma(positive)
