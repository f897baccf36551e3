# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom calls by their targets: what is the operand, and what JAX leaves to LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax import custom_partitioning, lapack, triangles
from shoal.jax.attributes import STOP_GRADIENT, case, flag, required
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports

_CALL = "stablehlo.custom_call @"
_DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}

imports(f"{_CALL}CustomSPMDPartitioning")(custom_partitioning.partitioned)


@imports(
    f"{_CALL}annotate_device_placement",
    f"{_CALL}LayoutConstraint",
    f"{_CALL}MoveToDevice",
    f"{_CALL}MoveToHost",
    f"{_CALL}PinToDevice",
    f"{_CALL}PinToDeviceSram",
    of_complex=OfComplex.EACH,
    moves=True,
)
def identity(importer: Importer, op: ir.Operation) -> list[Value]:
    """Where a tensor is kept, or how, does not change it."""
    return importer.operands(op)


@imports(f"{_CALL}{STOP_GRADIENT}", of_complex=OfComplex.EACH, moves=True)
def stop_gradient(importer: Importer, op: ir.Operation) -> list[Value]:
    operand = importer.operands(op)[0]
    return importer.emit("shoal.stop_gradient", [operand], operand.type)


@imports(f"{_CALL}lapack_spotrf_ffi", f"{_CALL}lapack_dpotrf_ffi")
def lapack_cholesky(importer: Importer, op: ir.Operation) -> list[Value]:
    lower = _letter(op, "uplo", "LU") == "L"
    return _written(importer, op, partial(triangles.cholesky, lower=lower))


@imports("stablehlo.cholesky")
def cholesky(importer: Importer, op: ir.Operation) -> list[Value]:
    return _written(importer, op, partial(triangles.checked_cholesky, lower=flag(op, "lower")))


@imports(f"{_CALL}lapack_strsm_ffi", f"{_CALL}lapack_dtrsm_ffi")
def lapack_triangular_solve(importer: Importer, op: ir.Operation) -> list[Value]:
    solve = partial(
        triangles.solve,
        left=_letter(op, "side", "LR") == "L",
        lower=_letter(op, "uplo", "LU") == "L",
        transposed=_letter(op, "trans_x", "NTC") != "N",
        unit_diagonal=_letter(op, "diag", "NU") == "U",
    )
    return _written(importer, op, solve)


@imports("stablehlo.triangular_solve")
def triangular_solve(importer: Importer, op: ir.Operation) -> list[Value]:
    solve = partial(
        triangles.solve,
        left=flag(op, "left_side"),
        lower=flag(op, "lower"),
        transposed=case(op, "transpose_a") in ("TRANSPOSE", "ADJOINT"),
        unit_diagonal=flag(op, "unit_diagonal"),
    )
    return _written(importer, op, solve)


def _targets(function: str) -> list[str]:
    return [f"{_CALL}{target}" for target in lapack.targets(function)]


def _config(op: ir.Operation, function: str) -> str:
    return "".join(_letter(op, name, letters) for name, letters in lapack.options(function))


def _call(importer: Importer, op: ir.Operation, function: str) -> list[Value]:
    """The function's results are the op's."""
    operands, types = importer.operands(op), importer.result_types(op)
    return lapack.call(importer, function, _config(op, function), operands, types)


for _function in ("getrf", "geqrf", "orgqr", "potrf", "trsm"):
    imports(*_targets(_function), of_complex=OfComplex.BOTH)(partial(_call, function=_function))


@imports(*_targets("syevd"), of_complex=OfComplex.BOTH)
def lapack_eigh(importer: Importer, op: ir.Operation) -> list[Value]:
    _letter(op, "mode", "V")
    return _call(importer, op, "syevd")


@imports(*_targets("gesdd"), of_complex=OfComplex.BOTH)
def lapack_svd(importer: Importer, op: ir.Operation) -> list[Value]:
    """JAX's first result is the operand's memory; vectors may not be asked for."""
    operands, types = importer.operands(op), importer.result_types(op)
    config, halves = _config(op, "gesdd"), len(operands)
    values, vectors, info = types[halves], types[halves + 1 : -1], types[-1]
    made = [values, *(vectors if config != "N" else []), info]
    results = lapack.call(importer, "gesdd", config, operands, made)
    if config == "N":
        results[1:1] = [lapack.zeros(importer, type) for type in vectors]
    return [*operands, *results]


@imports(*_targets("geev"), of_complex=OfComplex.BOTH)
def lapack_eig(importer: Importer, op: ir.Operation) -> list[Value]:
    """Values and vectors are complex, also of real matrices; vectors may not be asked for."""
    operands, types = importer.operands(op), importer.result_types(op)
    config, (*values, _, _, _, _, info) = _config(op, "geev"), types
    sides = [types[2:4], types[4:6]]
    asked = [type for letter, side in zip(config, sides) for type in side if letter == "V"]
    results = lapack.call(importer, "geev", config, operands, [*values, *asked, info])
    made = iter(results[2:-1])
    vectors = [
        next(made) if letter == "V" else lapack.zeros(importer, type)
        for letter, side in zip(config, sides)
        for type in side
    ]
    return [*results[:2], *vectors, results[-1]]


def _letter(op: ir.Operation, name: str, letters: str) -> str:
    """An option of LAPACK's, which JAX gives as the character's number."""
    config = required(op.attributes, "mhlo.backend_config", ir.DictAttr)
    letter = chr(required(config, name, ir.IntegerAttr).value % 128)
    if letter not in letters:
        raise Unsupported(f"{name} is {letter!r}, not one of {', '.join(letters)}")
    return letter


def _written(importer: Importer, op: ir.Operation, function: Callable[..., Any]) -> list[Value]:
    """The function of the op's operands, in place."""
    types = [importer.type(operand) for operand in op.operands]
    if any(type.element not in _DTYPES for type in types):
        raise Unsupported(f"of elements of {types[0].element}")
    shapes = [(type.shape, _DTYPES[type.element]) for type in types]
    module = triangles.lowered(function, op.context, *shapes)
    return importer.inline_module(op, module)
