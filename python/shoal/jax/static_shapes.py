# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops whose sizes are operands, as others where the program says these sizes."""

from __future__ import annotations

from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from shoal.jax.annotations import walk

_PASSES = "builtin.module(func.func(stablehlo-canonicalize-dynamism))"
# Whose operands are places, not sizes.
_STATIC = ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice")


def with_static_shapes(module: ir.Module) -> ir.Module:
    """The module itself where no op has sizes as operands; else as jaxlib's pass makes it."""
    if not any(map(_has_sizes, walk(module.operation))):
        return module
    stablehlo.register_stablehlo_passes()
    copy = ir.Module.parse(module.operation.get_asm(enable_debug_info=True), module.context)
    passmanager.PassManager.parse(_PASSES).run(copy.operation)
    return copy


def _has_sizes(op: ir.Operation) -> bool:
    is_dynamic = op.name.startswith(("stablehlo.dynamic_", "stablehlo.real_dynamic_"))
    return is_dynamic and op.name not in _STATIC
