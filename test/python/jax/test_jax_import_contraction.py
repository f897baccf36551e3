# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of imported programs, also of groups of rows."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax
from shoal.jax.lowering import lower

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 9, 8, 6)).astype(np.float32)


def products(x):
    a, b = x[0], x[1]
    dims = (((2,), (2,)), ((0,), (0,)))
    dot = partial(lax.dot_general, dimension_numbers=dims)
    half = jnp.bfloat16
    return {
        "batch": jnp.einsum("abcd,abce->acde", x, x),
        "matrix": a[0] @ b[0].T,
        "vector": a[0, 0] @ b[0, 0],
        "outer": jnp.outer(a[0, 0], b[0, 0]),
        "trace": jnp.einsum("ii->i", a[0, :6]),
        "bf16": dot(a.astype(half), b.astype(half)),
        "bf16_f32": dot(a.astype(half), b.astype(half), preferred_element_type=jnp.float32),
        "mixed": dot(a, b.astype(half), preferred_element_type=jnp.float32),
        "i8": dot(
            (a * 30).astype(jnp.int8), (b * 30).astype(jnp.int8), preferred_element_type=jnp.int32
        ),
        "u8": dot(
            (abs(a) * 60).astype(jnp.uint8),
            (abs(b) * 60).astype(jnp.uint8),
            preferred_element_type=jnp.uint32,
        ),
        "bools": jnp.einsum("ij,kj->ik", a[0] > 0, b[0] > 0.3),
        "algorithm": dot(a, b, precision="F32_F32_F32"),
        "ragged": lax.ragged_dot(a[0], jnp.ones((3, 6, 4)), jnp.array([1, 2, 3])),
    }


def test_products():
    compare_with_jax(products, X)


def grouped(x, w, sizes):
    def loss(x, w):
        return jnp.sin(lax.ragged_dot(x, w, sizes)).sum()

    bf16 = [x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)]
    return {
        "product": lax.ragged_dot(x, w, sizes),
        "gradients": jax.grad(loss, (0, 1))(x, w),
        "bf16": lax.ragged_dot(*bf16, sizes, preferred_element_type=jnp.float32),
    }


def batches_of_groups(x, w, sizes):
    def loss(x, w):
        return jnp.sin(jax.vmap(lax.ragged_dot)(x, w, sizes)).sum()

    return {
        "product": jax.vmap(lax.ragged_dot)(x, w, sizes),
        "gradients": jax.grad(loss, (0, 1))(x, w),
    }


def groups_in_sums_and_batches(x, y, sizes):
    """Groups of what is summed, behind a batch that they differ in, and of batches."""

    def product(contracting, batch, sizes):
        dims = lax.RaggedDotDimensionNumbers(((contracting, contracting), (batch, batch)), [1], [])
        return lax.ragged_dot_general(x, y, sizes, dims)

    return {
        "contracting": product([1], [0], sizes),
        "all_alike": product([1], [0], sizes[0]),
        "two": product([0, 1], [], sizes),
        "batches": product([0], [1], sizes[0]),
    }


def test_groups_in_sums_and_batches():
    x, y = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 12, 4), (2, 12, 5)))
    sizes = np.array([[4, 5, 3], [1, 0, 11]], np.int32)
    compare_with_jax(groups_in_sums_and_batches, x, y, sizes, lower=lower)


def test_grouped_products():
    """As shoal.jax.compile lowers them: the groups of lax.ragged_dot are kept."""
    x, w = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 12, 4), (2, 3, 4, 5)))
    sizes = np.array([[4, 5, 2], [1, 0, 11]], np.int32)
    lowered = lower(jax.jit(grouped).trace(x[0], w[0], sizes[0]))
    assert shoal.jax.import_stablehlo(lowered).count("shoal.ragged_dot") == 5
    compare_with_jax(grouped, x[0], w[0], sizes[0], lower=lower)
    compare_with_jax(batches_of_groups, x, w, sizes, lower=lower)


def specs_of(function, *args):
    text = shoal.jax.import_stablehlo(lower(jax.jit(function).trace(*args)))
    return re.findall(r'"([A-Za-z]+,[A-Za-z]+->[A-Za-z]*)"', text)


def test_an_einsum_keeps_the_users_letters():
    """JAX's products have dimensions' numbers, and names with the letters; so do those of gradients."""
    x, w = jnp.ones((4, 8, 16)), jnp.ones((16, 32))

    def einsum(x, w):
        return jnp.einsum("BTD,DZ->BTZ", x, w)

    assert specs_of(einsum, x, w) == ["BTD,DZ->BTZ"]
    assert specs_of(lambda x, w: jnp.einsum("BTD,DZ->ZBT", x, w), x, w) == ["DZ,BTD->ZBT"]
    batched = jnp.ones((4, 2, 3)), jnp.ones((4, 3, 2))
    assert specs_of(lambda a, b: jnp.einsum("bij,bji->b", a, b), *batched) == ["bij,bji->b"]
    made = specs_of(jax.grad(lambda x, w: jnp.tanh(einsum(x, w)).sum(), (0, 1)), x, w)
    assert made[0] == "BTD,DZ->BTZ" and set(made[1:]) == {"BTZ,BTD->ZD", "BTZ,DZ->BTD"}
    # A batch of vmap's has no letter of the user's, nor has what is no einsum.
    assert "->BTZ" not in specs_of(jax.vmap(einsum, (0, None)), x[None], w)[0]
    assert specs_of(lambda x, w: x @ w, x, w) == ["BCA,AD->BCD"]
