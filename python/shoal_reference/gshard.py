# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's Mixture-of-Experts layer, Algorithms 1 and 2 of the paper.

Lepikhin et al., "GShard: Scaling Giant Models with Conditional Computation and
Automatic Sharding" (2020). Loops stand where the paper has loops. Inputs are
float32 arrays; the arithmetic is float64, so that this side adds no rounding
to a comparison. Letters: G groups, S tokens of a group, M model size, E
experts, C capacity of an expert's buffer in a group, H hidden size.
"""

import math
from dataclasses import dataclass

import numpy as np

from . import threefry


@dataclass
class Gating:
    """Where each token goes.

    combine   [G, S, E, C] weights, zero where a token does not go.
    dispatch  [G, S, E, C] True where combine has a place, also of weight zero.
    aux       auxiliary loss, the mean over groups.
    experts   [G, S, k] chosen experts, best first.
    positions [G, S, k] place in the expert's buffer; >= C is over capacity.
    kept      [G, S, k] neither over capacity nor turned away by random routing.
    """

    combine: np.ndarray
    dispatch: np.ndarray
    aux: float
    experts: np.ndarray
    positions: np.ndarray
    kept: np.ndarray

    def routed_per_expert(self):
        """[E] choices of each expert, dropped ones included."""
        return np.bincount(self.experts.ravel(), minlength=self.combine.shape[2])

    def kept_per_expert(self):
        """[E] choices of each expert that found a place."""
        return self.dispatch.sum(axis=(0, 1, 3)).astype(np.int64)


def expert_capacity(k, tokens, experts, capacity_factor, min_capacity=4):
    """Tokens that one expert takes from one group (paper, section 2.2)."""
    return max(min_capacity, math.ceil(capacity_factor * k * tokens / experts))


def softmax(logits):
    """Softmax over the last dimension."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _gate_group(gates, k, capacity, uniforms):
    """Algorithm 1 for the gates [S, E] of one group.

    uniforms [k, S] turn on random routing; row 0 is not used.
    Returns (experts, positions, kept, weights), each [S, k], and the loss.
    """
    tokens, num_experts = gates.shape
    experts = np.argsort(-gates, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(gates, experts, axis=1)
    weights = chosen / chosen.sum(axis=1, keepdims=True)
    positions = np.zeros((tokens, k), dtype=np.int64)
    kept = np.zeros((tokens, k), dtype=bool)
    count = np.zeros(num_experts, dtype=np.int64)  # c_E
    loss = 0.0
    for j in range(k):  # lines 3-14 for j = 0, lines 15-23 for j = 1
        for s in range(tokens):
            expert = experts[s, j]
            wanted = j == 0 or uniforms is None or 2 * weights[s, j] > uniforms[j, s]
            positions[s, j] = count[expert]
            kept[s, j] = wanted and count[expert] < capacity
            count[expert] += 1  # also when the choice was not kept
        if j == 0:  # line 13
            loss = np.mean(count / tokens * gates.mean(axis=0))
    return experts, positions, kept, weights, loss


def _routing_uniforms(key, k, groups, tokens):
    """[k, G, S]; choice j has the key whose second word is increased by j."""
    word0, word1 = (int(word) & 0xFFFFFFFF for word in key)
    return np.stack(
        [
            threefry.uniform((word0, (word1 + j) & 0xFFFFFFFF), (groups, tokens))
            for j in range(k)
        ]
    )


def top_k_gating(gates, k, capacity, key=None):
    """Algorithm 1 for gates [G, S, E]. A key turns on random routing."""
    gates = np.asarray(gates, dtype=np.float64)
    groups, tokens, num_experts = gates.shape
    uniforms = None if key is None else _routing_uniforms(key, k, groups, tokens)
    combine = np.zeros((groups, tokens, num_experts, capacity))
    dispatch = np.zeros(combine.shape, dtype=bool)
    experts = np.zeros((groups, tokens, k), dtype=np.int64)
    positions = np.zeros_like(experts)
    kept = np.zeros(experts.shape, dtype=bool)
    losses = []
    for g in range(groups):
        drawn = None if uniforms is None else uniforms[:, g]
        experts[g], positions[g], kept[g], weights, loss = _gate_group(
            gates[g], k, capacity, drawn
        )
        losses.append(loss)
        s, j = np.nonzero(kept[g])
        place = (g, s, experts[g, s, j], positions[g, s, j])
        combine[place] = weights[s, j]
        dispatch[place] = True
    aux = float(np.mean(losses))
    return Gating(combine, dispatch, aux, experts, positions, kept)


def _einsum(spec, *operands):
    return np.einsum(spec, *operands, optimize=True)  # by BLAS where it can


def moe_layer(x, router, wi, wo, k, capacity, key=None):
    """Algorithm 2. Returns y [G, S, M] and the Gating.

    x [G, S, M], router [M, E], wi [E, M, H], wo [E, H, M].
    """
    x, router, wi, wo = (np.asarray(a, dtype=np.float64) for a in (x, router, wi, wo))
    gates = softmax(np.einsum("GSM,ME->GSE", x, router))
    gating = top_k_gating(gates, k, capacity, key)
    mask = gating.dispatch.astype(np.float64)
    dispatched = _einsum("GSEC,GSM->EGCM", mask, x)
    hidden = np.maximum(_einsum("EGCM,EMH->EGCH", dispatched, wi), 0.0)
    outputs = _einsum("EGCH,EHM->GECM", hidden, wo)
    return _einsum("GSEC,GECM->GSM", gating.combine, outputs), gating
