# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of imported programs, also running ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
WITH_NAN = X.copy()
WITH_NAN[0, 1, 2], WITH_NAN[1, :, 0], WITH_NAN[1, 2, 0] = np.nan, 0, -0.0
N = RNG.integers(-100, 100, (3, 4, 5)).astype(np.int32)


def reductions(x, n):
    u, b = lax.bitcast_convert_type(n, jnp.uint32), n > 0
    results = {"any": b.any(1), "all": b.all(0)}
    for kind in ("sum", "prod", "max", "min"):
        reduce = getattr(jnp, kind)
        results |= {
            f"f_{kind}": reduce(x, 1),
            f"i_{kind}": reduce(n, (0, 2)),
            f"u_{kind}": reduce(u),
        }
    for axis in (0, 2):
        for name, value in {"f": x, "i": n, "u": u, "b": b}.items():
            results[f"argmax_{name}{axis}"] = jnp.argmax(value, axis)
            results[f"argmin_{name}{axis}"] = jnp.argmin(value, axis)
    return results | {
        "argmax_u8": lax.argmax(x, 1, jnp.uint8),
        "initial": jnp.max(x, 1, initial=0.5),
        "initial_sum": jnp.sum(n, initial=7),
        "initial_unsigned": jnp.max(u, 1, initial=jnp.uint32(2**31)),
        "bits": lax.reduce(n, jnp.int32(-8), lax.bitwise_and, (0,)),
        "xor": lax.reduce(n, jnp.int32(3), lax.bitwise_xor, (0,)),
        "pairs": lax.reduce(
            (x, n),
            (jnp.float32(0), jnp.int32(0)),
            lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
            (1,),
        ),
    }


def scans(x, n):
    results = {}
    for kind in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        scan = getattr(lax, kind)
        results |= {kind: scan(x, 1), f"{kind}_reverse": scan(x, 2, reverse=True)}
    u = lax.bitcast_convert_type(n, jnp.uint32)
    return results | {
        "unsigned": lax.cummax(u, 1),
        "integers": lax.cumsum(n, 0),
        "associative": lax.associative_scan(jnp.add, n),
    }


@pytest.mark.parametrize("program", [reductions, scans], ids=lambda p: p.__name__)
def test_reductions(program):
    compare_with_jax(program, WITH_NAN, N)


def test_general_forms_are_recognised():
    """Regions of JAX's are ops of Shoal's, that split at less cost."""
    text = shoal.jax.import_stablehlo(jax.jit(reductions).lower(WITH_NAN, N))
    assert text.count('"shoal.argmax"') == 9 and text.count('"shoal.argmin"') == 8
    assert text.count('"shoal.reduce_region"') == 2  # the exclusive or and the pairs
    text = shoal.jax.import_stablehlo(jax.jit(scans).lower(WITH_NAN, N))
    assert text.count('"shoal.cumulative"') == 10 and '"shoal.reduce_window"' not in text
