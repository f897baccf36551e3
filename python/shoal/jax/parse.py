# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads StableHLO in any form with the MLIR bindings of jaxlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shoal.errors import CompileError, ShoalError
from shoal.executable.native import native
from shoal.jax.foreign import text_of
from shoal.jax.private import mlir as jax_mlir

_BYTECODE = b"ML\xefR"


def parse(program: Any) -> ir.Module:
    """A module from what JAX gives or a file holds.

    program: text in pretty or generic form, bytecode, a portable artifact
    (`jax.export`'s `mlir_module_serialized`), the path of a file with one of
    these, a module of jaxlib's, `jax.jit(f).lower(...)` or
    `jax.export.export(...)(...)`.
    Bytecode is read in a process of its own (`shoal.jax.foreign`), text within limits: what is damaged ends in an error.
    Raises ShoalError with MLIR's message where it cannot be read.
    """
    if hasattr(program, "compiler_ir"):
        program = program.compiler_ir("stablehlo")
    elif hasattr(program, "mlir_module_serialized"):
        program = program.mlir_module_serialized
    if isinstance(program, ir.Module):
        return _verified(program)
    if isinstance(program, ir.Operation) and program.name == "builtin.module":
        return ir.Module.parse(_printed(program), program.context)
    if isinstance(program, (str, bytes, bytearray, Path)):
        return _parse_data(program)
    raise ShoalError(f"a StableHLO program is text, bytes or a module but got {type(program)}")


def _parse_data(program: str | bytes | bytearray | Path) -> ir.Module:
    file = program if isinstance(program, Path) else None
    data = program.read_bytes() if isinstance(program, Path) else program
    is_bytecode = not isinstance(data, str) and bytes(data[:4]) == _BYTECODE
    source = "<program>" if file is None else str(file)
    text = text_of(bytes(data), source) if is_bytecode else _decoded(data)
    try:
        native().verify_limits(text, source)
    except CompileError as error:
        raise ShoalError(f"not a StableHLO program: {error}") from None
    with jax_mlir.make_ir_context() as context:
        try:
            if file and not is_bytecode:  # so that locations name the file
                return ir.Module.parseFile(str(file), context)
            return ir.Module.parse(text, context)
        except ir.MLIRError as error:
            raise ShoalError(f"not a StableHLO program: {_message(error)}") from None
        except (ValueError, RuntimeError) as error:
            raise ShoalError(f"not a StableHLO program: {error}") from None


def _decoded(data: str | bytes | bytearray) -> str:
    if isinstance(data, str):
        return data
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise ShoalError(f"neither MLIR bytecode nor UTF-8 text: {error}") from None


def _verified(module: ir.Module) -> ir.Module:
    """The module; what parses is verified, what someone built or changed need not be."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise ShoalError(f"not a StableHLO program: {_message(error)}") from None
    return module


def _message(error: ir.MLIRError) -> str:
    return "; ".join(
        f"{str(found.location).removeprefix('loc(').removesuffix(')')}: {found.message}"
        for found in error.error_diagnostics
    )


def _printed(operation: ir.Operation) -> str:
    return operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
