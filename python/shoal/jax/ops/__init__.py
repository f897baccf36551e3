# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each StableHLO op is imported: a module for each family. To import them enters their ops."""

from shoal.jax.ops import (
    annotations,
    collectives,
    contraction,
    control_flow,
    custom_call,
    elementwise,
    fourier,
    host_call,
    indexing,
    manual,
    nn,
    ordering,
    random,
    reduction,
    reshape,
    structure,
    windows,
)
