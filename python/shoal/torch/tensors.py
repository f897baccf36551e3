# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of torch as NumPy's arrays and back, in the same memory where that can be. Imports no torch by itself.

NumPy has no bfloat16 of torch's: its bits go as those of another type of their size.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from shoal.devices import Array
from shoal.torch.types import dtype_of_name, name_of

# By the size of elements, what carries bits that NumPy has no type of its own for.
_BITS = {1: "uint8", 2: "uint16"}


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch, which need not be there."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any) -> Any:
    """The array of a tensor, in its memory where it is dense and the processor's; anything else as it is.

    Complex numbers are pairs along a last dimension, of a tensor and of an array. Gradients do not go through it.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return np.stack([value.real, value.imag], -1)
    if not is_tensor(value):
        return value
    tensor = value.detach().cpu().contiguous()
    if tensor.is_complex():
        import torch

        tensor = torch.view_as_real(tensor.resolve_conj())
    dtype = dtype_of_name(str(tensor.dtype))
    if dtype.kind != "V" and dtype.type.__module__ == "numpy":
        return tensor.numpy()
    import torch

    return tensor.view(getattr(torch, _BITS[dtype.itemsize])).numpy().view(dtype)


def overwrite(target: Any, value: Any) -> None:
    """The numbers of an array in a tensor's place, or in another array's."""
    if is_tensor(target):
        target.detach().copy_(to_torch(value))
    else:
        target[...] = np.asarray(value)


def to_torch(value: Any, is_complex: bool = False) -> Any:
    """The tensor of an array, in its memory where that may be written to; anything else as it is.

    Of a `shoal.Array` the whole is brought together. is_complex: the last dimension has the halves of numbers.
    """
    if is_complex:
        import torch

        return torch.view_as_complex(to_torch(value))
    if isinstance(value, Array):
        value = value.numpy()
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    import torch

    array = np.require(value, requirements=["C", "W", "A"])
    dtype = array.dtype
    if dtype.type.__module__ == "numpy":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(_BITS[dtype.itemsize])).view(getattr(torch, name_of(dtype)))
