# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of safetensors and back, without torch.

    step.load_state_dict(shoal.torch.load_safetensors("model"))
    shoal.torch.save_safetensors("trained", step.state_dict())
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.models.files import Tensors, open_model, write_file, write_model
from shoal.torch.tensors import to_numpy


def load_safetensors(path: str | os.PathLike[str]) -> Mapping[str, np.ndarray]:
    """The arrays of a file, an index or a folder by name, each of which is read when it is asked for; for `load_state_dict` and `state`.

    InputError of what is no such file.
    """
    return Tensors(open_model(path))


def save_safetensors(path: str | os.PathLike[str], state: Mapping[str, Any], shard_bytes: int = 5 << 30) -> None:
    """Writes tensors of torch, arrays of NumPy or arrays on devices: one file where the path ends in .safetensors, else a folder with files
    of at most so many bytes and an index, which `from_pretrained` reads beside a config.json.

    Tensors that share their memory, as tied weights, are one, under the first name. InputError of types that files have not.
    """
    arrays: dict[str, np.ndarray] = {}
    known: set[Any] = set()
    for name, value in state.items():
        array = np.asarray(to_numpy(value) if not hasattr(value, "numpy") or hasattr(value, "data_ptr") else value.numpy())
        place = (array.__array_interface__["data"][0], array.shape, array.strides)
        if not array.size or place not in known:
            arrays[name] = array
        known.add(place)
    if Path(path).suffix == ".safetensors":
        write_file(path, arrays)
    else:
        Path(path).mkdir(parents=True, exist_ok=True)
        write_model(path, arrays, None, shard_bytes)
