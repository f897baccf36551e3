# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops whose shapes are operands, where the program says what these are."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.expansions import static_form_of
from shoal.jax.importer import Importer
from shoal.jax.known import defining_op
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import imports


@imports(
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.real_dynamic_slice",
)
def dynamic(importer: Importer, op: ir.Operation) -> list[Value]:
    """The op without `dynamic` in its name, by jaxlib's own pass."""
    known = [defining_op(operand) for operand in op.operands]
    constants = [
        maker if maker is not None and maker.name == "stablehlo.constant" else None for maker in known
    ]
    module = static_form_of(op, constants)
    if module is None:
        raise Unsupported("its shape is known at run time alone")
    return importer.inline_module(op, module)
