# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What special functions and ops of dynamic shapes are in plainer StableHLO, by jaxlib's own passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

# CHLO's in StableHLO; those of complex numbers in real arithmetic and what is left.
_PASSES = "chlo-legalize-to-stablehlo,stablehlo-complex-math-expander"


# What is dynamic in name alone.
_STATIC_PASS = "stablehlo-canonicalize-dynamism"


def expansion_of(op: ir.Operation) -> ir.Module:
    """A module of one function that computes what the op does, in StableHLO."""
    return expanded_module(_function_of(op, [None] * len(op.operands)), op.context)


def static_form_of(
    op: ir.Operation, constants: Sequence[ir.Operation | None]
) -> ir.Module | None:
    """The same, of a dynamic op, without one; None where there is none.

    constants: the ops that make operands of it, if they are constants.
    """
    module = _rewritten(_function_of(op, constants), op.context, _STATIC_PASS)
    body = module.body.operations[0].regions[0].blocks[0]
    return None if any(inner.operation.name == op.name for inner in body.operations) else module


def expanded_module(text: str, context: ir.Context) -> ir.Module:
    """The module of this text, in StableHLO alone."""
    return _rewritten(text, context, _PASSES)


def _rewritten(text: str, context: ir.Context, passes: str) -> ir.Module:
    stablehlo.register_stablehlo_passes()
    module = ir.Module.parse(text, context)
    with context:
        passmanager.PassManager.parse(f"builtin.module(func.func({passes}))").run(module.operation)
    return module


def _function_of(op: ir.Operation, constants: Sequence[ir.Operation | None]) -> str:
    """A module's text with a function of the op alone, and of these constants among its operands."""
    operands = ", ".join(f"%a{i}: {operand.type}" for i, operand in enumerate(op.operands))
    names = ", ".join(f"%c{i}" if made else f"%a{i}" for i, made in enumerate(constants))
    types = ", ".join(str(operand.type) for operand in op.operands)
    result = op.results[0].type
    attributes = ", ".join(f"{name} = {op.attributes[name]}" for name in _names(op))
    made = "".join(
        f"  %c{i} = stablehlo.constant {constant.attributes['value']}\n"
        for i, constant in enumerate(constants)
        if constant
    )
    return (
        f"func.func @expansion({operands}) -> {result} {{\n{made}"
        f'  %r = "{op.name}"({names}) {{{attributes}}} : ({types}) -> {result} {op.location}\n'
        f"  func.return %r : {result}\n}}"
    )


def _names(op: ir.Operation) -> list[Any]:
    return [name for name in op.attributes if not name.startswith(("mhlo.", "sdy."))]
