# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What JAX leaves to LAPACK as calls of the runtime's functions (shoal/LinearAlgebra/Lapack.h).

A matrix is whole on a device and batches are split like any dimension: the rule of the call says
so. Complex numbers are two tensors (`shoal.jax.halves`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoal.ir import TensorType, Value, quoted
from shoal.jax.importer import Importer


class Option(NamedTuple):
    """An option of JAX's call, and the letters of LAPACK that it may have."""

    name: str
    letters: str


# For each function: what its targets are called behind the letter of their numbers, those of
# real numbers and those of complex ones, and the options in LAPACK's order.
_UPLO = Option("uplo", "LU")
_FUNCTIONS: dict[str, tuple[str, str, tuple[Option, ...]]] = {
    "getrf": ("getrf", "getrf", ()),
    "geqrf": ("geqrf", "geqrf", ()),
    "orgqr": ("orgqr", "ungqr", ()),
    "syevd": ("syevd", "heevd", (_UPLO,)),
    "gesdd": ("gesdd", "gesdd", (Option("mode", "ANS"),)),
    "geev": ("geev", "geev", (Option("compute_left", "NV"), Option("compute_right", "NV"))),
    # Those of real numbers are loops (`triangles.py`).
    "potrf": ("", "potrf", (_UPLO,)),
    "trsm": (
        "",
        "trsm",
        (Option("side", "LR"), _UPLO, Option("trans_x", "NTC"), Option("diag", "NU")),
    ),
}


def targets(function: str) -> list[str]:
    """JAX's names of the function, one for each type of numbers."""
    real, complex, _ = _FUNCTIONS[function]
    names = [f"lapack_{letter}{real}_ffi" for letter in "sd" if real]
    return names + [f"lapack_{letter}{complex}_ffi" for letter in "cz"]


def functions() -> list[str]:
    return list(_FUNCTIONS)


def options(function: str) -> tuple[Option, ...]:
    return _FUNCTIONS[function][2]


def call(
    importer: Importer,
    function: str,
    config: str,
    operands: Sequence[Value],
    types: Sequence[TensorType],
) -> list[Value]:
    """Calls the function on batches of matrices, the first operand one of them."""
    batch = len(operands[0].type.shape) - 2
    letters = "abcdefghijklmnopqrstuvwxyz"[:batch]
    sides = [
        ",".join(letters + "." * (len(type.shape) - batch) for type in side)
        for side in ([operand.type for operand in operands], types)
    ]
    attributes: dict[str, str | None] = {
        "target": quoted(f"shoal_lapack_{function}"),
        "rule": quoted("->".join(sides)),
    }
    # Rows past a batch's end are zero: matrices as good as others.
    attributes |= {"padded": quoted(letters)} if letters else {}
    attributes |= {"config": quoted(config)} if config else {}
    return importer.emit("shoal.custom_call", operands, types, attributes)


def zeros(importer: Importer, type: TensorType) -> Value:
    """For a result that the program does not ask for."""
    return importer.arith.constant(type, 0)
