# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom calls that JAX emits for ordinary programs; those of shardings are elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.ops.sorting import largest_along
from shoal.jax.registry import Unsupported, imports
from shoal.jax.types import is_float

if TYPE_CHECKING:
    from shoal.jax.importer import Importer

_CALL = "stablehlo.custom_call @"


@imports(f"{_CALL}annotate_device_placement", f"{_CALL}LayoutConstraint")
def identity(importer: Importer, op: ir.Operation) -> list[Value]:
    """Where a tensor is kept, or how, does not change it."""
    return importer.operands(op)


@imports(f"{_CALL}mhlo.topk")
def top_k(importer: Importer, op: ir.Operation) -> list[Value]:
    """What chlo.top_k was before."""
    attributes = ir.DictAttr(op.attributes["mhlo.attributes"])
    if "largest" in attributes and not attributes["largest"].value:
        raise Unsupported("the smallest elements")
    return largest_along(importer, op, attributes["k"].value)


@imports(f"{_CALL}ApproxTopK")
def approximate_top_k(importer: Importer, op: ir.Operation) -> list[Value]:
    """The exact ones, which every recall target allows."""
    config = ir.DictAttr(op.attributes["mhlo.backend_config"])
    dim, k = config["reduction_dim"].value, config["top_k"].value
    if not config["aggregate_to_topk"].value:
        raise Unsupported("its results are not aggregated")
    if dim != len(op.operands[0].type.shape) - 1:
        raise Unsupported(f"along dimension {dim}, the last one is")
    called = str(op.attributes["called_computations"])
    if "top_k_gt_" in called:
        return largest_along(importer, op, k)
    if "top_k_lt_" in called and is_float(importer.operands(op)[0].type):
        return largest_along(importer, op, k, is_smallest=True)
    raise Unsupported(f"the order {called}")
