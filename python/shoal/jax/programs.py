# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a traced JAX function to a Shoal program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from shoal.errors import TraceError
from shoal.jax.callbacks import Callbacks
from shoal.jax.calls import JaxCall, key_types
from shoal.jax.lowering import lower
from shoal.jax.meshes import plain_mesh
from shoal.jax.stablehlo import import_program
from shoal.mesh_sharding import MeshSharding


@dataclass(frozen=True)
class JaxProgram:
    """A program in Shoal MLIR, and what its calls need.

    kept: which of a call's arrays it reads; None: all.
    """

    name: str
    text: str
    devices: int
    structure: JaxCall
    callbacks: Callbacks
    kept: tuple[int, ...] | None


def write_program(
    traced: Any,
    mesh: Any = None,
    *,
    keep_unused: bool = True,
    inputs: Sequence[MeshSharding | None] = (),
    outputs: Sequence[MeshSharding | None] = (),
) -> JaxProgram:
    """The program of what `jax.jit(function).trace(...)` gives.

    mesh: JAX's, of a program that names none; without one that of the first input is taken.
    keep_unused: whether arguments that nothing reads stay.
    inputs, outputs: where they lie unless the function says it.
    Raises TraceError where there is no mesh, UnsupportedError for ops without a counterpart.
    """
    traced._params["keep_unused"] = keep_unused  # pylint: disable=protected-access
    callbacks = Callbacks()
    lowered = lower(traced, callbacks)
    kept = None if keep_unused else _kept(lowered)
    read = [inputs[i] for i in kept] if inputs and kept is not None else inputs
    given = next((known.mesh for known in inputs if known is not None), None)
    program = import_program(
        lowered,
        mesh=given if mesh is None else plain_mesh(mesh),
        callbacks=callbacks,
        inputs=read,
        outputs=outputs,
    )
    if program.devices is None:
        raise TraceError(
            "no mesh: pass in_shardings of NamedSharding, or mesh=, for instance"
            ' jax.sharding.AbstractMesh((8,), ("x",)), or set one around the call by'
            " jax.set_mesh or jax.sharding.use_abstract_mesh"
        )
    structure = JaxCall(
        lowered.in_tree, lowered.out_tree, key_types(jax.tree.leaves(lowered.out_info)), kept
    )
    name = traced.fun_name
    return JaxProgram(name, program.text, program.devices, structure, callbacks, kept)


def _kept(lowered: Any) -> tuple[int, ...] | None:
    """The arguments that the lowered program has; None: all."""
    kept = lowered._lowering.compile_args["kept_var_idx"]  # pylint: disable=protected-access
    count = lowered.in_tree.num_leaves
    return None if len(kept) == count else tuple(sorted(kept))
