# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of PyTorch, by family, beside what torch makes of them. Skipped where torch is not installed."""

import sys

import pytest

torch = pytest.importorskip("torch")

from shoal_testing import ROOT  # noqa: E402
from torch_comparing import compare_with_torch  # noqa: E402

import shoal.torch as st  # noqa: E402
from shoal.errors import UnsupportedError  # noqa: E402

F = torch.nn.functional
aten = torch.ops.aten
GENERATOR = torch.Generator().manual_seed(3)


def floats(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=GENERATOR).to(dtype)


def integers(*shape, low=-7, high=8, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=GENERATOR).to(dtype)


def arithmetic(x, y, i, j, z):
    return {
        "add": torch.add(x, y, alpha=0.5), "add_number": x + 2, "sub": torch.sub(x, y, alpha=2), "rsub": 1.5 - x,
        "mul": x * y, "mixed": i + 1.5, "of_ranks": x * z, "div": x / y, "div_ints": i / j, "floor": i // j,
        "trunc": torch.div(i, j, rounding_mode="trunc"), "floor_mode": torch.div(x, y, rounding_mode="floor"),
        "trunc_floats": torch.div(x, y, rounding_mode="trunc"), "remainder": i % j, "remainder_floats": x % 0.75,
        "fmod": torch.fmod(i, j), "square": x**2, "root": x.abs() ** 0.5, "power": x.abs() ** y, "exponential": 2.0**x,
        "inverse": x**-1, "cube_of_ints": i**3, "maximum": torch.maximum(x, y), "minimum": torch.minimum(i, j),
        "atan2": torch.atan2(x, y), "clamp": x.clamp(-0.5, 0.5), "clamp_min": i.clamp(min=0), "clamp_by": x.clamp(max=y),
        "lerp": torch.lerp(x, y, 0.3), "addcmul": torch.addcmul(x, y, y, value=0.1), "addcdiv": torch.addcdiv(x, y, y.abs() + 1),
        "copysign": torch.copysign(x, y), "bools": (x > 0) + (y > 0), "wrap": i.to(torch.int8) * 50,
    }  # fmt: skip


def test_arithmetic():
    j = integers(3, 5, low=1)
    compare_with_torch(arithmetic, floats(3, 5), floats(3, 5), integers(3, 5), j * (2 * integers(3, 5, low=0, high=2) - 1), torch.tensor(3.0))


def test_arithmetic_of_bf16():
    def f(x, y, z):
        return {"sum": x + y, "of_ranks": x * z, "wide": x + y.float(), "mean": x.mean(-1), "softmax": F.softmax(x, -1), "sum_of": x.sum()}

    compare_with_torch(f, floats(3, 5, dtype=torch.bfloat16), floats(3, 5, dtype=torch.bfloat16), torch.tensor(1.5))


def elementwise(x, i, b):
    u = x.abs() + 0.1
    return {
        "exp": x.exp(), "exp2": x.exp2(), "expm1": x.expm1(), "log": u.log(), "log2": u.log2(), "log10": u.log10(),
        "log1p": u.log1p(), "sqrt": u.sqrt(), "rsqrt": u.rsqrt(), "sin": x.sin(), "cos": x.cos(), "tan": x.tan(),
        "tanh": x.tanh(), "sinh": x.sinh(), "cosh": x.cosh(), "erf": x.erf(), "erfc": x.erfc(), "floor": x.floor(),
        "ceil": x.ceil(), "round": (x * 2).round(), "trunc": x.trunc(), "sign": x.sign(), "sgn": i.sgn(), "abs": i.abs(),
        "neg": -i, "reciprocal": x.reciprocal(), "atan": x.atan(), "asinh": x.asinh(), "sin_ints": i.sin(),
        "eq": i == 3, "ne": x != x, "lt": x < 0.5, "mixed": i < x, "ge": i >= 2, "isnan": (x / 0 - x / 0).isnan(),
        "isinf": (x / 0).isinf(), "and": i & 3, "or": i | 1, "xor": i ^ 5, "not": ~i, "not_bool": ~b,
        "logical": torch.logical_and(i, b), "logical_or": torch.logical_or(i, b), "logical_not": torch.logical_not(i),
        "shift": i << 2, "shift_right": i >> 1, "where": torch.where(b, x, 0.5), "where_mixed": torch.where(b, i, 1.5),
        "fill": x.masked_fill(b, -1.0), "to": x.to(torch.int32), "to_bool": i.bool(), "half": x.half().float(),
        "nan": torch.nan_to_num(x / 0), "view": x.view(torch.int32),
    }  # fmt: skip


def test_elementwise():
    compare_with_torch(elementwise, floats(4, 6), integers(4, 6), integers(4, 6) > 0)


def activations(x):
    return {
        "relu": F.relu(x), "gelu": F.gelu(x), "gelu_tanh": F.gelu(x, approximate="tanh"), "silu": F.silu(x),
        "sigmoid": x.sigmoid(), "softplus": F.softplus(x * 30, beta=2), "elu": F.elu(x, 0.7), "selu": F.selu(x),
        "celu": F.celu(x, 1.3), "leaky": F.leaky_relu(x, 0.2), "hardtanh": F.hardtanh(x), "relu6": F.relu6(x * 9),
        "hardsigmoid": F.hardsigmoid(x * 4), "hardswish": F.hardswish(x * 4), "mish": F.mish(x), "glu": F.glu(x),
        "log_sigmoid": F.logsigmoid(x), "softmax": F.softmax(x, 0), "log_softmax": F.log_softmax(x, -1),
        "logsumexp": torch.logsumexp(x, 1), "prelu": F.prelu(x, torch.tensor([0.3])), "softmax_f64": F.softmax(x, -1, dtype=torch.float64),
        "threshold": F.threshold(x, 0.1, 20.0), "tanhshrink": F.tanhshrink(x), "softmin": F.softmin(x, -1),
    }  # fmt: skip


def test_activations():
    compare_with_torch(activations, floats(5, 8))


def products(a, b, v, w):
    return {
        "linear": F.linear(a, w, v), "linear_wide": F.linear(a[None, None], w), "mm": a[:, :4] @ b[0], "bmm": torch.bmm(b, b.mT),
        "matmul": a[:, :4] @ b, "four": b[None].matmul(b.mT[:, None]), "mv": w @ a[0], "dot": torch.dot(a[0], a[1]),
        "addmm": torch.addmm(v, a, w.T, beta=0.5, alpha=2), "baddbmm": torch.baddbmm(b, b, b, beta=0),
        "einsum": torch.einsum("bij,bkj->bik", b, b), "ellipsis": torch.einsum("...ij,...kj->...ik", b, b),
        "implicit": torch.einsum("ij,jk", a, w.T), "three": torch.einsum("ij,kj,kl->il", a, w, torch.ones(4, 3)), "trace": torch.einsum("ii->i", a[:3, :3]),
        "outer": torch.outer(v, v), "vector": b @ b[0, 0], "one": torch.einsum("ij->ji", a),
    }  # fmt: skip


def test_products():
    compare_with_torch(products, floats(3, 6), floats(2, 4, 4), floats(4), floats(4, 6))


def shapes(x):
    return {
        "view": x.view(4, -1), "reshape": x.reshape(-1), "flatten": x.flatten(1), "unflatten": x.unflatten(2, (2, 3)),
        "unsqueeze": x.unsqueeze(-2), "squeeze": x[:1].squeeze(0), "permute": x.permute(2, 0, 1), "transpose": x.transpose(0, -1),
        "t": x[0].t(), "mT": x.mT, "expand": x[:, :1].expand(-1, 5, -1), "expand_as": x[:1].expand_as(x), "movedim": x.movedim(0, 2),
        "permuted_view": x.permute(1, 0, 2).reshape(4, 12), "meshgrid": torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
        "broadcast": torch.broadcast_tensors(x[:1], x[:, :1]), "swapaxes": x.swapaxes(0, 1), "contiguous": x.mT.contiguous(),
    }  # fmt: skip


def test_shapes():
    compare_with_torch(shapes, floats(2, 4, 6))


def structure(x, y):
    return {
        "cat": torch.cat([x, y], -1), "cat_mixed": torch.cat([x, y.long()], 0), "stack": torch.stack([x, y], 1), "split": x.split(2, -1),
        "sizes": x.split([1, 5], -1), "chunk": x.chunk(4, 1), "unbind": x.unbind(0), "slice": x[:, 1:100:2], "negative": x[..., -3:],
        "select": x[:, -1], "narrow": x.narrow(1, 1, 2), "flip": x.flip(0, 2), "roll": x.roll((1, -2), (0, 2)), "roll_all": x.roll(5),
        "repeat": x.repeat(2, 1, 3), "tile": x.tile(2), "interleave": x.repeat_interleave(3, 1), "interleave_all": x.repeat_interleave(2),
        "diagonal": x.diagonal(1, 1, 2), "diagonal_below": x.diagonal(-1, 0, 2), "tril": x.tril(1), "triu": x.triu(-1), "unfold": x.unfold(2, 3, 2),
        "pad": F.pad(x, (1, 2, 0, 1), value=3.0), "cut": F.pad(x, (-1, -2)), "reflect": F.pad(x, (2, 1), mode="reflect"),
        "replicate": F.pad(x, (2, 1), mode="replicate"), "circular": F.pad(x, (2, 1), mode="circular"), "block": torch.block_diag(x[0], x[1]),
        "shuffle": F.pixel_shuffle(x.reshape(1, 4, 3, 4), 2), "hstack": torch.hstack([x, y]), "rot90": x.rot90(1, (1, 2)),
    }  # fmt: skip


def test_structure():
    compare_with_torch(structure, floats(2, 4, 6), floats(2, 4, 6))


def creation(x):
    return {
        "full": torch.full((2, 3), 1.5), "full_like": torch.full_like(x, 2), "zeros": torch.zeros(3, dtype=torch.int32), "ones": x.new_ones(2),
        "arange": torch.arange(2, 11, 3), "arange_floats": torch.arange(0, 1, 0.25), "linspace": torch.linspace(-1, 1, 5), "eye": torch.eye(3, 4),
        "constant": x[0, :3] + torch.tensor([1.0, 2.0, 3.0]), "ones_like": torch.ones_like(x, dtype=torch.int64), "tril": torch.tril_indices(3, 3),
        "scalar": torch.scalar_tensor(4, dtype=torch.int64), "filled": x.clone().fill_(3), "zero": x.clone().zero_(),
    }  # fmt: skip


def test_creation():
    compare_with_torch(creation, floats(2, 4))


def reductions(x, i, b):
    return {
        "sum": x.sum(), "sum_dim": x.sum(1), "sum_keep": x.sum((0, 2), keepdim=True), "sum_ints": i.sum(), "sum_bools": b.sum(-1), "mean": x.mean(),
        "mean_dims": x.mean((1, 2)), "prod": x.prod(1), "amax": x.amax((0, 1)), "amin": x.amin(-1, keepdim=True), "max": x.max(), "min": i.min(),
        "max_dim": x.max(1), "min_dim": x.min(-1, keepdim=True), "argmax": x.argmax(), "argmax_dim": x.argmax(1, keepdim=True), "argmin": x.argmin(0),
        "any": b.any(), "any_dim": b.any(1), "all": b.all(0, keepdim=True), "count": torch.count_nonzero(i, 1), "var": x.var(), "var_dim": x.var(1, correction=0),
        "std": x.std(-1, keepdim=True), "var_mean": torch.var_mean(x, (0, 1)), "norm": x.norm(), "norm_dim": torch.linalg.vector_norm(x, 3, 1),
        "norm_inf": torch.linalg.vector_norm(x, float("inf")), "norm_1": torch.linalg.vector_norm(x, 1, (0, 1)), "cumsum": x.cumsum(1), "cumsum_bools": b.cumsum(0),
        "cumprod": x.cumprod(-1), "cummax": x.cummax(1), "cummin": i.cummin(-1), "normalize": F.normalize(x, dim=-1), "nansum": x.nansum(),
        "logsumexp": x.logsumexp((0,)), "logsumexp_dims": x.logsumexp((2, 0), keepdim=True),
    }  # fmt: skip


def test_reductions():
    compare_with_torch(reductions, floats(3, 4, 5), integers(3, 4, 5), integers(3, 4, 5) > 0)


def norms(x, p, w, b, c):
    return {
        "layer": F.layer_norm(x, (6,), w, b), "layer_two": F.layer_norm(x, (4, 6)), "rms": F.rms_norm(x, (6,), w), "rms_eps": F.rms_norm(x, (4, 6), eps=1e-3),
        "group": F.group_norm(p, 2, c, c), "instance": F.instance_norm(p), "batch_eval": F.batch_norm(p, c, c.abs() + 1, c, c),
        "batch_train": F.batch_norm(p, None, None, c, c, training=True), "rms_bf16": F.rms_norm(x.bfloat16(), (6,), w.bfloat16()),
        "response": F.local_response_norm(p, 2),
    }  # fmt: skip


def test_norms():
    compare_with_torch(norms, floats(2, 4, 6), floats(2, 4, 3, 3), floats(6), floats(6), floats(4))


def indexing(x, e, i, j, r):
    return {
        "embedding": F.embedding(i, e), "padding": F.embedding(i, e, padding_idx=1), "index": x[j], "index_two": x[j, j], "apart": x[j, :, j], "none": x[:, None, j],
        "negative": x[:, -j - 1], "select": x.index_select(1, j), "gather": x.gather(1, r), "along": torch.take_along_dim(x, r[:, :1], 1), "take": x.take(r),
    }  # fmt: skip


def test_indexing():
    compare_with_torch(
        indexing, floats(4, 5, 6), floats(7, 3), integers(2, 5, low=0, high=7), integers(3, low=0, high=3), integers(4, 2, 6, low=0, high=5)
    )


def scatters(x, s, r, j, v, m):
    return {
        "scatter": x.scatter(1, r, s), "scatter_value": x.scatter(1, r, 2.5), "add": x.scatter_add(1, r, s), "sum": x.scatter_reduce(1, r, s, "sum"),
        "prod": x.scatter_reduce(1, r, s, "prod"), "amax": x.scatter_reduce(1, r, s, "amax"), "amin": x.scatter_reduce(1, r, s, "amin"), "reduce": x.scatter(1, r, s, reduce="add"),
        "put": x.index_put((j,), v), "accumulate": x.index_put((j,), v, accumulate=True), "mask": x.masked_fill(m, 0.0),
        "put_mask": x.index_put((m,), torch.tensor(7.0)), "index_add": x.index_add(0, j, v, alpha=2), "index_copy": x.index_copy(0, j, v), "fill": x.index_fill(1, j, 4.0),
        "slice": torch.slice_scatter(x, v[:2], 0, 1, 3), "step": torch.slice_scatter(x, v[:2], 0, 0, 4, 2), "select": torch.select_scatter(x, v[0], 0, 2),
        "diagonal": torch.diagonal_scatter(x[0], v[0, :, 0], 1),
    }  # fmt: skip


def test_scatters():
    # Places that are written are distinct but where all updates count.
    places = torch.stack([torch.randperm(5, generator=GENERATOR)[:3] for _ in range(18)]).reshape(3, 6, 3).mT.contiguous()
    compare_with_torch(scatters, floats(4, 5, 6), floats(4, 5, 6), places, torch.tensor([2, 0, 3]), floats(3, 5, 6), integers(4, 5, 6) > 0)


def scatters_of_bools(x, r, s):
    return {"add": x.scatter_add(1, r, s), **{reduce: x.scatter_reduce(1, r, s, reduce) for reduce in ("sum", "prod", "amax", "amin")}}


def test_scatters_of_bools():
    """A sum of truth values is true where one of them is, a product where all are."""
    compare_with_torch(scatters_of_bools, integers(3, 8) > 0, integers(3, 8, low=0, high=8), integers(3, 8) > 0)


def writes(x, y):
    """In-place ops, of what is new and of views."""
    z = x.clone()
    z[:, 1] = y[:, 0]
    z[0, 2:4] += 1
    z[:, ::2].mul_(3)
    z[x > 0.5] = 0
    z.add_(y).relu_()
    return z, z.t().contiguous()


def test_writes():
    compare_with_torch(writes, floats(4, 6), floats(4, 6))


def ordering(x, i, line, q):
    return {
        "topk": x.topk(3), "smallest": x.topk(2, dim=0, largest=False), "smallest_ints": i.topk(2, largest=False)[0], "sort": x.sort(-1), "descending": x.sort(0, descending=True),
        "argsort": x.argsort(1), "search": torch.searchsorted(line, q), "right": torch.searchsorted(line, q, right=True), "lines": torch.searchsorted(x.sort(-1)[0], x),
        "bucketize": torch.bucketize(q, line), "histc": torch.histc(i.float(), bins=15, min=-7, max=7), "histc_floats": torch.histc(x, 4, -1, 1), "one_hot": F.one_hot(i + 7, 15),
        "kth": x.topk(1)[0], "msort": x.msort(),
    }  # fmt: skip


def test_ordering():
    line = floats(9).sort()[0]
    compare_with_torch(ordering, floats(5, 8), integers(5, 8), line, torch.cat([line, floats(4)]))


class Counted(torch.nn.Module):
    """Sizes that numbers of tensors decide, and that it says."""

    def forward(self, e, w, x, r):
        counts, weighed = torch.bincount(e, minlength=8), torch.bincount(e, w, 8)
        torch._check(counts.shape[0] == 8)
        torch._check(weighed.shape[0] == 8)
        rows = torch.repeat_interleave(x, r, dim=0, output_size=9)
        flat = torch.repeat_interleave(x, r[:1], output_size=24)
        return {"flat": flat, "starts": counts.cumsum(0) - counts, "weighed": weighed.view(2, -1), "rows": rows, "wide": rows.new_ones(counts.shape[0], 2)}


def test_sizes_that_the_program_says(tmp_path):
    given = (torch.tensor([1, 2, 2, 7, 0, 2]), floats(6).double(), floats(4, 3), torch.tensor([2, 0, 4, 3]))
    graph = compare_with_torch(Counted(), *given)
    torch.export.save(torch.export.export(Counted(), given), tmp_path / "counted.pt2")
    read = st.from_pt2(tmp_path / "counted.pt2")
    assert not any("sym_size" in node.target for node in (*graph.nodes, *read.nodes))
    assert st.import_program(read).count("shoal.scatter") == 2


def attention(q, k, v, m, a, g):
    sdpa = F.scaled_dot_product_attention
    return {
        "plain": sdpa(q, k, v), "causal": sdpa(q, k, v, is_causal=True), "bools": sdpa(q, k, v, attn_mask=m), "added": sdpa(q, k, v, attn_mask=a, scale=0.3),
        "grouped": sdpa(q, g, g, enable_gqa=True), "three": sdpa(q[0], k[0], v[0]), "two": sdpa(q[0, 0], k[0, 0], v[0, 0], is_causal=True),
    }  # fmt: skip


def test_attention():
    mask = integers(2, 1, 5, 7) > 0
    mask[0, 0, 1] = False  # sees nothing
    compare_with_torch(attention, floats(2, 4, 5, 8), floats(2, 4, 7, 8), floats(2, 4, 7, 8), mask, floats(5, 7), floats(2, 2, 5, 8))


def windows(x, w, d, t, line, lw):
    return {
        "conv": F.conv2d(x, w), "strides": F.conv2d(x, w, stride=(2, 1), padding=1, dilation=2), "groups": F.conv2d(x, d, groups=4), "same": F.conv2d(x, w, padding="same"),
        "transposed": F.conv_transpose2d(x, t, stride=2, padding=1, output_padding=1), "transposed_groups": F.conv_transpose2d(x, t.reshape(4, 3, 3, 3), groups=2),
        "line": F.conv1d(line, lw, bias=lw[:, 0, 0]), "unbatched": F.conv1d(line[0], lw), "max": F.max_pool2d(x, 2), "max_pad": F.max_pool2d(x, 3, 2, 1), "max_ceil": F.max_pool2d(x, 2, 2, ceil_mode=True),
        "max_line": F.max_pool1d(line, 3), "avg": F.avg_pool2d(x, 2), "avg_pad": F.avg_pool2d(x, 3, 2, 1), "avg_no_pad": F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), "avg_line": F.avg_pool1d(line, 2),
        "adaptive": F.adaptive_avg_pool2d(x[..., :6, :6], (3, 2)), "adaptive_one": F.adaptive_avg_pool2d(x, 1), "adaptive_uneven": F.adaptive_avg_pool2d(x, (5, 11)), "adaptive_max": F.adaptive_max_pool2d(x[..., :6, :6], 2),
        "nearest": F.interpolate(x, scale_factor=2), "nearest_size": F.interpolate(x, size=(5, 9)), "bilinear": F.interpolate(x, size=(11, 5), mode="bilinear"),
        "corners": F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True), "linear": F.interpolate(line, size=7, mode="linear"),
    }  # fmt: skip


def test_windows():
    compare_with_torch(windows, floats(2, 4, 7, 7), floats(6, 4, 3, 3), floats(8, 1, 3, 3), floats(4, 3, 3, 3), floats(2, 3, 9), floats(5, 3, 3))


def losses(x, t, p, w, y, s):
    return {
        "cross_entropy": F.cross_entropy(x, t), "ignored": F.cross_entropy(x, t, ignore_index=2), "weights": F.cross_entropy(x, t, w, reduction="none"), "weighted_mean": F.cross_entropy(x, t, w),
        "smoothing": F.cross_entropy(x, t, label_smoothing=0.1), "sum": F.cross_entropy(x, t, reduction="sum"), "probabilities": F.cross_entropy(x, p), "dims": F.cross_entropy(s, t[None].expand(2, -1)),
        "nll": F.nll_loss(F.log_softmax(x, -1), t), "mse": F.mse_loss(x, y), "l1": F.l1_loss(x, y, reduction="sum"), "smooth": F.smooth_l1_loss(x, y, beta=0.5), "huber": F.huber_loss(x, y),
        "bce": F.binary_cross_entropy(x.sigmoid(), p), "bce_logits": F.binary_cross_entropy_with_logits(x, p, pos_weight=w), "kl": F.kl_div(F.log_softmax(x, -1), p, reduction="batchmean"),
        "cosine": F.cosine_similarity(x, y, dim=-1), "margin": F.margin_ranking_loss(x[:, 0], y[:, 0], p[:, 0].sign()),
    }  # fmt: skip


def test_losses():
    compare_with_torch(losses, floats(6, 5), integers(6, low=0, high=5), F.softmax(floats(6, 5), -1), floats(5).abs(), floats(6, 5), floats(2, 5, 6))


def control_flow(x, n):
    def grow(i, y):
        return i + 1, y * 1.5

    count, grown = torch.ops.higher_order.while_loop(lambda i, y: i < 4, grow, (n, x), ())
    return {"cond": torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)), "count": count, "grown": grown}


def test_control_flow():
    compare_with_torch(control_flow, floats(3, 4), torch.tensor(0))


def test_control_flow_otherwise():
    compare_with_torch(control_flow, -floats(3, 4).abs(), torch.tensor(2))


def of_rank_0(x, i, zero):
    """What others do along a dimension; numbers of floats with integers."""
    return {
        "softmax": x.softmax(0), "cumsum": x.cumsum(0), "cummax": x.cummax(0), "sort": i.sort(), "topk": x.topk(1), "max": x.max(0), "argmax": x.argmax(0),
        "sum": x.sum(0), "select": x.index_select(0, zero), "gather": x.gather(0, zero[0]), "add": x.index_add(0, zero, x),
        "copy": x.index_copy(0, zero, i.float()), "logsumexp": x.logsumexp(0), "log_softmax": x.log_softmax(0), "fill": x.index_fill(0, zero, 2.0), "scatter": x.scatter(0, zero[0], 3.0), "prelu": F.prelu(x, x.reshape(1)),
        "clamp": F.hardtanh(i, -2.0, 2.0), "addmv": torch.addmv(i.reshape(1), i.reshape(1, 1), i.reshape(1), beta=1, alpha=2), "arange": torch.arange(0.0, 3.0, dtype=torch.int64),
        "transpose": x.t(), "flip": x.flip(()), "flatten": x.flatten(), "any": (x > 0).any(0), "mean": x.mean(0), "expand": x.expand(2, 3), "unfold": x.unfold(0, 1, 1), "bytes": x.to(torch.uint8),
    }  # fmt: skip


def test_of_rank_0():
    compare_with_torch(of_rank_0, torch.tensor(1.5), torch.tensor(4), torch.tensor([0]))


def test_results_that_are_not_made_are_refused():
    with pytest.raises(UnsupportedError, match='result "result1" is not supported: it reads ".*", a result that its importer does not make'):
        compare_with_torch(lambda x: F.max_pool2d(x, 2, return_indices=True), floats(1, 2, 4, 4))


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_samples_of_torchs_table(kind):
    """One op in forty of `op_db`, each right or refused by name; all of them: test/benchmarks/torch_op_db.py."""
    pytest.importorskip("expecttest")
    sys.path.append(str(ROOT / "test/benchmarks"))
    from torch_op_db import op_db, samples_of, tried

    results = {}
    for op in op_db[7::40]:
        for sample in samples_of(op, getattr(torch, kind), 1):
            torch.manual_seed(0)
            results[op.name] = tried(op.name, sample)
    assert list(results.values()).count("right") >= 5, results
    assert {name: result for name, result in results.items() if result not in ("right", "refused", "not exported")} == {}
