# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generation by models of transformers: its loop, whose calls of the model run on devices.

    generate = shoal.torch.generator(model, mesh=shoal.Mesh(model=4), params=shoal.torch.tp_plan(model))
    tokens = generate(ids, max_new_tokens=16, do_sample=False)

There are two programs, for a prompt and for one more token, of transformers' own exporter. Keys and values are their state: they stay
on the devices, and a program writes over what it is given.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.utils import _pytree

from shoal.calls import Source as Written
from shoal.calls import check_options
from shoal.calls.compiling import compile_for
from shoal.devices import Array, Devices, Loaded, devices_of
from shoal.errors import InputError, TraceError, UnsupportedError
from shoal.executable import CallStructure, Executable
from shoal.mesh import Mesh
from shoal.moe import Layout
from shoal.torch.capture import advised, decomposed
from shoal.torch.fx import from_fx
from shoal.torch.graph import Graph, Input, Output, Tree
from shoal.torch.programs import write_program
from shoal.torch.settings import Settings
from shoal.torch.shardings import of_state
from shoal.torch.sources import state_of
from shoal.torch.tensors import to_numpy, to_torch

_STATE = "cache."


class _Program(NamedTuple):
    """cache: the name of the model's argument that is one. kind, specs: of the model's result, and how its fields nest."""

    graph: Graph
    executable: Executable
    loaded: Loaded
    names: tuple[str, ...]
    results: tuple[str, ...]
    kind: type
    specs: Mapping[str, Any]
    cache: str


class Generator:
    """What `generator` gives: a call is `model.generate`.

    state: parameters and buffers by the names of `state_dict()`, and "cache.0" ..., keys, values and lengths of the last call,
      arrays on the devices.
    """

    def __init__(self, model: Any, mesh: Mesh | None, places: Mapping[str, Any], settings: Settings, devices: Devices | None, options: Mapping[str, Any]):
        self.state: dict[str, Any] = {}
        self._model, self._mesh, self._places = model, mesh, places
        self._settings, self._devices, self._options = settings, devices, options
        self._programs: dict[Any, _Program] = {}

    def __call__(self, input_ids: Any, **kwargs: Any) -> Any:
        """The tokens of `model.generate(input_ids, ...)`: int64 [rows, places], the prompt in front.

        kwargs: as of `generate`, of which `max_new_tokens` has to be given. InputError of what needs the cache's numbers: beams,
        and a cache of the caller's; TraceError where the model does not export.
        """
        from transformers.cache_utils import StaticCache, StaticLayer

        if "max_new_tokens" not in kwargs:
            raise InputError("generate: expected max_new_tokens=: the places of the cache are the prompt's and these")
        if (kwargs.get("num_beams") or self._model.generation_config.num_beams or 1) > 1:
            raise InputError("generate: num_beams: beams reorder the cache, which lies on the devices; expected 1")
        places = input_ids.shape[1] + kwargs["max_new_tokens"]
        cache = StaticCache(self._model.config, max_cache_len=places)
        # Layers that see a window hold all places, too: their masks say what is seen.
        cache.layers = [StaticLayer(max_cache_len=places) for _ in cache.layers]
        name = _cache_argument(self._model)
        with mock.patch.object(self._model, "forward", _signed_as(self._model.forward, self._forward)):
            return self._model.generate(input_ids, **{name: cache, "use_cache": True, **kwargs})

    def executables(self) -> list[Executable]:
        """The programs so far: of prompts, and of one more token each."""
        return [program.executable for program in self._programs.values()]

    def _forward(self, **kwargs: Any) -> Any:
        """What the model returns, with a cache whose keys and values have no numbers: these are in the state."""
        program = self._find(kwargs)
        given = _leaves(program.graph, kwargs)
        values = [self._value(program, number, name, given) for number, name in enumerate(program.names)]
        results = dict(zip(program.results, program.loaded.run(values)))
        self.state.update({name: value for name, value in results.items() if name.startswith(_STATE)})
        fields = {key: self._field(key, spec, results) for key, spec in program.specs.items()}
        return program.kind(**fields)

    def _value(self, program: _Program, number: int, name: str, given: Mapping[str, Any]) -> Any:
        if name in given:
            return given[name]
        value = self.state[name]
        if not isinstance(value, Array):
            devices = self._devices or devices_of(program.executable.devices)
            value = self.state[name] = devices.put(value, program.loaded.inputs[number])
        return value

    def _field(self, key: str, spec: Any, results: Mapping[str, Any]) -> Any:
        names = [key] if spec.num_leaves == 1 and key in results else [f"{key}.{i}" for i in range(spec.num_leaves)]
        leaves = [_placeholder(results[name]) if name.startswith(_STATE) else to_torch(results[name]) for name in names]
        return _pytree.tree_unflatten(leaves, spec)

    def _find(self, kwargs: Mapping[str, Any]) -> _Program:
        leaves, spec = _pytree.tree_flatten(dict(kwargs))
        key = str(spec), tuple(_type_key(leaf) for leaf in leaves)
        if key not in self._programs:
            self._programs[key] = self._make(kwargs)
        return self._programs[key]

    def _make(self, kwargs: Mapping[str, Any]) -> _Program:
        exported = _exported(self._model, kwargs)
        cache = _cache_argument(self._model)
        graph = with_cache(from_fx(decomposed(exported), type(self._model).__name__), cache)
        places = of_state(graph, self._places["params"])
        if self._places["cache"] is not None:
            places |= {given.name: self._places["cache"] for given in graph.inputs if _is_keys(given)}
        program = write_program(graph, self._mesh, shardings=places, settings=self._settings)
        count = self._mesh.size if self._mesh is not None else 1
        devices = self._devices or devices_of(count)
        written = Written(f"<{program.name}>", program.text, count, CallStructure(["*"], ["*"]), list)
        executable = compile_for(devices, written, self._options)
        for name, value in state_of(graph).items():
            self.state.setdefault(name, value)
        spec = exported.call_spec.out_spec
        fields = dict(zip(spec.context, spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs))
        return _Program(
            graph, executable, devices.load(executable), tuple(program.inputs), tuple(program.outputs), spec.type, fields, cache
        )  # fmt: skip


def generator(
    model: Any,
    *,
    mesh: Mesh | None = None,
    params: Mapping[str, Any] | None = None,
    cache: Any = None,
    layout: Layout | None = None,
    capacity_factor: float | None = None,
    devices: Devices | None = None,
    target: str = "cpu",
    **options: Any,
) -> Generator:
    """`model.generate` on the devices of a mesh.

    model: a causal language model of transformers, whose cache is keys and values.
    params, layout, capacity_factor, devices, options: as of `shoal.torch.jit`. cache: where keys and values lie, [rows, heads, places,
      size of a head]: P("data", "model").
    ImportError without transformers, or with one that has no exporters.
    """
    from transformers.exporters.exporter_dynamo import register_cache_pytrees_for_model

    register_cache_pytrees_for_model(model)
    options["target"] = target
    check_options(options)
    settings = Settings(layout, capacity_factor)
    return Generator(model, settings.mesh(mesh), {"params": params, "cache": cache}, settings, devices, options)


def with_cache(graph: Graph, cache: str) -> Graph:
    """The graph of a call with a cache, whose arrays are buffers "cache.0" ..., which it writes over.

    cache: the name of the argument, and of the result's field. A call with an empty one takes what there is of it as an argument, and makes
    the arrays.
    """
    inside, outside = _under(graph.in_tree.children[1], cache), _under(graph.out_tree, cache)
    users = [given for given in graph.inputs if given.kind == "user"]
    results = [output for output in graph.outputs if output.kind == "user"]
    made = {results[place].name: f"{_STATE}{number}" for number, place in enumerate(outside)}
    kept = {users[place].value: made_name for place, made_name in zip(inside, made.values())} if len(inside) == len(outside) else {}
    inputs = [dataclasses.replace(given, kind="buffer", name=kept[given.value]) if given.value in kept else given for given in graph.inputs]
    names = {given.name for given in graph.inputs if given.value in kept} | {users[place].name for place in inside}
    outputs = [
        Output("buffer", made[output.name], output.value) if output.kind == "user" and output.name in made else output
        for output in graph.outputs
        if output.kind != "input" or output.name not in names
    ]
    return dataclasses.replace(graph, inputs=tuple(inputs), outputs=tuple(outputs))


def _under(tree: Tree, key: str) -> list[int]:
    """The positions of the leaves below a key of a dict."""
    first = 0
    for name, child in zip(tree.keys, tree.children):
        if name == key:
            return list(range(first, first + child.leaves))
        first += child.leaves
    raise TraceError(f'generate: the model has no "{key}" among {", ".join(tree.keys)}')


def _leaves(graph: Graph, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of a call by the names of inputs; those of a cache that is state are the state's."""
    order = graph.in_tree.children[1].keys
    leaves = [leaf for key in order for leaf in _pytree.tree_leaves(kwargs[key])]
    names = [given for given in graph.inputs if given.kind == "user" or given.name.startswith(_STATE)]
    return {
        given.name: to_numpy(leaf)
        for given, leaf in zip(names, leaves, strict=True)
        if given.kind == "user" and given.type is not None
    }


def _exported(model: Any, kwargs: Mapping[str, Any]) -> torch.export.ExportedProgram:
    from transformers.exporters.configs import DynamoConfig
    from transformers.exporters.exporter_dynamo import DynamoExporter

    given = _pytree.tree_map_only(torch.Tensor, _with_numbers, dict(kwargs))
    # `forward` is this module's while the model generates.
    with mock.patch.object(model, "forward", type(model).forward.__get__(model)), advised():
        return DynamoExporter().export(model, given, DynamoConfig(dynamic=False)).program


def _with_numbers(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(tensor, device="cpu") if tensor.device.type == "meta" else tensor


def _placeholder(value: Any) -> torch.Tensor:
    """A scalar, as a cache's length, with its number; of others shape and type."""
    if value.ndim == 0:
        return to_torch(value)
    return torch.empty(value.shape, dtype=getattr(torch, str(value.dtype)), device="meta")


def _is_keys(given: Input) -> bool:
    return given.name.startswith(_STATE) and given.type is not None and len(given.type.shape) == 4


def _type_key(leaf: Any) -> Any:
    return (tuple(leaf.shape), str(leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf


def _cache_argument(model: Any) -> str:
    """What the model's forward calls its cache: transformers has renamed it."""
    names = inspect.signature(type(model).forward).parameters
    found = next((name for name in ("cache", "past_key_values") if name in names), None)
    if found is None:
        raise UnsupportedError(f"{type(model).__name__}: its forward has no cache")
    return found


def _signed_as(method: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of keywords with a method's signature, which transformers reads."""
    @functools.wraps(method)
    def forward(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise InputError("generate: expected the model's arguments by their names")
        return function(**kwargs)

    return forward
