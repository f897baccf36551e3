# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX functions that run on devices that stay.

    @shoal.jax.jit(mesh=AbstractMesh((4,), ("data",)), donate_argnums=0)
    def step(state, batch): ...

    for batch in batches:
        state = step(state, batch)     # compiles once; the state stays on the devices
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


import shoal.calls
from shoal.calls import Jitted, check_options
from shoal.devices import Devices
from shoal.executable import Executable
from shoal.jax.compiler import Compiled
from shoal.jax.frontend import JaxFrontend
from shoal.jax.private import source_info_util

# What JAX says of a function's place is the caller's of these files.
for _path in (*shoal.calls.__path__, __file__):
    source_info_util.register_exclusion(_path)


class JaxJitted(Jitted):
    """What `shoal.jax.jit` gives."""

    def _shown(self, executable: Executable) -> Compiled:
        return Compiled(executable)

    def compiled(self, *args: Any, **kwargs: Any) -> Compiled:
        """The program of a call with these arguments, or ShapeDtypeStructs: its text, costs, report."""
        return Compiled(self.executable_for(*args, **kwargs))


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    mesh: Any = None,
    devices: Devices | None = None,
    target: str = "cpu",
    **options: Any,
) -> Any:
    """A function as jax.jit makes it, which runs on many devices.

    fun: what jax.jit takes. Without it a decorator with these options.
    in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums,
      donate_argnames, keep_unused: as in jax.jit. PartitionSpecs are over `mesh`, or that of
      jax.set_mesh around a call.
    mesh: JAX's, Mesh or AbstractMesh; by default that which is set around a call, else that of
      a sharding, else that of an argument.
    devices: of `shoal.launch`; by default those of this process, see shoal.devices_of.
    options: fields of shoal.CompileOptions.

    A call's arguments nest as the function takes them; arrays are `shoal.Array`s, which are
    taken where they lie, JAX's, NumPy's, or numbers. Results have `shoal.Array`s.
    Inside of jax.jit, jax.grad, jax.vmap and others a call is one of jax.jit(fun).
    Raises TraceError where there is no mesh, what JAX raises for arguments and while it traces,
    UnsupportedError for ops that have no counterpart, CompileError and RunError.
    """
    jit_options = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
    }

    options["target"] = target
    check_options(options)

    def decorate(function: Callable[..., Any]) -> JaxJitted:
        frontend = JaxFrontend(function, jit_options, mesh)
        return JaxJitted(function, frontend, options, devices)

    return decorate if fun is None else decorate(fun)
