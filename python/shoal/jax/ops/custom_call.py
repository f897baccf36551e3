# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom calls that JAX emits for ordinary programs; other families have theirs."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.importer import Importer
from shoal.jax.registry import imports

_CALL = "stablehlo.custom_call @"


@imports(f"{_CALL}annotate_device_placement", f"{_CALL}LayoutConstraint")
def identity(importer: Importer, op: ir.Operation) -> list[Value]:
    """Where a tensor is kept, or how, does not change it."""
    return importer.operands(op)
