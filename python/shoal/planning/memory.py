# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device holds of a model, by part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from shoal.frontend import pytrees
from shoal.models import parameters
from shoal.planning.mapping import Mapping
from shoal.planning.programs import Kind, Setting, around_parts, layer_parts
from shoal.planning.schedule import in_flight, layers_of_stage, shares_of_stage

__all__ = ["Held", "Memory", "around_bytes", "held_of", "memory_of", "weight_bytes"]

# Bytes of an element: bfloat16 parameters, float32 gradients, a float32 master and two moments.
_WEIGHT, _GRADIENT, _STATE = 2, 4, 12
_WIDE_WEIGHT = 4


@dataclass(frozen=True)
class Memory:
    """Bytes of the stage that holds most. buffers: what a layer needs while it computes. start: how many more a device
    holds before training begins, where parameters are made whole."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    start: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.parts().values())

    def parts(self) -> dict[str, float]:
        """By name."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: size for name, size in found.items() if size or name != "start"}


def elements_of(tree: Any, shardings: Any, setting: Setting) -> float:
    """Of the arrays' parts on a device."""
    leaves, _ = pytrees.flatten(tree)
    sizes = [math.prod(leaf.shape) for leaf in leaves]
    mesh = setting.layout.mesh
    if mesh is None:
        return sum(sizes)
    places = pytrees.flatten_shardings(shardings, tree, "memory")
    return sum(size / _parts_of(place, setting) for size, place in zip(sizes, places))


def _parts_of(place: Any, setting: Setting) -> int:
    if place is None:
        return 1
    axes = [axis for dim in place.dims if dim for axis in ((dim,) if isinstance(dim, str) else dim)]
    sizes = setting.layout.mesh.axes
    return math.prod(getattr(axis, "size", 0) or sizes[getattr(axis, "name", axis)] for axis in axes)


def _held(tree: Any, whole: Any, parts: Any, setting: Setting) -> tuple[float, float, float]:
    """Bytes of weights, gradients and the optimiser's state."""
    zero = setting.mapping.zero
    full, split = (elements_of(tree, places, setting) for places in (whole, parts))
    return (
        _width(setting) * (split if zero >= 3 else full),
        _GRADIENT * (split if zero >= 2 else full),
        _STATE * (split if zero >= 1 else full),
    )


def _width(setting: Setting) -> int:
    """Bytes of an element of a weight."""
    return _WIDE_WEIGHT if setting.mapping.type == "f32" else _WEIGHT


def weight_bytes(setting: Setting, kind: Kind) -> float:
    """Of a layer's parameters, as its program has them: whole."""
    tree, whole, _ = layer_parts(setting, kind)
    return _width(setting) * elements_of(tree, whole, setting)


def gathered_bytes(setting: Setting, kind: Kind) -> float:
    """What a layer has whole for a while of what is stored in parts: parameters of its own and of the next one, which are
    gathered meanwhile, and its gradients until they are summed."""
    zero, whole = setting.mapping.zero, weight_bytes(setting, kind)
    return (2 * whole if zero >= 3 else 0) + (whole / _width(setting) * _GRADIENT if zero >= 2 else 0)


@dataclass(frozen=True)
class Held:
    """Bytes of weights, gradients and the optimiser's state: of a layer of each kind, and of what is around."""

    layers: tuple[tuple[float, float, float], ...]
    around: tuple[float, ...]
    # Of parameters, were they whole: of a layer of each kind, and last of what is around.
    whole: tuple[float, ...] = ()


def held_of(setting: Setting, kinds: Sequence[Kind]) -> Held:
    """Of a stage's devices; as exact as the layout's shardings."""
    layers = tuple(_held(*layer_parts(setting, kind), setting) for kind in kinds)
    whole: list[float] = []
    if setting.mapping.whole_at_start:
        tree, places, _ = around_parts(setting)
        whole = [weight_bytes(setting, kind) for kind in kinds] + [_width(setting) * elements_of(tree, places, setting)]
    return Held(layers, around_bytes(setting), tuple(whole))


def memory_of(
    mapping: Mapping, kinds: Sequence[Kind], held: Held, saved: Sequence[float], buffers: float
) -> Memory:
    """Of a stage with as many whole layers as any has, of each kind its share. saved: bytes of a layer of each kind that its
    backward pass finds, of a micro-batch."""
    share = shares_of_stage([kind.count for kind in kinds], mapping.pp)
    # Layers that predict further tokens are as the last one, and take the places that are left of the last stage.
    most = layers_of_stage(sum(kind.count for kind in kinds), mapping.pp)
    share[-1] += max(mapping.mtp - min(most * mapping.pp - sum(kind.count for kind in kinds), most), 0)
    totals = list(held.around)
    for each, count in zip(held.layers, share):
        for place, part in enumerate(each):
            totals[place] += part * count
    activations = sum(each * count for each, count in zip(saved, share)) * in_flight(mapping)
    start = sum(each * count for each, count in zip(held.whole, [*share, 1]))
    return Memory(*totals, activations, buffers, max(start - sum(totals) - activations - buffers, 0.0))


def around_bytes(setting: Setting) -> tuple[float, ...]:
    """Weights, gradients and state of the embedding or the head, which the first stage and the last one have; of one
    stage both."""
    tree, whole, parts = around_parts(setting)
    # The last stage has the embedding, too, where it is the head, and where further tokens are predicted.
    last = [name for name in tree if name != "norm" and (name != "embed" or "head" not in tree or setting.mapping.mtp)]
    names = [["embed"], last] if setting.mapping.pp > 1 else [list(tree)]
    held = [_held(*({n: part[n] for n in names_of} for part in (tree, whole, parts)), setting) for names_of in names]
    return max(held)
