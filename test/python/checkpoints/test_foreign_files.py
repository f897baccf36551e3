# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of others whose heads say what their bytes are not: one CheckpointError, with the file and the array."""

import io
import json
import zipfile

import numpy as np
import pytest

from shoal import checkpoints
from shoal.errors import CheckpointError, InputError

OTHERS = (None, True, -1, 0, 2.5, "x", "3", 2**62, 10**30, [], [1] * 100, [-1], [2**62] * 3, ["3"], [True], {}, {"x": 1})


def entry(shape=(2, 3), offsets=(0, 24), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def safetensors(path, head, data=bytes(48)):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def refused(path, message=""):
    with pytest.raises((CheckpointError, InputError), match=message) as error:
        with checkpoints.open(path) as source:
            for name in source.arrays:
                source.read(name)
    assert str(error.value).startswith(f"{path}: "), error.value


HEADS = {
    "beyond memory": ({"a": entry([2**40, 3], [0, 24])}, r"a: F32\[1099511627776, 3\] has 13194139533312 bytes, but 24"),
    "negative": ({"a": entry([-2, -3])}, r"a: shape \[-2, -3\] is negative"),
    "of a hundred dimensions": ({"a": entry([1] * 100, [0, 4])}, "a has 100 dimensions; NumPy has at most 32"),
    "of no elements and too large": ({"a": entry([0, 2**62, 2**62], [0, 0])}, "a: shape .* more elements than there are"),
    "of texts": ({"a": entry(["2", "3"])}, r"a: shape \['2', '3'\]: expected a list of integers"),
    "of floats": ({"a": entry([2.0, 3.0])}, r"a: shape \[2.0, 3.0\]: expected a list of integers"),
    "of booleans": ({"a": entry([True], [0, 4])}, r"a: shape \[True\]: expected a list of integers"),
    "three offsets": ({"a": entry(offsets=[0, 24, 48])}, r"a: data_offsets \[0, 24, 48\]: expected \[begin, end\]"),
    "overlapping": ({"a": entry(), "b": entry(offsets=[20, 44])}, "a ends at byte 24, but b begins at byte 20"),
    "the same bytes": ({"a": entry(), "b": entry()}, "a ends at byte 24, but b begins at byte 0"),
    "a name twice": (b'{"a": %s, "a": %s}' % ((json.dumps(entry()).encode(),) * 2), "a stands there twice"),
    "a field twice": (b'{"a": {"dtype": "F32", "dtype": "I32"}}', "dtype stands there twice"),
    "metadata of numbers": ({"__metadata__": {"step": 3}, "a": entry()}, "__metadata__ is {'step': 3}; expected"),
    "an entry that is a list": ({"a": [1]}, r"a is \[1\]; expected an object with dtype, shape and data_offsets"),
    "deep": (b'{"a": ' + b"[" * 100_000, "RecursionError"),
    "a number of many digits": (b'{"a": ' + b"1" * 10_000 + b"}", "is damaged, or no safetensors file"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_heads_of_safetensors(tmp_path, name):
    head, message = HEADS[name]
    refused(safetensors(tmp_path / "x.safetensors", head), message)


def test_each_value_of_a_head(tmp_path):
    """Every kind in each place is refused, or is a tensor that can be read."""
    for place in (["a"], ["a", "dtype"], ["a", "shape"], ["a", "data_offsets"], ["__metadata__"]):
        for other in OTHERS:
            head = {"__metadata__": {"format": "np"}, "a": entry(), "b": entry(offsets=[24, 48])}
            table = head
            for key in place[:-1]:
                table = table[key]
            table[place[-1]] = other
            path = safetensors(tmp_path / "x.safetensors", head)
            if place == ["__metadata__"] and other in ({}, []):
                continue
            refused(path, "metadata" if place == ["__metadata__"] else "a")


def npy(shape, dtype="<f4", data=bytes(24)):
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": dtype, "fortran_order": False, "shape": tuple(shape)})
    return made.getvalue() + data


ENTRIES = {
    "beyond memory": (npy([2**40, 3]), r"a: float32\[1099511627776, 3\] has 13194139533312 bytes, but 24 are given"),
    "negative": (npy([-2, -3]), r"a: shape \[-2, -3\] is negative"),
    "of a hundred dimensions": (npy([1] * 100, data=bytes(4)), "a has 100 dimensions"),
    "of no elements and too large": (npy([0, 2**62, 2**62], data=b""), "a: shape .* more elements than there are"),
    "cut off": (npy([2, 3])[:-4], "but 20 are given"),
    "too long": (npy([2, 3]) + b"x", "but 25 are given"),
    "no array": (b"hello", "x.npz: is damaged, or no .npz archive"),
    "of no type": (npy([2, 3], "<q9"), "x.npz: is damaged, or no .npz archive"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_of_archives(tmp_path, name):
    data, message = ENTRIES[name]
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", data)
    refused(tmp_path / "x.npz", message)


def test_two_entries_of_one_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for _ in range(2):
            archive.writestr("a.npy", npy([2, 3]))
    refused(tmp_path / "x.npz", "a stands there twice")


@pytest.mark.parametrize("text", ["[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 3}}', "[" * 100_000,
                                  '{"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}}'])  # fmt: skip
def test_indices(tmp_path, text):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(text)
    with pytest.raises(CheckpointError, match=f"{index}: is no index of safetensors files: "):
        checkpoints.open(tmp_path)
