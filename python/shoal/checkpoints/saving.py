# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saving: shards by all, then the manifest by the first rank."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.checkpoint import read_manifest
from shoal.checkpoints.durable import make_folder, write_at
from shoal.checkpoints.manifest import Manifest, ShardEntry, is_shard_name, shard_name
from shoal.checkpoints.shards import Contents, write_shard
from shoal.checkpoints.snapshot import Copies, Plans, Snapshot
from shoal.errors import CheckpointError, InputError
from shoal.files import PARTIAL, replacing, sync_folder
from shoal.laws import PATH, TABLE, check_arguments, or_none

Tree = Any


def save(
    folder: str | os.PathLike[str], tree: Tree, *, metadata: Mapping[str, Any] | None = None
) -> None:
    """Writes a tree of arrays: the folder's checkpoint is replaced by a whole one, or stays.

    metadata: what JSON has, kept beside the arrays.

    Each process writes what its devices have. In an MPI job it is collective, and an error of a
    rank is raised on all: OSError where the disk is full or read-only, InputError where two leaves
    have one name or elements are of a type that checkpoints have not.
    """
    check_arguments("save", folder=(folder, PATH), metadata=(metadata, or_none(TABLE)))
    saving = Save(Path(folder), tree, metadata)
    saving.write()
    saving.gather()
    error = None
    try:
        saving.commit()
    except Exception as failed:
        error = failed
    saving.ranks.raise_together(error)


class _Written(NamedTuple):
    """By one process. made: the folders that have new names, of folders that were not there."""

    entries: dict[int, ShardEntry]
    made: list[Path]


class Save:
    """One save. Steps in this order, of which `gather` alone is collective: a step of training waits
    for nobody here, and `write` and `commit` may be another thread's."""

    def __init__(
        self,
        folder: Path,
        tree: Tree,
        metadata: Mapping[str, Any] | None,
        plans: Plans | None = None,
        copies: Copies | None = None,
    ):
        """plans: of the save before; copies: where what is to be written is copied to; arrays may
        change then."""
        self.folder = folder
        self._metadata = dict(metadata or {})
        # That it can be written is said before anything is.
        manifests.dump(Manifest("", {}, (), self._metadata))
        self._snapshot = Snapshot(tree, plans or Plans())
        self.ranks = self._snapshot.ranks
        if copies is not None:
            self._snapshot.copy_to(copies)
        # Each process has a word of its own, which nobody has to agree on.
        self._word = secrets.token_hex(4)
        self._written = _Written({}, [])
        self._error: BaseException | None = None
        self._entries: dict[int, ShardEntry] = {}
        self._unsynced: set[Path] = set()

    def write(self) -> None:
        """This process' shards; an error is kept for `gather`."""
        try:
            self._written.made.extend(make_folder(self.folder))
            if self.ranks.is_first:
                _check_replaceable(self.folder / manifests.NAME)
            for device, contents in self._snapshot.shards.items():
                if contents.pieces:
                    path = self._path_of(device)
                    self._written.entries[device] = write_shard(path, contents)
        except Exception as error:
            self._error = error
        finally:
            devices = list(self._snapshot.shards)
            self._snapshot.shards = dict.fromkeys(devices, Contents(()))  # arrays may go

    def _path_of(self, device: int) -> Path:
        return self.folder / shard_name(device, self._snapshot.devices, self._word)

    def gather(self) -> None:
        """Collective: all have written, or nothing is left of it and all raise."""
        try:
            found = self.ranks.all_or_raise(self._written, self._error)
        except BaseException:
            self._remove()
            raise
        for part in found:
            self._entries.update(part.entries)
            self._unsynced.update(part.made)

    def commit(self) -> None:
        """The first rank's: from now on this is the folder's checkpoint."""
        if not self.ranks.is_first:
            return
        shards = tuple(self._entries.get(device) for device in range(self._snapshot.devices))
        made = Manifest(self._word, self._snapshot.arrays, shards, self._metadata)
        try:
            for folder in sorted(self._unsynced):
                sync_folder(folder)
            with replacing(self.folder / manifests.NAME) as file:
                write_at(file.fileno(), manifests.dump(made), 0)
                self._check_there()
        finally:
            # Of the checkpoint before, or of this one if it is none.
            remove_leftovers(self.folder)

    def _check_there(self) -> None:
        """CheckpointError where shards are gone: another process takes them for leftovers."""
        for entry in self._entries.values():
            path = self.folder / entry.file
            if not path.exists():
                raise CheckpointError(
                    f"{path}: was removed before the checkpoint was complete: does another run save "
                    f"to {self.folder}?"
                )

    def _remove(self) -> None:
        """This process' shards, and the folder if it is nobody's."""
        with suppress(OSError):
            for device in self._snapshot.shards:
                self._path_of(device).unlink(missing_ok=True)
            self.folder.rmdir()


def _check_replaceable(path: Path) -> None:
    """InputError where the file is a manifest of something else."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return  # none, or one that was damaged
    if not isinstance(content, dict) or content.get("format") != manifests.FORMAT:
        raise InputError(f"{path}: is not of a checkpoint, and would be replaced")


def remove_leftovers(folder: Path) -> None:
    """Shards that its manifest does not name: of an earlier checkpoint, or of a save that was cut
    off. Nothing where the manifest cannot be read."""
    with suppress(OSError, CheckpointError):
        kept = set()
        if (folder / manifests.NAME).exists():
            kept = {entry.file for entry in read_manifest(folder).shards if entry}
        for path in folder.iterdir():
            is_ours = is_shard_name(path.name) or path.name.startswith(PARTIAL)
            if is_ours and path.name not in kept:
                path.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """A checkpoint, which is none from the first moment on."""
    with suppress(FileNotFoundError):
        (folder / manifests.NAME).unlink()
        sync_folder(folder)
    remove_leftovers(folder)
    with suppress(OSError):
        folder.rmdir()
