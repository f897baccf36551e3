# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arrays can be loaded from, whoever wrote it."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.checkpoints.heads import check_shape, unrepeated
from shoal.checkpoints.reading import TensorFile
from shoal.checkpoints.regions import Region, shape_of, whole
from shoal.closing import Closing
from shoal.errors import CheckpointError, InputError, ShoalError


class ArrayInfo(NamedTuple):
    """sharding: that of the devices that saved it, as the compiler prints it; "" is whole."""

    shape: tuple[int, ...]
    dtype: np.dtype
    sharding: str = ""


class Source(Closing):
    """Arrays by name.

    arrays: what there is; metadata: what was saved beside it.
    """

    path: Path
    arrays: Mapping[str, ArrayInfo]
    metadata: Mapping[str, Any]

    def read(self, name: str, slices: Sequence[slice] | None = None) -> np.ndarray:
        """An array, or these rows of it: a slice for each dimension, without steps.

        InputError where there is none of this name; CheckpointError where it is damaged.
        """
        info = self.info(name)
        if slices is None:
            region = whole(info.shape)
        else:
            if len(slices) != len(info.shape):
                raise InputError(
                    f"{name} has {len(info.shape)} dimensions, but {len(slices)} slices are given"
                )
            region = tuple(_bounds(part, size) for part, size in zip(slices, info.shape))
        out = np.empty(shape_of(region), info.dtype)
        self.read_into(name, region, out)
        return out

    def info(self, name: str) -> ArrayInfo:
        """Shape, type and sharding of an array; InputError where there is none of that name."""
        if name not in self.arrays:
            raise InputError(f"{self.path}: has no {name}")
        return self.arrays[name]

    def place(self, name: str) -> Path:
        """The file that has an array, or what it is in, for messages."""
        self.info(name)
        return self.path

    @abstractmethod
    def read_into(self, name: str, region: Region, out: np.ndarray) -> None:
        """Writes these rows to `out`, which has their shape and the array's type."""

    def check_heads(self) -> None:
        """CheckpointError where what says which arrays there are is not what files have."""

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """From the disk or its cache so far."""


def _bounds(part: slice, size: int) -> tuple[int, int]:
    begin, end, step = part.indices(size)
    if step != 1:
        raise InputError(f"expected slices without steps, got {part}")
    return begin, max(begin, end)


class SafetensorsSource(Source):
    """One safetensors file, or several, as Hugging Face has them: those that an index names and no
    others; all, without an index.

    path: a file, an index, or a folder of either.
    """

    INDEX = ".safetensors.index.json"

    def __init__(self, path: Path, stem: str = "*"):
        """stem: what names of a folder's files and of its index are like before ".safetensors"."""
        self.path = path
        self._paths, self.metadata = self._find(path, stem)
        self._files: dict[Path, TensorFile] = {}
        try:
            self.arrays = {name: self._info(name) for name in self._paths}
        except BaseException:
            self.close()
            raise

    def _find(self, path: Path, stem: str) -> tuple[dict[str, Path], dict[str, Any]]:
        """The file of each tensor."""
        if path.name.endswith(self.INDEX):
            return _indexed(path)
        if path.is_file():
            file = TensorFile(path)
            try:
                return dict.fromkeys(file.tensors, path), dict(file.metadata)
            finally:
                file.close()
        indices = sorted(path.glob(f"{stem}{self.INDEX}"))
        if len(indices) > 1:
            listed = ", ".join(index.name for index in indices)
            raise InputError(f"{path}: has {len(indices)} indices: open one of {listed}")
        if indices:
            return _indexed(indices[0])
        parts = sorted(path.glob(f"{stem}.safetensors"))
        if not parts:
            raise InputError(f"{path}: has no {stem}.safetensors")
        paths: dict[str, Path] = {}
        for part in parts:
            for name in self._find(part, stem)[0]:
                if name in paths:
                    raise InputError(
                        f"{path}: {paths[name].name} and {part.name} both have {name}: open one of them"
                    )
                paths[name] = part
        return paths, {}

    def _file(self, path: Path) -> TensorFile:
        if path not in self._files:
            try:
                self._files[path] = TensorFile(path)
            except FileNotFoundError:
                names = [name for name, other in self._paths.items() if other == path]
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                raise CheckpointError(
                    f"{path}: is missing ({', '.join(names[:3])}{more})"
                ) from None
        return self._files[path]

    def _info(self, name: str) -> ArrayInfo:
        path = self._paths[name]
        tensor = self._file(path).tensors.get(name)
        if tensor is None:
            raise CheckpointError(f"{path}: has no {name}, which the index says it has")
        if tensor.dtype is None:
            raise InputError(f"{path}: {name} has elements of type {tensor.stored}, which Shoal has not")
        return ArrayInfo(tensor.shape, tensor.dtype)

    def place(self, name: str) -> Path:
        self.info(name)
        return self._paths[name]

    def read_into(self, name: str, region: Region, out: np.ndarray) -> None:
        file = self._file(self._paths[name])
        file.read(file.tensors[name], region, out)

    @property
    def bytes_read(self) -> int:
        return sum(file.bytes_read for file in self._files.values())

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


def _indexed(index: Path) -> tuple[dict[str, Path], dict[str, Any]]:
    try:
        content = json.loads(index.read_bytes(), object_pairs_hook=unrepeated)
        return (
            {name: _beside(index, file) for name, file in content["weight_map"].items()},
            dict(content.get("metadata", {})),
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CheckpointError(f"{index}: is no index of safetensors files: {error}") from error


def _beside(index: Path, file: str) -> Path:
    """ValueError where it lies elsewhere than in the index's folder or one below."""
    if Path(file).is_absolute() or ".." in Path(file).parts:
        raise ValueError(f"{file!r} is not below its folder")
    return index.parent / file


class ArchiveSource(Source):
    """NumPy's .npz. An array is read whole, and kept until the next one."""

    def __init__(self, path: Path):
        self.path = path
        self.metadata: dict[str, Any] = {}
        self._kept: tuple[str, np.ndarray] | None = None
        self._bytes_read = 0
        with _refusing(path):
            self._file = np.load(path, allow_pickle=False)
            if not isinstance(self._file, np.lib.npyio.NpzFile):
                raise CheckpointError(f"{path}: is no archive of arrays")
            names = [name.removesuffix(".npy") for name in self._file.zip.namelist() if name.endswith(".npy")]
            self.arrays = unrepeated([(name, self._info(name)) for name in names])

    def _info(self, name: str) -> ArrayInfo:
        """ValueError where the entry is not as long as its head says: NumPy would make room for what is not there."""
        with self._file.zip.open(f"{name}.npy") as entry:
            version = np.lib.format.read_magic(entry)
            read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
            shape, _, dtype = read(entry)
            given = self._file.zip.getinfo(f"{name}.npy").file_size - entry.tell()
        check_shape(name, shape)
        expected = math.prod(shape) * dtype.itemsize
        if not dtype.hasobject and expected != given:
            raise ValueError(f"{name}: {dtype}{list(shape)} has {expected} bytes, but {given} are given")
        # What is read from it has the machine's order of bytes.
        return ArrayInfo(shape, dtype.newbyteorder("="))

    def read_into(self, name: str, region: Region, out: np.ndarray) -> None:
        if self._kept is None or self._kept[0] != name:
            with _refusing(self.path):
                self._kept = (name, self._file[name])
            self._bytes_read += self._kept[1].nbytes
        out[...] = self._kept[1][tuple(slice(*dim) for dim in region)]

    @property
    def bytes_read(self) -> int:
        return self._bytes_read

    def close(self) -> None:
        self._kept = None
        self._file.close()


# Of files that are damaged, encrypted, or compressed in a way that zipfile has not, and of pickles.
_NO_ARCHIVE = (
    AttributeError, EOFError, KeyError, MemoryError, NotImplementedError, OverflowError, RuntimeError, SyntaxError,
    TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What NumPy and zip say of files that are none of theirs is a CheckpointError."""
    try:
        yield
    except ShoalError:
        raise
    except _NO_ARCHIVE as error:
        raise CheckpointError(f"{path}: is damaged, or no .npz archive: {error}") from error

