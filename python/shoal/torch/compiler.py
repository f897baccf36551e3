# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and functions of PyTorch as compiled programs.

    mesh = shoal.Mesh(data=2, model=2)
    exe = shoal.torch.compile(module, (x,), mesh=mesh, params={"*.up.weight": P("model")}, inputs=P("data"))
    y = exe(x)          # starts mpirun -n 4
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import InputError
from shoal.executable import Executable, compile_text
from shoal.executable.imported import ImportedProgram
from shoal.mesh import Mesh
from shoal.moe import Layout
from shoal.torch.activations import Activations
from shoal.torch.calls import Call, seed_of
from shoal.torch.programs import SEED, write_program
from shoal.torch.settings import Settings
from shoal.torch.shardings import of_arguments, of_results, of_state
from shoal.torch.sources import source_of, state_of
from shoal.torch.tensors import to_numpy, to_torch


class Compiled(ImportedProgram):
    """A module or function, compiled for the devices of its mesh.

    executable: the program itself: its inputs are the state by the names of `state_dict()`, arguments by those of
      `forward`, and of a program that draws random numbers "seed".
    state: the arrays of parameters, buffers and constants. What a call writes over, as statistics of BatchNorm, is new
      in it afterwards; the module that was compiled keeps its own.
    """

    def __init__(self, executable: Executable, call: Call, state: dict[str, Any], is_torch: bool):
        super().__init__(executable)
        self.state = state
        self._call = call
        self._is_torch = is_torch

    def run(self, *args: Any, seed: int = 0, timeout: float | None = None, **kwargs: Any) -> Any:
        """What the module returns, in processes that mpirun starts.

        Arguments nest as the example's did: tensors of torch or arrays of NumPy. Results are tensors, of a
        .pt2 file arrays. seed: of random numbers. timeout: seconds after which all is ended.
        InputError of arguments that do not fit and of parameters without numbers; RunError with what processes wrote.
        """
        arguments = self._call.arguments(args, kwargs)
        self._call.check_writable(arguments)
        given = {name: to_numpy(value) for name, value in arguments.items()}
        results = self._run({**self._known(), **given}, seed, timeout)
        self._call.write_back(arguments, results)
        self.state.update({name: results[name] for name in self._call.written if name in self.state})
        made = {name: to_torch(value) for name, value in results.items()} if self._is_torch else results
        return self._call.result(made)

    __call__ = run

    def _known(self) -> dict[str, Any]:
        missing = [name for name in self._call.state if name not in self.state]
        if missing:
            raise InputError(f"{len(missing)} of the state have no numbers, the first \"{missing[0]}\": set them in .state")
        return {name: self.state[name] for name in self._call.state}

    def _run(self, inputs: Mapping[str, Any], seed: int, timeout: float | None) -> dict[str, Any]:
        draws = any(tensor.name == SEED for tensor in self.executable.inputs) and SEED not in inputs
        given = {**inputs, SEED: seed_of(seed)} if draws else inputs
        results = self.executable.run(given, timeout=timeout)
        return dict(results)


def compile(
    program: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    mesh: Mesh | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Any = None,
    outputs: Any = None,
    activations: Mapping[str, Any] | None = None,
    layout: Layout | None = None,
    capacity_factor: float | None = None,
    target: str = "cpu",
    **options: Any,
) -> Compiled:
    """Compiles a program of PyTorch for the devices of a mesh, one without it.

    program: a module, a function of tensors, a torch.export.ExportedProgram, or the path of a .pt2 file, which needs
      no torch.
    args, kwargs: of a module or function, with the shapes and types of its calls; torch.export traces it with them.
    params: where parameters and buffers lie: globs over names of `state_dict()` to P(...), of which the last that
      matches counts, as `tp_plan(model)` gives them. What none names lies as is best.
    inputs, outputs: the same of arguments and results: one P for all that have its dimensions, a dict by names, or a
      tuple by positions.
    activations: by globs over module paths, where values lie that these modules return.
    layout, capacity_factor: of experts that are one op, see `register_experts`: where their rows go, over the layout's
      mesh, and how many an expert takes of them; without a factor none is dropped.
    options: fields of shoal.CompileOptions.

    TraceError of a glob that matches nothing and of what torch.export does not take; UnsupportedError with all ops that
    have no counterpart, each with its line and module; CompileError with the compiler's messages.
    """
    source = source_of(program, args, kwargs or {})
    graph, settings = source.graph, Settings(layout, capacity_factor)
    written = write_program(
        graph,
        settings.mesh(mesh),
        shardings={**of_state(graph, params), **of_arguments(graph, inputs)},
        results=of_results(graph, outputs),
        hooks=Activations(graph, activations) if activations else None,
        settings=settings,
    )
    executable = compile_text(written.text, target, source=f"<{written.name}>", **options)
    return Compiled(executable, Call(graph, source.rebuild), state_of(graph), source.is_torch)
