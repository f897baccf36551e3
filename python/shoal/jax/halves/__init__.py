# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of complex numbers as programs of real ones: each value is a real and an imaginary half.

StableHLO in, StableHLO out, before anything is imported: importers, and what they recognise, know
real numbers alone. Which op does what is said by its importer (`registry.OfComplex`), or by a rule:
a formula of JAX's own arithmetic (`formulas.py`), or a function (`parts.py`).
"""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.jax.annotations import walk
from shoal.jax.halves import formulas, parts  # enters the rules
from shoal.jax.halves.pairs import is_complex
from shoal.jax.halves.rewriter import Rewriter
from shoal.jax.halves.rules import names


def without_complex(module: ir.Module) -> tuple[ir.Module, list[str]]:
    """The module without complex numbers, and a line for each op that has no counterpart.

    A module that has some is left as it is; another one is made.
    """
    if not any(_has_complex(op) for op in walk(module.operation)):
        return module, []
    rewriter = Rewriter(module.operation.clone())
    rewriter.run()
    return rewriter.module, list(rewriter.problems)


def _has_complex(op: ir.Operation) -> bool:
    if any(is_complex(result.type) for result in op.results):
        return True
    blocks = (block for region in op.regions for block in region.blocks)
    return any(is_complex(argument.type) for block in blocks for argument in block.arguments)
