# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the import refuses, and how it says so: the line, the module, the op, its types, the reason."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.torch.graph import Node, Place, Type


class Unsupported(Exception):
    """A form of an op that has no counterpart; says why."""


def described(node: Node, operands: Sequence[Type], reason: str) -> str:
    """The line of an UnsupportedError."""
    types = ", ".join(map(str, operands))
    results = ", ".join(str(result.type) for result in node.results if result.type is not None)
    because = f": {reason}" if reason else ""
    return f"{node.place}: {node.target}({types}) -> ({results}) is not supported{because}"


def refused_at(place: Place, what: str, reason: str) -> str:
    """The same of what is no op that was read."""
    return f"{place}: {what} is not supported: {reason}"
