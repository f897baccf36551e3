# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of attention and of layers of a decoder: what they must send, and their programs.

Letters: B sequences, S places, M model size, N heads, K key-value heads, D head; n = B S of a
device, b bytes, t = tp, c = cp.
"""

from dataclasses import dataclass, replace

import shoal
from moe_layouts import WIDTH, part, statistics
from shoal.models import Model, Rule, attend_over, from_config
from shoal.models.order import order_of
from shoal.moe import Layout

B, S, N, D = 2, 64, 8, 16


@dataclass(frozen=True)
class Attention:
    """q, k, v to what attention makes of them, all over dp, cp and tp; with gradients a sum of it."""

    layout: Layout
    forward: float
    both: float
    shared: int = N  # K
    window: int | None = None

    def sent(self, gradient):
        """({collective: bytes}, {collective: count}) of a device."""
        layout, order = self.layout, order_of(self.layout, S)
        place = layout.P("dp", "cp", "tp", None)
        q, k, v = (shoal.TensorSpec((B, S, n, D), "float32", place) for n in (N, self.shared, self.shared))

        def forward(q, k, v):
            return attend_over(layout, q, k, v, Rule(D**-0.5, self.window, None, order))

        def loss(q, k, v, dy):
            return shoal.sum(forward(q, k, v) * dy)

        if not gradient:
            return statistics(shoal.trace(forward, (q, k, v), layout.mesh, out_shardings=place))
        step = shoal.value_and_grad(loss, (0, 1, 2))
        return statistics(shoal.trace(step, (q, k, v, q), layout.mesh, out_shardings=(None, (place,) * 3)))


def _attention(kind, sizes, shared=N, balanced=False, window=None):
    layout = Layout.folded(sizes, cp_comm_type=kind, cp_balanced=balanced)
    c, t = layout.size("cp"), layout.size("tp")
    a_head = B * S // (c * layout.size("dp")) * D * WIDTH / t  # n D b
    hop = 2 * shared * a_head
    hops = c - 1 if window is None else min(c - 1, -(-(window - 1) // (S // c)))
    if kind == "p2p":
        # k and v again, dk and dv, and one hop.
        return Attention(layout, hops * hop, 3 * hops * hop + hop, shared, window)
    gather = (c - 1) * hop
    if kind == "allgather":
        return Attention(layout, gather, 2 * gather, shared, window)
    # Over the most parts of cp that there are heads for, and over the rest of it their queries.
    parts = max(d for d in range(1, c + 1) if c % d == 0 and (d == 1 or shared >= t * d) and N // shared >= c // d)
    exchanged = 2 * N * a_head * part(c) + gather / parts
    return Attention(layout, exchanged, 2 * exchanged, shared, window)


CONFIG = {
    "model_type": "mixtral", "vocab_size": 128, "hidden_size": 32, "intermediate_size": 64,
    "num_attention_heads": 4, "num_key_value_heads": 4, "num_local_experts": 4, "num_experts_per_tok": 2,
}  # fmt: skip


def dense(layers, layout):
    """A decoder of dense layers."""
    model = from_config({**CONFIG, "num_hidden_layers": layers})
    return Model(replace(model.config, moe_layers=(False,) * layers, intermediate_size=64), layout)


@dataclass(frozen=True)
class Layers:
    """A decoder's layer of attention and a dense network: what one more of them sends."""

    layout: Layout
    forward: float
    both: float
    batch: int = 4
    length: int = 32

    def sent(self, gradient):
        made = [self.sent_of(layers, gradient) for layers in (1, 2)]
        return tuple(
            {kind: many.get(kind, 0) - one.get(kind, 0) for kind in many if many.get(kind) != one.get(kind)}
            for one, many in zip(*made)
        )

    def sent_of(self, layers, gradient):
        """Of the loss of a whole decoder."""
        model = dense(layers, self.layout)
        params, stored = spec_of(model.shapes(), model.shardings()), model.shardings()
        tokens = shoal.TensorSpec((self.batch, self.length + 1), "int32", self.layout.P("dp"))

        def loss(params, tokens):
            return model.loss(params, tokens)[0]

        step, places = (shoal.value_and_grad(loss), (None, stored)) if gradient else (loss, None)
        return statistics(shoal.trace(step, (params, tokens), self.layout.mesh, out_shardings=places))


def spec_of(shape, place):
    if isinstance(shape, dict):
        return {name: spec_of(shape[name], place[name]) for name in shape}
    if isinstance(shape, list):
        return [spec_of(a, b) for a, b in zip(shape, place)]
    return shoal.TensorSpec(shape, "float32", place)


def _layers(sizes, **roles):
    """2 A (t - 1) a block, of two; without sequence parallelism of A t elements 2 A (t - 1) / t, which is as much.

    Over cp keys and values are gathered. Backward the same, and sums of gradients: those of weights
    over dp and cp, of the two norms over all devices that have places of their own.
    """
    layout = Layout.folded(sizes, **roles)
    t, c, d = (layout.size(role) for role in ("tp", "cp", "dp"))
    model, hidden = CONFIG["hidden_size"], 64
    local = 4 * 32 * model * WIDTH / (t * c * d)  # A
    forward = 2 * 2 * local * (t - 1) + (c - 1) * 2 * local
    weights = (4 * model * model + 3 * model * hidden) / t * WIDTH
    norms = 2 * model * WIDTH
    gradients = 2 * weights * part(c * d) + 2 * norms * part(d * layout.size("sp"))
    return Layers(layout, forward, 2 * forward + gradients)


CASES = {
    "ring, CP 4": _attention("p2p", {"cp": 4}),
    "ring, CP 4, balanced": _attention("p2p", {"cp": 4}, balanced=True),
    "ring, CP 4, window 17": _attention("p2p", {"cp": 4}, window=17),
    "ring, TP 2, CP 4": _attention("p2p", {"tp": 2, "cp": 4}),
    "ring, CP 4, K 1": _attention("p2p", {"cp": 4}, shared=1),
    "Ulysses, CP 4": _attention("a2a", {"cp": 4}),
    "Ulysses, CP 4, balanced": _attention("a2a", {"cp": 4}, balanced=True),
    "Ulysses, TP 2, CP 4": _attention("a2a", {"tp": 2, "cp": 4}),
    "Ulysses, CP 4, K 1": _attention("a2a", {"cp": 4}, shared=1),
    "Ulysses, CP 4, K 2": _attention("a2a", {"cp": 4}, shared=2),
    "Ulysses, TP 2, CP 4, K 4": _attention("a2a", {"tp": 2, "cp": 4}, shared=4),
    "gather, CP 4": _attention("allgather", {"cp": 4}),
    "gather, CP 4, balanced": _attention("allgather", {"cp": 4}, balanced=True),
    "gather, TP 2, CP 4": _attention("allgather", {"tp": 2, "cp": 4}),
    "gather, CP 4, K 1": _attention("allgather", {"cp": 4}, shared=1),
    "SP, TP 4": _layers({"tp": 4}),
    "SP, TP 2, DP 2": _layers({"tp": 2, "dp": 2}),
    "SP, TP 2, CP 2": _layers({"tp": 2, "cp": 2}),
    "TP 4 without SP": _layers({"tp": 4}, sp=("cp",)),
    "TP 2, DP 2 without SP": _layers({"tp": 2, "dp": 2}, sp=("cp",)),
    "TP 2, CP 2 without SP": _layers({"tp": 2, "cp": 2}, sp=("cp",)),
}
