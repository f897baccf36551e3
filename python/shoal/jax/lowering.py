# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers traced JAX functions to the StableHLO that imports best."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from jax._src import source_info_util
from jax._src.interpreters import mlir
from jax._src.lax import lax

# For CPUs JAX masks the operands of a ragged_dot once per group; the rule for
# TPUs writes chlo.ragged_dot, of which only rows of groups are multiplied.
_RULES = ((lax.ragged_dot_general_p, partial(lax._ragged_dot_general_lower, platform="tpu")),)

# Locations are those of the caller's lines, not of this package's.
source_info_util.register_exclusion(str(Path(__file__).parent))


def lower(traced: Any) -> Any:
    """What `jax.jit(function).trace(...)` gives, lowered for CPUs with its groups kept.

    Returns JAX's Lowered, which `import_stablehlo` takes; XLA compiles another one.
    """
    parameters = mlir.LoweringParameters(override_lowering_rules=_RULES)
    return traced.lower(lowering_platforms=("cpu",), _private_parameters=parameters)
