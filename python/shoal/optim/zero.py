# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How parameters and states of optimisers are split: ZeRO in the words of annotations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import optree

from shoal.arrays import P
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import pytrees
from shoal.mesh import Axis, Dim, Mesh

__all__ = ["shardings_like", "split_over"]

Tree = Any


def split_over(axes: str | Sequence[str], tree: Tree, mesh: Mesh, shardings: Any = None) -> Tree:
    """A tree of P like `tree`, whose arrays are split over the axes, too.

    shardings: what they are split by already, a tree of P or a prefix of one; P() where it
      is None. An array whose sharding names one of the axes stays as it is.

    Of the dimensions that are whole, the largest is split that is a multiple of the devices
    along the axes; arrays without one stay whole: those are vectors and scalars mostly.
    """
    names = (axes,) if isinstance(axes, str) else tuple(axes)
    for name in names:
        if name not in mesh.axes:
            raise TraceError(f'split_over: axis "{name}" is not one of {mesh!r}')
    parts = math.prod(mesh.axes[name] for name in names)
    leaves, spec = pytrees.flatten(tree)
    given = pytrees.flatten_shardings(shardings, tree, "split_over")
    return pytrees.unflatten(
        spec,
        [_with_axes(tuple(leaf.shape), base, names, parts) for leaf, base in zip(leaves, given)],
    )


def _with_axes(shape: tuple[int, ...], base: Any, names: tuple[str, ...], parts: int) -> P:
    base = P() if base is None else base
    if not isinstance(base, P):
        raise TraceTypeError(f"split_over: expected shoal.P(...) or None, got {base!r}")
    dims = [*base.dims, *[None] * (len(shape) - len(base.dims))]
    used = set().union(*map(_names_in, dims))
    whole = [d for d, dim in enumerate(dims) if dim is None and shape[d] and shape[d] % parts == 0]
    if not whole or used.intersection(names):
        return base
    dims[max(whole, key=lambda d: shape[d])] = names[0] if len(names) == 1 else names
    return P(*dims, replicated=base.replicated)


def _names_in(entry: Any) -> set[str]:
    """The axes of a dimension as `P` takes it."""
    if isinstance(entry, (str, Axis)):
        return {str(getattr(entry, "name", entry))}
    listed = entry.axes if isinstance(entry, Dim) else entry or ()
    return set().union(*map(_names_in, listed))


def shardings_like(state: Tree, params: Tree, shardings: Tree) -> Tree:
    """A tree of P like an optimiser's state, whose parts that are like the parameters lie as
    these: moments, masters. Parts of other shapes, as Adafactor's rows, and scalars are P().

    params: arrays, or anything with a shape. shardings: theirs, a tree of P or a prefix of one.
    """
    leaves, spec = pytrees.flatten(params)
    shapes = [tuple(leaf.shape) for leaf in leaves]
    given = pytrees.flatten_shardings(shardings, params, "shardings_like")
    alike = pytrees.unflatten(spec, [P() if leaf is None else leaf for leaf in given])

    def is_alike(node: Any) -> bool:
        found, structure = pytrees.flatten(node)
        return structure == spec and [tuple(leaf.shape) for leaf in found] == shapes

    nodes, outer = optree.tree_flatten(state, is_leaf=is_alike, namespace=pytrees.NAMESPACE)
    return pytrees.unflatten(outer, [alike if is_alike(node) else P() for node in nodes])
