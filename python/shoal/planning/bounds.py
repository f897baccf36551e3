# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a mapping's programs take at least, without the programs (docs/guide/Planning.md, Bounds).

Every second is a price of the machine's, of work that no sharding of the program can do without: products of a device's
share of the weights that its tokens meet, in the best of all ways to cut them; attention; what kernels read and write
between products; rows of experts that travel; parts of tokens or of weights that tensor and context parallelism exchange.

Letters: X bytes of a device's own tokens, R of the rows that go to its experts, H of their hidden units.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.models.config import ModelConfig
from shoal.moe.parameters import OF_EXPERTS
from shoal.planning.arithmetic import weights_of
from shoal.planning.costs import attention_seconds, rounding_seconds, typed_share
from shoal.planning.course import Around, Spent
from shoal.planning.exchanges import Axes, axes_of, exchange_bound
from shoal.planning.mapping import Mapping
from shoal.planning.programs import Kind, Setting
from shoal.simulation.machines import Machine

__all__ = ["around_bound", "layer_bound", "saved_bound", "update_bound"]

@dataclass(frozen=True)
class _Kernels:
    """How many kernels a layer has between products, forward and back, at least, and how often they pass X and what of X is
    gathered over tp, queries and keys, R and H.

    X: norms, sums of what a layer adds, the router. R: taken in the order of experts, brought home, widened, weighed and
    summed, and all of that back. H: forward what activations are given and make, back the same with its cotangents.
    """

    count: int
    own: float
    gathered: float
    heads: float
    rows: float
    hidden: float


# As programs are now, by how rows reach experts and what is computed again.
_KERNELS = {
    ("alltoall", "none"): _Kernels(95, 42, 5, 8, 36, 10),
    ("alltoall", "selective"): _Kernels(115, 46, 5, 10, 36, 13),
    ("alltoall", "full"): _Kernels(145, 58, 5, 11, 36, 12),
    ("sort", "none"): _Kernels(75, 30, 5, 8, 33, 10),
    ("sort", "selective"): _Kernels(85, 32, 5, 10, 33, 13),
    ("sort", "full"): _Kernels(100, 42, 5, 11, 33, 12),
    ("capacity", "none"): _Kernels(20, 20, 0, 4, 3, 10),
    ("capacity", "selective"): _Kernels(20, 20, 0, 4, 3, 10),
    ("capacity", "full"): _Kernels(25, 25, 0, 6, 5, 13),
    ("dense", "none"): _Kernels(55, 36, 5, 8, 0, 10),
    ("dense", "selective"): _Kernels(70, 40, 5, 10, 0, 12),
    ("dense", "full"): _Kernels(80, 50, 5, 10, 0, 12),
}
# Of activations that are not gated.
_PLAIN = 0.4
# How many of H and R the backward pass finds at least: of H what activations are given and make, of R what experts are
# given and make, and where rows were exchanged what they are weighed as.
_SAVED_H, _SAVED_H_AGAIN = {True: 3, False: 2}, {True: 2, False: 1}
_SAVED_R = {"alltoall": 2, "sort": 2, "capacity": 1}
# Bytes of an element that AdamW reads or writes: gradient, master, two moments, what is computed with.
_UPDATED = 18


class _Sizes:
    """Of a setting, bytes of a device."""

    def __init__(self, setting: Setting):
        mapping, moe = setting.mapping, setting.config.moe
        self.width = 4 if mapping.type == "f32" else 2
        self.tokens = mapping.micro_batch * mapping.sequence / mapping.cp
        self.own = self.tokens / mapping.tp if moe is not None else self.tokens
        factor = moe.moe_expert_capacity_factor
        self.has_capacity = factor is not None
        self.rows = self.own * moe.moe_router_topk * min(1.0, factor or 1.0)
        self.x = self.width * self.own * setting.config.hidden_size
        self.r = self.width * self.rows * setting.config.hidden_size
        self.h = self.width * self.rows * moe.moe_ffn_hidden_size
        self.heads = self.width * self.tokens * _turned(setting.config) / mapping.tp


def _turned(config: ModelConfig) -> int:
    """Elements of a token's queries and keys."""
    if config.latent is not None:
        return 2 * config.num_attention_heads * (config.latent.nope + config.latent.rope)
    return (config.num_attention_heads + config.num_key_value_heads) * config.head_dim


def product_bound(machine: Machine, setting: Setting, shape: tuple[float, float, float], parts: int) -> float:
    """Seconds of a device's share of a product of m, n and k over so many devices, cut in the best way."""
    return _least(machine, _type(setting), shape, parts) * typed_share(setting.mapping, machine)


@functools.lru_cache(maxsize=1 << 16)
def _least(machine: Machine, type: str, shape: tuple[float, float, float], parts: int) -> float:
    found = []
    for cut in _cuts(parts):
        # Of sizes that are rounded up, as larger ones reach more of the peak; of the operations that there are.
        whole = tuple(math.ceil(size / by) for size, by in zip(shape, cut))
        share = math.prod(shape) / parts / math.prod(whole)
        found.append(share * machine.price_product(type, (1, *whole)))
    return min(found)


def _type(setting: Setting) -> str:
    return "f32" if setting.mapping.type == "f32" else "bf16"


@functools.cache
def _cuts(parts: int) -> list[tuple[int, int, int]]:
    """All ways to write it as a product of three."""
    sizes = [size for size in range(1, parts + 1) if parts % size == 0]
    return [(m, n, parts // (m * n)) for m in sizes for n in sizes if parts % (m * n) == 0]


def _passes(price: Callable[[float, float, float], float], shape: tuple[float, float, float], again: bool) -> float:
    """A product of m, n and k forward and back; `again`: it is computed again, too."""
    m, n, k = shape
    return price(m, n, k) * (2 if again else 1) + price(m, k, n) + price(k, n, m)


def _matrices(tree: Any) -> Iterator[tuple[int, int]]:
    """Rows and columns of the matrices of a tree of shapes, whose heads have dimensions of their own."""
    if isinstance(tree, dict):
        for node in tree.values():
            yield from _matrices(node)
    elif isinstance(tree, tuple) and len(tree) > 1:
        first = tree[0] if len(tree) == 2 else max(tree[0], tree[-1])
        yield first, math.prod(tree) // first


def layer_bound(setting: Setting, kind: Kind, machine: Machine) -> Spent:
    """Of a micro-batch in a layer."""
    shapes = setting.shapes["layers"][kind.first]
    sizes = _Sizes(setting)
    computed = attention_seconds(setting, kind, machine) if setting.mapping.fused_attention else 0.0
    computed += _products(setting, shapes, sizes, machine) + _kernels(kind, sizes, setting, machine)
    computed += rounding_seconds(setting, kind, machine)
    return Spent(sent=_sent(setting, kind, shapes, sizes, machine), computed=computed)


def _products(setting: Setting, shapes: Any, sizes: _Sizes, machine: Machine) -> float:
    mapping, moe = setting.mapping, shapes.get("moe", {})
    again = mapping.recompute == "full"

    def whole(m: float, n: float, k: float) -> float:
        return product_bound(machine, setting, (m, n, k), mapping.tp)

    total = 0.0
    for tree in (shapes["attention"], shapes.get("dense", {}), moe.get("shared", {})):
        for name, shape in tree.items():
            # Networks' results are added to others, whose gradients need none of them.
            is_last = name == "wo" and tree is not shapes["attention"]
            for k, n in _matrices(shape):
                total += _passes(whole, (sizes.tokens, n, k), again and not is_last)
    return total + (_of_experts(setting, moe, sizes, machine, again) if moe else 0.0)


def _of_experts(setting: Setting, moe: Any, sizes: _Sizes, machine: Machine, again: bool) -> float:
    """Products of groups of rows are cut as the dispatcher has it: groups of each part of tokens, hidden units over etp.
    Others are one product of all rows."""
    local, shared = math.ceil(setting.config.moe.num_experts / setting.mapping.ep), setting.mapping.etp
    is_exchanged = setting.config.moe.moe_token_dispatcher_type == "alltoall" and not sizes.has_capacity
    batch, rows = (local * shared, sizes.rows / local) if is_exchanged else (1, sizes.rows * shared)
    model, hidden = setting.config.hidden_size, setting.config.moe.moe_ffn_hidden_size / shared

    def price(m: float, n: float, k: float) -> float:
        whole = tuple(math.ceil(size) for size in (m, n, k))
        seconds = machine.price_product(_type(setting), (batch, *whole), 0, is_exchanged)
        return m * n * k / math.prod(whole) * seconds * typed_share(setting.mapping, machine)

    wide = sum(name in moe for name in ("wi", "wg"))
    # Weights' gradients need what experts made of each row, where it is weighed behind them.
    last = again and setting.config.moe.is_postscore
    return wide * _passes(price, (rows, hidden, model), again) + _passes(price, (rows, model, hidden), last)


def _kernels(kind: Kind, sizes: _Sizes, setting: Setting, machine: Machine) -> float:
    moe, mapping = setting.config.moe, setting.mapping
    each = _KERNELS[_dispatcher(setting) if kind.has_experts else "dense", mapping.recompute]
    hidden = sizes.width * sizes.tokens * setting.config.intermediate_size / mapping.tp
    if kind.has_experts:
        hidden = sizes.h + sizes.width * sizes.tokens * (moe.moe_shared_expert_intermediate_size or 0) / mapping.tp
    moved = (each.own + each.gathered * (mapping.tp - 1)) * sizes.x + each.heads * sizes.heads + each.rows * sizes.r
    moved += each.hidden * (1.0 if moe.gated_linear_unit else _PLAIN) * hidden
    return moved / memory_rate(machine) + each.count * machine.price_kernel(0)


def _dispatcher(setting: Setting) -> str:
    moe, mapping = setting.config.moe, setting.mapping
    if moe.moe_expert_capacity_factor is not None or moe.moe_token_dispatcher_type != "alltoall":
        return "capacity"
    return "alltoall" if mapping.ep * mapping.etp > 1 else "sort"


@functools.cache
def memory_rate(machine: Machine) -> float:
    """Bytes a second of the kernels that reach most."""
    start = machine.price_kernel(0)
    sizes = [2**power for power in range(12, 37)]
    return max(size / (machine.price_kernel(size) - start) for size in sizes)


def sent_bound(machine: Machine, axes: Axes, bytes: float) -> float:
    """Seconds in which devices of a group can send so many bytes each, by the fastest collective."""
    if not axes or bytes <= 0:
        return 0.0
    kinds = ("all_gather", "reduce_scatter", "all_to_all", "permute")
    return min(machine.price(kind, axes, int(bytes)) for kind in kinds)


def _sent(setting: Setting, kind: Kind, shapes: Any, sizes: _Sizes, machine: Machine) -> float:
    """Tokens or weights over tp, keys and sums of gradients over cp, rows over ep and etp: forward, and as much back."""
    mapping, width = setting.mapping, sizes.width
    moe = shapes.get("moe", {})
    total = 0.0
    for name, block in (("attention", shapes["attention"]), ("dense", shapes.get("dense")), ("shared", moe.get("shared"))):
        if not block:
            continue
        # Again in front of it, and behind attention, as what follows is computed again, too.
        again = (mapping.recompute == "full") * (2 if name == "attention" else 1)
        times = (4 if mapping.sequence_parallel else 2) + again
        sent = sizes.x * (mapping.tp - 1)
        if name == "shared":
            # Nothing says that it is tokens that are gathered: it could be weights, a third of them at least.
            sent = min(sent, width * weights_of(block) / 3 * (mapping.tp - 1) / mapping.tp)
        total += times * sent_bound(machine, axes_of(setting, "tp"), sent)
    cp = axes_of(setting, "cp")
    total += 2 * sent_bound(machine, cp, _keys(setting, sizes))
    # What is whole over cp is summed there by each micro-batch.
    shared = sum(weights_of(node) for node in (shapes["attention"], shapes.get("dense", {}), moe.get("shared", {})))
    total += sent_bound(machine, cp, width * shared / mapping.tp * (mapping.cp - 1) / mapping.cp)
    return total + (_rows_sent(setting, moe, sizes, machine) if moe and _dispatcher(setting) == "alltoall" else 0.0)


def _rows_sent(setting: Setting, moe: Any, sizes: _Sizes, machine: Machine) -> float:
    """To experts and back, and the same of cotangents. Places of sequences lie over cp and tp, and rows one behind the
    other."""
    e, t = setting.mapping.ep, setting.mapping.etp
    # To experts again, and, where rows are weighed behind them, back.
    times = 4 + (setting.mapping.recompute == "full") * (2 if setting.config.moe.is_postscore else 1)
    moved = _moved(setting.mapping.micro_batch, setting.mapping.cp * setting.mapping.tp)
    total = 4 * sent_bound(machine, axes_of(setting, "cp", "tp"), sizes.x * moved)
    if e > 1:
        ep = axes_of(setting, "ep")
        total += times * exchange_bound(machine, setting, sizes.x, sizes.r)
        # Their numbers first; and how many there are in each of the four exchanges.
        total += machine.price("all_gather", ep, 0) + 4 * machine.price("all_to_all", ep, 0)
    weights = sizes.width * sum(weights_of(moe[name]) for name in ("wi", "wo")) / 2 / e * (t - 1) / t
    return total + 4 * sent_bound(machine, axes_of(setting, "etp"), min(sizes.r * (t - 1), weights))


@functools.cache
def _moved(batch: int, parts: int) -> float:
    """Which share of its tokens the busiest of so many devices has not where rows of all sequences are cut."""
    kept = []
    for part in range(parts):
        low, high = part * batch / parts, (part + 1) * batch / parts
        own = ((each + part / parts, each + (part + 1) / parts) for each in range(batch))
        kept.append(sum(max(min(high, end) - max(low, begin), 0.0) for begin, end in own) * parts / batch)
    return 1 - min(kept)


def _keys(setting: Setting, sizes: _Sizes) -> float:
    """Of keys and values that others of cp have, or of what these are made of where it is less."""
    mapping, config = setting.mapping, setting.config
    if mapping.cp_comm_type != "allgather":
        return 0.0
    if config.latent is not None:
        latent = config.latent
        each = config.num_attention_heads * (latent.nope + latent.rope + latent.value) / mapping.tp
    else:
        each = min(2 * config.num_key_value_heads * config.head_dim, config.hidden_size) / mapping.tp
    return sizes.width * sizes.tokens * each * (mapping.cp - 1)


def saved_bound(setting: Setting, kind: Kind) -> float:
    """Bytes that the backward pass of a layer finds saved: what it is given, what norms, products and attention were given
    and made."""
    moe, mapping, sizes = setting.config.moe, setting.mapping, _Sizes(setting)
    saved = _held_of_x(mapping) * sizes.x + _values(setting, sizes)
    held = (_SAVED_H if mapping.recompute == "none" else _SAVED_H_AGAIN)[moe.gated_linear_unit]
    if not kind.has_experts:
        hidden = sizes.width * sizes.tokens * setting.config.intermediate_size / mapping.tp
        return saved + held * hidden
    hidden = sizes.h + sizes.width * sizes.tokens * (moe.moe_shared_expert_intermediate_size or 0) / mapping.tp
    rows = _SAVED_R[_dispatcher(setting)]
    # What is exchanged is not sent again.
    if mapping.recompute != "none" and _dispatcher(setting) != "alltoall":
        rows = min(rows, 1)
    return saved + rows * sizes.r + held * hidden


def _held_of_x(mapping: Mapping) -> int:
    """How many: what a layer is given and adds to; what its norms make, if that is not computed again, in front of attention
    gathered over tp, which is not sent again."""
    if mapping.recompute == "none":
        return 3 + mapping.tp
    return 2 + (mapping.tp if mapping.tp > 1 else 0)


def _values(setting: Setting, sizes: _Sizes) -> float:
    """Bytes of queries and of what attention makes, of a device's own tokens; of keys and values, of all of cp where they
    are gathered; of short ones that they are made of, before and behind their norms. What is put together of these is
    computed again where norms are."""
    config, mapping = setting.config, setting.mapping
    gathered = mapping.cp if mapping.cp_comm_type == "allgather" else 1
    if config.latent is not None:
        heads, latent, is_held = config.num_attention_heads, config.latent, mapping.recompute == "none"
        query, key = latent.nope + latent.rope + latent.value, latent.nope + latent.value + is_held * latent.rope
        each = heads * (query + key * gathered) / mapping.tp
        each += (1 + is_held) * ((latent.q_rank or 0) + latent.kv_rank)
    else:
        each = 2 * (config.num_attention_heads + config.num_key_value_heads * gathered) * config.head_dim / mapping.tp
    return sizes.width * sizes.tokens * each


def around_bound(setting: Setting, machine: Machine) -> Around:
    """Of a micro-batch in the head."""
    config, mapping, sizes = setting.config, setting.mapping, _Sizes(setting)
    shape = (sizes.tokens, config.vocab_size, config.hidden_size)
    logits = sizes.width * sizes.tokens * config.vocab_size / mapping.tp

    def price(m: float, n: float, k: float) -> float:
        return product_bound(machine, setting, (m, n, k), mapping.tp)

    seconds = _passes(price, shape, False)
    seconds += 3 * logits / memory_rate(machine)
    return Around(Spent(computed=seconds), behind=seconds)


def update_bound(setting: Setting, kinds: Sequence[Kind], machine: Machine) -> list[Spent]:
    """Of a step: of a layer of each kind, and last of what is around."""
    shapes = setting.shapes
    trees = [shapes["layers"][kind.first] for kind in kinds]
    trees.append({name: node for name, node in shapes.items() if name != "layers"})
    return [_update(setting, tree, machine) for tree in trees]


def _update(setting: Setting, tree: Any, machine: Machine) -> Spent:
    """Sums of float32 and gathers of what is computed with: of experts over edp, of all else over dp, each device of
    those that have the same a part."""
    mapping, width = setting.mapping, 4 if setting.mapping.type == "f32" else 2
    moe = tree.get("moe", {})
    of_experts = sum(weights_of(node) for name, node in moe.items() if name in OF_EXPERTS)
    parts = {
        "edp": of_experts / (mapping.etp * mapping.ep),
        "dp": (weights_of(tree) - of_experts) / (mapping.tp * mapping.cp),
    }
    sums = gathers = held = 0.0
    for role, elements in parts.items():
        axes = axes_of(setting, role)
        copies = math.prod(size for size, _ in axes)
        held += elements / copies
        if copies == 1:
            continue
        sent = elements * (copies - 1) / copies
        sums += min(machine.price("reduce_scatter", axes, int(4 * sent)), machine.price("all_reduce", axes, int(8 * sent)))
        gathers += machine.price("all_gather", axes, int(width * sent)) if mapping.zero else 0.0
    return Spent(sums=sums, update=_UPDATED * held / memory_rate(machine), gathers=gathers)
