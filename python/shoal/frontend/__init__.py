# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Array-like values whose operations become a Shoal program. See docs/guide/Python.md.

A module for each family of ops, and what they stand on. In layers, each of which
imports those above it:

    dtypes, checks                                  types and arguments, no program
    value, core                                     values as data; the trace, ops
    constants, conversion, broadcasting             operands brought to one shape and type
    annotations, elementwise, ... custom_call       the families, with what some share:
                                                    bits, pytrees, creation, index_expressions, ...
    subfunctions, autodiff, custom_derivatives      functions within the program, gradients
    remat                                           what gradients find saved
    numpy_protocol, operators                       what is attached to values
    tracing, calls, compiling, jit                  whole functions
"""

from shoal.frontend import (
    annotations,
    autodiff,
    collectives,
    contraction,
    control_flow,
    creation,
    custom_call,
    custom_derivatives,
    elementwise,
    fourier,
    host_call,
    indexing,
    manual,
    naming,
    nn,
    operators,  # attached for all who have values
    ordering,
    reduction,
    remat,
    reshape,
    structure,
    tracing,
    windows,
)

# What `shoal` exports: the families, and what makes values and programs.
EXPORTED = (
    annotations, autodiff, collectives, contraction, control_flow, creation,
    custom_call, custom_derivatives, elementwise, fourier, host_call, indexing, manual, naming, nn, ordering,
    reduction, remat, reshape, structure, tracing, windows,
)  # fmt: skip
