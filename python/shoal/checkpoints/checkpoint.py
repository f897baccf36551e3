# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A checkpoint as Shoal writes it, to read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.checksums import crc32c
from shoal.checkpoints.dtypes import stored_as
from shoal.checkpoints.heads import TABLE, Tensor
from shoal.checkpoints.manifest import Manifest, ShardEntry, tensor_name
from shoal.checkpoints.reading import TensorFile
from shoal.checkpoints.regions import Region, cells, meeting, shape_of, slices_of, within
from shoal.checkpoints.sources import ArrayInfo, Source
from shoal.errors import CheckpointError

_CHUNK = 1 << 20  # bytes that are checked at once


class Checkpoint(Source):
    """A folder of `save`.

    CheckpointError where a file is missing or has another size. Bytes are checked when they are
    read, those of heads with the first read of a shard: also that it has the tensors of which the
    manifest says so.
    """

    def __init__(self, path: Path):
        self.path = path
        text = _read_text(path)
        self._manifest = manifests.parse(text, path / manifests.NAME)
        self._manifest_bytes = len(text)
        self.metadata = self._manifest.metadata
        self.arrays = {
            name: ArrayInfo(entry.shape, entry.dtype, entry.sharding)
            for name, entry in self._manifest.arrays.items()
        }
        self._files: dict[int, TensorFile] = {}
        for number, entry in enumerate(self._manifest.shards):
            if entry is not None:
                self._check_size(number, entry)

    def _check_size(self, number: int, entry: ShardEntry) -> None:
        path = self.path / entry.file
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise self._missing(number, entry) from None
        if size != entry.bytes:
            raise CheckpointError(
                f"{path}: has {size} bytes, expected {entry.bytes}{self._blame_all(number)}"
            )

    def _missing(self, number: int, entry: ShardEntry) -> CheckpointError:
        return CheckpointError(f"{self.path / entry.file}: is missing{self._blame_all(number)}")

    def read_into(self, name: str, region: Region, out: np.ndarray) -> None:
        entry = self._manifest.arrays[name]
        begin = tuple((first, first) for first, _ in region)
        for number, piece, rows in meeting(entry.cuts, region):
            file = self._file(entry.shards[number])
            tensor = file.tensors[tensor_name(name, piece, entry.cuts)]
            file.read(tensor, within(rows, piece), out[(*slices_of(within(rows, begin)), ...)])

    def verify(self) -> None:
        """Reads every byte; CheckpointError at the first that is damaged."""
        for number, entry in enumerate(self._manifest.shards):
            if entry is not None:
                file = self._file(number)
                for begin in range(entry.head_bytes, entry.bytes, _CHUNK):
                    file.bytes_at(begin, min(begin + _CHUNK, entry.bytes))

    def check_heads(self) -> None:
        for number, entry in enumerate(self._manifest.shards):
            if entry is not None:
                self._file(number)

    def _file(self, number: int) -> TensorFile:
        if number not in self._files:
            entry = self._manifest.shards[number]
            if entry is None:
                raise CheckpointError(f"{self.path}: rank {number} has written no shard")
            try:
                file = TensorFile(self.path / entry.file)
            except FileNotFoundError:
                raise self._missing(number, entry) from None
            except CheckpointError as error:
                raise CheckpointError(f"{error}{self._blame_all(number)}") from None
            try:
                self._check_head(file, number, entry)
            except BaseException:
                file.close()
                raise
            self._files[number] = file
        return self._files[number]

    def _check_head(self, file: TensorFile, number: int, entry: ShardEntry) -> None:
        """Also has the file check what follows it."""
        head = file.bytes_at(0, entry.head_bytes).copy()
        if crc32c(head) != entry.head_crc32c:
            raise CheckpointError(
                f"{file.path}: bytes 0 to {entry.head_bytes}, the head, are damaged"
                f"{self._blame_all(number)}: CRC32C {crc32c(head):#010x}, "
                f"expected {entry.head_crc32c:#010x}"
            )
        self._check_tensors(file, number)
        table = file.tensors.get(TABLE)
        if table is None:
            raise CheckpointError(f"{file.path}: has no table of checksums{self._blame_all(number)}")
        first = file.data_begin + table.begin
        checks = head[first : first + table.end - table.begin].copy().view("<u4")

        def blame(begin: int, end: int) -> str:
            begin, end = begin - file.data_begin, end - file.data_begin
            return _blame(_names_between(file.tensors, begin, end), number)

        file.check_by(checks, entry.head_bytes, blame)

    def _check_tensors(self, file: TensorFile, number: int) -> None:
        """CheckpointError where the manifest says other names, types or shapes than the shard."""
        expected = self._tensors[number]
        found = {name: (t.stored, t.shape) for name, t in file.tensors.items() if name != TABLE}
        for name in (*expected, *found):
            one, other = expected.get(name), found.get(name)
            if one != other:
                raise CheckpointError(
                    f"{file.path}: has {_described(name, other)}, but by the manifest {_described(name, one)} "
                    f"(written by rank {number})"
                )

    @cached_property
    def _tensors(self) -> list[dict[str, tuple[str, tuple[int, ...]]]]:
        """Of each shard the type and the shape of the tensors that it has, as the file says them."""
        made: list[dict[str, tuple[str, tuple[int, ...]]]] = [{} for _ in self._manifest.shards]
        for name, entry in self._manifest.arrays.items():
            for number, piece in zip(entry.shards, cells(entry.cuts)):
                stored = stored_as(entry.dtype, shape_of(piece))
                made[number][tensor_name(name, piece, entry.cuts)] = stored
        return made

    def _blame_all(self, number: int) -> str:
        arrays = self._manifest.arrays.items()
        return _blame([name for name, entry in arrays if number in entry.shards], number)

    @property
    def bytes_read(self) -> int:
        return self._manifest_bytes + sum(file.bytes_read for file in self._files.values())

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


def read_manifest(folder: Path) -> Manifest:
    """CheckpointError where there is none, or a damaged one."""
    return manifests.parse(_read_text(folder), folder / manifests.NAME)


def _read_text(folder: Path) -> bytes:
    try:
        return (folder / manifests.NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(f"{folder}: is no checkpoint: it has no {manifests.NAME}") from None


def _described(name: str, tensor: tuple[str, tuple[int, ...]] | None) -> str:
    return f"no {name}" if tensor is None else f"{name} {tensor[0]}{list(tensor[1])}"


def _names_between(tensors: dict[str, Tensor], begin: int, end: int) -> list[str]:
    return [
        name
        for name, tensor in tensors.items()
        if name != TABLE and tensor.begin < end and begin < tensor.end
    ]


def _blame(names: Sequence[str], number: int) -> str:
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f" ({listed}; written by rank {number})" if names else f" (written by rank {number})"
