# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where arrays lie, and what programs say beside their numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from shoal.arrays import shoal_
from shoal.arrays.worlds import Array, ArrayLike, jax_world, like, world_of
from shoal.frontend.core import is_tracing
from shoal.mesh import Mesh


def constrain(x: ArrayLike, spec: Any, mesh: Mesh | None, *, hint: bool = False) -> Array:
    """The array where a `shoal.P` over the mesh says; the identity on its elements: `shoal.constrain`, or JAX's
    with_sharding_constraint. hint: it only asks, which XLA does not hear.

    JAX has no dimension that its devices do not divide and none that more axes may join: these are left to the
    compiler, or closed. UnsupportedError for parts of axes there; TraceError where there is no mesh.
    """
    return world_of(x).constrain(x, spec, mesh, hint)


def all_gather(x: ArrayLike, axes: Sequence[str], dim: int = 0) -> Array:
    """In `manual`: the devices' arrays one behind the other along a dimension, on each."""
    return world_of(x).all_gather(x, axes, dim)


def axis_index(axes: Sequence[str], *, like: ArrayLike) -> Array:
    """In `manual`: the device's place along the axes, major to minor, int32."""
    return world_of(like).axis_index(axes)


def ring_shift(x: ArrayLike, axes: Sequence[str]) -> Array:
    """In `manual`: the array of the device before this one along the axes, around the end."""
    return world_of(x).ring_shift(x, axes)


def ragged_all_to_all(
    x: ArrayLike, output: ArrayLike, input_offsets: ArrayLike, send_sizes: ArrayLike, output_offsets: ArrayLike,
    recv_sizes: ArrayLike, axes: Sequence[str], mean_rows: int | None = None,
) -> Array:
    """In `manual`: `output` with the rows that all devices send here, see `shoal.ragged_all_to_all`. XLA has none for CPUs,
    where all rows are gathered. mean_rows: how many a device gets on average, for prices; JAX has no word for it."""
    return world_of(x, output).ragged_all_to_all(
        x, output, input_offsets, send_sizes, output_offsets, recv_sizes, axes, mean_rows
    )


def named_scope(name: str) -> AbstractContextManager[None]:
    """Ops that are traced meanwhile have this name, for reports: `shoal.named_scope`, or JAX's where the frontend
    traces nothing."""
    return (shoal_ if is_tracing() or "jax" not in sys.modules else jax_world()).named_scope(name)


def summed(metric: ArrayLike) -> Array:
    """A metric whose value of a batch is the sum of its parts': see `shoal.train`."""
    return world_of(metric).summed(metric)


def largest(metric: ArrayLike) -> Array:
    """A metric whose value of a batch is the largest of its parts'."""
    return world_of(metric).largest(metric)


def noting_kinds(function: Callable[..., Any], kinds: list[str]) -> Callable[..., Any]:
    """The function, of trees of arrays, which puts into `kinds`, for each leaf of its result, how the values of parts make
    that of a batch: "sum", "max" or "mean", as the program says of it, else by its type. What functions within return is
    what they say of it, those of jax.checkpoint and jax.jit, too; arithmetic drops it."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return world_of(like(args, kwargs)).noting_kinds(function, kinds)(*args, **kwargs)

    return called


def advise(text: str, *, like: ArrayLike) -> None:
    """A warning of memory: when the program is compiled, or at once."""
    return world_of(like).advise(text)


def manual(function: Callable[..., Any], in_shardings: Any, out_shardings: Any, axes: Sequence[str], mesh: Mesh) -> Any:
    """The function as it runs on one device along the axes: `shoal.manual`, or JAX's shard_map.

    in_shardings, out_shardings: a `shoal.P` for each argument and result, or for whole subtrees. It must use no arrays
    from around it. Of n rows over p devices each has ceil(n / p), those past the end zero, and a whole result has all
    rows of its shards.
    """

    def called(*args: Any) -> Any:
        return world_of(like(args)).manual(function, in_shardings, out_shardings, axes, mesh)(*args)

    return called


def mesh_of(mesh: Mesh, devices: Sequence[Any] | None = None) -> Any:
    """The mesh as JAX's AbstractMesh, or over the first of JAX's devices; its axes are Auto. TraceError for fewer devices
    than it has."""
    return jax_world().mesh_of(mesh, devices)


def mesh_around(like: ArrayLike) -> Mesh | None:
    """The mesh of the program that is traced, or that jax.set_mesh has set, where there is one."""
    return world_of(like).mesh_around()


def named_shardings(specs: Any, mesh: Mesh, devices: Sequence[Any] | None = None) -> Any:
    """A tree of dicts, lists and tuples of `shoal.P` as JAX's NamedShardings over the same mesh; None stays None.

    devices: JAX's, whose first ones the mesh has; None: an AbstractMesh, as `shoal.jax.jit` takes it. TraceError
    for fewer devices than the mesh has, UnsupportedError for parts of axes.
    """
    if isinstance(specs, dict):
        return {name: named_shardings(part, mesh, devices) for name, part in specs.items()}
    if isinstance(specs, (list, tuple)):
        parts = [named_shardings(part, mesh, devices) for part in specs]
        return type(specs)(*parts) if hasattr(specs, "_fields") else type(specs)(parts)
    return None if specs is None else jax_world().named_sharding(specs, mesh, devices)
