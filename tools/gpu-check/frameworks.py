#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's layers in JAX and in PyTorch: prints the median seconds of a step.

    python3 frameworks.py jax|torch mixtral|gshard SIZES_AS_JSON [--emulated]

Each layer as its framework's users write it: dropless experts by ragged_dot, or
by grouped_mm where PyTorch has it and else by a product for each expert.
"""

import argparse
import json
import statistics
import time

REPEAT = 20


def median_seconds(step, wait, repeat):
    for _ in range(2):
        wait(step())
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        wait(step())
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def shapes_of(kind, sizes):
    """Of the layer's arguments, in order."""
    m, h, e = sizes["model"], sizes["hidden"], sizes["experts"]
    if kind == "mixtral":
        return [(sizes["tokens"], m), (m, e), (e, m, h), (e, m, h), (e, h, m)]
    return [(sizes["groups"], sizes["tokens"], m), (m, e), (e, m, h), (e, h, m)]


# --- JAX ---


def jax_mixtral(x, wg, w1, w3, w2):
    import jax
    import jax.numpy as jnp

    tokens, experts = x.shape[0], wg.shape[1]
    logits = jnp.dot(x, wg, preferred_element_type=jnp.float32)
    best, chosen = jax.lax.top_k(logits, 2)
    weights = jax.nn.softmax(best)
    expert = chosen.reshape(-1)
    order = jnp.argsort(expert, stable=True)
    sizes = jnp.bincount(expert, length=experts).astype(jnp.int32)
    rows = x[order // 2]
    hidden = jax.nn.silu(jax.lax.ragged_dot(rows, w1, sizes)) * jax.lax.ragged_dot(rows, w3, sizes)
    outputs = jax.lax.ragged_dot(hidden, w2, sizes)
    pairs = outputs[jnp.argsort(order)].reshape(tokens, 2, -1)
    return (pairs * weights[..., None]).sum(1).astype(x.dtype)


def jax_gshard(capacity, x, wg, wi, wo):
    import jax
    import jax.numpy as jnp

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


def run_jax(kind, sizes, emulated):
    import functools

    import jax
    import jax.numpy as jnp

    device = jax.devices()[0]
    if device.platform == "cpu" and not emulated:
        return {"not run": "JAX sees no GPU"}
    keys = jax.random.split(jax.random.key(0), 5)
    arrays = [
        jax.random.normal(key, shape, jnp.bfloat16) * jnp.bfloat16(shape[-2] ** -0.5)
        for key, shape in zip(keys, shapes_of(kind, sizes))
    ]
    layer = jax_mixtral if kind == "mixtral" else functools.partial(jax_gshard, sizes["capacity"])
    compiled = jax.jit(layer)
    repeat = 2 if emulated else REPEAT
    seconds = median_seconds(lambda: compiled(*arrays), jax.block_until_ready, repeat)
    return {"seconds": seconds, "version": jax.__version__, "device": device.device_kind}


# --- PyTorch ---


def grouped_products(torch, rows, weights, ends):
    """rows of group e times weights[e]."""
    if rows.is_cuda and hasattr(torch, "_grouped_mm"):
        return torch._grouped_mm(rows, weights, offs=ends)
    bounds = [0, *ends.tolist()]
    parts = [rows[begin:end] @ weight for begin, end, weight in zip(bounds, bounds[1:], weights)]
    return torch.cat(parts)


def torch_mixtral(x, wg, w1, w3, w2):
    import torch

    best, chosen = torch.topk((x @ wg).float(), 2)
    weights = torch.softmax(best, -1)
    expert = chosen.reshape(-1)
    order = torch.argsort(expert, stable=True)
    ends = torch.bincount(expert, minlength=wg.shape[1]).cumsum(0).to(torch.int32)
    rows = x[order // 2]
    hidden = torch.nn.functional.silu(grouped_products(torch, rows, w1, ends))
    hidden = hidden * grouped_products(torch, rows, w3, ends)
    outputs = grouped_products(torch, hidden, w2, ends)
    pairs = outputs[torch.argsort(order)].reshape(x.shape[0], 2, -1)
    return (pairs * weights[..., None]).sum(1).to(x.dtype)


def torch_gshard(capacity, x, wg, wi, wo):
    import torch

    gates = torch.softmax((x @ wg).float(), -1)
    weights, chosen = torch.topk(gates, 2)
    weights = weights / weights.sum(-1, keepdim=True)
    counts, combine = 0, 0.0
    for j in range(2):
        mask = torch.nn.functional.one_hot(chosen[..., j], wg.shape[1])
        place = ((mask.cumsum(1) - mask + counts) * mask).sum(-1)
        counts = counts + mask.sum(1, keepdim=True)
        kept = (mask * (place < capacity)[..., None]).to(gates.dtype)
        slot = torch.nn.functional.one_hot(place.clamp(max=capacity - 1), capacity).to(gates.dtype)
        combine = combine + torch.einsum("gse,gsc->gsec", kept * weights[..., j, None], slot)
    dispatch = (combine > 0).to(x.dtype)
    rows = torch.einsum("gsec,gsm->egcm", dispatch, x)
    hidden = torch.relu(torch.einsum("egcm,emh->egch", rows, wi))
    outputs = torch.einsum("egch,ehm->egcm", hidden, wo)
    return torch.einsum("gsec,egcm->gsm", combine.to(x.dtype), outputs)


def run_torch(kind, sizes, emulated):
    import functools

    import torch

    if not torch.cuda.is_available() and not emulated:
        return {"not run": "PyTorch sees no GPU"}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arrays = [
        (torch.randn(shape, device=device) * shape[-2] ** -0.5).to(torch.bfloat16)
        for shape in shapes_of(kind, sizes)
    ]
    layer = torch_mixtral if kind == "mixtral" else functools.partial(torch_gshard, sizes["capacity"])
    wait = (lambda _: torch.cuda.synchronize()) if device == "cuda" else (lambda _: None)
    with torch.no_grad():
        seconds = median_seconds(lambda: layer(*arrays), wait, 2 if emulated else REPEAT)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"seconds": seconds, "version": torch.__version__, "device": name}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=("jax", "torch"))
    parser.add_argument("kind", choices=("mixtral", "gshard"))
    parser.add_argument("sizes", type=json.loads)
    parser.add_argument("--emulated", action="store_true", help="also on the CPU, few steps")
    options = parser.parse_args()
    run = run_jax if options.framework == "jax" else run_torch
    print(json.dumps(run(options.kind, options.sizes, options.emulated)))


if __name__ == "__main__":
    main()
