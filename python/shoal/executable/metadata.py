# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a file says of a program, checked before anything trusts it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, Union

from shoal.errors import ShoalError
from shoal.executable.dtypes import is_code, is_element
from shoal.executable.options import CompileOptions

# A type; a list of one form, which its members have; a dict of forms, whose keys
# must be there; or a function that says whether a value is right.
Form = Union[type, list[Any], dict[str, Any], Callable[[Any], bool]]


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_count(value: Any) -> bool:
    return _is_size(value) and value > 0


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_int64_or_null(value: Any) -> bool:
    return value is None or _is_int64(value)


def _is_text_or_int64(value: Any) -> bool:
    return isinstance(value, str) or _is_int64(value)


def _is_finite(value: Any) -> bool:
    return _is_int64(value) or (type(value) is float and math.isfinite(value))


def _is_finite_or_null(value: Any) -> bool:
    return value is None or _is_finite(value)


_TENSOR: Form = {
    "name": str,
    "dtype": is_element,
    "unsigned": bool,
    "shape": [_is_size],
    "local_shape": [_is_size],
    "sharding": str,
}
_OPTIONS: dict[str, Form] = {
    "str": str,
    "str | Path": str,
    "str | bool": str,  # as text once it is chosen
    "str | int": _is_text_or_int64,
    "bool": bool,
    "int": _is_int64,
    "int | None": _is_int64_or_null,
    "float": _is_finite,
    "float | None": _is_finite_or_null,
    "Sequence[str]": [str],
    "Sequence[str | Path]": [str],
}
_METADATA: Form = {
    "description": {
        "name": str,
        "devices": _is_count,
        "inputs": [_TENSOR],
        "outputs": [_TENSOR],
    },
    "statistics": dict,
    "options": dict,
    "source": str,
}


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """ShoalError, with the place, where `program.json` is not as `saving` writes it."""
    _check(metadata, _METADATA, "")
    _check_options(metadata["options"])
    description = metadata["description"]
    for what in ("inputs", "outputs"):
        for number, tensor in enumerate(description[what]):
            _check_shapes(tensor, f"description.{what}[{number}]")
    _check_structure(metadata["structure"], description)


def _check_options(options: Mapping[str, Any]) -> None:
    fields = {field.name: field.type for field in dataclasses.fields(CompileOptions)}
    for name, value in options.items():
        if name not in fields:
            raise ShoalError(f"options: unknown {_short(name)}")
        _check(value, _OPTIONS[fields[name]], f"options.{name}")


def _check_structure(structure: Any, description: Mapping[str, Any]) -> None:
    if structure is None:
        return
    if not isinstance(structure, list) or len(structure) != 2:
        raise ShoalError(f"structure: expected a pair or null but got {_short(structure)}")
    for tree, what in zip(structure, ("inputs", "outputs")):
        leaves, arrays = _count_leaves(tree, f"structure of {what}"), len(description[what])
        if leaves != arrays:
            raise ShoalError(f"structure: {leaves} arrays for {arrays} {what}")


def _check(value: Any, form: Form, place: str) -> None:
    if isinstance(form, list):
        _expect(isinstance(value, list), value, place)
        for number, member in enumerate(value):
            _check(member, form[0], f"{place}[{number}]")
    elif isinstance(form, dict):
        _expect(isinstance(value, dict), value, place)
        for key, inner in form.items():
            inside = f"{place}.{key}" if place else key
            if key not in value:
                raise ShoalError(f"{inside}: missing")
            _check(value[key], inner, inside)
    elif isinstance(form, type):
        _expect(type(value) is form, value, place)
    else:
        _expect(form(value), value, place)


def _expect(holds: bool, value: Any, place: str) -> None:
    if not holds:
        raise ShoalError(f"{place or 'program.json'}: unexpected {_short(value)}")


def _check_shapes(tensor: Mapping[str, Any], place: str) -> None:
    if len(tensor["shape"]) != len(tensor["local_shape"]):
        raise ShoalError(
            f"{place}: shape {tensor['shape']}, but local_shape {tensor['local_shape']}"
        )
    if "codes" in tensor:
        _check(tensor["codes"], is_code, f"{place}.codes")
        _expect(tensor["dtype"] == "i8", tensor["dtype"], f"{place}.dtype")
    if "complex" in tensor:
        _check(tensor["complex"], bool, f"{place}.complex")
        floats = tensor["dtype"] in ("f32", "f64")
        pairs = all(tensor[key][-1:] == [2] for key in ("shape", "local_shape"))
        if tensor["complex"] and not (floats and pairs):
            raise ShoalError(
                f"{place}: complex numbers of {tensor['dtype']} in shape {tensor['shape']}"
            )
    if "addends" in tensor:
        _check(tensor["addends"], bool, f"{place}.addends")
        if tensor["addends"] and not tensor["shape"]:
            raise ShoalError(f"{place}: addends in shape {tensor['shape']}")
    for shape in (tensor["shape"], tensor["local_shape"]):
        if math.prod(shape) >= 2**60:
            raise ShoalError(f"{place}: no memory holds shape {shape}")


def _count_leaves(tree: Any, place: str) -> int:
    """How many arrays a tree of CallStructure has."""
    if tree is None or tree == "*":
        return int(tree == "*")
    if not isinstance(tree, dict) or len(tree) != 1:
        raise ShoalError(f"{place}: unexpected {_short(tree)}")
    ((kind, children),) = tree.items()
    if kind == "dict" and isinstance(children, dict):
        children = list(children.values())
    elif kind not in ("tuple", "list") or not isinstance(children, list):
        raise ShoalError(f"{place}: unexpected {_short(tree)}")
    return sum(_count_leaves(child, place) for child in children)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
