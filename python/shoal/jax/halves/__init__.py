# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of complex numbers as programs of real ones: each value is a real and an imaginary half.

StableHLO in, StableHLO out, before anything is imported: importers, and what they recognise, know
real numbers alone. Which op does what is said by its importer (`registry.OfComplex`), or by a rule:
a formula of JAX's own arithmetic (`formulas.py`), or a function (`parts.py`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jaxlib.mlir import ir

from shoal.jax.annotations import walk
from shoal.jax.halves import formulas, parts  # enters the rules
from shoal.jax.halves.pairs import is_complex
from shoal.jax.halves.rewriter import Rewriter
from shoal.jax.halves.rules import names


@dataclasses.dataclass(frozen=True)
class Rewritten:
    """A module without complex numbers.

    problems: a line for each op that has no counterpart.
    cause: the first exception among their reasons that no rule raised on purpose.
    """

    module: Any
    problems: tuple[str, ...] = ()
    cause: Exception | None = None


def without_complex(module: ir.Module) -> Rewritten:
    """The module itself where it has no complex numbers; else another one."""
    if not any(_has_complex(op) for op in walk(module.operation)):
        return Rewritten(module)
    rewriter = Rewriter(module.operation.clone())
    rewriter.run()
    return Rewritten(rewriter.module, tuple(rewriter.problems), rewriter.cause)


def _has_complex(op: ir.Operation) -> bool:
    if any(is_complex(result.type) for result in op.results):
        return True
    blocks = (block for region in op.regions for block in region.blocks)
    return any(is_complex(argument.type) for block in blocks for argument in block.arguments)
