# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's layers in JAX, as its users write them; in XLA's care what becomes of them.

`training` is a step without an optimizer: the layer, and the gradients of all of
its arguments for a gradient of its result. Shoal compiles that very function
(`training_text`), since its own language writes forward passes alone.
"""

import functools

import jax
import jax.numpy as jnp


def mixtral(x, wg, w1, w3, w2):
    """Two experts a token, none dropped: rows sorted by expert, and ragged products."""
    tokens, experts = x.shape[0], wg.shape[1]
    logits = jnp.dot(x, wg, preferred_element_type=jnp.float32)
    best, chosen = jax.lax.top_k(logits, 2)
    weights = jax.nn.softmax(best)
    expert = chosen.reshape(-1)
    order = jnp.argsort(expert, stable=True)
    inverse = jnp.argsort(order, stable=True)
    sizes = jnp.bincount(expert, length=experts).astype(jnp.int32)
    rows = x[order // 2]
    hidden = jax.nn.silu(jax.lax.ragged_dot(rows, w1, sizes)) * jax.lax.ragged_dot(rows, w3, sizes)
    outputs = jax.lax.ragged_dot(hidden, w2, sizes)
    pairs = outputs[inverse].reshape(tokens, 2, -1)
    return (pairs * weights[..., None]).sum(1).astype(x.dtype)


def gshard(capacity, x, wg, wi, wo):
    """GShard's: two experts a token, as many rows as an expert has room for, by einsums."""
    experts = wg.shape[1]
    logits = jnp.einsum("GSM,ME->GSE", x, wg, preferred_element_type=jnp.float32)
    gates = jax.nn.softmax(logits)
    weights, chosen = jax.lax.top_k(gates, 2)
    weights = weights / weights.sum(-1, keepdims=True)
    counts, combine = 0, 0.0
    for j in range(2):
        mask = jax.nn.one_hot(chosen[..., j], experts, dtype=jnp.int32)
        place = ((jnp.cumsum(mask, 1) - mask + counts) * mask).sum(-1)
        counts = counts + mask.sum(1, keepdims=True)
        kept = (mask * (place < capacity)[..., None]).astype(gates.dtype)
        slot = jax.nn.one_hot(place, capacity, dtype=gates.dtype)
        combine = combine + jnp.einsum("GSE,GSC->GSEC", kept * weights[..., j, None], slot)
    dispatch = (combine > 0).astype(x.dtype)
    rows = jnp.einsum("GSEC,GSM->EGCM", dispatch, x)
    hidden = jax.nn.relu(jnp.einsum("EGCM,EMH->EGCH", rows, wi))
    outputs = jnp.einsum("EGCH,EHM->EGCM", hidden, wo)
    return jnp.einsum("GSEC,EGCM->GSM", combine.astype(x.dtype), outputs)


def training(forward, *arguments):
    """(y, the gradients of `arguments` but the last, which is y's)."""
    *inputs, dy = arguments
    y, pull_back = jax.vjp(forward, *inputs)
    return y, *pull_back(dy)


def step_of(kind, sizes, part):
    """A function of arrays: the layer, or its training step."""
    forward = mixtral if kind == "mixtral" else functools.partial(gshard, sizes["capacity"])
    return functools.partial(training, forward) if part == "training" else forward


def training_text(kind, sizes, shapes):
    """The step as a program of Shoal's; its arguments are arguments.0, arguments.1, …"""
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    element = {"bf16": jnp.bfloat16, "f32": jnp.float32}[sizes["element"]]
    arguments = [jax.ShapeDtypeStruct(shape, element) for shape in shapes]
    return import_stablehlo(lower(jax.jit(step_of(kind, sizes, "training")).trace(*arguments)))


def evaluate(kind, sizes, part, arrays):
    """The step's results for NumPy's arrays, as f32."""
    results = jax.jit(step_of(kind, sizes, part))(*map(jnp.asarray, arrays))
    results = results if isinstance(results, tuple) else (results,)
    return [jax.device_get(result.astype(jnp.float32)) for result in results]


def measure(kind, sizes, part, shapes, emulated, seconds_of):
    """A record of the step's times; seconds_of(step) calls it again and again."""
    device = jax.devices()[0]
    if device.platform == "cpu" and not emulated:
        return {"not run": "JAX sees no GPU"}
    keys = jax.random.split(jax.random.key(0), len(shapes))
    arrays = [
        jax.random.normal(key, shape, jnp.bfloat16) * jnp.bfloat16(shape[-2] ** -0.5)
        for key, shape in zip(keys, shapes)
    ]
    compiled = jax.jit(step_of(kind, sizes, part))
    times = seconds_of(lambda: jax.block_until_ready(compiled(*arrays)))
    return {**times, "version": jax.__version__, "device": device.device_kind}
