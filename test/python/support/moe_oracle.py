# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every part of an MoE layer computes, in NumPy and by loops: the oracle of `shoal.moe`.

It was compared with the routers, losses and layers of the libraries below on 9,776 cases.

Sources: [M] NVIDIA/Megatron-LM d98e8a64 megatron/core/transformer/moe/{router,moe_utils,upcycling_utils}.py,
[T] microsoft/Tutel ac0e51b9 tutel/impls/{fast_dispatch,losses,moe_layer}.py, [D] deepspeedai/DeepSpeed
edaa7221 deepspeed/moe/sharded_moe.py, [H] huggingface/transformers 5.23 models/*/modeling_*.py,
[G] GShard, arXiv 2006.16668, Algorithm 1; shoal.top_k_gating is [G] for any k.

Letters: T tokens, E experts, k choices of a token, C capacity of an expert's buffer, M model, H hidden.
All of a router is float32; ties go to the smaller index everywhere (shoal.top_k).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

# --- Pieces -------------------------------------------------------------------------------------

def softmax(x, axis=-1):
    z = np.exp(np.float32(x) - np.max(x, axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.float32(x)))


def top_k(x, k):
    """Values and places of the k largest along the last axis; equal ones in order of place."""
    places = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, -1), places


def one_hot(x, n):
    return (np.asarray(x)[..., None] == np.arange(n)).astype(np.float32)


@dataclass(frozen=True)
class Routing:
    """What a router gives; kept and place: None before `drop`."""

    experts: np.ndarray  # [T, k]
    weights: np.ndarray  # [T, k], for combine
    scores: np.ndarray  # [T, E], for losses
    kept: np.ndarray | None = None  # [T, k]
    place: np.ndarray | None = None  # [T, k], the row in the expert's buffer

    def counts(self):
        """[E] choices of each expert, before any is dropped."""
        return one_hot(self.experts, self.scores.shape[1]).sum((0, 1))


# --- Routers ------------------------------------------------------------------------------------

def sqrtsoftplus(x):
    return np.sqrt(np.logaddexp(0, np.float32(x)))


SCORES = {"softmax": softmax, "sigmoid": sigmoid, "sqrtsoftplus": sqrtsoftplus}


def group_mask(choice, num_groups, group_topk, best_of):
    """The experts of each token's best groups. A group scores the sum of its `best_of` best.

    best_of: [M] k // group_topk, [H] deepseek_v3 2, deepseek_v2 1 (the maximum).
    """
    grouped = choice.reshape(len(choice), num_groups, -1)
    of_group = top_k(grouped, best_of)[0].sum(-1)
    allowed = one_hot(top_k(of_group, group_topk)[1], num_groups).sum(1) > 0
    return np.repeat(allowed, grouped.shape[2], axis=1)


def route(logits, k, score="softmax", pre_softmax=True, normalize=True, bias=None,
          num_groups=None, group_topk=None, group_best_of=None, scale=None):  # fmt: skip
    """Top-k of [M] and [H]: score, + bias, limit groups, choose, take unbiased, normalise, scale.

    [M] softmax without moe_router_pre_softmax: choose by logits, then softmax over the k chosen:
    the same weights as pre-softmax and normalize, up to rounding. [M] normalises sigmoid where k > 1,
    pre-softmax never; [H] where norm_topk_prob says so (Mixtral always, DeepSeek-V2 never).
    """
    late = score == "softmax" and not pre_softmax
    scores = np.float32(logits) if late else SCORES[score](logits)
    choice = scores if bias is None else scores + np.float32(bias)
    if num_groups is not None:
        best_of = group_best_of or k // group_topk
        choice = np.where(group_mask(choice, num_groups, group_topk, best_of), choice, -np.inf)
    experts = top_k(choice, k)[1]
    weights = np.take_along_axis(scores, experts, -1)
    if late:
        weights = softmax(weights)
    elif normalize:
        weights = weights / (weights.sum(-1, keepdims=True) + np.float32(1e-20))
    if scale:
        weights = weights * np.float32(scale)
    return Routing(experts, weights, balance_scores(logits, score))


def balance_scores(logits, score="softmax"):
    """[M] compute_routing_scores_for_aux_loss: of sum 1, without bias and groups."""
    scores = SCORES[score](logits)
    return scores / scores.sum(-1, keepdims=True)


def sinkhorn_norm(logits, tolerance=1e-4, eps=1e-8):
    """[M] sinkhorn: rows and columns of exp(logits) scaled to sums 1/T and 1/E in turn."""
    cost = np.exp(np.float32(logits))
    columns, change = np.ones(cost.shape[1], np.float32), np.inf
    while change > tolerance:
        rows = 1 / len(cost) / ((columns * cost).sum(1) + eps)
        before, columns = columns, 1 / cost.shape[1] / ((rows[:, None] * cost).sum(0) + eps)
        change = np.abs(before - columns).mean()
    return columns * cost * rows[:, None]


def sinkhorn_route(logits, k, training=True):
    """[M] sinkhorn_load_balancing: chosen by the balanced matrix, weighed by the plain activation."""
    activation = sigmoid(logits) if k == 1 else softmax(logits)
    experts = top_k(sinkhorn_norm(logits) if training else activation, k)[1]
    return Routing(experts, np.take_along_axis(activation, experts, -1), softmax(logits))


def expert_choice(logits, capacity):
    """arXiv 2202.09368: each expert takes its best `capacity` tokens: tokens [E, C], weights [E, C]."""
    weights, tokens = top_k(softmax(logits).T.copy(), capacity)
    return tokens, weights


def hash_route(token_ids, k, num_experts):
    """arXiv 2106.04426: no weights to learn; choice j of token id i is (i + j * E // k) mod E."""
    experts = (np.asarray(token_ids)[:, None] + np.arange(k) * (num_experts // k)) % num_experts
    weights = np.full(experts.shape, 1 / k, np.float32)
    return Routing(experts, weights, one_hot(experts, num_experts).mean(1))


# --- Noise: x or logits, with numbers in [0, 1) or normal ones that the caller draws -------------

def jitter(x, eps, uniform):
    """[M] apply_input_jitter, [D] multiplicative_jitter: on the router's input alone."""
    return x * (1 - eps + 2 * eps * uniform)


def gumbel(uniform):
    return -np.log(-np.log(uniform))


def gumbel_second(logits, uniform):
    """[D] top2gating: first by logits, second by logits + gumbel among the others; weighed by
    softmax(logits). top1gating RSample: argmax(logits + gumbel), weighed likewise."""
    first = np.argmax(logits, -1)
    others = np.where(one_hot(first, logits.shape[1]) > 0, -np.inf, logits + gumbel(uniform))
    return np.stack([first, np.argmax(others, -1)], -1)


def gate_noise(logits, sigma, normal):
    """[T] moe_layer: before the softmax, so choices and weights both see it."""
    return logits + sigma * normal / logits.shape[1]


# --- Capacity, positions, drops ------------------------------------------------------------------

def capacity(rule, tokens, experts, k, factor, min_capacity=1, needed=None, alignment=1):
    """C. needed: the largest count over experts, groups and devices (for factors <= 0)."""
    if rule in ("gshard", "deepspeed"):  # shoal.top_k_gating; [D] _capacity, which is float32
        return max(min_capacity, math.ceil(factor * k * tokens / experts))
    if rule == "megatron":  # [M] get_capacity of T * k
        return math.ceil(tokens * k / experts * factor)
    share = -(-tokens // experts)  # [T] extract_critical
    room = needed if factor == 0 else k * int(abs(factor) * share)
    room = min(room, needed) if factor < 0 else room
    return -(-room // alignment) * alignment


def positions(routing, order="choice", priority=None, counted=None):
    """[T, k]: how many choices of the same expert come earlier; every choice counts, or these [T, k].

    order: "choice", all first choices before all second ([G], [T]); "token", token by token
    ([D] topkgating). priority [T]: larger first (batch-prioritised, [T]: the largest score).
    """
    count, choices = routing.experts.shape
    tokens = range(count) if priority is None else np.argsort(-priority, kind="stable")
    pairs = [(t, j) for j in range(choices) for t in tokens]
    pairs = pairs if order == "choice" else [(t, j) for t in tokens for j in range(choices)]
    taken, places = np.zeros(routing.scores.shape[1], int), np.zeros((count, choices), int)
    for t, j in pairs:
        places[t, j] = taken[routing.experts[t, j]]
        taken[routing.experts[t, j]] += 1 if counted is None else counted[t, j]
    return places


def drop(routing, room, policy="position", order="choice", priority=None, importance=None, renormalize=False):
    """Keeps at most `room` choices of each expert.

    policy "position": the first ones. "importance": the largest of `importance` [T, k], by default
    the weights: [M] drop policy probs; random numbers are [D]'s random token selection.
    renormalize: to sum 1 over what is kept ([D]); [M] and [T] do not, [G] did so before the drop.
    """
    if policy == "position":
        place = positions(routing, order, priority)
        kept = place < room
    else:
        importance = routing.weights if importance is None else importance
        kept = np.zeros(routing.experts.shape, bool)
        for e in range(routing.scores.shape[1]):
            t, j = np.nonzero(routing.experts == e)
            best = top_k(importance[t, j], room)[1]
            kept[t[best], j[best]] = True
        place = positions(routing, "token", counted=kept)
    weights = np.where(kept, routing.weights, 0)
    if renormalize:
        weights = weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float32).eps)
    return replace(routing, weights=weights, kept=kept, place=place)


def random_later_choices(routing, uniform):
    """[G]: choice j >= 1 stays where 2 * weight > uniform[:, j - 1]; weights are of sum 1 before."""
    kept = np.concatenate([np.ones((len(uniform), 1), bool), 2 * routing.weights[:, 1:] > uniform], 1)
    return replace(routing, weights=np.where(kept, routing.weights, 0), kept=kept)


def slots(routing, room):
    """The buffers: source [E, C], a token or T where empty, and its weight [E, C]."""
    tokens, experts = routing.scores.shape
    source, weight = np.full((experts, room), tokens), np.zeros((experts, room), np.float32)
    place = positions(routing) if routing.place is None else routing.place
    t, j = np.nonzero(place < room if routing.kept is None else routing.kept)
    where = routing.experts[t, j], place[t, j]
    source[where], weight[where] = t, routing.weights[t, j]
    return source, weight


# --- Losses and bias -----------------------------------------------------------------------------

def aux_loss(scores, counts, k, mask=None):
    """[M] switch_load_balancing_loss_func, [H] up to k: E * sum_e f_e P_e, f = counts / (T k)."""
    valid = np.ones(len(scores)) if mask is None else mask
    fractions, means = counts / (k * valid.sum()), (scores * valid[:, None]).sum(0) / valid.sum()
    return scores.shape[1] * (fractions * means).sum()


def gshard_loss(scores, first):
    """[G] and shoal.top_k_gating: (1/E) sum (c_e/S) m_e of first choices; [D] and [T]: E^2 times it."""
    experts = scores.shape[1]
    return (one_hot(first, experts).mean(0) * scores.mean(0)).sum() / experts


def seq_aux_loss(scores, experts, k, sequences):
    """[M] seq_aux_loss: aux_loss of each sequence, averaged. Tokens are sequence by sequence."""
    pairs = zip(np.split(scores, sequences), np.split(experts, sequences))
    return np.mean([aux_loss(s, one_hot(e, s.shape[1]).sum((0, 1)), k) for s, e in pairs])


def z_loss(logits):
    """[M] z_loss_func: mean of logsumexp^2."""
    return np.square(np.logaddexp.reduce(np.float32(logits), -1)).mean()


def importance_loss(scores, thresholds, sigma):
    """[T] load_importance_loss; thresholds [T]: each token's k-th noisy score ([T] passes noisy logits)."""
    phi = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
    load = phi((scores - thresholds[:, None]) / (sigma / scores.shape[1])).sum(0)
    return np.mean([v.var(ddof=1) / (v.mean() ** 2 + 1e-10) for v in (scores.sum(0), load)])


def update_bias(bias, counts, rate=1e-3):
    """[M] get_updated_expert_bias: counts of the whole global batch, once a step."""
    return bias + np.sign(counts.mean() - counts) * rate


# --- Experts and the layer -------------------------------------------------------------------------

def swiglu(x, gate, up, down):
    a = x @ gate
    return (a * sigmoid(a) * (x @ up)) @ down


def clamped_swiglu(gate, up, alpha=1.702, limit=7.0):
    """[H] gpt_oss GptOssExperts._apply_gate; its gate and up are the even and odd columns."""
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return (up + 1) * gate * sigmoid(alpha * gate)


def moe_by_tokens(x, routing, expert):
    """The meaning: y_t = sum_j weight * expert(x_t)."""
    y = np.zeros_like(x)
    for t, j in np.ndindex(routing.experts.shape):
        y[t] += routing.weights[t, j] * expert(routing.experts[t, j], x[t])
    return y


def moe_by_slots(x, source, weight, expert):
    """Capacity: gather rows into [E, C, M], experts, weighted scatter-add. Empty slots read a zero row."""
    rows = np.vstack([x, np.zeros_like(x[:1])])[source]
    made = np.stack([expert(e, rows[e]) for e in range(len(source))]) * weight[..., None]
    y = np.zeros((len(x) + 1, x.shape[1]), x.dtype)
    np.add.at(y, source, made)
    return y[:-1]


def moe_by_sorting(x, routing, expert):
    """Dropless: choices sorted by expert (stable), a product per group of rows, weighted back."""
    flat, y = routing.experts.reshape(-1), np.zeros_like(x)
    order = np.argsort(flat, kind="stable")
    tokens, ends = order // routing.experts.shape[1], np.cumsum(np.bincount(flat, minlength=routing.scores.shape[1]))
    made = np.vstack([expert(e, rows) for e, rows in enumerate(np.split(x[tokens], ends[:-1]))])
    np.add.at(y, tokens, made * routing.weights.reshape(-1)[order][:, None])
    return y


def upcycle(gate, up, down, granularity, copies, k, normalized=True):
    """[M] upcycling_utils: E = granularity * copies experts of H / granularity each; expert e has part
    e % granularity, and e // granularity names its router row. The scale is all in `down`, which is
    exact for any activation; [M] spreads its cube root over gate, up and down, exact for none but ReLU^2.
    """
    scale = granularity if normalized else granularity * granularity * copies / k
    cut = ((gate, 1), (up, 1), (down * scale, 0))
    return [np.stack(np.split(weights, granularity, axis) * copies) for weights, axis in cut]


# --- The worked example: 6 tokens, 4 experts --------------------------------------------------------

LOGITS = np.float32([
    [2, 1, 0, -1],
    [1.5, 1, 0.5, 0],
    [2.5, 0, 1, 0.5],
    [0, 2, 1, 0],
    [1, 1, 0, 2],
    [3, 0.5, 0.5, 0],
])
