# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes and shardings, as the `shoal` dialect spells them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shoal.errors import TraceError
from shoal.ir import quoted


class Mesh:
    """Named axes over the devices: `Mesh(data=2, expert=4)` has 8.

    The device at position (i, j), row-major, is i * 4 + j unless `device_ids`,
    a permutation of 0 ... devices - 1, lists another order. roles: what lists of axes are for, which
    reports show; meshes of other roles are equal.
    """

    def __init__(
        self,
        axes: Mapping[str, int] | Iterable[tuple[str, int]] = (),
        *,
        name: str = "mesh",
        device_ids: Sequence[int] | None = None,
        roles: Mapping[str, Sequence[str]] | None = None,
        **named: int,
    ):
        self.name = name
        self.axes: dict[str, int] = {**dict(axes), **named}
        self.device_ids = None if device_ids is None else tuple(int(i) for i in device_ids)
        for axis, size in self.axes.items():
            if not axis or isinstance(size, bool) or int(size) != size or size < 1:
                raise TraceError(f'mesh axis "{axis}": size {size!r} is not a positive integer')
        if self.device_ids is not None and sorted(self.device_ids) != list(range(self.size)):
            raise TraceError(
                f"device_ids is not a permutation of 0 ... {self.size - 1}: {list(self.device_ids)}"
            )

        self.roles = {role: tuple(listed) for role, listed in (roles or {}).items()}
        for role, listed in self.roles.items():
            for axis in listed:
                if axis not in self.axes:
                    raise TraceError(f'mesh role "{role}": axis "{axis}" is not one of {list(self.axes)}')

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axes.values())

    def attribute(self) -> str:
        """As the attribute of a program's text."""
        axes = ", ".join(f"{quoted(axis)} = {size}" for axis, size in self.axes.items())
        order = ""
        if self.device_ids is not None:
            order = f", device_ids = [{', '.join(map(str, self.device_ids))}]"
        return f"#shoal.mesh<[{axes}]{order}>"

    def discardable(self) -> dict[str, str]:
        """What the program says of the mesh for reports."""
        listed = {role: axes for role, axes in sorted(self.roles.items()) if axes}
        entries = (f"{quoted(role)} = [{', '.join(map(quoted, axes))}]" for role, axes in listed.items())
        return {"shoal.roles": f"{{{', '.join(entries)}}}"} if listed else {}

    def with_roles(self, roles: Mapping[str, Sequence[str]]) -> Mesh:
        """The same mesh, whose axes are for these."""
        return Mesh(self.axes, name=self.name, device_ids=self.device_ids, roles=roles)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self):
        return self.name, tuple(self.axes.items()), self.device_ids

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis}={size}" for axis, size in self.axes.items())
        return f"Mesh({axes})"


@dataclass(frozen=True)
class Axis:
    """A mesh axis, or with a `size` the sub-axis behind a more major part of `pre` (Shardy's `"x":(pre)size`)."""

    name: str
    pre: int = 1
    size: int = 0

    def __str__(self) -> str:
        part = f":({self.pre}){self.size}" if self.size else ""
        return quoted(self.name) + part


@dataclass(frozen=True)
class Dim:
    """The axes that split one dimension, major to minor. An open one may get more."""

    axes: tuple[Axis, ...] = ()
    is_open: bool = False
    priority: int = 0

    def __str__(self) -> str:
        axes = ", ".join([*map(str, self.axes), *(["?"] if self.is_open else [])])
        return f"{{{axes}}}" + (f"p{self.priority}" if self.priority else "")


@dataclass(frozen=True)
class Sharding:
    """How a tensor lies on a mesh: one Dim per dimension; axes not named replicate.

    `replicated` axes must stay so while open dimensions get more. Devices along
    `partial` ones hold addends of the tensor.
    """

    mesh: str
    dims: tuple[Dim, ...]
    replicated: tuple[Axis, ...] = ()
    partial: tuple[Axis, ...] = ()

    def attribute(self) -> str:
        """As the attribute of a program's text."""
        dims = ", ".join(map(str, self.dims))
        lists = {"replicated": self.replicated, "partial": self.partial}
        more = (
            f", {name} = {{{', '.join(map(str, axes))}}}" for name, axes in lists.items() if axes
        )
        return f"#shoal.sharding<@{self.mesh}, [{dims}]{''.join(more)}>"
