# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlexAttention: attention whose mask and scores are functions of a batch's, a head's, a query's and a key's numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.frontend import elementwise, nn, reduction, structure
from shoal.frontend.value import Value
from shoal.torch.graph import Graph, Type
from shoal.torch.lifting import lifted
from shoal.torch.op import Op
from shoal.torch.ops import attention
from shoal.torch.registry import imports


@imports("higher_order.flex_attention")
def flex_attention(op: Op, arg0: Value, arg1: Value, arg2: Value, arg3: Graph, arg4: Sequence[Any], arg5: float, arg6: Any = None,
                   arg7: Sequence[Value] = (), arg8: Sequence[Value] = ()) -> list[Value]:  # fmt: skip
    """[B, H, L, E] by [B, G, S, E] and [B, G, S, V] -> [B, H, L, V], and of each row the logarithm of its sum and its largest score, both
    over log(2). Blocks of the mask say what a kernel may leave out, options how it runs: both say nothing of values."""
    wide = np.dtype("float64" if arg0.dtype == np.float64 else "float32")
    query, key = elementwise.astype(arg0, wide), elementwise.astype(arg1, wide)
    groups = arg0.shape[1] // arg1.shape[1]
    scores = elementwise.multiply(attention.scores_of(query, key, groups, 1.0), arg5)
    # Numbers of the batch, the head, the query and the key, each along its dimension.
    numbers = [structure.iota([size if d == dim else 1 for d, size in enumerate(scores.shape)], dim, np.int32) for dim in range(4)]
    scores = _called(op, arg3, [scores, *numbers], arg7)
    mask = _called(op, arg4[-1], numbers, arg8)
    scores = elementwise.where(mask, scores, -math.inf)
    largest = reduction.max(scores, -1)
    is_blind = elementwise.equal(largest, -math.inf)
    seen = elementwise.where(is_blind[..., None], 0.0, scores)
    weights = elementwise.where(is_blind[..., None], 0.0, nn.softmax(seen))
    total = elementwise.where(is_blind, -math.inf, nn.logsumexp(seen, -1))
    result = attention.weighted(elementwise.astype(weights, arg0.dtype), elementwise.astype(arg2, arg0.dtype), groups)
    return [result, elementwise.divide(total, math.log(2)), elementwise.divide(largest, math.log(2))]


def _called(op: Op, graph: Graph, arrays: Sequence[Value], others: Sequence[Value]) -> Value:
    """A graph of scalars, for arrays."""
    types = [Type(value.shape, value.dtype) for value in arrays]
    return op.call(lifted(graph, types), [*arrays, *others])[0]
