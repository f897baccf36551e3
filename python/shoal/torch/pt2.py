# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a .pt2 file, what torch.export.save writes: a zip of JSON and of raw weights. Needs no torch.

What of it is a pickle, as sample inputs are, is never read.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from shoal.errors import InputError, ShoalError, UnsupportedError
from shoal.torch.gradients import with_own_gradients
from shoal.torch.graph import Argument, Graph, Input, Node, Output, Place, Ref, Result, Tree, Type
from shoal.torch.names import result_names, unique_inputs, unique_outputs
from shoal.torch.refusals import Unsupported, refused_at
from shoal.torch.traces import place_of, with_places
from shoal.torch.trees import tree_of_json
from shoal.torch.types import dtype_of_name

# Of the schema that files say they have: another one may name the same things otherwise.
_MAJOR = 8

# The schema's own numbers of types, which are not those of torch's ScalarType.
_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2", 34: "uint32", 35: "uint64",
}  # fmt: skip
_HALF_COMPLEX = 9

# Memory formats, layouts and devices: values have none.
_STORAGE = frozenset({"as_memory_format", "as_layout", "as_device"})
_SYMBOL = frozenset({"as_sym_int", "as_sym_bool", "as_sym_float"})
_SYMBOLS = _SYMBOL | {f"{kind}s" for kind in _SYMBOL}


def from_pt2(file: str | os.PathLike[str] | BinaryIO, *, weights: bool = True) -> Graph:
    """The graph of a .pt2 file.

    file: a path, or an open binary file. weights: whether its arrays are read, too; else `state` is empty.
    InputError of what is no .pt2 file or is of another version; UnsupportedError where sizes are not known.
    """
    name = str(file) if isinstance(file, (str, os.PathLike)) else str(getattr(file, "name", "main"))
    try:
        with zipfile.ZipFile(file) as archive:
            return _Archive(archive, name).graph(weights)
    except ShoalError:
        raise
    except (zipfile.BadZipFile, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{name}: expected a .pt2 file of torch.export.save: {error}") from error


class _Archive:
    """An open file."""

    def __init__(self, archive: zipfile.ZipFile, name: str):
        self._archive = archive
        self._name = name
        self._root = next((entry.split("/")[0] for entry in archive.namelist()), "")

    def graph(self, weights: bool) -> Graph:
        program = json.loads(self._read("models/model.json"))
        version = program["schema_version"]["major"]
        if version != _MAJOR:
            raise InputError(f"{self._name}: its schema has version {version}; expected {_MAJOR}")
        reader = _Reader(program["graph_module"])
        state = dict(self._arrays()) if weights else {}
        # Of a file without a name torch calls it so.
        title = self._root if self._root != "archive" else os.path.splitext(os.path.basename(self._name))[0]
        return reader.graph(title or "main", state, self._aliases())

    def _read(self, entry: str) -> bytes:
        return self._archive.read(f"{self._root}/{entry}")

    def _config(self, folder: str) -> Mapping[str, Any]:
        kind = "weights" if folder == "weights" else "constants"
        try:
            return json.loads(self._read(f"data/{folder}/model_{kind}_config.json"))["config"]
        except KeyError:
            return {}

    def _arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        if self._read("byteorder") != b"little":
            raise InputError(f"{self._name}: its weights are big-endian; expected little-endian")
        for folder in ("weights", "constants"):
            for name, entry in self._config(folder).items():
                if entry.get("tensor_meta") is not None:
                    if entry["use_pickle"]:
                        raise InputError(f'{self._name}: "{name}" is a pickle, which is not read')
                    yield name, _array(self._read(f"data/{folder}/{entry['path_name']}"), entry["tensor_meta"])

    def _aliases(self) -> dict[str, str]:
        """The first name of the same weights, by each name: tied ones lie in one file."""
        first: dict[str, str] = {}
        config = self._config("weights")
        return {
            name: first.setdefault(json.dumps([entry["path_name"], entry["tensor_meta"]["sizes"]]), name)
            for name, entry in config.items()
            if entry.get("is_param")
        }


def _array(data: bytes, meta: Mapping[str, Any]) -> np.ndarray:
    """The tensor whose storage the bytes are."""
    type = _type(meta)
    storage = np.frombuffer(data, type.dtype)
    offset = _size(meta["storage_offset"])
    strides = [_size(stride) * type.dtype.itemsize for stride in meta["strides"]]
    last = offset + sum((size - 1) * _size(step) for size, step in zip(type.shape, meta["strides"]))
    if 0 not in type.shape and (last >= storage.size or min(strides, default=0) < 0):
        raise InputError(f"a tensor of {type} reaches to element {last} of {storage.size} that are there")
    return np.lib.stride_tricks.as_strided(storage[offset:], type.shape, strides, writeable=False)


class _Reader:
    """Reads the JSON of one module."""

    def __init__(self, module: Mapping[str, Any]):
        self._module = module
        # What is in the way, each once.
        self._problems: dict[str, None] = {}
        # Sizes that are numbers, as torch._check says, and what is computed with them.
        self._numbers: dict[str, int | bool] = {}

    def graph(self, name: str, state: Mapping[str, Any], aliases: Mapping[str, str]) -> Graph:
        signature, graph = self._module["signature"], self._module["graph"]
        call = self._module["module_call_graph"][0]["signature"]
        in_tree, out_tree = tree_of_json(call["in_spec"]), tree_of_json(call["out_spec"])
        types = self._types(graph)
        inputs = unique_inputs([_input(spec, types) for spec in signature["input_specs"]], aliases)
        nodes = self._nodes(graph, types)
        outputs = _outputs(signature["output_specs"], out_tree)
        if self._problems:
            raise UnsupportedError("\n".join(self._problems))
        results = inputs.renamed_outputs(unique_outputs(outputs))
        return with_own_gradients(Graph(inputs.kept, inputs.renamed(nodes), results, name, state, in_tree, out_tree))

    def _types(self, graph: Mapping[str, Any]) -> dict[str, Type | None]:
        types: dict[str, Type | None] = {}
        for name, meta in graph["tensor_values"].items():
            try:
                types[name] = _type(meta)
            except Unsupported as error:
                self._problems[refused_at(Place(), f'value "{name}"', str(error))] = None
                types[name] = None
        return types

    def _nodes(self, graph: Mapping[str, Any], types: Mapping[str, Type | None]) -> list[Node]:
        for kind in ("sym_int_values", "sym_bool_values"):
            for name, given in graph.get(kind, {}).items():
                ((form, value),) = given.items()
                if form in ("as_int", "as_bool"):
                    self._numbers[name] = value
        return with_places([self._node(node, types) for node in graph["nodes"] if not self._is_number(node)])

    def _is_number(self, node: Mapping[str, Any]) -> bool:
        """Whether it computes a size that is known."""
        made = [value.get("as_name") for output in node["outputs"] for kind, value in output.items() if kind in _SYMBOL]
        return bool(made) and all(name in self._numbers for name in made)

    def _node(self, node: Mapping[str, Any], types: Mapping[str, Type | None]) -> Node:
        target = node["target"].removeprefix("torch.ops.")
        metadata = node["metadata"]
        stack = [entry.split(",")[1] for entry in metadata.get("nn_module_stack", "").split(";") if "," in entry]
        place = place_of(metadata.get("stack_trace"), stack)
        results = []
        for output in node["outputs"]:
            ((kind, value),) = output.items()
            names = [entry["name"] for entry in value] if kind == "as_tensors" else [_name_of(kind, value)]
            results += [Result(name, types.get(name)) for name in names]
            if kind in _SYMBOLS:
                self._problems[refused_at(place, target, "it makes a size that only the run knows")] = None
        args = {}
        for number, given in enumerate(node["inputs"]):
            try:
                args[given["name"] or f"arg{number}"] = self._argument(given["arg"])
            except Unsupported as error:
                self._problems[refused_at(place, target, str(error))] = None
        return Node(target, args, tuple(results), place)

    def _argument(self, argument: Mapping[str, Any]) -> Argument:
        ((kind, value),) = argument.items()
        if kind in _SYMBOLS:
            return [self._symbol(each) for each in value] if isinstance(value, list) else self._symbol(value)
        if kind == "as_graph":
            return self._subgraph(value)
        return _plain(kind, value)

    def _symbol(self, value: Mapping[str, Any]) -> int | bool:
        ((kind, given),) = value.items()
        if kind != "as_name":
            return given
        if given not in self._numbers:
            raise Unsupported("a size that is not a number; export without dynamic_shapes")
        return self._numbers[given]

    def _subgraph(self, value: Mapping[str, Any]) -> Graph:
        graph = value["graph"]
        types = self._types(graph)
        names = [entry["as_tensor"]["name"] for entry in graph["inputs"]]
        inputs = tuple(Input("user", name, name, types[name]) for name in names)
        outputs = tuple(Output("user", f"result{i}", _reference(entry)) for i, entry in enumerate(graph["outputs"]))
        return Graph(inputs, tuple(self._nodes(graph, types)), outputs, value["name"])


def _plain(kind: str, value: Any) -> Argument:
    """An argument that has no graph in it."""
    if kind in _STORAGE:
        return str(value)
    if kind == "as_none":
        return None
    if kind == "as_scalar_type":
        return _dtype(value)
    if kind in ("as_tensor", "as_tensors"):
        return Ref(value["name"]) if kind == "as_tensor" else [Ref(entry["name"]) for entry in value]
    if kind == "as_optional_tensors":
        return [_reference(entry) for entry in value]
    if kind == "as_optional_tensor":
        return _reference(value)
    if kind in ("as_float", "as_floats"):
        return _float(value) if kind == "as_float" else [_float(number) for number in value]
    if kind == "as_complex":
        return complex(_float(value["real"]), _float(value["imag"]))
    if kind in ("as_int", "as_bool", "as_string", "as_ints", "as_bools", "as_strings"):
        return value
    raise Unsupported(f"an argument of kind {kind.removeprefix('as_')}")


def _float(value: Any) -> float:
    """JSON has no infinities and NaNs, for which there are words."""
    return float(value) if not isinstance(value, str) else {"Infinity": math.inf, "-Infinity": -math.inf}.get(value, math.nan)


def _reference(entry: Mapping[str, Any]) -> Argument:
    ((kind, value),) = entry.items()
    return Ref(value["name"]) if kind == "as_tensor" else _plain(kind, value)


def _name_of(kind: str, value: Any) -> str:
    return value["name"] if isinstance(value, Mapping) and "name" in value else kind


def _dtype(number: int) -> np.dtype:
    if number not in _DTYPES:
        raise Unsupported(f"elements of {'complex32' if number == _HALF_COMPLEX else f'type {number}'}")
    return dtype_of_name(_DTYPES[number])


def _size(size: Mapping[str, Any]) -> int:
    if "as_int" not in size:
        symbol = size.get("as_expr", {}).get("expr_str", "a symbol")
        raise Unsupported(f"size {symbol}, which is not a number; export without dynamic_shapes")
    return int(size["as_int"])


def _type(meta: Mapping[str, Any]) -> Type:
    return Type(tuple(map(_size, meta["sizes"])), _dtype(meta["dtype"]))


def _input(spec: Mapping[str, Any], types: Mapping[str, Type | None]) -> Input:
    ((kind, given),) = spec.items()
    if kind == "constant_input":
        ((_, value),) = given["value"].items()
        return Input("user", given["name"], given["name"], None, None if given["value"].get("as_none") else value)
    if kind == "user_input":
        ((argument, value),) = given["arg"].items()
        if argument != "as_tensor":
            raise InputError(f"an input of kind {argument.removeprefix('as_')}; expected tensors")
        return Input("user", value["name"], value["name"], types[value["name"]])
    names = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
    if kind not in names:
        raise InputError(f"an input of kind {kind}; expected parameters, buffers, constants and arguments")
    value = given["arg"]["name"]
    inputs = {"parameter": "parameter", "buffer": "buffer", "tensor_constant": "constant"}
    return Input(inputs[kind], given[names[kind]], value, types[value])


def _outputs(specs: Sequence[Mapping[str, Any]], out_tree: Tree) -> list[Output]:
    names = iter(result_names(out_tree))
    outputs = []
    for spec in specs:
        ((kind, given),) = spec.items()
        if kind == "buffer_mutation":
            outputs.append(Output("buffer", given["buffer_name"], Ref(given["arg"]["name"])))
        elif kind == "user_input_mutation":
            outputs.append(Output("input", given["user_input_name"], Ref(given["arg"]["name"])))
        elif kind in ("user_output", "loss_output"):
            outputs.append(Output("user", next(names), _output(kind, given["arg"])))
        else:
            raise InputError(f"an output of kind {kind}; expected results and what is written over")
    return outputs


def _output(kind: str, argument: Mapping[str, Any]) -> Argument:
    return Ref(argument["name"]) if kind == "loss_output" else _reference(argument)
