# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fft, which `shoal.jax.halves` has made one transform along one dimension after the other."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.attributes import flag, integer
from shoal.jax.importer import Importer
from shoal.jax.registry import imports


@imports("stablehlo.custom_call @shoal.fft")
def fft(importer: Importer, op: ir.Operation) -> list[Value]:
    """Along one dimension; complex lines are two operands or results, real ones are one."""
    attributes: dict[str, str | None] = {"dim": f"{integer(op, 'shoal.dim')} : i64"}
    if flag(op, "shoal.inverse"):
        attributes["inverse"] = None
    return importer.emit("shoal.fft", importer.operands(op), importer.result_types(op), attributes)
