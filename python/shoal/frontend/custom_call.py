# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import ir
from shoal.frontend.checks import check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit
from shoal.frontend.value import Value

if TYPE_CHECKING:
    from shoal.frontend.tracing import TensorSpec

__all__ = ["custom_call"]


def custom_call(
    target: str,
    operands: Sequence[ArrayLike],
    results: Sequence[TensorSpec],
    *,
    rule: str | None = None,
    sums: str = "",
    padded: str = "",
    config: str = "",
) -> list[Value]:
    """Calls the C function of this name; shoal/Runtime/CustomCall.h has its type.

    results: shape and type of each.
    rule: how the call may be split, a letter per dimension, "bi,ij->bj"; a
      dimension "." and, without a rule, all dimensions are whole on each device.
    sums: letters whose splits give results to be added up.
    padded: letters that need not divide: rows past the end are zero in operands.
    config: what the function gets as text.
    """
    check(results, "custom_call: no results")
    values = [as_value(operand) for operand in operands]
    attributes = {"target": ir.quoted(target)}
    attributes |= {} if rule is None else {"rule": ir.quoted(rule)}
    attributes |= {"sums": ir.quoted(sums)} if sums else {}
    attributes |= {"padded": ir.quoted(padded)} if padded else {}
    attributes |= {"config": ir.quoted(config)} if config else {}
    types = [(spec.shape, spec.dtype) for spec in results]
    return emit("shoal.custom_call", values, types, attributes)
