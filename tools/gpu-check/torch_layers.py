# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's layers in PyTorch, as its users write them: compiled and as they stand.

Dropless experts are grouped products, one call for all experts; where PyTorch
has none for the element type, a product for each expert, whose sizes the host
waits for. Nothing else makes the host wait.
"""

import functools

import torch
from torch.nn import functional as F

# Its public name, and the one before that.
GROUPED_PRODUCT = getattr(F, "grouped_mm", getattr(torch, "_grouped_mm", None))


def grouped_products(rows, weights, ends):
    """rows [R, M] of group e times weights [E, M, H][e]; group e ends before ends[e]."""
    if GROUPED_PRODUCT and rows.dtype == torch.bfloat16:
        return GROUPED_PRODUCT(rows, weights, offs=ends)
    bounds = [0, *ends.tolist()]
    parts = [rows[begin:end] @ weight for begin, end, weight in zip(bounds, bounds[1:], weights)]
    return torch.cat(parts)


def mixtral(x, wg, w1, w3, w2):
    tokens, experts = x.shape[0], wg.shape[1]
    best, chosen = torch.topk((x @ wg).float(), 2)
    weights = torch.softmax(best, -1)
    expert = chosen.reshape(-1)
    order = torch.argsort(expert, stable=True)
    places = torch.arange(2 * tokens, device=x.device)
    inverse = torch.empty_like(order).scatter_(0, order, places)
    # Not bincount, which waits for the largest value.
    counts = (expert[:, None] == torch.arange(experts, device=x.device)).sum(0)
    ends = counts.cumsum(0).to(torch.int32)
    rows = x.index_select(0, order // 2)
    hidden = F.silu(grouped_products(rows, w1, ends)) * grouped_products(rows, w3, ends)
    outputs = grouped_products(hidden, w2, ends)
    pairs = outputs.index_select(0, inverse).view(tokens, 2, -1)
    return (pairs * weights[..., None]).sum(1).to(x.dtype)


def gshard(capacity, x, wg, wi, wo):
    gates = torch.softmax((x @ wg).float(), -1)
    weights, chosen = torch.topk(gates, 2)
    weights = weights / weights.sum(-1, keepdim=True)
    counts, combine = 0, 0.0
    for j in range(2):
        mask = F.one_hot(chosen[..., j], wg.shape[1])
        place = ((mask.cumsum(1) - mask + counts) * mask).sum(-1)
        counts = counts + mask.sum(1, keepdim=True)
        kept = (mask * (place < capacity)[..., None]).to(gates.dtype)
        slot = F.one_hot(place.clamp(max=capacity - 1), capacity).to(gates.dtype)
        combine = combine + torch.einsum("gse,gsc->gsec", kept * weights[..., j, None], slot)
    dispatch = (combine > 0).to(x.dtype)
    rows = torch.einsum("gsec,gsm->egcm", dispatch, x)
    hidden = torch.relu(torch.einsum("egcm,emh->egch", rows, wi))
    outputs = torch.einsum("egch,ehm->egcm", hidden, wo)
    return torch.einsum("gsec,egcm->gsm", combine.to(x.dtype), outputs)


def training(forward, *arguments):
    """(y, the gradients of `arguments` but the last, which is y's)."""
    *inputs, dy = arguments
    inputs = [array.detach().requires_grad_() for array in inputs]
    y = forward(*inputs)
    return y, *torch.autograd.grad(y, inputs, dy)


def step_of(kind, sizes, part, compiled):
    """A function of tensors: the layer, or its training step."""
    forward = mixtral if kind == "mixtral" else functools.partial(gshard, sizes["capacity"])
    if compiled:
        forward = torch.compile(forward)
    return functools.partial(training, forward) if part == "training" else torch.no_grad()(forward)


def evaluate(kind, sizes, part, arrays, compiled=False):
    """The step's results for NumPy's arrays, as f32."""
    element = torch.bfloat16 if sizes["element"] == "bf16" else torch.float32
    arrays = [torch.from_numpy(array).to(element) for array in arrays]
    results = step_of(kind, sizes, part, compiled)(*arrays)
    results = results if isinstance(results, tuple) else (results,)
    return [result.detach().float().numpy() for result in results]


def measure(kind, sizes, part, shapes, emulated, seconds_of):
    """A record of the step's times, of the faster way to run it; see jax_layers."""
    if not torch.cuda.is_available() and not emulated:
        return {"not run": "PyTorch sees no GPU"}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arrays = [
        (torch.randn(shape, device=device) * shape[-2] ** -0.5).to(torch.bfloat16) for shape in shapes
    ]
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    ways = {}
    # To compile for the CPU takes longer than a test should.
    for way in ("eager",) if emulated else ("eager", "compiled"):
        step = step_of(kind, sizes, part, compiled=way == "compiled")
        try:
            ways[way] = seconds_of(lambda: (step(*arrays), wait()))
        except Exception as error:  # of a compiler: the other way remains
            ways[way] = {"failed": f"{type(error).__name__}: {error}"[:500]}
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    times = [record for record in ways.values() if "seconds" in record]
    best = min(times, key=lambda record: record["seconds"], default={"failed": "every way"})
    return {**best, "ways": ways, "version": torch.__version__, "device": name}
