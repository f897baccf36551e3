# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of ops as Python values; Unsupported where one is missing or of another kind."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from shoal.jax.refusals import Unsupported

# The target of a call that is the identity and stops gradients.
STOP_GRADIENT = "shoal.stop_gradient"
# What a constraint has that only asks.
HINT = "shoal.hint"


def find(op: ir.Operation, name: str) -> ir.Attribute | None:
    """An attribute by name, None where the op lacks it."""
    return op.attributes[name] if name in op.attributes else None


def required(attributes: Any, name: str, kind: type = ir.Attribute) -> Any:
    """An attribute of this kind, in an op's attributes or a DictAttr."""
    if name not in attributes:
        raise Unsupported(f"it has no {name}")
    attribute = attributes[name]
    try:
        return attribute if kind is ir.Attribute else kind(attribute)
    except (TypeError, ValueError):
        wanted = kind.__name__.removesuffix("Attr")
        raise Unsupported(f"{name} is {attribute}, which is no {wanted}") from None


def integer(op: ir.Operation, name: str, default: int | None = None) -> int:
    if name not in op.attributes and default is not None:
        return default
    return required(op.attributes, name, ir.IntegerAttr).value


def flag(op: ir.Operation, name: str) -> bool:
    """A BoolAttr; False where the op lacks it."""
    return name in op.attributes and required(op.attributes, name, ir.BoolAttr).value


def string(op: ir.Operation, name: str) -> str:
    """A StringAttr or a symbol's name; "" where the op lacks it."""
    attribute = find(op, name)
    if attribute is None:
        return ""
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    return text_in(op.attributes, name)


def text_in(attributes: Any, name: str) -> str:
    """A StringAttr of an op's attributes or a DictAttr."""
    return required(attributes, name, ir.StringAttr).value


def dictionaries(op: ir.Operation, name: str) -> list[ir.DictAttr]:
    """An array of dictionaries, as `arg_attrs` is; [] where the op lacks it."""
    if name not in op.attributes:
        return []
    return [ir.DictAttr(entry) for entry in required(op.attributes, name, ir.ArrayAttr)]


def integers(op: ir.Operation, name: str, default: list[int] | None = None) -> list[int]:
    """A DenseI64ArrayAttr or a vector of integers."""
    if name not in op.attributes and default is not None:
        return list(default)
    attribute = required(op.attributes, name)
    if isinstance(attribute, ir.DenseIntElementsAttr):
        return [int(n) for n in np.asarray(attribute).ravel()]
    return [int(n) for n in required(op.attributes, name, ir.DenseI64ArrayAttr)]


def flags(op: ir.Operation, name: str, default: list[bool]) -> list[bool]:
    """A DenseBoolArrayAttr."""
    attribute = find(op, name)
    if attribute is None:
        return list(default)
    if isinstance(attribute, ir.DenseElementsAttr):
        return [bool(b) for b in np.asarray(attribute).ravel()]
    return [bool(b) for b in required(op.attributes, name, ir.DenseBoolArrayAttr)]


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
