# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the import refuses, and how it says so: the user's line, the op, its types, the reason.

Whoever reads a program's ops raises `Unsupported` with the reason alone; who knows the op at
hand adds the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from jaxlib.mlir import ir

from shoal.errors import UnsupportedError
from shoal.jax.locations import readable, spelled


class Unsupported(Exception):
    """A form that has no counterpart; says why."""


def described(op: ir.Operation, name: str, reason: str, place: str | None = None) -> str:
    """The line of an UnsupportedError; the place is the op's own unless given."""
    operands = ", ".join(str(operand.type) for operand in op.operands)
    results = ", ".join(str(result.type) for result in op.results)
    types = f" ({operands}) -> ({results})" if operands or results else ""
    place = place or readable(spelled(op.location, None))
    because = f": {reason}" if reason else ""
    return f"{place}: {name}{types} is not supported{because}"


@contextlib.contextmanager
def refused_at(op: ir.Operation) -> Iterator[None]:
    """What is refused meanwhile is this op's."""
    try:
        yield
    except Unsupported as reason:
        raise UnsupportedError(described(op, op.name, str(reason))) from None
