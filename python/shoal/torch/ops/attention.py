# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over whole sequences: einsum, softmax, einsum, whose batches and heads keep their shardings."""

from __future__ import annotations

import math
from typing import Any

from shoal.frontend import broadcasting, contraction, dtypes, elementwise, nn, reduction, structure
from shoal.frontend.value import Value
from shoal.torch.op import NOT_MADE, Op
from shoal.torch.ops.random import dropped
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports(
    "aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_flash_attention.default", "aten._scaled_dot_product_efficient_attention.default",
)  # fmt: skip
def attention(op: Op, query: Value, key: Value, value: Value, attn_mask: Value | None = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
              attn_bias: Value | None = None, compute_log_sumexp: bool = False,
              return_debug_mask: bool = False) -> list[Any]:  # fmt: skip
    """[..., L, E] by [..., S, E] and [..., S, V] -> [..., L, V]. A row of which all is masked gives 0."""
    groups = _groups(query, key, enable_gqa)
    scores = scores_of(query, key, groups, 1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        # Row i sees columns 0 ... i: the upper left corner, whatever L and S are.
        rows, columns = (structure.iota(scores.shape[-2:], dim) for dim in (0, 1))
        scores = elementwise.where(elementwise.greater_equal(rows, columns), scores, float("-inf"))
    mask = attn_bias if attn_mask is None else attn_mask
    weights = _masked_softmax(scores, mask) if mask is not None else nn.softmax(scores)
    if dropout_p:
        weights = dropped(op, weights, dropout_p)
    result = weighted(elementwise.astype(weights, value.dtype), value, groups)
    # Beside it: what their gradients read, which nobody else does.
    return [result, *[NOT_MADE] * (len(op.node.results) - 1)]


def _groups(query: Value, key: Value, is_grouped: bool) -> int:
    """Heads of the query for each of the key."""
    if not is_grouped:
        return 1
    heads, shared = query.shape[-3], key.shape[-3]
    if heads % shared:
        raise Unsupported(f"{heads} heads of the query and {shared} of the key, which do not divide them")
    return heads // shared


def scores_of(query: Value, key: Value, groups: int, scale: float) -> Value:
    """[..., H, L, E] by [..., H / groups, S, E] -> [..., H, L, S], the query times a number."""
    query = elementwise.multiply(query, scale)
    if groups == 1:
        return contraction.matmul(query, structure.swapaxes(key, -2, -1))
    *batch, heads, length, size = query.shape
    split = query.reshape([*batch, heads // groups, groups, length, size])
    product = contraction.einsum(f"{_letters(batch)}hgqe,{_letters(batch)}hke->{_letters(batch)}hgqk", split, key)
    return product.reshape([*batch, heads, length, key.shape[-2]])


def weighted(weights: Value, value: Value, groups: int) -> Value:
    """[..., H, L, S] by [..., H / groups, S, V] -> [..., H, L, V]."""
    if groups == 1:
        return contraction.matmul(weights, value)
    *batch, heads, length, size = weights.shape
    split = weights.reshape([*batch, heads // groups, groups, length, size])
    product = contraction.einsum(f"{_letters(batch)}hgqk,{_letters(batch)}hkv->{_letters(batch)}hgqv", split, value)
    return product.reshape([*batch, heads, length, value.shape[-1]])


def _letters(batch: list[int]) -> str:
    return "abcd"[: len(batch)]


def _masked_softmax(scores: Value, mask: Value) -> Value:
    """With a mask of bools, that are true for what is seen, or of numbers that are added."""
    if dtypes.is_bool(mask.dtype):
        scores = elementwise.where(mask, scores, float("-inf"))
    else:
        scores = elementwise.add(scores, elementwise.astype(mask, scores.dtype))
    # Where a row sees nothing, its softmax is NaN, and so is its gradient even if it is not chosen.
    is_blind = elementwise.equal(reduction.max(scores, -1, keepdims=True), float("-inf"))
    weights = nn.softmax(elementwise.where(is_blind, 0.0, scores))
    return elementwise.where(broadcasting.broadcast_to(is_blind, weights.shape), 0.0, weights)
