# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of elements of few bits as programs of their codes, a byte each.

StableHLO in, StableHLO out, before anything is imported: importers, and what they recognise, know
the elements that Shoal's programs have. A code is the element's bits in the low bits of a byte, as
in ml_dtypes' arrays; the other bits mean nothing. Who moves elements (`registry.moves`) moves
codes, over devices, too; who computes has them decoded before and encoded behind: integers in 8
bits, of which the low ones stay, and floats in f32, rounded once.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.jax.annotations import walk
from shoal.jax.codes.formats import format_of
from shoal.jax.codes.rewriter import Rewriter
from shoal.jax.halves import Rewritten


def without_codes(program: Rewritten) -> Rewritten:
    """The module itself where it has no elements of few bits; else another one."""
    if not any(_has_codes(op) for op in walk(program.module.operation)):
        return program
    rewriter = Rewriter(program.module.operation.clone())
    rewriter.run()
    problems = (*program.problems, *rewriter.problems)
    return Rewritten(rewriter.module, problems, program.cause or rewriter.cause)


def _has_codes(op: ir.Operation) -> bool:
    if any(format_of(result.type) for result in op.results):
        return True
    blocks = (block for region in op.regions for block in region.blocks)
    return any(format_of(argument.type) for block in blocks for argument in block.arguments)
