# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which elements of few bits there are, and what their codes mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir

from shoal.executable.dtypes import dtype_of_code
from shoal.jax.refusals import Unsupported
from shoal.jax.types import element_of


@dataclass(frozen=True)
class Format:
    """A type of elements.

    name: in StableHLO; bits: that mean something; wide: the type that arithmetic is done in.
    """

    name: str
    bits: int
    wide: str

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1

    def code(self, token: str) -> int:
        """Of a number as MLIR spells it, or of its bits."""
        if token.startswith("0x"):
            return int(token, 16)
        number = np.asarray(float(token)).astype(dtype_of_code(self.name))
        return int(number.view(np.uint8)) & self.mask

    def numbers(self, codes: np.ndarray) -> np.ndarray:
        """What codes mean, in the type that arithmetic is done in."""
        found = np.ascontiguousarray(codes).view(dtype_of_code(self.name))
        return found.astype({"i8": "int8", "ui8": "uint8", "f32": "float32"}[self.wide])


@dataclass(frozen=True)
class IntegerFormat(Format):
    @property
    def is_signed(self) -> bool:
        return self.wide == "i8"

    @property
    def range(self) -> tuple[int, int]:
        if self.is_signed:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, self.mask


@dataclass(frozen=True)
class FloatFormat(Format):
    """A sign, unless it is a scale (f8E8M0FNU), an exponent and a mantissa.

    largest, infinity, nan: the codes of these without a sign; None where the format has none.
    has_negative_zero: else the code that would be it is the one NaN.
    """

    exponent: int
    mantissa: int
    bias: int
    largest: int
    infinity: int | None = None
    nan: int | None = None
    has_negative_zero: bool = True
    is_scale: bool = False

    @property
    def overflow(self) -> int:
        """What becomes of numbers that are too large; NaN has a code of its own in `nan`."""
        found = (code for code in (self.infinity, self.nan, self.largest) if code is not None)
        return next(found)


def _integers() -> list[IntegerFormat]:
    return [
        IntegerFormat(f"{sign}{bits}", bits, f"{sign}8") for bits in (2, 4) for sign in ("i", "ui")
    ]


_FLOATS = [
    FloatFormat("f8E4M3", 8, "f32", 4, 3, 7, 0x77, infinity=0x78, nan=0x7C),
    FloatFormat("f8E3M4", 8, "f32", 3, 4, 3, 0x6F, infinity=0x70, nan=0x78),
    FloatFormat("f8E4M3FNUZ", 8, "f32", 4, 3, 8, 0x7F, nan=0x80, has_negative_zero=False),
    FloatFormat("f8E4M3B11FNUZ", 8, "f32", 4, 3, 11, 0x7F, nan=0x80, has_negative_zero=False),
    FloatFormat("f8E5M2FNUZ", 8, "f32", 5, 2, 16, 0x7F, nan=0x80, has_negative_zero=False),
    FloatFormat("f8E8M0FNU", 8, "f32", 8, 0, 127, 0xFE, nan=0xFF, is_scale=True),
    FloatFormat("f6E2M3FN", 6, "f32", 2, 3, 1, 0x1F),
    FloatFormat("f6E3M2FN", 6, "f32", 3, 2, 3, 0x1F),
    FloatFormat("f4E2M1FN", 4, "f32", 2, 1, 1, 0x7),
]

FORMATS: dict[str, Format] = {f.name: f for f in (*_integers(), *_FLOATS)}


def format_of(type: ir.Type) -> Format | None:
    """The format of a tensor's elements; None where programs have such elements, or no tensor."""
    return FORMATS.get(element_of(type)) if isinstance(type, ir.RankedTensorType) else None


def retyped(type: ir.Type, element: str) -> ir.Type:
    """The tensor type with other elements."""
    with ir.Location.unknown(type.context):
        return ir.RankedTensorType.get(list(type.shape), ir.Type.parse(element, type.context))


def code_type(type: ir.Type) -> ir.Type:
    """The type of the codes of elements of few bits; another type as it is."""
    return retyped(type, "ui8") if format_of(type) else type


def codes_of(attribute: ir.Attribute, format: Format) -> np.ndarray:
    """The codes of a constant: jaxlib's bindings cannot read such elements, its text has them."""
    shape = list(attribute.type.shape)
    found = re.match(r"dense<(.*)> : ", str(attribute), re.DOTALL)
    if found is None:
        raise Unsupported(f"numbers of {format.name} that are not in the text")
    text = found[1]
    if text.startswith('"0x'):
        codes = np.frombuffer(bytes.fromhex(text[3:-1]), np.uint8) & format.mask
    else:
        tokens = re.findall(r"[^\[\],\s]+", text)
        codes = np.array([format.code(token) for token in tokens], np.uint8)
    return np.broadcast_to(codes[0], shape) if codes.size == 1 else codes.reshape(shape)
