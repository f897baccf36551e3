# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CHLO's special functions that no single op says: jaxlib's own expansions are imported."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from shoal.ir import Value
from shoal.jax.registry import imports

if TYPE_CHECKING:
    from shoal.jax.importer import Importer

_EXPANDED = (
    "asin_acos_kernel",
    "bessel_i1e",
    "digamma",
    "erf_inv",
    "lgamma",
    "mulhi",
    "next_after",
    "polygamma",
    "zeta",
    "constant",
    "constant_like",
)
_PASS = "builtin.module(func.func(chlo-legalize-to-stablehlo))"


@imports(*(f"chlo.{name}" for name in _EXPANDED))
def expanded(importer: Importer, op: ir.Operation) -> list[Value]:
    """Imports the StableHLO that XLA, too, computes for it."""
    # The module must outlive the values that importing it notes.
    module = _expansion(op)
    importer.kept_modules.append(module)
    block = module.body.operations[0].operation.regions[0].blocks[0]
    return importer.inline(block, importer.operands(op))


def _expansion(op: ir.Operation) -> ir.Module:
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
    stablehlo.register_stablehlo_passes()
    module = ir.Module.parse(text, op.context)
    with op.context:
        passmanager.PassManager.parse(_PASS).run(module.operation)
    return module


def _names(op: ir.Operation) -> list[Any]:
    return [name for name in op.attributes if not name.startswith(("mhlo.", "sdy."))]
