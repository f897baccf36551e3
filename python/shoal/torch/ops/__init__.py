# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each op of PyTorch is imported: a module for each family. To import them enters their ops."""

from shoal.torch.ops import (
    activations,
    annotations,
    arithmetic,
    attention,
    complex_numbers,
    control_flow,
    creation,
    elementwise,
    experts,
    flex_attention,
    functions,
    indexing,
    losses,
    norms,
    ordering,
    products,
    random,
    reductions,
    scatters,
    segments,
    shapes,
    structure,
    windows,
)
