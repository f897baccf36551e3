# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mesh that a JAX function means: its own, or that which is set around its call."""

from __future__ import annotations

import contextlib
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from shoal.errors import TraceError
from shoal.jax.private import mesh as jax_mesh
from shoal.mesh import Mesh


def mesh_around() -> Any:
    """That of jax.set_mesh, jax.sharding.use_abstract_mesh or `with mesh:`; else None."""
    for mesh in (
        jax_mesh.get_concrete_mesh(),
        jax_mesh.get_abstract_mesh(),
        jax_mesh.thread_resources.env.physical_mesh,
    ):
        if not mesh.empty:
            return mesh
    return None


def mesh_is(mesh: Any) -> contextlib.AbstractContextManager[Any]:
    """What PartitionSpecs inside of a function that is traced mean; None: what they mean anyway."""
    if mesh is None:
        return contextlib.nullcontext()
    return jax.sharding.use_abstract_mesh(getattr(mesh, "abstract_mesh", mesh))


def is_explicit(mesh: Any) -> bool:
    """Whether shardings are part of types over a mesh of JAX's, as of `jax.make_mesh` by default."""
    return AxisType.Explicit in getattr(mesh, "axis_types", ())


def without_types(mesh: Any) -> Any:
    """The mesh with axes that are all Auto."""
    return mesh.update(axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def named(mesh: Any, shardings: Any) -> Any:
    """A tree's PartitionSpecs, and shardings over the mesh with other types of axes, as NamedShardings over
    the mesh; TraceError where there is none."""

    def over_mesh(sharding: Any) -> Any:
        if isinstance(sharding, NamedSharding) and _differ_in_types(sharding.mesh, mesh):
            return NamedSharding(mesh, sharding.spec)
        if not isinstance(sharding, PartitionSpec):
            return sharding
        if mesh is None:
            raise TraceError(
                f"{sharding}: a PartitionSpec needs mesh=, or jax.set_mesh around the call;"
                " a NamedSharding has its own"
            )
        return NamedSharding(mesh, sharding)

    def is_leaf(leaf: Any) -> bool:
        return leaf is None or isinstance(leaf, PartitionSpec)

    return None if shardings is None else jax.tree.map(over_mesh, shardings, is_leaf=is_leaf)


def _differ_in_types(one: Any, other: Any) -> bool:
    has_types = hasattr(one, "axis_types") and hasattr(other, "axis_types")
    return has_types and one != other and without_types(one) == without_types(other)


def plain_mesh(mesh: Any) -> Mesh:
    """JAX's as Shoal's."""
    return mesh if isinstance(mesh, Mesh) else Mesh(dict(mesh.shape))
