# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a torch.export.ExportedProgram."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from shoal.errors import UnsupportedError
from shoal.torch.gradients import with_own_gradients
from shoal.torch.graph import Argument, Graph, Input, Node, Output, Place, Ref, Result, Type
from shoal.torch.names import result_names, unique_inputs, unique_outputs
from shoal.torch.refusals import Unsupported, refused_at
from shoal.torch.registry import is_dropped, reason_of
from shoal.torch.traces import place_of, with_places
from shoal.torch.trees import tree_of_spec
from shoal.torch.types import dtype_of_name

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_INPUTS = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
    InputKind.USER_INPUT: "user",
}
_OUTPUTS = {
    OutputKind.BUFFER_MUTATION: "buffer",
    OutputKind.USER_INPUT_MUTATION: "input",
    OutputKind.USER_OUTPUT: "user",
    OutputKind.LOSS_OUTPUT: "user",
}


def from_fx(program: torch.export.ExportedProgram, name: str = "main") -> Graph:
    """The graph of an exported program.

    name: of the program's function. `state` has torch's tensors, detached and where they are.
    UnsupportedError with all values whose sizes or types have no counterpart.
    """
    return _Reader().graph(program, name)


class _Reader:
    """Reads the graphs of one program."""

    def __init__(self) -> None:
        # What is in the way, each once.
        self._problems: dict[str, None] = {}

    def graph(self, program: torch.export.ExportedProgram, name: str) -> Graph:
        signature, module = program.graph_signature, program.graph_module
        in_tree, out_tree = (tree_of_spec(spec) for spec in (program.call_spec.in_spec, program.call_spec.out_spec))
        if any(spec.kind.name == "TOKEN" for spec in signature.input_specs):
            raise UnsupportedError("\n".join(_effects(module)))
        tensors = {**program.state_dict, **program.constants}
        values = {node.name: node for node in module.graph.nodes}
        inputs = unique_inputs(
            [self._input(spec, values[spec.arg.name]) for spec in signature.input_specs], _aliases(tensors)
        )
        nodes = self._nodes(module)
        outputs = self._outputs(signature.output_specs, out_tree, module)
        if self._problems:
            raise UnsupportedError("\n".join(self._problems))
        state = {key: tensor.detach() for key, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}
        results = inputs.renamed_outputs(unique_outputs(outputs))
        return with_own_gradients(Graph(inputs.kept, inputs.renamed(nodes), results, name, state, in_tree, out_tree))

    def _input(self, spec: Any, node: torch.fx.Node) -> Input:
        kind = _INPUTS.get(spec.kind)
        if kind is None:
            raise UnsupportedError(f"an input of kind {spec.kind.name} is not supported; expected parameters, buffers, constants and arguments")
        name = spec.target if kind != "user" else spec.arg.name
        if isinstance(spec.arg, ConstantArgument):
            return Input(kind, name, node.name, None, spec.arg.value)
        return Input(kind, name, node.name, self._type(node.meta.get("val"), Place(), f'value "{name}"'))

    def _outputs(self, specs: Sequence[Any], out_tree: Any, module: torch.fx.GraphModule) -> list[Output]:
        names = iter(result_names(out_tree))
        returned = module.graph.output_node().args[0]
        outputs = []
        for spec, value in zip(specs, returned):
            kind = _OUTPUTS.get(spec.kind)
            if kind is None:
                raise UnsupportedError(f"an output of kind {spec.kind.name} is not supported; expected results and what is written over")
            name = next(names) if kind == "user" else spec.target
            try:
                outputs.append(Output(kind, name, self._argument(value, module)))
            except Unsupported as error:
                # Who made it has been told of, if that is what is wrong.
                self._problems = self._problems or {refused_at(Place(), f'result "{name}"', str(error)): None}
        return outputs

    def _nodes(self, module: torch.fx.GraphModule) -> list[Node]:
        nodes = []
        for node in module.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem or _known(node.meta.get("val")) is not None:
                continue
            place, target = _place(node), _name(node.target)
            try:
                nodes.append(self._node(node, place, module))
            except Unsupported as error:
                # What only computes with a size that is no number has been told of where that comes from.
                if not self._problems or not (_is_of_sizes(node) or is_dropped(target)):
                    self._problems[refused_at(place, target, reason_of(target) or str(error))] = None
        return with_places(nodes)

    def _node(self, node: torch.fx.Node, place: Place, module: torch.fx.GraphModule) -> Node:
        value = node.meta.get("val")
        target = _name(node.target)
        if isinstance(value, _SYMBOLS):
            raise Unsupported("it makes a size that only the run knows")
        values = value if isinstance(value, (tuple, list)) else [] if value is None else [value]
        single = not isinstance(value, (tuple, list))
        results = tuple(
            Result(node.name if single else f"{node.name}:{i}", self._type(entry, place, target))
            for i, entry in enumerate(values)
        )
        schema = getattr(node.target, "_schema", None)
        names = [argument.name for argument in schema.arguments] if schema is not None else []
        names += [f"arg{i}" for i in range(len(names), len(node.args))]
        given = dict(zip(names, node.args)) | dict(node.kwargs)
        return Node(target, {key: self._argument(entry, module) for key, entry in given.items()}, results, place)

    def _argument(self, value: Any, module: torch.fx.GraphModule) -> Argument:
        if isinstance(value, torch.fx.Node):
            return self._reference(value, module)
        if isinstance(value, (tuple, list)):
            return [self._argument(entry, module) for entry in value]
        if isinstance(value, dict):
            return {str(key): self._argument(entry, module) for key, entry in value.items()}
        if isinstance(value, _SYMBOLS):
            return self._symbol(value)
        if isinstance(value, torch.dtype):
            return dtype_of_name(str(value))
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return str(value)
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return value
        raise Unsupported(f"an argument of {type(value).__name__}")

    def _reference(self, node: torch.fx.Node, module: torch.fx.GraphModule) -> Argument:
        if node.op == "call_function" and node.target is operator.getitem:
            return Ref(f"{node.args[0].name}:{node.args[1]}")
        if node.op != "get_attr":
            value = node.meta.get("val")
            return self._symbol(value) if isinstance(value, _SYMBOLS) else Ref(node.name)
        inner = operator.attrgetter(node.target)(module)
        if not isinstance(inner, torch.fx.GraphModule):
            raise Unsupported(f'attribute "{node.target}", of {type(inner).__name__}')
        return self._subgraph(inner, node.target)

    @staticmethod
    def _symbol(value: Any) -> int | bool:
        if (number := _known(value)) is not None:
            return number
        raise Unsupported("a size that is not a number; export without dynamic_shapes")

    def _subgraph(self, module: torch.fx.GraphModule, name: str) -> Graph:
        inputs = tuple(
            Input("user", node.name, node.name, self._type(node.meta.get("val"), _place(node), name))
            for node in module.graph.nodes
            if node.op == "placeholder"
        )
        nodes = self._nodes(module)
        returned = module.graph.output_node().args[0]
        listed = returned if isinstance(returned, (tuple, list)) else [returned]
        outputs = tuple(Output("user", f"result{i}", self._argument(value, module)) for i, value in enumerate(listed))
        return Graph(inputs, tuple(nodes), outputs, name)

    def _type(self, value: Any, place: Place, what: str) -> Type | None:
        """Of a fake tensor; None of what is none. What has no type here is noted among the problems."""
        if not isinstance(value, torch.Tensor):
            return None
        try:
            return type_of(value)
        except Unsupported as error:
            self._problems[refused_at(place, what, reason_of(what) or str(error))] = None
            return None


def _effects(module: torch.fx.GraphModule) -> list[str]:
    """What is said of ops whose order counts, which tokens go through."""
    found = module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.with_effects)
    return [refused_at(_place(node), _name(node.args[1]), reason_of("higher_order.with_effects")) for node in found]


def _is_of_sizes(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), _SYMBOLS)


def type_of(tensor: torch.Tensor) -> Type:
    """The type of a tensor; Unsupported where a size is none or elements have no counterpart."""
    return Type(tuple(map(_number, tensor.shape)), dtype_of_name(str(tensor.dtype)))


def _known(value: Any) -> int | bool | None:
    """The number that a symbol is, as where torch._check says it; None of other symbols, and of what is none."""
    if isinstance(value, torch.SymInt):
        return value.node.maybe_as_int()
    return value.node.maybe_as_bool() if isinstance(value, torch.SymBool) else None


def _number(size: int | torch.SymInt) -> int:
    if isinstance(size, int):
        return size
    if (number := _known(size)) is not None:
        return number
    # Torch's letter for sizes that numbers of tensors decide.
    if str(size).startswith("u"):
        raise Unsupported(
            f"size {size}, which only the run knows; write torch.where, or say the size: torch._check(y.shape[0] == n), output_size=n"
        )
    raise Unsupported(f"size {size}, which is not a number; export without dynamic_shapes")


def _place(node: torch.fx.Node) -> Place:
    stack = node.meta.get("nn_module_stack") or {}
    return place_of(node.meta.get("stack_trace"), [entry[0] for entry in stack.values()])


def _name(target: Any) -> str:
    """"aten.mm.default", "higher_order.cond", or "_operator.add" of Python's own."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"


def _aliases(tensors: Mapping[str, Any]) -> dict[str, str]:
    """The first name of the same parameter, by each name: tied weights share their storage."""
    first: dict[Any, str] = {}
    result = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, torch.nn.Parameter):
            is_meta = tensor.device.type == "meta"
            where = id(tensor) if is_meta else (tensor.untyped_storage().data_ptr(), tensor.storage_offset())
            key = (where, tuple(tensor.shape)) if tensor.numel() else (name,)
            result[name] = first.setdefault(key, name)
    return result


def dtype_of(tensor: torch.Tensor) -> np.dtype:
    """NumPy's type of a tensor's elements; Unsupported where there is none."""
    return dtype_of_name(str(tensor.dtype))
