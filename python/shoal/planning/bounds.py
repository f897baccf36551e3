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
from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from shoal.models.config import ModelConfig
from shoal.moe.parameters import OF_EXPERTS
from shoal.planning.added import adding_seconds
from shoal.planning.arithmetic import saved_in_8_bits, weights_of
from shoal.planning.beside import slowed
from shoal.planning.costs import attention_seconds, rounding_seconds, sorting_seconds, typed_share
from shoal.planning.course import Around, Spent
from shoal.planning.exchanges import Axes, axes_of, exchange_bound, numbers_bound
from shoal.planning.mapping import Mapping
from shoal.planning.memory import gradient_width
from shoal.planning.passes import KERNELS, PLAIN, SAVED_H, SAVED_H_AGAIN, SAVED_R
from shoal.planning.programs import Kind, Setting
from shoal.simulation.machines import Machine

__all__ = ["LayerBound", "around_bound", "update_bound"]


# Bytes of an element that AdamW reads or writes beside its gradient: master, two moments, what is computed with.
_UPDATED = 14
# What is sent in a layer depends on, beside whether it is computed again as a whole.
_SENDING = attrgetter(
    "tp", "cp", "ep", "etp", "sequence_parallel", "cp_comm_type", "dispatch", "micro_batch", "device_tokens", "width"
)


class _Counts:
    """Of a model: what a token has of each."""

    def __init__(self, config: ModelConfig):
        moe, factor = config.moe, config.moe.moe_expert_capacity_factor
        self.has_capacity = factor is not None
        self.sends_rows = moe.moe_token_dispatcher_type == "alltoall" and not self.has_capacity
        self.rows = moe.moe_router_topk * min(1.0, factor or 1.0, moe.moe_expert_rank_capacity_factor or 1.0)
        self.values, self.hidden = config.hidden_size, moe.moe_ffn_hidden_size
        self.heads = _turned(config)
        self.dense, self.shared = config.intermediate_size, moe.moe_shared_expert_intermediate_size or 0
        self.is_gated, self.is_postscore = moe.gated_linear_unit, moe.is_postscore
        self.experts = moe.num_experts


class _Sizes:
    """Of a mapping, bytes of a device."""

    def __init__(self, counts: _Counts, mapping: Mapping):
        self.width = mapping.width
        self.tokens = mapping.device_tokens
        self.own = self.tokens / mapping.tp
        self.rows = self.own * counts.rows
        self.x = self.width * self.own * counts.values
        self.r = self.width * self.rows * counts.values
        self.h = self.width * self.rows * counts.hidden
        self.heads = self.width * self.tokens * counts.heads / mapping.tp


def _turned(config: ModelConfig) -> int:
    """Elements of a token's queries and keys."""
    if config.latent is not None:
        return 2 * config.num_attention_heads * (config.latent.nope + config.latent.rope)
    return (config.num_attention_heads + config.num_key_value_heads) * config.head_dim


def product_bound(machine: Machine, setting: Setting, shape: tuple[float, float, float], parts: int) -> float:
    """Seconds of a device's share of a product of m, n and k over so many devices, cut in the best way."""
    return _least(machine, _type(setting), shape, parts) * typed_share(setting.mapping.type, machine)


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


class LayerBound:
    """What a layer of a kind takes and holds at least. What depends on few sizes of mappings is found once for these."""

    def __init__(self, config: ModelConfig, shapes: Any, kind: Kind, machine: Machine):
        """shapes: of the model's parameters."""
        layer = shapes["layers"][kind.first]
        self._config, self._counts, self._layer = config, _Counts(config), layer
        self._kind, self._machine, self._moe = kind, machine, layer.get("moe", {})
        blocks = {"attention": layer["attention"], "dense": layer.get("dense"), "shared": self._moe.get("shared")}
        self._blocks = {name: block for name, block in blocks.items() if block}
        self._weights = {name: weights_of(block) for name, block in self._blocks.items()}
        # Networks' results are added to others, whose gradients need none of them.
        self._matrices = [
            (rows, columns, name == "wo" and block is not layer["attention"])
            for block in self._blocks.values()
            for name, shape in block.items()
            for rows, columns in _matrices(shape)
        ]
        self._found: dict[Hashable, float] = {}

    def seconds(self, setting: Setting) -> tuple[float, float]:
        """Of a micro-batch: sent, computed."""
        sizes = _Sizes(self._counts, setting.mapping)
        computed = attention_seconds(setting, self._kind, self._machine) if setting.mapping.fused_attention else 0.0
        computed += self._products(setting, sizes) + self._kernels(setting, sizes)
        computed += rounding_seconds(setting, self._kind, self._machine) + sorting_seconds(setting, self._kind, self._machine)
        again = setting.mapping.recompute == "full"
        sent = self._once(("sent", *_SENDING(setting.mapping), again), lambda: self._sent(setting, sizes))
        return sent, computed + self._added(setting)

    def _added(self, setting: Setting) -> float:
        """Of a micro-batch's gradients, as its costs have them."""
        mapping = setting.mapping
        key = "added", mapping.tp, mapping.etp, mapping.ep, mapping.device_tokens, mapping.stored, mapping.type
        return self._once(key, lambda: adding_seconds(setting, self._kind, self._machine))

    def _once(self, key: Hashable, find: Callable[[], float]) -> float:
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]

    def _products(self, setting: Setting, sizes: _Sizes) -> float:
        mapping = setting.mapping
        again = mapping.recompute == "full"
        total = self._once((sizes.tokens, mapping.tp, again, mapping.type), lambda: self._of_blocks(setting, sizes, again))
        if not self._moe:
            return total
        key = (sizes.rows, mapping.ep, mapping.etp, again, mapping.type)
        return total + self._once(key, lambda: self._of_experts(setting, sizes, again))

    def _of_blocks(self, setting: Setting, sizes: _Sizes, again: bool) -> float:
        def whole(m: float, n: float, k: float) -> float:
            return product_bound(self._machine, setting, (m, n, k), setting.mapping.tp)

        return sum(
            _passes(whole, (sizes.tokens, columns, rows), again and not is_last) for rows, columns, is_last in self._matrices
        )

    def _of_experts(self, setting: Setting, sizes: _Sizes, again: bool) -> float:
        """Products of groups of rows are cut as the dispatcher has it: groups of each part of tokens, hidden units over etp.
        Others are one product of all rows."""
        counts = self._counts
        local, shared = math.ceil(counts.experts / setting.mapping.ep), setting.mapping.etp
        is_exchanged = counts.sends_rows
        batch, rows = (local * shared, sizes.rows / local) if is_exchanged else (1, sizes.rows * shared)
        model, hidden = counts.values, counts.hidden / shared

        def price(m: float, n: float, k: float) -> float:
            whole = tuple(math.ceil(size) for size in (m, n, k))
            seconds = self._machine.price_product(_type(setting), (batch, *whole), 0, is_exchanged)
            return m * n * k / math.prod(whole) * seconds * typed_share(setting.mapping.type, self._machine)

        wide = sum(name in self._moe for name in ("wi", "wg"))
        # Weights' gradients need what experts made of each row, where it is weighed behind them.
        last = again and counts.is_postscore
        return wide * _passes(price, (rows, hidden, model), again) + _passes(price, (rows, model, hidden), last)

    def _kernels(self, setting: Setting, sizes: _Sizes) -> float:
        mapping = setting.mapping
        way = "flex" if mapping.dispatch == "flex" else self._dispatcher(mapping)
        each = KERNELS[way if self._moe else "dense", mapping.recompute]
        moved = (each.own + each.gathered * (mapping.tp - 1)) * sizes.x + each.heads * sizes.heads + each.rows * sizes.r
        moved += each.hidden * (1.0 if self._counts.is_gated else PLAIN) * self._hidden(mapping, sizes)
        return moved / memory_rate(self._machine) + each.count * self._machine.price_kernel(0)

    def _sent(self, setting: Setting, sizes: _Sizes) -> float:
        """Tokens or weights over tp, keys over cp, rows over ep and etp: forward, and as much back."""
        mapping, width, machine = setting.mapping, sizes.width, self._machine
        tp, cp = axes_of(setting, "tp"), axes_of(setting, "cp")
        total = 0.0
        for name, weights in self._weights.items():
            # Again in front of it, and behind attention, as what follows is computed again, too.
            again = (mapping.recompute == "full") * (2 if name == "attention" else 1)
            # A scatter may lie beside products.
            times = (3 + slowed(machine) if mapping.sequence_parallel else 2) + again
            sent = sizes.x * (mapping.tp - 1)
            if name == "shared":
                # Nothing says that it is tokens that are gathered: it could be weights, a third of them at least.
                sent = min(sent, width * weights / 3 * (mapping.tp - 1) / mapping.tp)
            total += times * sent_bound(machine, tp, sent)
        total += 2 * sent_bound(machine, cp, _keys(setting, sizes))
        is_exchanged = self._moe and self._dispatcher(mapping) == "alltoall"
        return total + (self._rows_sent(setting, sizes) if is_exchanged else 0.0)

    def _rows_sent(self, setting: Setting, sizes: _Sizes) -> float:
        """To experts and back, and the same of cotangents. Places of sequences lie over cp and tp, and rows one behind the
        other."""
        mapping, machine = setting.mapping, self._machine
        # To experts again, and, where rows are weighed behind them, back.
        times = 4 + (mapping.recompute == "full") * (2 if self._counts.is_postscore else 1)
        moved = _moved(mapping.micro_batch, mapping.cp * mapping.tp)
        total = 4 * sent_bound(machine, axes_of(setting, "cp", "tp"), sizes.x * moved)
        if mapping.ep > 1:
            total += times * exchange_bound(machine, setting, sizes.x, sizes.r) + numbers_bound(machine, setting)
        weights = sum(weights_of(self._moe[name]) for name in ("wi", "wo"))
        weights_sent = sizes.width * weights / 2 / mapping.ep * (mapping.etp - 1) / mapping.etp
        return total + 4 * sent_bound(machine, axes_of(setting, "etp"), min(sizes.r * (mapping.etp - 1), weights_sent))

    def saved(self, mapping: Mapping) -> float:
        """Bytes that its backward pass finds saved: what it is given, what norms, products and attention were given and
        made."""
        sizes, dispatcher = _Sizes(self._counts, mapping), self._dispatcher(mapping)
        if mapping.products_again and mapping.recompute == "selective":
            return sizes.x  # what it is given, whichever products are computed again
        held = (SAVED_H if mapping.recompute == "none" else SAVED_H_AGAIN)[self._counts.is_gated]
        saved = _held_of_x(mapping) * sizes.x + _values(self._config, mapping, sizes)
        if self._moe:
            # What is exchanged is not sent again.
            is_again = mapping.recompute != "none" and dispatcher != "alltoall"
            saved += (min(SAVED_R[dispatcher], 1) if is_again else SAVED_R[dispatcher]) * sizes.r
        saved += held * self._hidden(mapping, sizes)
        return saved - saved_in_8_bits(self._layer, self._config, mapping)

    def _hidden(self, mapping: Mapping, sizes: _Sizes) -> float:
        """H, also of what is beside experts."""
        if not self._kind.has_experts:
            return sizes.width * sizes.tokens * self._counts.dense / mapping.tp
        return sizes.h + sizes.width * sizes.tokens * self._counts.shared / mapping.tp

    def _dispatcher(self, mapping: Mapping) -> str:
        if not self._counts.sends_rows:
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
    return _fastest(machine, tuple(axes), int(bytes)) if axes and bytes > 0 else 0.0


@functools.lru_cache(maxsize=1 << 16)
def _fastest(machine: Machine, axes: Sequence[tuple[int, int]], bytes: int) -> float:
    return min(machine.price(kind, axes, bytes) for kind in ("all_gather", "reduce_scatter", "all_to_all", "permute"))


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


def _held_of_x(mapping: Mapping) -> int:
    """How many: what a layer is given and adds to; what its norms make, if that is not computed again, in front of attention
    gathered over tp, which is sent again where that is said."""
    if mapping.recompute == "none":
        return 4
    return 2 + (mapping.tp > 1)


def _values(config: ModelConfig, mapping: Mapping, sizes: _Sizes) -> float:
    """Bytes of queries and of what attention makes, of a device's own tokens; of keys and values, of all of cp where they
    are gathered; of short ones that they are made of, before and behind their norms. What is put together of these is
    computed again where norms are."""
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
    config, mapping = setting.config, setting.mapping
    sizes = _Sizes(_Counts(config), mapping)
    shape = (sizes.tokens, config.vocab_size, config.hidden_size)
    logits = sizes.width * sizes.tokens * config.vocab_size / mapping.tp

    def price(m: float, n: float, k: float) -> float:
        return product_bound(machine, setting, (m, n, k), mapping.tp)

    seconds = _passes(price, shape, False) + 3 * logits / memory_rate(machine)
    return Around(Spent(computed=seconds), behind=seconds)


def update_bound(setting: Setting, kinds: Sequence[Kind], machine: Machine) -> list[Spent]:
    """Of a step: of a layer of each kind, and last of what is around."""
    shapes = setting.shapes
    trees = [shapes["layers"][kind.first] for kind in kinds]
    trees.append({name: node for name, node in shapes.items() if name != "layers"})
    return [_update(setting, tree, machine) for tree in trees]


def _update(setting: Setting, tree: Any, machine: Machine) -> Spent:
    """Sums of gradients and gathers of what is computed with: of experts over edp, of all else over cp and dp, each device
    of those that have the same a part."""
    mapping = setting.mapping
    wide = gradient_width(mapping)
    moe = tree.get("moe", {})
    of_experts = sum(weights_of(node) for name, node in moe.items() if name in OF_EXPERTS)
    parts = {("edp",): of_experts / (mapping.etp * mapping.ep), ("cp", "dp"): (weights_of(tree) - of_experts) / mapping.tp}
    sums = gathers = held = 0.0
    for roles, elements in parts.items():
        axes = axes_of(setting, *roles)
        copies = math.prod(size for size, _ in axes)
        held += elements / copies
        if copies == 1:
            continue
        sent = elements * (copies - 1) / copies
        sums += min(machine.price("reduce_scatter", axes, int(wide * sent)), machine.price("all_reduce", axes, int(2 * wide * sent)))
        gathers += machine.price("all_gather", axes, int(mapping.width * sent)) if mapping.zero else 0.0
    return Spent(sums=sums, update=(_UPDATED + wide) * held / memory_rate(machine), gathers=gathers)
