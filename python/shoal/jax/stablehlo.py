# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of StableHLO as Shoal programs."""

from __future__ import annotations

from typing import Any

import shoal.jax.ops  # enters the importers of ops
from shoal.jax import registry
from shoal.jax.callbacks import Callbacks
from shoal.jax.importer import Importer
from shoal.jax.parse import parse
from shoal.mesh import Mesh


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
    module = parse(program)
    with module.context:
        return Importer(module, mesh, callbacks).run()


def supported_ops() -> list[str]:
    """The names of all ops that can be imported, sorted."""
    return registry.names()
