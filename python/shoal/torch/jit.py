# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and functions of PyTorch that run on devices that stay.

    model = shoal.torch.jit(module, mesh=shoal.Mesh(data=4), inputs=P("data"))
    logits = model(ids)      # compiles once; parameters stay on the devices
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shoal.calls import Source as Written
from shoal.calls import check_options
from shoal.calls.compiling import compile_for
from shoal.devices import Array, Devices, Loaded, devices_of
from shoal.errors import InputError
from shoal.executable import CallStructure, Executable
from shoal.mesh import Mesh
from shoal.moe import Layout
from shoal.torch.activations import Activations
from shoal.torch.calls import Call, seed_of
from shoal.torch.halves import complex_inputs
from shoal.torch.programs import SEED, write_program
from shoal.torch.settings import Settings
from shoal.torch.shardings import of_arguments, of_results, of_state
from shoal.torch.sources import source_of, state_of
from shoal.torch.tensors import to_numpy, to_torch


class _Program(NamedTuple):
    """A program on its devices, for calls of some types."""

    call: Call
    executable: Executable
    loaded: Loaded
    names: tuple[str, ...]
    results: tuple[str, ...]


class TorchJitted:
    """What `shoal.torch.jit` gives: a call gives what the module gives, with `shoal.Array`s, which stay on the devices.

    state: parameters, buffers and constants by name: arrays on the devices once there was a call. A call puts in it
      what the module writes over. The module itself is not changed.
    """

    def __init__(
        self,
        program: Any,
        settings: Settings,
        mesh: Mesh | None,
        places: Mapping[str, Any],
        devices: Devices | None,
        options: Mapping[str, Any],
    ):
        functools.update_wrapper(self, program if callable(program) else type(program), updated=())
        self.state: dict[str, Any] = {}
        self._program, self._mesh, self._devices = program, mesh, devices
        self._settings, self._places, self._options = settings, places, options
        self._programs: dict[Any, _Program] = {}

    def __call__(self, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
        """Runs the program for arguments of such types, and makes it first where there is none.

        Arguments are tensors of torch, arrays of NumPy, or `shoal.Array`s, which are taken where they lie.
        """
        program = self._find(args, kwargs)
        arguments = program.call.arguments(args, kwargs)
        program.call.check_writable(arguments)
        given = {name: to_numpy(value) for name, value in arguments.items()}
        given[SEED] = seed_of(seed)
        values = [self._value(program, number, name, given) for number, name in enumerate(program.names)]
        results = dict(zip(program.results, program.loaded.run(values)))
        program.call.write_back(arguments, results)
        self.state.update({name: results[name] for name in program.call.written if name in self.state})
        return program.call.result(results)

    def _value(self, program: _Program, number: int, name: str, given: Mapping[str, Any]) -> Any:
        if name in given and name not in self.state:
            return given[name]
        if name not in self.state:
            raise InputError(f'"{name}" has no numbers: set it in .state')
        value = self.state[name]
        if not isinstance(value, Array):
            devices = self._devices or devices_of(program.executable.devices)
            value = self.state[name] = devices.put(value, program.loaded.inputs[number])
        return value

    def executable_for(self, *args: Any, **kwargs: Any) -> Executable:
        """The program of a call with these arguments; compiles, does not run."""
        return self._find(args, kwargs).executable

    def state_dict(self) -> dict[str, Any]:
        """The state as torch's tensors, each brought together; of a module what its own state_dict() has."""
        own = getattr(self._program, "state_dict", None)
        kept = set(self.state) if own is None else set(own())
        pairs = {name for program in self._programs.values() for name in complex_inputs(program.call.graph)}
        return {name: to_torch(value, name in pairs) for name, value in self.state.items() if name in kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes these numbers for the state, of torch's tensors or NumPy's arrays; InputError of a name that is none."""
        unknown = sorted(set(state) - set(self.state)) if self.state else []
        if unknown:
            raise InputError(f'state: "{unknown[0]}" is not one of {len(self.state)} names')
        self.state.update({name: to_numpy(value) for name, value in state.items()})

    def _find(self, args: Any, kwargs: Any) -> _Program:
        key = _key((args, kwargs))
        if key not in self._programs:
            self._programs[key] = self._make(args, kwargs)
        return self._programs[key]

    def _make(self, args: Any, kwargs: Any) -> _Program:
        examples = [_example(value) for value in args]
        source = source_of(self._program, examples, {name: _example(value) for name, value in kwargs.items()})
        graph, places = source.graph, self._places
        activations = places["activations"]
        program = write_program(
            graph,
            self._mesh,
            shardings={**of_state(graph, places["params"]), **of_arguments(graph, places["inputs"])},
            results=of_results(graph, places["outputs"]),
            hooks=Activations(graph, activations) if activations else None,
            settings=self._settings,
        )
        count = self._mesh.size if self._mesh is not None else 1
        devices = self._devices or devices_of(count)
        written = Written(f"<{program.name}>", program.text, count, CallStructure(["*"], ["*"]), list)
        executable = compile_for(devices, written, self._options)
        for name, value in state_of(graph).items():
            self.state.setdefault(name, value)
        return _Program(
            Call(graph, source.rebuild), executable, devices.load(executable), tuple(program.inputs), tuple(program.outputs)
        )


def jit(
    program: Any = None,
    *,
    mesh: Mesh | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Any = None,
    outputs: Any = None,
    activations: Mapping[str, Any] | None = None,
    layout: Layout | None = None,
    capacity_factor: float | None = None,
    devices: Devices | None = None,
    target: str = "cpu",
    **options: Any,
) -> Any:
    """A module or function whose calls run on the devices of a mesh, on one without it.

    program, params, inputs, outputs, activations, layout, capacity_factor, options: as of `shoal.torch.compile`. Without
      a program a decorator.
    devices: of `shoal.launch`; by default those of this process.

    It is exported once for each combination of its arguments' types. A module's parameters are brought to the devices by
    the first call, and stay. Results are `shoal.Array`s: `shoal.torch.to_torch(y)` and torch.from_dlpack(y) give tensors.
    Raises TraceError, UnsupportedError, CompileError, InputError and RunError.
    """
    options["target"] = target
    check_options(options)
    settings = Settings(layout, capacity_factor)
    places = {"params": params, "inputs": inputs, "outputs": outputs, "activations": activations}

    def decorate(function: Callable[..., Any]) -> TorchJitted:
        return TorchJitted(function, settings, settings.mesh(mesh), places, devices, options)

    return decorate if program is None else decorate(program)


def _key(value: Any) -> Any:
    """What programs differ by: how a call nests, types of arrays, and what is none."""
    if isinstance(value, Mapping):
        return tuple((name, _key(entry)) for name, entry in sorted(value.items()))
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_key, value))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return tuple(value.shape), str(value.dtype).removeprefix("torch.")
    return type(value), value


def _example(value: Any) -> Any:
    """A tensor of a call's argument, of which torch.export reads the type."""
    if isinstance(value, Mapping):
        return {name: _example(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(_example, value))
    return to_torch(value)
