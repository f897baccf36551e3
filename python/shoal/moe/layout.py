# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the parts of a model lie, as a table of roles over the axes of one mesh.

Functions of `shoal.moe` name roles, a layout says which axes these are. Parallel folding, Tutel's
r, ZeRO and fewer experts than devices are other tables of the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

from shoal.arrays import Array, P, constrain
from shoal.errors import TraceError
from shoal.mesh import Axis, Mesh
from shoal.moe import megatron
from shoal.moe.folding import fold, groups_of
from shoal.moe.laws import Part
from shoal.moe.megatron_flags import REFUSED_LAYOUTS

__all__ = ["CP_COMM_TYPES", "Layout", "ROLES", "SINGLE", "Schedule"]

# What each role splits.
ROLES = {
    "pp": "stages of layers",
    "dp": "sequences, with the attention's parameters the same on all",
    "cp": "places within sequences",
    "tp": "heads and hidden units of attention and dense networks",
    "ep": "experts",
    "etp": "hidden units of experts",
    "edp": "groups of tokens, with the experts' parameters the same on all",
    "zero": "experts' hidden units while they are stored, not while they are used",
    "zero_ep": "experts while they are stored, not while they are used",
    "tokens": "groups of tokens within an MoE layer; by default dp, cp and tp",
    "outside": "sequences around an MoE layer; by default as tokens",
    "sp": "places within sequences around attention and dense networks; by default cp and tp",
    "nodes": "devices that slower links join than those of a node",
}

# Those that say where values lie and not what devices are for.
_SPREADS = ("tokens", "outside", "sp", "nodes")

# How attention gets the keys and values of other devices of cp: round a ring while it computes, by
# exchanging places for heads, or all at once. Megatron-Core's names.
CP_COMM_TYPES = ("p2p", "a2a", "allgather")


@dataclass(frozen=True)
class Schedule(Part):
    """How a batch passes the stages of a model: in so many micro-batches, each device having `interleave` stages."""

    microbatches: int = 1
    interleave: int = 1


@dataclass(frozen=True)
class Layout:
    """A mesh and, for each role, its axes from major to minor. A role that is not named has none.

    mesh: None is one device, where annotations are the identity.
    cp_comm_type: one of `CP_COMM_TYPES`.
    cp_balanced: places over cp lie so that all devices have the same part of causal attention
      (`shoal.models.order`).
    schedule: of models whose layers lie over "pp".
    """

    mesh: Mesh | None = None
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cp_comm_type: str = "allgather"
    cp_balanced: bool = False
    schedule: Schedule = Schedule()

    def __post_init__(self) -> None:
        for role, axes in self.roles.items():
            if role not in ROLES:
                raise TraceError(f'Layout: role "{role}" is not one of {list(ROLES)}')
            if isinstance(axes, str):
                raise TraceError(f'Layout: role "{role}": expected a tuple of axes, got {axes!r}')
            for axis in axes:
                if self.mesh is None or axis not in self.mesh.axes:
                    raise TraceError(f'Layout: role "{role}": axis "{axis}" is not one of {self.mesh!r}')
        if self.mesh is not None:
            named = {role: axes for role, axes in self.roles.items() if role not in _SPREADS}
            object.__setattr__(self, "mesh", self.mesh.with_roles(named))
        if self.cp_comm_type not in CP_COMM_TYPES:
            raise TraceError(f'Layout: cp_comm_type "{self.cp_comm_type}" is not one of {list(CP_COMM_TYPES)}')

    @staticmethod
    def folded(
        *factorisations: Mapping[str, int], cp_comm_type: str = "allgather", cp_balanced: bool = False,
        node: int | None = None, **roles: tuple[str, ...],
    ) -> Layout:  # fmt: skip
        """Of factorisations of the devices, fastest first: dict(tp=2, dp=8), dict(ep=4, edp=4).

        node: so many devices, next to each other, are in a node, and "nodes" is what lies between these. TraceError where
        they do not divide the devices. roles: further ones, in terms of those of the factorisations: tokens=("dp",).
        """
        axes, found = fold(*factorisations, *_by_nodes(node, factorisations))
        found.pop("node", None)
        made = Layout(Mesh(axes), found)
        further = {role: made.axes(*of) for role, of in roles.items()}
        return Layout(made.mesh, {**found, **further}, cp_comm_type, cp_balanced)

    @staticmethod
    def from_megatron(arguments: str | Sequence[str], devices: int, **options: Any) -> Layout:
        """Of a command line of Megatron-Core for so many devices; options: as of `folded`.

        Without --sequence-parallel places around blocks lie over cp alone; --cp-comm-type is its p2p
        where it is not given. With --moe-token-dispatcher-type flex torchrun's --nproc-per-node, or node=, says what
        nodes are. Of flags that are not about the layout: see `MoeConfig.from_megatron`.
        """
        flags = megatron.known_flags(arguments, REFUSED_LAYOUTS)
        said = {
            "sp": megatron.sequence_roles_of(flags),
            "cp_comm_type": megatron.cp_comm_type_of(flags, CP_COMM_TYPES),
            "node": megatron.node_of(flags),
        }
        made = Layout.folded(*megatron.factorisations_of(flags, devices), **{**said, **options})
        return made.scheduled(*megatron.schedule_of(flags, devices))

    def scheduled(self, microbatches: int, interleave: int = 1) -> Layout:
        """The same with this schedule. One micro-batch and, without "pp", as many stages as there are equal layers make
        these a loop, which is compiled as one layer."""
        return replace(self, schedule=Schedule(microbatches, interleave))

    @staticmethod
    def tutel(experts: int, devices: int, r: int) -> Layout:
        """Tutel's degree r (arXiv 2206.03382) of W = E s devices, more than experts.

        Parameters lie the same for every r, over experts and the s parts of their hidden units.
        While they are used each expert is over r devices, s / r of which share its tokens; r = 0
        has all experts on all devices and moves no tokens. TraceError for other r than 0 and the divisors of s.
        """
        if experts < 1 or devices % experts:
            raise TraceError(f"Layout.tutel: {experts} experts do not divide {devices} devices")
        shards = devices // experts
        if not isinstance(r, Integral) or r < 0 or (r and shards % r):
            raise TraceError(f"Layout.tutel: r = {r} is neither 0 nor a divisor of {devices} / {experts} = {shards}")
        mesh = Mesh(e=experts, r=max(r, 1), z=shards // max(r, 1))
        if r == 0:
            whole = ("e", "r", "z")
            return Layout(mesh, {"dp": whole, "edp": whole, "zero_ep": ("e",), "zero": ("r", "z")})
        roles = {"dp": ("z", "e", "r"), "ep": ("e",), "etp": ("r",), "edp": ("z",), "zero": ("z",)}
        return Layout(mesh, roles)

    def axes(self, *roles: str | Axis) -> tuple[Any, ...]:
        """The axes of roles, one role after the other; an axis is its own."""
        return tuple(axis for role in roles for axis in ((role,) if isinstance(role, Axis) else self._axes(role)))

    def _axes(self, role: str) -> tuple[str, ...]:
        if role not in ROLES:
            raise TraceError(f'Layout: role "{role}" is not one of {list(ROLES)}')
        if role == "tokens":
            return self.roles.get(role) or self.axes("dp", "cp", "tp")
        if role == "outside":
            return self.roles.get(role) or self.axes("tokens")
        if role == "sp" and role not in self.roles:
            return self.axes("cp", "tp")
        return tuple(self.roles.get(role, ()))

    def size(self, *roles: str | Axis) -> int:
        """How many devices are along these roles, or axes."""
        if self.mesh is None:
            return 1
        axes = (axis if isinstance(axis, Axis) else Axis(axis) for axis in self.axes(*roles))
        return math.prod(axis.size or self.mesh.axes[axis.name] for axis in axes)

    def outer(self, role: str) -> tuple[str, ...]:
        """The axes of a role that lie between nodes."""
        return tuple(axis for axis in self._axes(role) if axis in self._axes("nodes"))

    def nodes(self, role: str) -> int:
        """Over how many nodes a role lies."""
        return math.prod(self.mesh.axes[axis] for axis in self.outer(role)) if self.mesh else 1

    def cut(self, role: str, count: int) -> tuple[tuple[Axis, ...], tuple[Axis, ...]] | None:
        """The axes of a role as those of `count` parts and those within a part; None where there are none."""
        parts: list[Axis] = []
        within: list[Axis] = []
        for name in self._axes(role):
            size = self.mesh.axes[name]
            major = math.gcd(count, size)
            count //= major
            if major < size and count > 1:
                return None
            parts += [Axis(name, 1, major if major < size else 0)] if major > 1 else []
            within += [Axis(name, major, size // major) if major > 1 else Axis(name)] if major < size else []
        return (tuple(parts), tuple(within)) if count == 1 else None

    def groups(self, *roles: str) -> list[list[int]]:
        """The devices of each group of a collective along these roles."""
        return groups_of(self.mesh.axes, self.axes(*roles)) if self.mesh else [[0]]

    def P(self, *entries: Any) -> P:  # noqa: N802, as shoal.P
        """A sharding whose entries are roles, tuples of roles and axes, None or "?"."""
        return P(*(self._entry(entry) for entry in entries))

    def _entry(self, entry: Any) -> Any:
        if entry is None or entry == "?":
            return entry
        listed = (entry,) if isinstance(entry, str) else tuple(entry)
        axes = self.axes(*(role for role in listed if role != "?"))
        return (*axes, "?") if "?" in listed else axes or None

    def constrain(self, value: Array, *entries: Any, hint: bool = False) -> Array:
        """The value where `P(*entries)` says; the identity on its elements.

        A dimension of fewer rows than devices along its roles is left to the compiler. hint: as of
        `shoal.constrain`.
        """
        if self.mesh is None:
            return value
        kept = [entry if self._fits(entry, size) else "?" for entry, size in zip(entries, value.shape)]
        return constrain(value, self.P(*kept), self.mesh, hint=hint)

    def _fits(self, entry: Any, size: int) -> bool:
        listed = (entry,) if isinstance(entry, str) else entry or ()
        return size >= self.size(*(role for role in listed if role != "?"))

    def spread(self, value: Array, role: str = "tokens") -> Array:
        """[G, S, ...] over groups where there are enough of them, else over a group's tokens."""
        by_group = value.shape[0] >= self.size(role)
        dims = (role,) if by_group else (None, role)
        return self.constrain(value, *dims, *[None] * (value.ndim - len(dims)))

    def even_groups(self, groups: int, tokens: int) -> int:
        """Into how many groups to cut tokens that need none: as many as devices have tokens."""
        devices = self.size("tokens")
        return groups if groups * tokens % devices else devices


def _by_nodes(node: int | None, factorisations: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
    """The factorisation of so many devices a node; none of a single node's."""
    devices = math.prod(factorisations[0].values()) if factorisations else 1
    if node is None or node >= devices:
        return []
    if node < 1 or devices % node:
        raise TraceError(f"Layout.folded: nodes of {node} devices do not divide {devices}")
    return [{"node": node, "nodes": devices // node}]


SINGLE = Layout()
