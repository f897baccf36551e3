# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.custom_partitioning` in modules that JAX has lowered for XLA.

`shoal.jax.compile` lowers the function itself (`lowering.py`). For XLA a module has a call that only
names the Python callbacks, which live in the process that lowered it: the one for parts, asked for a
part that is the whole, gives a function of whole arrays.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.attributes import string
from shoal.jax.importer import Importer
from shoal.jax.private import custom_partitioning, mlir
from shoal.jax.refusals import Unsupported


def partitioned(importer: Importer, op: ir.Operation) -> list[Value]:
    key = string(op, "backend_config")
    info = custom_partitioning._sharding_callbacks.get(key.encode())
    if info is None:
        raise Unsupported(
            "its function is known to the process alone that lowered it: compile it by"
            " shoal.jax.compile, or import the module there while JAX's Lowered lives"
        )
    if info.mesh.empty:
        raise Unsupported("its callbacks are for a mesh, and it was lowered without one")
    arguments = [_whole(info.mesh, value) for value in op.operands]
    results = [_whole(info.mesh, value) for value in op.results]
    _, function, _, given = info.partition(
        *info.static_args,
        info.mesh,
        info.in_tree.unflatten(arguments),
        info.out_tree.unflatten(results),
    )
    if not all(sharding.is_fully_replicated for sharding in jax.tree.leaves(given)):
        raise Unsupported("its callback splits arguments that are whole on every device")

    def flat(*values: Any) -> list[Any]:
        return jax.tree.leaves(function(*info.in_tree.unflatten(values)))

    with jax.sharding.use_abstract_mesh(AbstractMesh((), ())):
        shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arguments]
        text = jax.jit(flat).trace(*shapes).lower(lowering_platforms=("cpu",)).as_text()
    return importer.inline_module(op, ir.Module.parse(text, op.context))


def _whole(mesh: Any, value: ir.Value) -> jax.ShapeDtypeStruct:
    """The type of a value that all devices have."""
    type = ir.RankedTensorType(value.type)
    sharding = NamedSharding(mesh, PartitionSpec(*[None] * type.rank))
    return jax.ShapeDtypeStruct(type.shape, _dtype_of(type.element_type), sharding=sharding)


def _dtype_of(element: ir.Type) -> np.dtype:
    for dtype, type in mlir._dtype_to_ir_type.items():
        if type() == element:
            return dtype
    raise Unsupported(f"of elements of {element}")
