# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the process that runs a program does for it in the middle of a step."""

from __future__ import annotations

from shoal import ir
from shoal.frontend import dtypes
from shoal.frontend.checks import check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit

__all__ = ["debug_print"]


def debug_print(format: str, *operands: ArrayLike, on_shards: bool = False) -> None:
    """Prints a line each time the program comes here, once for all devices.

    format: as of `str.format`, with fields by number, `"loss = {0:.3f} of {1}"`; numbers
      are written as by Python, arrays as by NumPy. shoal/Support/PrintFormat.h has the
      forms of scalars; arrays have none.
    on_shards: each device prints its own shards, which are not gathered.
    """
    check(isinstance(format, str), "debug_print: expected a format first")
    values = [as_value(operand) for operand in operands]
    attributes = {
        "format": ir.quoted(format),
        "operandSegmentSizes": f"array<i32: {len(values)}, 0>",
    }
    unsigned = [place for place, value in enumerate(values) if dtypes.is_unsigned(value.dtype)]
    attributes |= {"unsigned_inputs": ir.i64s(unsigned)} if unsigned else {}
    attributes |= {"on_shards": None} if on_shards else {}
    emit("shoal.print", values, [], attributes)
