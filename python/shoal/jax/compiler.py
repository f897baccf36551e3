# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX functions as compiled programs.

    mesh = jax.sharding.AbstractMesh((2, 4), ("data", "model"))
    rows = NamedSharding(mesh, P("data"))
    exe = shoal.jax.compile(layer, x, w, in_shardings=(rows, None))
    y = exe.run(x, w)          # starts mpirun -n 8

An AbstractMesh needs no devices. With a Mesh, JAX must have as many: set
XLA_FLAGS=--xla_force_host_platform_device_count=8 before importing it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from shoal.errors import TraceError
from shoal.executable import compile_text
from shoal.executable.imported import ImportedProgram
from shoal.jax.frontend import JaxFrontend, is_given
from shoal.jax.private import source_info_util

# What JAX says of a function's place is the caller's of this file.
source_info_util.register_exclusion(__file__)


class Compiled(ImportedProgram):
    """A JAX function, compiled for the devices of its mesh.

    executable: the program itself, to save, and to run with a time limit: its
    inputs are the tuple of a call's arguments.
    """

    def run(self, *arguments: Any, **keywords: Any) -> Any:
        """The function's result for whole arrays, in processes that mpirun starts.

        Arguments nest as the example's did, without the static ones; arrays of
        NumPy or JAX of the same shapes and types. The result nests as the
        function's, with NumPy's arrays.
        Raises InputError, and RunError with what processes wrote.
        """
        return self.executable.run((arguments, keywords) if keywords else arguments)

    __call__ = run

    def as_text(self) -> str:
        """`spmd()`, as JAX calls it."""
        return self.spmd()

    def cost_analysis(self) -> dict[str, Any]:
        """`stats`, as JAX calls it."""
        return self.stats


def compile(
    function: Callable,
    *example: Any,
    in_shardings: Any = None,
    out_shardings: Any = None,
    mesh: Any = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    target: str = "cpu",
    **options: Any,
) -> Compiled:
    """Compiles a function, of arrays or pytrees of them, for the devices of its mesh.

    function: one that jax.jit takes, or jitted already; then its own shardings
      and static arguments hold.
    example: arguments with the shapes and types of the program's: arrays or
      ShapeDtypeStructs; their NamedShardings count where in_shardings has None.
    in_shardings, out_shardings: as in jax.jit; with a mesh, also PartitionSpecs.
    mesh: JAX's, Mesh or AbstractMesh; by default that of jax.set_mesh around this call, else
      that of a sharding.
    donate_argnums: the program makes results in these arguments' memory; a
      caller's arrays are left as they are.
    options: fields of shoal.CompileOptions.

    Raises TraceError where there is no mesh or a shape is not static,
    UnsupportedError for ops that have no counterpart, CompileError with the
    compiler's messages, and what JAX raises while it traces.
    """
    _check_sizes(example)
    jit_options = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
    }
    _check_jitted(function, jit_options)
    # Arguments that nothing reads stay: a call has them, too.
    frontend = JaxFrontend(function, {**jit_options, "keep_unused": True}, mesh)
    source = frontend.trace(example, {}).write((), None)
    return Compiled(
        compile_text(
            source.text,
            target,
            source=source.name,
            structure=source.structure,
            host_functions=source.host_functions,
            **options,
        )
    )


def _check_jitted(function: Callable, jit_options: dict[str, Any]) -> None:
    given = [name for name, value in jit_options.items() if is_given(value)]
    if given and hasattr(function, "trace"):
        raise TraceError(f"the function is jitted already: give {', '.join(given)} to jax.jit")


def _check_sizes(example: Sequence[Any]) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(tuple(example)):
        for size in getattr(leaf, "shape", ()):
            if not isinstance(size, (int, np.integer)):
                place = f"argument{jax.tree_util.keystr(path)}"
                raise TraceError(f"{place}: size {size} of {leaf.shape} is not static")
