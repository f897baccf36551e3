# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Shoal program of a function of JAX's arrays, as `shoal.jax` imports it: beside `shoal.trace` of the same function."""

import jax

import shoal
from shoal.arrays import mesh_of, named_shardings
from shoal.jax.frontend import JaxFrontend


def _is_spec(node):
    return isinstance(node, shoal.TensorSpec)


def trace(function, given, mesh, *, out_shardings):
    """given: trees of TensorSpecs with shardings; out_shardings: a tree of P."""
    places = jax.tree.map(lambda spec: spec.sharding, tuple(given), is_leaf=_is_spec)
    shapes = jax.tree.map(lambda spec: jax.ShapeDtypeStruct(spec.shape, spec.dtype), tuple(given), is_leaf=_is_spec)
    ins, outs = named_shardings((places, out_shardings), mesh)
    options = {"in_shardings": ins, "out_shardings": outs}
    return JaxFrontend(function, options, mesh_of(mesh)).trace(shapes, {}).write((), None).text
