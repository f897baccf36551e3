# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks of the host: functions of the process that lowered the program."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from shoal.executable.host_calls import HostFunction
from shoal.ir import Value, i64s, quoted
from shoal.jax.attributes import required, string
from shoal.jax.callbacks import Callback
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import imports, refuses
from shoal.jax.types import is_token, is_unsigned

_CALL = "stablehlo.custom_call @"
_ON_SHARDS = "xla_ffi_partitioned_python_cpu_callback"


@imports(f"{_CALL}xla_ffi_python_cpu_callback", f"{_CALL}{_ON_SHARDS}")
def callback(importer: Importer, op: ir.Operation) -> list[Value]:
    """A call of the function, or what it prints where no function is needed for that."""
    config = required(op.attributes, "mhlo.backend_config", ir.DictAttr)
    number = required(config, "index", ir.IntegerAttr).value
    found = importer.callbacks.find(number) if importer.callbacks else None
    if found is None:
        raise Unsupported("its Python function is not in the program: use shoal.jax.compile")
    if importer.in_combiner:
        raise Unsupported("a callback in a function that combines elements")
    operands = importer.operands(op)
    attributes = {"operandSegmentSizes": f"array<i32: {len(operands)}, 0>"}
    if string(op, "call_target_name") == _ON_SHARDS:
        attributes["on_shards"] = None
    types = [operand.type for operand in op.operands if not is_token(operand.type)]
    unsigned = [place for place, type in enumerate(types) if _lost_sign(type)]
    if found.format is not None:
        return _print(importer, operands, found.format, unsigned, attributes)
    return _call(importer, op, number, found, unsigned, attributes)


def _lost_sign(type: ir.Type) -> bool:
    return is_unsigned(type) and str(type.element_type) != "i1"


def _print(
    importer: Importer,
    operands: list[Value],
    format: str,
    unsigned: list[int],
    attributes: dict[str, Any],
) -> list[Value]:
    attributes |= {"format": quoted(format)}
    attributes |= {"unsigned_inputs": i64s(unsigned)} if unsigned else {}
    return importer.emit("shoal.print", operands, [], attributes)


def _call(
    importer: Importer,
    op: ir.Operation,
    number: int,
    found: Callback,
    unsigned: list[int],
    attributes: dict[str, Any],
) -> list[Value]:
    importer.callbacks.functions[number] = HostFunction(found.function, frozenset(unsigned))
    attributes |= {"number": f"{number} : i64", "callee": quoted(found.name)}
    results = importer.result_types(op)
    attributes |= {"pure": None} if found.is_pure and results else {}
    return importer.emit("shoal.host_call", importer.operands(op), results, attributes)


@imports("stablehlo.create_token", "stablehlo.after_all")
def token(_importer: Importer, _op: ir.Operation) -> list[Value]:
    """Tokens order effects, which stand in order anyway."""
    return []


refuses(
    "stablehlo.send",
    "stablehlo.recv",
    "stablehlo.infeed",
    "stablehlo.outfeed",
    reason="a program takes its arrays as arguments and gives them as results",
)
