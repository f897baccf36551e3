# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program takes and gives, and whether arrays are that."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal.executable.dtypes import dtype_of, dtype_of_code
from shoal.files import expect_whole
from shoal.masks import is_masked


@dataclass(frozen=True)
class Tensor:
    """An input or an output.

    shape: of the whole tensor; local_shape: of one device's shard of it, where
    the last shard of an uneven dimension is padded.
    sharding: as the compiler prints it, "" where all devices have the whole.
    offset: of an output, its place in the memory that outputs share; None where it
    has its own.
    Complex numbers are pairs of floats in the program, and in its sharding, along
    one more dimension, which neither the shapes nor arrays have.
    is_addends: devices hold addends of it: the first dimension, which they split, has
    one for each. As an input a whole one, without that dimension, will do.
    """

    name: str
    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    dtype: np.dtype
    sharding: str
    offset: int | None = None
    is_addends: bool = False

    @property
    def local_bytes(self) -> int:
        """Of what a device holds of it."""
        return math.prod(self.local_shape) * self.dtype.itemsize

    def __str__(self) -> str:
        sharding = f" {self.sharding}" if self.sharding else ""
        return f"{self.name}: {self.dtype}{list(self.shape)}{sharding}"


@dataclass(frozen=True)
class Signature:
    """`description` is the metadata of shoal/Runtime/ABI.h, parsed."""

    name: str
    devices: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    description: Mapping[str, Any]

    @staticmethod
    def parse(text: str) -> Signature:
        """Of the JSON text that a compiled program describes itself by."""
        description = json.loads(text)
        return Signature(
            description["name"],
            description["devices"],
            tuple(map(_parse_tensor, description["inputs"])),
            tuple(map(_parse_tensor, description["outputs"])),
            description,
        )


def _parse_tensor(entry: Mapping[str, Any]) -> Tensor:
    is_complex = entry.get("complex", False)
    shape, local_shape = tuple(entry["shape"]), tuple(entry["local_shape"])
    is_unsigned = entry.get("unsigned", False)
    dtype = dtype_of(entry["dtype"], is_unsigned, is_complex=is_complex)
    return Tensor(
        entry["name"],
        shape[:-1] if is_complex else shape,
        local_shape[:-1] if is_complex else local_shape,
        dtype_of_code(entry["codes"]) if "codes" in entry else dtype,
        entry["sharding"],
        entry.get("offset"),
        entry.get("addends", False),
    )


def arrange(
    inputs: Sequence[Any] | Mapping[str, Any], tensors: Sequence[Tensor], what: str = "input"
) -> list[Any]:
    """The values in the tensors' order; InputError where names or their number differ."""
    if isinstance(inputs, Mapping):
        names = [tensor.name for tensor in tensors]
        missing = [name for name in names if name not in inputs]
        unknown = [str(name) for name in inputs if name not in names]
        if missing or unknown:
            problems = [f"missing: {', '.join(missing)}"] * bool(missing)
            problems += [f"unknown: {', '.join(unknown)}"] * bool(unknown)
            raise InputError(
                f"{what}s {'; '.join(problems)} (the program has {', '.join(names) or 'none'})"
            )
        return [inputs[name] for name in names]
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Sequence):
        raise InputError(
            f"expected the {what}s as a list, tuple or dict but got {type(inputs).__name__}"
        )
    if len(inputs) != len(tensors):
        raise InputError(f"expected {_count(len(tensors), what)} but got {len(inputs)}")
    return list(inputs)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def as_array(value: Any, tensor: Tensor, what: str = "input") -> np.ndarray:
    """The value as an array of the tensor's type, whatever its shape; as addends where it has
    these.

    Numbers of Python take that type; anything else must have it, and no mask:
    InputError.
    """
    try:
        numbers = (bool, int, float, complex) if tensor.dtype.kind == "c" else (bool, int, float)
        is_number = isinstance(value, numbers) and not isinstance(value, np.generic)
        array = np.asarray(value, tensor.dtype) if is_number else np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f'{what} "{tensor.name}": {error}') from error
    if is_masked(value):
        raise InputError(
            f'{what} "{tensor.name}": a masked array: programs know no masks, fill it by .filled()'
        )
    if array.dtype.newbyteorder("=") != tensor.dtype:
        raise InputError(
            f'{what} "{tensor.name}": expected {tensor.dtype} but got {array.dtype}'
        )
    expect_whole(array, f'{what} "{tensor.name}"')
    is_sum = tensor.is_addends and array.shape == tensor.shape[1:]
    return _as_addends(array, tensor) if is_sum else array


def _as_addends(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Addends of which the array is the sum: itself and zeros."""
    addends = np.zeros(tensor.shape, tensor.dtype)
    addends[:1] = array
    return addends


def check_global(value: Any, tensor: Tensor) -> np.ndarray:
    """The value as an array of the whole tensor's type and shape; else InputError."""
    array = as_array(value, tensor)
    if array.shape != tensor.shape:
        raise InputError(
            f'input "{tensor.name}": expected shape {list(tensor.shape)} '
            f"but got {list(array.shape)}"
        )
    return array
