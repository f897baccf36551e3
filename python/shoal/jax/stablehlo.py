# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of StableHLO as Shoal programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import shoal.jax.ops  # enters the importers of ops
from shoal.jax import codes, halves, registry
from shoal.jax.callbacks import Callbacks
from shoal.jax.importer import Importer
from shoal.jax.parse import parse
from shoal.jax.static_shapes import with_static_shapes
from shoal.mesh import Mesh
from shoal.mesh_sharding import MeshSharding


class ImportedProgram(NamedTuple):
    """Shoal MLIR. devices: of its mesh; None where it has none."""

    text: str
    devices: int | None


def import_stablehlo(
    program: Any, *, mesh: Mesh | None = None, callbacks: Callbacks | None = None
) -> str:
    """The Shoal program, as MLIR text, of a StableHLO program.

    program: what `shoal.jax.parse.parse` takes.
    mesh: the devices of a program that names none.
    callbacks: what `lower` has noted of its callbacks; those that it calls get functions.
    Raises UnsupportedError, which lists all ops that cannot be imported with
    their types and JAX's source lines, and ShoalError for what is no program.
    """
    return import_program(program, mesh=mesh, callbacks=callbacks).text


def import_program(
    program: Any,
    *,
    mesh: Mesh | None = None,
    callbacks: Callbacks | None = None,
    inputs: Sequence[MeshSharding | None] = (),
    outputs: Sequence[MeshSharding | None] = (),
) -> ImportedProgram:
    """As import_stablehlo.

    inputs, outputs: where the entry's arguments and results lie, if the program does not say
    it; () where none is known.
    """
    parsed = parse(program)
    with parsed.context:
        static = with_static_shapes(parsed)
        rewritten = codes.without_codes(halves.without_complex(static))
        importer = Importer(rewritten, mesh, callbacks, inputs, outputs)
        text = importer.run()
        first = importer.shardings.first
        return ImportedProgram(text, first and first.size)


def supported_ops() -> list[str]:
    """The names of all ops that can be imported, sorted; not of those that the import makes."""
    names = {*registry.names(), *halves.names()}
    return sorted(name for name in names if "@shoal." not in name)
