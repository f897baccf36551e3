# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes StableHLO that makes codes of numbers, and numbers of codes, at MLIR's insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from shoal.jax.codes import arithmetic
from shoal.jax.codes.formats import FloatFormat, Format, retyped
from shoal.jax.functions import body_of
from shoal.jax.refusals import Unsupported
from shoal.jax.triangles import lowered
from shoal.jax.types import bits, element_of

_DTYPES = {"i8": "int8", "ui8": "uint8", "f32": "float32", "f64": "float64"}


class Writer:
    """Keeps what formulas were lowered to, by what they are of."""

    def __init__(self):
        self._formulas: dict[Any, ir.Module] = {}

    @staticmethod
    def emit(
        name: str,
        operands: Sequence[ir.Value],
        type: ir.Type,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        return ir.Operation.create(
            name, results=[type], operands=list(operands), attributes=attributes or {}
        ).results[0]

    def constant(self, array: np.ndarray, type: ir.Type) -> ir.Value:
        return self.emit("stablehlo.constant", [], type, {"value": _dense(array, type)})

    def decoded(self, codes: ir.Value, format: Format) -> ir.Value:
        return self._formula(arithmetic.decoded, format, codes)

    def encoded(self, numbers: ir.Value, format: Format) -> ir.Value:
        return self._formula(arithmetic.encoded, format, numbers)

    def converted(self, numbers: ir.Value, element: str) -> ir.Value:
        """Numbers as those of another type, neither of which is of codes."""
        if element_of(numbers.type) == element:
            return numbers
        return self.emit("stablehlo.convert", [numbers], retyped(numbers.type, element))

    def rounded(self, numbers: ir.Value, format: Format) -> ir.Value:
        """The codes that stablehlo.convert gives numbers."""
        element = element_of(numbers.type)
        if isinstance(format, FloatFormat):
            if element == "f64":
                numbers = self._formula(arithmetic.to_single, None, numbers)
            return self.encoded(self.converted(numbers, "f32"), format)
        numbers = self.converted(numbers, format.wide)
        if element.startswith(("f", "bf")):
            numbers = self._formula(arithmetic.clamped, format, numbers)
        return self.encoded(numbers, format)

    def cast(
        self, source: ir.Value, type: ir.Type, formats: tuple[Format | None, Format | None]
    ) -> ir.Value:
        """The source's bits as elements of the type; `formats` are those of either where they
        are codes."""
        own, wanted = formats
        counts = [own.bits if own else _width(source.type), wanted.bits if wanted else _width(type)]
        if counts[0] == counts[1] or min(counts) == 8:
            return self.emit("stablehlo.bitcast_convert", [source], type)
        if max(counts) < 8 or 6 in counts:
            raise Unsupported("between elements of which none is of whole bytes")
        if counts[1] < 8:
            return self._unpacked(source, type, wanted)
        return self._packed(source, type, own)

    def _unpacked(self, source: ir.Value, type: ir.Type, format: Format) -> ir.Value:
        shape = [*source.type.shape, *_bytes_in(source.type)]
        parts = self.emit("stablehlo.bitcast_convert", [source], _bytes(shape, type))
        codes = self._formula(arithmetic.unpacked, format, parts)
        return self.emit("stablehlo.reshape", [codes], type)

    def _packed(self, source: ir.Value, type: ir.Type, format: Format) -> ir.Value:
        """Those of a byte stand along the last dimension for a moment."""
        shape = [*type.shape, *_bytes_in(type)]
        split = _bytes([*shape, 8 // format.bits], type)
        codes = self.emit("stablehlo.reshape", [source], split)
        parts = self._formula(arithmetic.packed, format, codes)
        parts = self.emit("stablehlo.reshape", [parts], _bytes(shape, type))
        return self.emit("stablehlo.bitcast_convert", [parts], type)

    def _formula(
        self, function: Callable[..., Any], format: Format | None, value: ir.Value
    ) -> ir.Value:
        """What the function of JAX's arrays makes of the value, written at hand."""
        key = function, format, str(value.type)
        if key not in self._formulas:
            dtype = np.dtype(_DTYPES[element_of(value.type)])
            of = (lambda x: function(x, format)) if format else function
            self._formulas[key] = lowered(of, value.context, (tuple(value.type.shape), dtype))
        block = body_of(self._formulas[key])
        *body, end = [op.operation for op in block.operations]
        known = {block.arguments[0]: value}
        for op in body:
            copy = op.clone()
            copy.location = ir.Location.current
            for number, operand in enumerate(op.operands):
                copy.operands[number] = known[operand]
            known.update(zip(op.results, copy.results, strict=True))
        return known[end.operands[0]]


def _width(type: ir.Type) -> int:
    """The bits of an element that is no code."""
    return bits(element_of(type).removeprefix("u"))


def _bytes_in(type: ir.Type) -> list[int]:
    """The dimension that the bytes of such an element make; none of one."""
    count = _width(type) // 8
    return [count] if count > 1 else []


def _bytes(shape: Sequence[int], like: ir.Type) -> ir.Type:
    """A tensor of bytes in the context of a type."""
    with ir.Location.unknown(like.context):
        return ir.RankedTensorType.get(list(shape), ir.IntegerType.get_unsigned(8))


def _dense(array: np.ndarray, type: ir.Type) -> ir.Attribute:
    """A constant, of one number where all are the same."""
    data = np.ascontiguousarray(array)
    numbers = data.reshape(-1).view(f"u{data.itemsize}")
    if not numbers.size or (numbers != numbers[0]).any():
        return ir.DenseElementsAttr.get(data, type=type)
    is_float = data.dtype.kind == "f"
    number = f"0x{numbers[0]:0{2 * data.itemsize}X}" if is_float else data.flat[0]
    return ir.Attribute.parse(f"dense<{number}> : {type}", type.context)
