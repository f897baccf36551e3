# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What special functions are in plainer StableHLO, by jaxlib's own passes."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

# CHLO's in StableHLO; those of complex numbers in real arithmetic and what is left.
_PASSES = "chlo-legalize-to-stablehlo,stablehlo-complex-math-expander"


def expansion_of(op: ir.Operation) -> ir.Module:
    """A module of one function that computes what the op does, in StableHLO."""
    operands = ", ".join(f"%a{i}: {operand.type}" for i, operand in enumerate(op.operands))
    names = ", ".join(f"%a{i}" for i in range(len(op.operands)))
    types = ", ".join(str(operand.type) for operand in op.operands)
    result = op.results[0].type
    attributes = ", ".join(f"{name} = {op.attributes[name]}" for name in _names(op))
    text = (
        f"func.func @expansion({operands}) -> {result} {{\n"
        f'  %r = "{op.name}"({names}) {{{attributes}}} : ({types}) -> {result} {op.location}\n'
        f"  func.return %r : {result}\n}}"
    )
    return expanded_module(text, op.context)


def expanded_module(text: str, context: ir.Context) -> ir.Module:
    """The module of this text, in StableHLO alone."""
    stablehlo.register_stablehlo_passes()
    module = ir.Module.parse(text, context)
    with context:
        passmanager.PassManager.parse(f"builtin.module(func.func({_PASSES}))").run(module.operation)
    return module


def _names(op: ir.Operation) -> list[Any]:
    return [name for name in op.attributes if not name.startswith(("mhlo.", "sdy."))]
