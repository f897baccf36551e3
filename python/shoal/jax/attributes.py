# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of ops as Python values."""

from __future__ import annotations

import re

import numpy as np
from jaxlib.mlir import ir


def find(op: ir.Operation, name: str) -> ir.Attribute | None:
    """An attribute by name, None where the op lacks it."""
    return op.attributes[name] if name in op.attributes else None


def integer(op: ir.Operation, name: str, default: int | None = None) -> int:
    attribute = find(op, name)
    if attribute is None:
        assert default is not None, name
        return default
    return ir.IntegerAttr(attribute).value


def flag(op: ir.Operation, name: str) -> bool:
    """A BoolAttr; False where the op lacks it."""
    attribute = find(op, name)
    return attribute is not None and ir.BoolAttr(attribute).value


def string(op: ir.Operation, name: str) -> str:
    """A StringAttr or a symbol's name; "" where the op lacks it."""
    attribute = find(op, name)
    if attribute is None:
        return ""
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    return ir.StringAttr(attribute).value


def integers(op: ir.Operation, name: str, default: list[int] | None = None) -> list[int]:
    """A DenseI64ArrayAttr or a vector of integers."""
    attribute = find(op, name)
    if attribute is None:
        assert default is not None, name
        return list(default)
    if isinstance(attribute, ir.DenseElementsAttr):
        return [int(n) for n in np.asarray(attribute).ravel()]
    return [int(n) for n in attribute]


def flags(op: ir.Operation, name: str, default: list[bool]) -> list[bool]:
    """A DenseBoolArrayAttr."""
    attribute = find(op, name)
    if attribute is None:
        return list(default)
    if isinstance(attribute, ir.DenseElementsAttr):
        return [bool(b) for b in np.asarray(attribute).ravel()]
    return [bool(b) for b in attribute]


def padding(op: ir.Operation, rank: int) -> tuple[list[int], list[int]]:
    """What `padding` adds before and behind each of `rank` dimensions."""
    pairs = integers(op, "padding", [0] * (2 * rank))
    return pairs[0::2], pairs[1::2]


def case(op: ir.Operation, name: str) -> str:
    """The case of an enum attribute: `GT` of `#stablehlo<comparison_direction GT>`."""
    attribute = find(op, name)
    if attribute is None:
        return ""
    match = re.search(r"([A-Z_0-9a-z]+)>$", str(attribute))
    return match.group(1) if match else str(attribute)


def field(numbers: str, name: str, default: list[int] | None = None) -> list[int]:
    """A field of dimension numbers by their text; it leaves out what is empty or 0.

    jaxlib's bindings lack some fields: those of batching dimensions.
    """
    match = re.search(rf"\b{name} = (?:\[([^\]]*)\]|(\d+))", numbers)
    if match is None:
        return list(default or [])
    return [int(n) for n in re.findall(r"\d+", match.group(1) or match.group(2) or "")]
