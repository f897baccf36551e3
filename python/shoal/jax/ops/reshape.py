# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reshape."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.importer import Importer
from shoal.jax.registry import OfComplex, imports


@imports("stablehlo.reshape", of_complex=OfComplex.EACH, moves=True)
def reshape(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    if value.type == importer.type(op.results[0]):
        return value
    return importer.arith.op("shoal.reshape", [value], importer.type(op.results[0]))
