# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported programs as Shoal MLIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.mesh import Mesh
from shoal.torch.programs import write_program
from shoal.torch.registry import names
from shoal.torch.shardings import of_arguments, of_results, of_state
from shoal.torch.sources import source_of


def import_program(
    program: Any,
    *,
    mesh: Mesh | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Any = None,
    outputs: Any = None,
) -> str:
    """The Shoal program, as MLIR, of the path of a .pt2 file, an ExportedProgram or a `Graph`.

    mesh, params, inputs, outputs: as of `shoal.torch.compile`.
    InputError of what is no .pt2 file; UnsupportedError with all ops that have no counterpart.
    """
    graph = source_of(program, (), {}).graph
    shardings = {**of_state(graph, params), **of_arguments(graph, inputs)}
    return write_program(graph, mesh, shardings=shardings, results=of_results(graph, outputs)).text


def supported_ops() -> list[str]:
    """The names of the ops that are imported, sorted."""
    return names()
