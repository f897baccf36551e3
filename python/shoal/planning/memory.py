# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device holds of a model, by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shoal.frontend import pytrees
from shoal.moe.parameters import OF_EXPERTS
from shoal.planning.mapping import Mapping
from shoal.planning.programs import Kind, Setting, around_parts, layer_parts
from shoal.planning.schedule import in_flight, layers_of_stage, shares_of_stage

__all__ = ["Held", "Holding", "Memory", "around_bytes", "gradient_width", "memory_of", "weight_bytes"]

# Bytes of an element of gradients, and of masters and moments.
_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f8E4M3FN": 1}


@dataclass(frozen=True)
class Memory:
    """Bytes of the stage that holds most, of one mapping or of many as columns. buffers: what a layer needs while it
    computes. start: how many more a device holds before training begins, where parameters are made whole."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    start: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.buffers + self.start

    def as_floats(self) -> Memory:
        """The same of one mapping, in numbers of Python's."""
        return Memory(*(float(getattr(self, part.name)) for part in fields(self)))

    def parts(self) -> dict[str, float]:
        """Of one mapping, by name."""
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


def _held(tree: Any, whole: Any, parts: Any, setting: Setting) -> tuple[float, ...]:
    """Bytes of weights, gradients and the optimiser's state, and of weights were they whole."""
    zero, state = setting.mapping.zero, sum(_BYTES[type] for type in setting.mapping.state_types)
    full, split = (elements_of(tree, places, setting) for places in (whole, parts))
    # Masters are gathered as they are cast, and held so from then on until they are in parts again; of one part they are cast
    # where they are used.
    are_masters = setting.mapping.casts_masters and zero in (0, 3)
    weights = 0.0 if are_masters else split if zero >= 3 else full
    return (
        setting.mapping.width * weights,
        _held_gradient(setting.mapping) * (split if zero >= 2 else full),
        state * (split if zero >= 1 else full),
        setting.mapping.width * full,
    )


def gradient_width(mapping: Mapping) -> int:
    """Bytes of an element of a gradient."""
    return _BYTES[mapping.sum_type]


def _held_gradient(mapping: Mapping) -> int:
    """Of what is held of it behind its sum: as wide as what it is of, where that is the master."""
    width = gradient_width(mapping)
    return min(width, _BYTES[mapping.state_types[0]]) if mapping.casts_masters else width


def weight_bytes(setting: Setting, kind: Kind) -> float:
    """Of a layer's parameters, as its program has them: whole."""
    tree, whole, _ = layer_parts(setting, kind)
    return setting.mapping.width * elements_of(tree, whole, setting)


def gathered_bytes(setting: Setting, kind: Kind) -> float:
    """What a layer has whole for a while of what is stored in parts: parameters of its own and of the next one, which are
    gathered meanwhile, and its gradients until they are summed."""
    zero, whole = setting.mapping.zero, weight_bytes(setting, kind)
    return (2 * whole if zero >= 3 else 0) + (whole / setting.mapping.width * gradient_width(setting.mapping) if zero >= 2 else 0)


# Bytes of weights, gradients and the optimiser's state, and of weights were they whole: of what is around layers, and of a
# layer of each kind.
Held = Sequence[Sequence[float]]


class Holding:
    """`Held` of a model's mappings, as exact as their layouts' shardings.

    Shardings of parameters name roles: what a device has of experts depends on the sizes of ep, etp and edp, and what it has
    of all others on those of tp, cp and dp. Each of these is counted once.
    """

    def __init__(self, kinds: Sequence[Kind]):
        self._kinds = kinds
        self._counted: dict[Hashable, tuple[float, ...]] = {}

    def __call__(self, setting: Setting) -> Held:
        """Of a stage's devices."""
        return [self._around(setting), *(self._layer(setting, kind) for kind in self._kinds)]

    def _around(self, setting: Setting) -> tuple[float, ...]:
        mapping = setting.mapping
        sizes = ("around", mapping.pp > 1, mapping.tp, mapping.cp, mapping.dp, mapping.mtp)
        return self._once(sizes, setting, lambda: around_bytes(setting))

    def _layer(self, setting: Setting, kind: Kind) -> tuple[float, ...]:
        mapping = setting.mapping

        def of(are_experts: bool) -> tuple[float, ...]:
            trees = (_of_experts(tree, are_experts) for tree in layer_parts(setting, kind))
            return _held(*trees, setting)

        others = self._once((kind, "others", mapping.tp, mapping.cp, mapping.dp), setting, lambda: of(False))
        experts = self._once((kind, "experts", mapping.ep, mapping.etp, mapping.edp), setting, lambda: of(True))
        return tuple(each + more for each, more in zip(others, experts))

    def _once(self, sizes: Hashable, setting: Setting, count: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
        mapping = setting.mapping
        key = sizes, mapping.zero, mapping.type, mapping.sum_type, mapping.state_types, mapping.casts_masters
        if key not in self._counted:
            self._counted[key] = count()
        return self._counted[key]


def _of_experts(tree: Any, are_experts: bool) -> Any:
    """Of a layer's parameters those of experts, or all others."""
    moe = {name: node for name, node in tree.get("moe", {}).items() if (name in OF_EXPERTS) == are_experts}
    return {"moe": moe} if are_experts else {**tree, "moe": moe}


def memory_of(
    mapping: Mapping, kinds: Sequence[Kind], held: Held, saved: Sequence[float], buffers: float
) -> Memory:
    """Of a stage with as many whole layers as any has, of each kind its share. saved: bytes of a layer of each kind that its
    backward pass finds, of a micro-batch. Of many mappings, where these are columns."""
    share = shares_of_stage([kind.count for kind in kinds], mapping.pp)
    # Layers that predict further tokens are as the last one, and take the places that are left of the last stage.
    number = sum(kind.count for kind in kinds)
    most = layers_of_stage(number, mapping.pp)
    share[-1] = share[-1] + np.maximum(mapping.mtp - np.minimum(most * mapping.pp - number, most), 0)
    around, *layers = held
    *totals, whole = [
        sum((each[place] * count for each, count in zip(layers, share)), start=part) for place, part in enumerate(around)
    ]
    activations = sum(each * count for each, count in zip(saved, share)) * in_flight(mapping)
    more = np.maximum(whole - sum(totals) - activations - buffers, 0.0) if mapping.whole_at_start else 0.0
    return Memory(*totals, activations, buffers, more)


def around_bytes(setting: Setting) -> tuple[float, ...]:
    """Weights, gradients and state of the embedding or the head, which the first stage and the last one have; of one
    stage both. And weights of all of it, were they whole."""
    tree, whole, parts = around_parts(setting)
    # The last stage has the embedding, too, where it is the head, and where further tokens are predicted.
    last = [name for name in tree if name != "norm" and (name != "embed" or "head" not in tree or setting.mapping.mtp)]
    names = [["embed"], last] if setting.mapping.pp > 1 else [list(tree)]
    held = [_held(*({n: part[n] for n in names_of} for part in (tree, whole, parts)), setting) for names_of in names]
    return *max(held)[:-1], setting.mapping.width * elements_of(tree, whole, setting)
