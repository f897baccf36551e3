# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that a plan simulates: one layer of each kind forward and back, and what stands around layers.

A whole model's program would say the same of each of its layers. Each device leaves the gradients of its own tokens, as
micro-batches add theirs up, and the optimiser's programs begin with the sums over devices. Of a layer nothing else comes
out, so that what two layers hold more than one is their parameters and what the backward pass finds saved.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from shoal import optim
from shoal.frontend import pytrees
from shoal.frontend.annotations import P, constrain
from shoal.frontend.autodiff import vjp
from shoal.frontend.contraction import einsum
from shoal.frontend.creation import ones_like
from shoal.frontend.naming import named_scope
from shoal.frontend.nn import one_hot
from shoal.frontend.reduction import sum as sum_of
from shoal.frontend.remat import as_kernels, remat
from shoal.frontend.structure import concatenate
from shoal.frontend.tracing import Program, TensorSpec, trace_program
from shoal.frontend.value import Value
from shoal.models import parameters
from shoal.models.attention import norm
from shoal.models.config import ModelConfig, Window, described
from shoal.models.layer import apply_layer, between
from shoal.models.rope import turned_by
from shoal.layers.labels import cross_entropy_sum
from shoal.moe.exchanging import shared_by
from shoal.moe.layout import Layout
from shoal.moe.parameters import OF_EXPERTS
from shoal.planning.kernels import as_one_kernel, loss_of, placed
from shoal.planning.mapping import Mapping

__all__ = ["Kind", "Setting", "around_parts", "around_program", "kinds_of", "layer_parts", "layer_program", "optimizer_program"]

Tree = Any

# What a layout says.
_GROUPS = attrgetter("stage_devices", "tp", "cp", "etp", "ep", "sequence_parallel", "cp_comm_type", "dispatch")
# Of what a plan's parameters are, and of what their masters and moments.
NARROW, WIDE = "bfloat16", "float32"


@dataclass(frozen=True)
class Kind:
    """Layers that are alike: `first` is the number of the first one."""

    first: int
    count: int
    has_experts: bool
    window: Window

    @property
    def name(self) -> str:
        """For people."""
        return ("experts" if self.has_experts else "dense") + (f", {described(self.window)}" if self.window else "")


@dataclass(frozen=True)
class Setting:
    """A model on the devices of a stage. node: how many devices of the machine the fastest links join. with_experts: what
    makes x, and a loss beside it, of x, parameters, model, layout and window, where it is not the model's own layer.
    by_products: an embedding's rows are found by a product with one-hot rows. filled: how many
    times their balanced rows experts are sent, where these are filled up. layouts: by the groups of devices that settings which
    share it had."""

    config: ModelConfig
    mapping: Mapping
    node: int | None = None
    with_experts: Callable[..., tuple[Value, Value]] | None = None
    by_products: bool = False
    filled: float = 1.0
    layouts: dict[Hashable, Layout] = field(default_factory=dict, compare=False, repr=False)

    @property
    def element(self) -> str:
        """The type of parameters and values; products in 8 bits have operands that are rounded to it."""
        return WIDE if self.mapping.type == "f32" else NARROW

    @functools.cached_property
    def layout(self) -> Layout:
        """Of a stage's devices."""
        groups = _GROUPS(self.mapping)
        if groups not in self.layouts:
            self.layouts[groups] = self.mapping.layout(self.node)
        return self.layouts[groups]

    @functools.cached_property
    def shapes(self) -> Tree:
        """Of the model's parameters."""
        return parameters.shapes(self.config)


def kinds_of(config: ModelConfig) -> list[Kind]:
    """In the order of their first layers."""
    layers = list(zip(config.moe_layers, config.windows))
    return [Kind(layers.index(kind), layers.count(kind), *kind) for kind in dict.fromkeys(layers)]


def specs(shapes: Tree, dtype: str = NARROW) -> Tree:
    """A tree of shapes as one of arrays' types."""
    if isinstance(shapes, dict):
        return {name: specs(node, dtype) for name, node in shapes.items()}
    return [specs(node, dtype) for node in shapes] if isinstance(shapes, list) else TensorSpec(shapes, dtype)


def split(tree: Tree, shardings: Tree, layout: Layout, axes: tuple[Any, ...]) -> Tree:
    """Shardings with `axes`, too, as ZeRO has them."""
    if layout.mesh is None or not axes:
        return shardings
    return optim.split_over(axes, tree, layout.mesh, shardings)


def _by_copies(
    setting: Setting, tree: Tree, shardings: Tree, change: Callable[[Tree, Tree, tuple[Any, ...]], Tree]
) -> Tree:
    """`change` of parameters, where they are whole and the axes along which there are copies of them: of experts' those
    of edp, of all others' those of cp and dp. tree: a layer's parameters, or of those around."""
    layout = setting.layout
    of_experts, of_others = (tuple(layout.axes(*roles)) if layout.mesh else () for roles in (("edp",), ("cp", "dp")))
    made = change(tree, shardings, of_others)
    if isinstance(tree, dict) and "moe" in tree:
        moe = {
            name: change(node, shardings["moe"][name], of_experts if name in OF_EXPERTS else of_others)
            for name, node in tree["moe"].items()
        }
        # Not in place: along no axes it is `shardings` itself.
        return {**made, "moe": moe}
    return made


def _zero_shardings(setting: Setting, tree: Tree, shardings: Tree) -> Tree:
    """In parts over the devices that have copies."""
    return _by_copies(
        setting, tree, shardings, lambda node, places, axes: split(node, places, setting.layout, axes)
    )


def _addends(setting: Setting, tree: Tree, shardings: Tree) -> Tree:
    """Of gradients that each device with a copy has of its own tokens."""

    def change(node: Tree, places: Tree, axes: tuple[Any, ...]) -> Tree:
        leaves, treedef = pytrees.flatten(node)
        flat = pytrees.flatten_shardings(places, node, "gradients")
        dims = [place.dims if place is not None else (None,) * len(leaf.shape) for leaf, place in zip(leaves, flat)]
        return pytrees.unflatten(treedef, [P(*each, partial=axes) for each in dims])

    return _by_copies(setting, tree, shardings, change)


def _left_in(setting: Setting, tree: Tree, whole: Tree) -> Tree:
    """Where a micro-batch leaves its gradients: as addends, which the optimiser's program sums. None where there is one
    device."""
    return None if setting.layout.mesh is None else _addends(setting, tree, whole)


@contextlib.contextmanager
def _kernels(mapping: Mapping) -> Iterator[None]:
    """Norms and activations are segments of their own, but where the layer is one: what an inner segment is given is
    saved, and nothing of that would be computed again. Devices that share experts gather rows, and no weights."""
    segments = as_kernels() if mapping.recompute == "none" else contextlib.nullcontext()
    with segments, shared_by(placed), as_one_kernel() if mapping.fused_attention else contextlib.nullcontext():
        yield


def _applied(setting: Setting, kind: Kind) -> Any:
    config, layout = setting.config, setting.layout
    if setting.mapping.dispatch == "flex":
        config = replace(config, moe=config.moe.replace(moe_token_dispatcher_type="flex"))

    def layer(x: Value, params: Tree) -> tuple[Value, list[Value]]:
        if kind.has_experts and setting.with_experts is not None:
            made, loss = setting.with_experts(x, params, config, layout, kind.window)
            return made, [loss]
        return apply_layer(x, params, config, layout, kind.window).x, []

    if setting.mapping.recompute == "full":
        return remat(layer, policy="nothing", collectives="repeat")
    if setting.mapping.recompute == "selective":
        return remat(layer, policy="dots", collectives="save")
    return layer


def layer_parts(setting: Setting, kind: Kind) -> tuple[Tree, Tree, Tree]:
    """A layer's parameters, where they are whole, and in parts as ZeRO has them."""
    shapes = setting.shapes["layers"][kind.first]
    params = specs(shapes, setting.element)
    whole = parameters.shardings_of(shapes, setting.config.moe, setting.layout)
    return params, whole, _zero_shardings(setting, params, whole)


def around_parts(setting: Setting) -> tuple[Tree, Tree, Tree]:
    """The same of the embedding and the head."""
    params = specs(_around_shapes(setting), setting.element)
    whole = parameters.shardings_of(_around_shapes(setting), None, setting.layout)
    return params, whole, _zero_shardings(setting, params, whole)


def layer_program(setting: Setting, kind: Kind) -> Program:
    """A layer of a kind, forward and back, for a micro-batch. What is behind it lies between: all of its forward pass is
    run, and what is computed again is run behind that."""
    config, layout, mapping = setting.config, setting.layout, setting.mapping
    params, whole, _ = layer_parts(setting, kind)
    left = _left_in(setting, params, whole)
    layer = _applied(setting, kind)

    def step(params: Tree, x: Value, cos: Value, sin: Value) -> Any:
        def forward(params: Tree, x: Value) -> tuple[Value, list[Value]]:
            with named_scope("layers.0"):
                y, losses = layer(between(layout, x), params)
                return between(layout, y), losses

        with turned_by(cos, sin), _kernels(mapping):
            (y, losses), pull = vjp(forward, params, x)
            grads, dx = pull((between(layout, loss_of(y)), [ones_like(loss) for loss in losses]))
        return dx, _measured(grads, left)

    rows = layout.P("dp", "sp", None) if layout.mesh else None
    x = TensorSpec((layout.size("dp") * mapping.micro_batch, mapping.sequence, config.hidden_size), setting.element)
    turns = TensorSpec((mapping.sequence, 1, _turned(config) // 2), "float32")
    shardings = (whole, rows, None, None) if layout.mesh else None
    return trace_program(step, (params, x, turns, turns), layout.mesh, in_shardings=shardings, name=f"layer_{kind.first}")


def _turned(config: ModelConfig) -> int:
    return 2 * len(config.rope.frequencies)


def _measured(grads: Tree, left: Tree) -> list[Value]:
    """A number of each gradient as it is left: none is held. It is made of one row, so that it takes no time."""
    with named_scope("gradients"):
        leaves, _ = pytrees.flatten(_constrained(grads, left))
    places = pytrees.flatten_shardings(left, grads, "gradients")
    with named_scope("measured"):
        return [sum_of(_row(leaf, place).astype("float32")) for leaf, place in zip(leaves, places)]


def _constrained(grads: Tree, shardings: Tree) -> Tree:
    """Gradients that lie so; what None stands for lies as is best."""
    leaves, treedef = pytrees.flatten(grads)
    places = pytrees.flatten_shardings(shardings, grads, "gradients")
    placed = [leaf if place is None else constrain(leaf, place) for leaf, place in zip(leaves, places)]
    return pytrees.unflatten(treedef, placed)


def _row(leaf: Value, place: Any) -> Value:
    """Along a dimension that is whole on each device; all of it where there is none."""
    for dim in range(leaf.ndim):
        if place is None or dim >= len(place.dims) or not place.dims[dim]:
            return leaf[(slice(None),) * dim + (slice(1),)]
    return leaf


def _around_shapes(setting: Setting) -> Tree:
    """With what puts a token that is predicted together with what a layer made, for a layer behind the last one."""
    made = {name: node for name, node in setting.shapes.items() if name != "layers"}
    model = setting.config.hidden_size
    further = {"product": (2 * model, model), "norm": (model,), "token_norm": (model,), "last_norm": (model,)}
    return {**made, **({"mtp": [further] * setting.mapping.mtp} if setting.mapping.mtp else {})}


def around_program(setting: Setting) -> Program:
    """The embedding, and the head with the loss, forward and back, for a micro-batch."""
    config, layout, mapping = setting.config, setting.layout, setting.mapping
    params, whole, _ = around_parts(setting)
    left = _left_in(setting, params, whole)

    def looked_up(table: Value, ids: Value) -> Value:
        if not setting.by_products:
            return table[ids]
        return einsum("BSV,VM->BSM", one_hot(ids, config.vocab_size, setting.element), table)

    def predicted(x: Value, scale: Value, params: Tree, tokens: Value) -> Value:
        with named_scope("head"):
            x = layout.constrain(norm(between(layout, x), scale, config), "dp", "cp", None)
            head = params.get("head", params["embed"])
            logits = layout.constrain(einsum("BSM,VM->BSV", x, head), "dp", "cp", "tp")
        with named_scope("loss"):
            total, weight = cross_entropy_sum(logits, tokens)
            return total / weight

    def joined(x: Value, own: Tree, params: Tree, tokens: Value) -> Value:
        """What a layer that predicts a further token is given."""
        with named_scope("mtp"):
            token = norm(between(layout, looked_up(params["embed"], tokens)), own["token_norm"], config)
            both = concatenate([norm(between(layout, x), own["norm"], config), token], -1)
            return between(layout, einsum("BSN,NM->BSM", both, own["product"]))

    def step(params: Tree, xs: Tree, tokens: Value) -> Any:
        def loss(params: Tree, xs: Tree) -> tuple[Value, list[Value]]:
            with named_scope("embed"):
                made = [between(layout, looked_up(params["embed"], tokens[:, :-1]))]
            total = predicted(xs[0], params["norm"], params, tokens[:, 1:])
            for x, behind, own in zip(xs, xs[1:], params.get("mtp", [])):
                made.append(joined(x, own, params, tokens[:, 1:]))
                total = total + predicted(behind, own["last_norm"], params, tokens[:, 1:])
            return total, made

        (value, made), pull = vjp(loss, params, xs)
        grads, dxs = pull((value, made))
        return dxs, _measured(grads, left)

    rows = layout.P("dp", "sp", None) if layout.mesh else None
    batch = layout.size("dp") * mapping.micro_batch
    x = TensorSpec((batch, mapping.sequence, config.hidden_size), setting.element)
    tokens = TensorSpec((batch, mapping.sequence + 1), "int32")
    # What the last layer made, and what each layer behind it did.
    xs = [x] * (mapping.mtp + 1)
    shardings = (whole, [rows] * len(xs), layout.P("dp", None)) if layout.mesh else None
    return trace_program(step, (params, xs, tokens), layout.mesh, in_shardings=shardings, name="around")


def _only(tree: Tree, of_experts: bool) -> Tree:
    """Of a layer's tree what experts have, or all else."""
    moe = {name: node for name, node in tree.get("moe", {}).items() if (name in OF_EXPERTS) == of_experts}
    rest = {} if of_experts else {name: node for name, node in tree.items() if name != "moe"}
    return {**rest, "moe": moe} if moe else rest


def _parts(named: dict[str, Tree], of_experts: bool) -> dict[str, Tree]:
    """That of each tree, without those that have none; None stays, where there is one device."""
    parts = {name: tree and _only(tree, of_experts) for name, tree in named.items()}
    return {name: part for name, part in parts.items() if part != {}}


def optimizer_program(setting: Setting, kinds: list[Kind], of_experts: bool) -> Program:
    """AdamW of one layer of each kind, and of what is around, from the gradients that devices have: new parameters, which are
    gathered, with ZeRO-3 by the next layers that need them. of_experts: of their parameters alone, or of all others, which
    know nothing of groups of experts."""
    config, layout = setting.config, setting.layout
    named = {f"layers.{kind.first}": setting.shapes["layers"][kind.first] for kind in kinds} | {"around": _around_shapes(setting)}
    whole = {name: parameters.shardings_of(shapes, config.moe, layout) for name, shapes in named.items()}
    masters = {name: specs(tree, WIDE) for name, tree in named.items()}
    grads = {name: specs(tree, WIDE if setting.mapping.sum_type == "f32" else NARROW) for name, tree in named.items()}
    parts = {name: _zero_shardings(setting, masters[name], whole[name]) for name in masters}
    kept = parts if setting.mapping.zero else whole
    left = {name: _left_in(setting, masters[name], whole[name]) for name in masters}
    masters, grads, kept, whole, left = (_parts(trees, of_experts) for trees in (masters, grads, kept, whole, left))
    optimizer = optim.adamw(1e-4)
    # Types alone: arrays of this size are not made.
    begin = trace_program(lambda trees: {name: optimizer.init(tree) for name, tree in trees.items()}, (masters,), None, name="init")
    state = pytrees.unflatten(begin.out_tree, list(begin.outputs.values()))

    def updated(name: str, master: Tree, grads: Tree, state: Tree) -> tuple[Tree, Tree, Tree]:
        with named_scope(name):
            # Over devices, where the optimiser's state of them is.
            summed = _constrained(grads, kept[name] if layout.mesh else None)
            wide = pytrees.map_leaves(lambda leaf: leaf.astype(WIDE), summed)
            updates, new = optimizer.update(wide, state, master)
            master = optim.apply_updates(master, updates)
            return pytrees.map_leaves(lambda leaf: leaf.astype(setting.element), master), master, new

    def step(masters: Tree, grads: Tree, state: Tree) -> Any:
        made = {name: updated(name, masters[name], grads[name], state[name]) for name in masters}
        return tuple({name: each[place] for name, each in made.items()} for place in range(3))

    if layout.mesh is None:
        return trace_program(step, (masters, grads, state), None, name="optimizer")
    like = {name: optim.shardings_like(state[name], masters[name], kept[name]) for name in masters}
    results = (whole, kept, like)
    return trace_program(
        step, (masters, grads, state), layout.mesh, in_shardings=(kept, left, like), out_shardings=results, name="optimizer"
    )
