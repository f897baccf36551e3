# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of a decoder as stages of a pipeline (docs/guide/Pipelines.md).

Letters: p devices along "pp", V stages on each, N layers in each, m micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array, ArrayLike, P, fold_in, iota, like, max, mean, named_scope, stack, sum, where, zeros
from shoal.arrays.pipelining import pipeline
from shoal.errors import TraceError
from shoal.frontend.checks import check
from shoal.models.config import ModelConfig, Window, described
from shoal.models.documents import WHOLE, Documents
from shoal.models.layer import LayerOutput, apply_layer
from shoal.models.order import Order
from shoal.moe.layer import MoeMetrics
from shoal.moe.layout import Layout, Schedule

__all__ = [
    "Passed", "Stages", "pass_stages", "stage_shapes", "stage_shardings", "stages_of", "to_layers", "to_stages",
]  # fmt: skip

Tree = Any


@dataclass(frozen=True)
class Stages:
    """Layer l of stage v p + d is layer `outside` + (v p + d) N + l of the model: the rule by which
    `shoal.checkpoints` finds layers that another number of stages has saved (its module `layers`)."""

    outside: int  # layers in front of the pipeline
    turns: int  # V
    devices: int  # p
    each: int  # N

    def number(self, turn: int, device: int, layer: int) -> int:
        """Which of all layers is the `layer`-th one of the stage that a device has in a turn."""
        return self.outside + (turn * self.devices + device) * self.each + layer

    def stacked(self, layers: Sequence[Tree], join: Callable[[list[Any]], Any]) -> list[Tree]:
        """Of all layers a tree for each of a stage; `join` takes the leaves of its V p ones, in order."""
        return [_together(layers[self.outside + layer :: self.each], join) for layer in range(self.each)]


class Passed(NamedTuple):
    """x like it was; the layers' losses times their coefficients; metrics of those with experts, a row each, and
    their losses by name, the means of micro-batches."""

    x: Array
    balance: Array
    metrics: MoeMetrics | None
    losses: dict[str, Array]


def stages_of(config: ModelConfig, layout: Layout) -> Stages | None:
    """How a layout cuts the layers; None where it has neither "pp" nor a schedule.

    Layers without experts in front of all others (DeepSeek's first_k_dense_replace) stay in front of the pipeline.
    TraceError where the rest does not divide, or stages would differ in kinds of layers or windows.
    """
    devices, turns = layout.size("pp"), layout.schedule.interleave
    if devices == 1 and layout.schedule == Schedule():
        return None
    kinds = list(zip(config.moe_layers, config.windows))
    first = config.moe_layers.index(True) if any(config.moe_layers) else 0
    outside = first if all(config.moe_layers[first:]) else 0
    rest = len(kinds) - outside
    if rest % (turns * devices):
        raise TraceError(
            f'stages: {rest} layers are not divisible by {turns} stages on each of {devices} devices of "pp"'
        )
    stages = Stages(outside, turns, devices, rest // (turns * devices))
    for number in range(outside, len(kinds)):
        like = outside + (number - outside) % stages.each
        if kinds[number] != kinds[like]:
            raise TraceError(
                f"stages of {stages.each} layers: layer {number} ({_described(*kinds[number])}) would be in the "
                f"place of layer {like} ({_described(*kinds[like])})"
            )
    return stages


def _described(has_experts: bool, window: Window) -> str:
    return f"{'experts' if has_experts else 'dense'}, {described(window)}"


def to_stages(tree: Mapping[str, Any], stages: Stages | None) -> dict[str, Any]:
    """Parameters with "stages", N trees of [V, p, ...], instead of all but the first "layers"."""
    if stages is None:
        return dict(tree)

    def joined(leaves: list[Any]) -> np.ndarray:
        first = np.asarray(leaves[0])
        return np.stack(leaves).reshape(stages.turns, stages.devices, *first.shape)

    layers = list(tree["layers"])
    return {**tree, "layers": layers[: stages.outside], "stages": stages.stacked(layers, joined)}


def to_layers(tree: Mapping[str, Any], stages: Stages | None) -> dict[str, Any]:
    """The inverse: "layers" has all of them."""
    if stages is None:
        return dict(tree)
    layers = list(tree["layers"])
    for turn in range(stages.turns):
        for device in range(stages.devices):
            layers += [_apart(part, (turn, device)) for part in tree["stages"]]
    return {**{name: part for name, part in tree.items() if name != "stages"}, "layers": layers}


def _together(nodes: Sequence[Tree], join: Callable[[list[Any]], Any]) -> Tree:
    if isinstance(nodes[0], Mapping):
        return {key: _together([node[key] for node in nodes], join) for key in nodes[0]}
    return join(list(nodes))


def _apart(node: Tree, place: tuple[int, int]) -> Tree:
    if isinstance(node, Mapping):
        return {key: _apart(part, place) for key, part in node.items()}
    return np.asarray(node)[place]


def stage_shapes(tree: Mapping[str, Any], stages: Stages | None) -> dict[str, Any]:
    """`to_stages` of a tree of shapes."""
    if stages is None:
        return dict(tree)
    made = stages.stacked(tree["layers"], lambda shapes: (stages.turns, stages.devices, *shapes[0]))
    return {**tree, "layers": tree["layers"][: stages.outside], "stages": made}


def stage_shardings(tree: Mapping[str, Any], stages: Stages | None, layout: Layout) -> dict[str, Any]:
    """`to_stages` of a tree of P."""
    if stages is None:
        return dict(tree)
    made = stages.stacked(tree["layers"], lambda specs: P(None, layout.axes("pp") or None, *specs[0].dims))
    return {**tree, "layers": tree["layers"][: stages.outside], "stages": made}


def pass_stages(
    x: Array, params: Sequence[Tree], stages: Stages, config: ModelConfig, layout: Layout,
    order: Order = None, *, key: ArrayLike | None = None, documents: Documents = WHOLE,
) -> Passed:  # fmt: skip
    """x [B, S, M] through the pipeline, sequences i, m + i, ... as micro-batch i.

    Losses are the means of those of micro-batches, counts their sums, and a router's noise is drawn for each.
    Behind it they lie over "pp", too.
    """
    count, size = layout.schedule.microbatches, x.shape[0]
    check(size % count == 0, f"stages: {size} sequences are not divisible by {count} micro-batches")
    rows: dict[str, Array] = {name: _cut(part, count) for name, part in documents.given().items()}
    given: dict[str, Tree] = {"layers": list(params)}
    if key is not None:
        rows["key"] = stack([fold_in(key, i) for i in range(count)])
        given["stage"] = iota((stages.turns * stages.devices,), 0, like=x).reshape(stages.turns, stages.devices)

    def stage(params: Tree, x: Array, row: Tree) -> tuple[Array, list[Tree]]:
        records = []
        of_rows = Documents(**{name: row[name] for name in documents.given()})
        for number, layer in enumerate(params["layers"]):
            place = None if key is None else params["stage"] * stages.each + stages.outside + number
            own = None if place is None else fold_in(row["key"], place)
            window = config.windows[stages.outside + number]
            with named_scope(f"stages.{number}"):
                made = apply_layer(x, layer, config, layout, window, order, key=own, documents=of_rows)
            x = made.x
            records.append(made._replace(x=None))
        return x, records

    made, records = pipeline(stage, given, _cut(x, count), layout.axes("pp"), rows, layout.mesh)
    y = _over_stages(made, layout).swapaxes(0, 1).reshape(*x.shape)
    with named_scope("balance"):
        return Passed(y, _balance(records, stages, config), _metrics(records), _losses(records))


def _over_stages(value: Array, layout: Layout) -> Array:
    """[m, B / m, S, M], each device of "pp" with its sequences of every micro-batch, or of too few its places.

    Of whole micro-batches a device would have sequences that are no block of the batch.
    """
    if value.shape[1] >= layout.size("outside", "pp"):
        return layout.constrain(value, None, ("outside", "pp"), None, None)
    return layout.constrain(value, None, "outside", "pp", None)


def _cut(value: Array, count: int) -> Array:
    """[B, ...] as [m, B / m, ...], so that a device's sequences are a part of each micro-batch."""
    return value.reshape(value.shape[0] // count, count, *value.shape[1:]).swapaxes(0, 1)


def _balance(records: Sequence[LayerOutput], stages: Stages, config: ModelConfig) -> Array:
    """Of losses [V, p, m] of each layer of a stage."""
    total = zeros((), "float32", like=like([record.losses for record in records]))
    for layer, record in enumerate(records):
        for name, loss in record.losses.items():
            rates = [[config.moe.loss_coefficient(name, stages.number(turn, device, layer))
                      for device in range(stages.devices)] for turn in range(stages.turns)]  # fmt: skip
            # A layer whose coefficient is 0 has no term, whatever its loss is.
            terms = where(np.array(rates) != 0, mean(loss.astype("float32"), 2), 0.0)
            total = total + sum(terms * np.array(rates, np.float32))
    return total


def _metrics(records: Sequence[LayerOutput]) -> MoeMetrics | None:
    """Of metrics [V, p, m, ...]: rows in the order of layers."""
    found = [record.metrics for record in records if record.metrics is not None]
    if not found:
        return None
    counts, kept = (_by_layer([sum(part[i], 2) for part in found]) for i in (0, 1))
    return MoeMetrics(counts, kept, _by_layer([max(part.needed, 2) for part in found])).marked()


def _losses(records: Sequence[LayerOutput]) -> dict[str, Array]:
    """Of losses [V, p, m]: rows in the order of layers, as of metrics."""
    found = [record.losses for record in records if record.metrics is not None]
    return {name: _by_layer([mean(losses[name], 2) for losses in found]) for name in (found[0] if found else ())}


def _by_layer(values: Sequence[Array]) -> Array:
    """[V, p, ...] of each layer of a stage as [L, ...]."""
    return stack(values, 2).reshape(-1, *values[0].shape[2:])
