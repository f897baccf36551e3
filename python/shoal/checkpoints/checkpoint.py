# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A checkpoint as Shoal writes it, to read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.checksums import crc32c
from shoal.checkpoints.heads import TABLE, Tensor
from shoal.checkpoints.manifest import Manifest, ShardEntry, tensor_name
from shoal.checkpoints.reading import TensorFile
from shoal.checkpoints.regions import Region, meeting, slices_of, within
from shoal.checkpoints.sources import ArrayInfo, Source
from shoal.errors import CheckpointError

_CHUNK = 1 << 20  # bytes that are checked at once


class Checkpoint(Source):
    """A folder of `save`.

    CheckpointError where a file is missing or has another size. Bytes are checked when they are
    read, those of heads with the first read of a shard.
    """

    def __init__(self, path: Path):
        self.path = path
        self._manifest = read_manifest(path)
        self.metadata = self._manifest.metadata
        self.arrays = {
            name: ArrayInfo(entry.shape, entry.dtype, entry.sharding)
            for name, entry in self._manifest.arrays.items()
        }
        self._files: dict[int, TensorFile] = {}
        self._manifest_bytes = (path / manifests.NAME).stat().st_size
        for number, entry in enumerate(self._manifest.shards):
            if entry is not None:
                self._check_size(number, entry)

    def _check_size(self, number: int, entry: ShardEntry) -> None:
        path = self.path / entry.file
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise CheckpointError(f"{path}: is missing{self._blame_all(number)}") from None
        if size != entry.bytes:
            raise CheckpointError(
                f"{path}: has {size} bytes, expected {entry.bytes}{self._blame_all(number)}"
            )

    def read_into(self, name: str, region: Region, out: np.ndarray) -> None:
        entry = self._manifest.arrays[name]
        begin = tuple((first, first) for first, _ in region)
        for number, piece, rows in meeting(entry.cuts, region):
            shard = entry.shards[number]
            file = self._file(shard)
            tensor = file.tensors.get(tensor_name(name, piece, entry.cuts))
            if tensor is None:
                raise CheckpointError(f"{file.path}: has no {name}, which the manifest says it has")
            file.read(tensor, within(rows, piece), out[(*slices_of(within(rows, begin)), ...)])

    def verify(self) -> None:
        """Reads every byte; CheckpointError at the first that is damaged."""
        for number, entry in enumerate(self._manifest.shards):
            if entry is not None:
                file = self._file(number)
                for begin in range(entry.head_bytes, entry.bytes, _CHUNK):
                    file.bytes_at(begin, min(begin + _CHUNK, entry.bytes))

    def _file(self, number: int) -> TensorFile:
        if number not in self._files:
            entry = self._manifest.shards[number]
            if entry is None:
                raise CheckpointError(f"{self.path}: rank {number} has written no shard")
            try:
                file = TensorFile(self.path / entry.file)
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
        table = file.tensors[TABLE]
        first = file.data_begin + table.begin
        checks = head[first : first + table.end - table.begin].copy().view("<u4")

        def blame(begin: int, end: int) -> str:
            begin, end = begin - file.data_begin, end - file.data_begin
            return _blame(_names_between(file.tensors, begin, end), number)

        file.check_by(checks, entry.head_bytes, blame)

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
    path = folder / manifests.NAME
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(f"{folder}: is no checkpoint: it has no {manifests.NAME}") from None
    return manifests.parse(text, path)


def _names_between(tensors: dict[str, Tensor], begin: int, end: int) -> list[str]:
    return [
        name
        for name, tensor in tensors.items()
        if name != TABLE and tensor.begin < end and begin < tensor.end
    ]


def _blame(names: Sequence[str], number: int) -> str:
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f" ({listed}; written by rank {number})" if names else f" (written by rank {number})"
