# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of an MoE layer, what they must send by formulas, and what programs send.

Bytes of a device: all-gather (p-1)/p of its result, reduce-scatter of its operand, all-reduce twice
that, all-to-all of the local array, collective-permute all of it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import shoal
from shoal import arrays
from shoal.frontend.pytrees import flatten
from shoal.moe import (
    Layout, MoeConfig, apply_experts, combine, dispatch, limit, metrics_of, moe, param_shapes, param_shardings, route,
)  # fmt: skip
from shoal.moe.tutel import Work, bytes_of_degree
from shoal_testing import BIN, load_json, run

WIDTH = 4  # bytes of float32


@dataclass(frozen=True)
class Case:
    """A layer over a layout, and the bytes of its tokens forward and of its experts' gradients."""

    layout: Layout
    forward: float
    gradients: float
    fields: dict = field(default_factory=dict)
    experts: int = 8
    hidden: int = 1024
    model: int = 32
    group: int = 64
    groups: int = 16

    def config(self):
        fields = {
            "moe_group_size": self.group,
            "gated_linear_unit": True,
            "hidden_act": "silu",
            "moe_router_load_balancing_type": (),
            "moe_expert_capacity_factor": 1.0,
            "moe_token_dispatcher_type": "sort",
            **self.fields,
        }
        return MoeConfig.flat(self.experts, self.hidden, **fields)

    def router(self):
        """Bytes of the gradient of the router, whose tokens lie on all devices."""
        count = self.layout.mesh.size
        return 2 * self.model * self.experts * WIDTH * (count - 1) / count

    def backward(self):
        """Forward's bytes mirrored, and the sums of gradients."""
        return self.forward + self.gradients + self.router()


def part(p):
    return (p - 1) / p


def _sizes(layout, experts, hidden, model, tokens):
    """Bytes of a device's tokens, and of its part of all experts' parameters."""
    share = tokens * model * WIDTH / layout.size("tokens")
    parameters = 3 * experts * model * hidden * WIDTH
    return share, parameters / (layout.size("ep") * layout.size("etp"))


def all_to_all(layout, outside=0.0, k=2, **sizes):
    """2 R (e - 1) / e + 2 R (t - 1) of buffers, R = k f n M b; the experts' gradients over edp."""
    sizes = {"experts": 8, "hidden": 1024, "model": 32, "tokens": 1024, **sizes}
    share, parameters = _sizes(layout, **sizes)
    e, t, d = (layout.size(role) for role in ("ep", "etp", "edp"))
    return Case(layout, 2 * k * share * (part(e) + t - 1) + outside * share, 2 * parameters * part(d))


def all_gather(layout, k=2):
    """Tokens in, sums out, numbers and weights of choices in."""
    share, parameters = _sizes(layout, 8, 1024, 32, 1024)
    p, tokens = layout.size("ep", "etp"), 1024 / layout.size("tokens")
    forward = 2 * share * (p - 1) + 8 * k * tokens * (p - 1)
    gradients = 2 * parameters * part(layout.size("edp"))
    fields = {"moe_expert_capacity_factor": None, "moe_token_dispatcher_type": "allgather"}
    return Case(layout, forward, gradients, fields)


def ragged(layout, k=2):
    """As `all_to_all`, of rows that exist, if each device gets as many; and how many of each expert."""
    case = all_to_all(layout, k=k)
    p, experts = layout.size("ep", "etp"), 8
    # Backward the lists of both exchanges change sides: two each, an entry for a device and an expert.
    entries = layout.size("etp") * experts * 4
    counts, lists = (p - 1) * experts * 4, 4 * part(p) * entries
    fields = {"moe_expert_capacity_factor": None, "moe_token_dispatcher_type": "alltoall"}
    return Case(layout, case.forward + counts, case.gradients + lists, fields)


def tutel(r, hidden=1024, model=32, tokens=1024):
    """Two experts on eight devices. Gradients are the gather of parameters, reversed."""
    layout = Layout.tutel(2, 8, r)
    parameters = 3 * 2 * model * hidden * WIDTH
    work = Work(2 * tokens * model * WIDTH / 8, parameters)
    moved, gathered = bytes_of_degree(work, 2, 8, r)
    return Case(layout, moved + gathered, 0.0, experts=2, hidden=hidden, model=model)


CASES = {
    "EP 8": all_to_all(Layout.folded({"dp": 8}, {"ep": 8})),
    "EP 4, EDP 2": all_to_all(Layout.folded({"dp": 8}, {"ep": 4, "edp": 2})),
    "EP 2, EDP 2, ETP 2": all_to_all(Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2})),
    "folding, TP 2 CP 2 DP 2, EP 8": all_to_all(Layout.folded({"tp": 2, "cp": 2, "dp": 2}, {"ep": 8})),
    "DeepSpeed, TP 2 DP 4, EP 4 EDP 2": all_to_all(
        Layout.folded({"tp": 2, "dp": 4}, {"ep": 4, "edp": 2}, outside=("dp",)), 1.0
    ),
    "all-gather, EP 8": all_gather(Layout.folded({"dp": 8}, {"ep": 8})),
    "all-gather, EP 4, EDP 2": all_gather(Layout.folded({"dp": 8}, {"ep": 4, "edp": 2})),
    "all-gather, EP 2, EDP 2, ETP 2": all_gather(
        Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2})
    ),
    "ragged, EP 8": ragged(Layout.folded({"dp": 8}, {"ep": 8})),
    "ragged, EP 4, EDP 2": ragged(Layout.folded({"dp": 8}, {"ep": 4, "edp": 2})),
    "ragged, EP 2, EDP 2, ETP 2": ragged(
        Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2})
    ),
    "Tutel, r = 0": tutel(0, hidden=64),
    "Tutel, r = 1": tutel(1, hidden=512),
    "Tutel, r = 2": tutel(2, hidden=2048),
    "Tutel, r = 4": tutel(4, hidden=8192),
}  # fmt: skip


def _spec(shape, place):
    if isinstance(shape, dict):
        return {name: _spec(shape[name], place[name]) for name in shape}
    return shoal.TensorSpec(shape, "float32", place)


def program(case, gradient):
    """The layer, or with `gradient` the layer and its pullback, as text."""
    layout, config = case.layout, case.config()
    outside = layout.P("outside")
    stored = param_shardings(config, layout)
    params = _spec(param_shapes(config, case.model), stored)
    x = shoal.TensorSpec((case.groups, case.group, case.model), "float32", outside)

    def forward(x, params):
        return layout.spread(moe(x, params, config, layout).y, "outside")

    def backward(x, params, dy):
        y, pull = shoal.vjp(forward, x, params)
        return y, *pull(dy)

    if gradient:
        return shoal.trace(backward, (x, params, x), layout.mesh, out_shardings=(outside, outside, stored))
    return shoal.trace(forward, (x, params), layout.mesh, out_shardings=outside)


def all_statistics(text, *options):
    """What `shoalc --stats` says of a program."""
    with TemporaryDirectory() as folder:
        source, stats = Path(folder) / "p.mlir", Path(folder) / "s.json"
        source.write_text(text)
        flags = ("--emit=spmd", "-o", Path(folder) / "o.mlir", "--stats", stats, *options)
        run(BIN / "shoalc", source, *flags).expect_success()
        return load_json(stats)


def statistics(text, *options):
    """{collective: bytes} and {collective: count} of a device."""
    made = all_statistics(text, *options)
    sent, count = made["bytes_sent_per_device"], made["collectives"]
    return {k: v for k, v in sent.items() if v}, {k: v for k, v in count.items() if v}


def rank_generator(sizes, roles):
    """Megatron-Core's groups of ranks along some roles, by its definition, in its order.

    sizes: {role: size}, fastest first. Ranks are sums of a role's number times its stride; a group's
    number counts the other roles, fastest first, as a rank's place in it counts these.
    """
    strides, stride = {}, 1
    for role, size in sizes.items():
        strides[role], stride = stride, stride * size
    inside, outside = ([role for role in sizes if (role in roles) == wanted] for wanted in (True, False))

    def rank(number, listed):
        total = 0
        for role in listed:
            number, digit = divmod(number, sizes[role])
            total += digit * strides[role]
        return total

    places, groups = (int(np.prod([sizes[role] for role in listed])) for listed in (inside, outside))
    return [[rank(group, outside) + rank(place, inside) for place in range(places)] for group in range(groups)]


def layer_of(x, params, config, kept):
    """(y, counts, kept) on one device, of those choices alone."""
    tokens = x.reshape(1, -1, x.shape[2])
    routing = limit(route(tokens, params, config), config)
    kept = kept.reshape(routing.experts.shape)
    routing = routing._replace(kept=kept, weights=arrays.where(kept, routing.weights, 0.0))
    buffers = apply_experts(dispatch(tokens, routing, config), params, config)
    metrics = metrics_of(routing)
    return combine(buffers, routing, config).reshape(*x.shape), metrics.counts, metrics.kept


def assert_drops(tmp_path, name, config, plain, layout, x, params, kept):
    """y, gradients and metrics of a layer over devices are those of `plain` on one, in which these choices [.., S, k] alone
    are kept."""
    from frontend_testing import assert_same, evaluate
    from frontend_testing import shoal as world  # JAX's, where tests run in that

    def step(layer, x, params):
        def loss(x, params):
            made = layer(x, params)
            return world.sum(made[0] ** 2), made

        return world.value_and_grad(loss, (0, 1), has_aux=True)(x, params)

    def exchanged(x, params):
        out = moe(x, params, config, layout)
        return out.y, out.metrics.counts, out.metrics.kept

    wanted = evaluate(tmp_path, lambda x, p, kept: step(lambda *a: layer_of(*a, plain, kept), x, p), x, params, kept)
    made = evaluate(tmp_path, lambda x, p: step(exchanged, x, p), x, params, mesh=layout.mesh, devices=layout.mesh.size)
    for expected, actual in zip(flatten(wanted)[0], flatten(made)[0], strict=True):
        assert_same(name, actual, expected, np.float32, 1e-5)
