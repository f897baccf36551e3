# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saving: shards by all, then the manifest by the first rank."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.checkpoint import read_manifest
from shoal.checkpoints.durable import make_folder, write_at
from shoal.checkpoints.manifest import Manifest, ShardEntry
from shoal.checkpoints.shards import Contents, shard_name, write_shard
from shoal.checkpoints.snapshot import Copies, Snapshot
from shoal.errors import CheckpointError
from shoal.files import PARTIAL, replacing, sync_folder

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
    saving = Save(Path(folder), tree, metadata)
    saving.prepare()
    saving.write()
    saving.gather()
    error = None
    try:
        saving.commit()
    except (OSError, CheckpointError) as failed:
        error = failed
    saving.ranks.raise_together(error)


class Save:
    """One save. Steps in this order; `write` and `commit` are no collectives, and may be another
    thread's."""

    def __init__(
        self,
        folder: Path,
        tree: Tree,
        metadata: Mapping[str, Any] | None,
        copies: Copies | None = None,
    ):
        """copies: where what is to be written is copied to; arrays may change then."""
        self.folder = folder
        self._metadata = dict(metadata or {})
        self._snapshot = Snapshot(tree)
        self.ranks = self._snapshot.ranks
        if copies is not None:
            self._snapshot.copy_to(copies)
        self._unsynced: list[Path] = []
        self._entries: dict[int, ShardEntry] = {}
        self._error: BaseException | None = None
        self._manifest = b""
        self._save = ""

    def prepare(self) -> None:
        """Collective: there is a folder, and a name. Nothing waits for the disk here, as a step
        waits for it."""
        error = None
        if self.ranks.is_first:
            try:
                manifests.dump(Manifest("", {}, (), self._metadata))
                self._unsynced = make_folder(self.folder)
            except Exception as failed:
                error = failed
        self.ranks.raise_together(error)
        self._save = self.ranks.of_first(secrets.token_hex(4))

    def write(self) -> None:
        """This process' shards; an error is kept for `gather`."""
        try:
            for device, contents in self._snapshot.shards.items():
                if not contents.pieces:
                    continue
                name = shard_name(device, self._snapshot.devices, self._save)
                self._entries[device] = write_shard(self.folder / name, contents)
        except Exception as error:
            self._error = error
        finally:
            devices = list(self._snapshot.shards)
            self._snapshot.shards = dict.fromkeys(devices, Contents(()))  # arrays may go

    def gather(self) -> None:
        """Collective: all have written, or nothing is left of it and all raise."""
        try:
            self.ranks.raise_together(self._error)
        except BaseException:
            self._remove()
            raise
        entries: dict[int, ShardEntry] = {}
        for part in self.ranks.all(self._entries):
            entries.update(part)
        if self.ranks.is_first:
            shards = tuple(entries.get(device) for device in range(self._snapshot.devices))
            arrays = self._snapshot.arrays
            self._manifest = manifests.dump(Manifest(self._save, arrays, shards, self._metadata))

    def commit(self) -> None:
        """The first rank's: from now on this is the folder's checkpoint."""
        if not self.ranks.is_first:
            return
        try:
            for folder in self._unsynced:
                sync_folder(folder)
            with replacing(self.folder / manifests.NAME) as file:
                write_at(file.fileno(), self._manifest, 0)
        finally:
            # Of the checkpoint before, or of this one if it is none.
            remove_leftovers(self.folder)

    def _remove(self) -> None:
        """This process' shards, and the folder if it is nobody's."""
        with suppress(OSError):
            for device in self._snapshot.shards:
                name = shard_name(device, self._snapshot.devices, self._save)
                (self.folder / name).unlink(missing_ok=True)
            self.folder.rmdir()


def remove_leftovers(folder: Path) -> None:
    """Shards that its manifest does not name: of an earlier checkpoint, or of a save that was cut
    off. Nothing where the manifest cannot be read."""
    with suppress(OSError, CheckpointError):
        kept = set()
        if (folder / manifests.NAME).exists():
            kept = {entry.file for entry in read_manifest(folder).shards if entry}
        for path in (*folder.glob("shard-*.safetensors"), *folder.glob(f"{PARTIAL}*")):
            if path.name not in kept:
                path.unlink()


def remove(folder: Path) -> None:
    """A checkpoint, which is none from the first moment on."""
    with suppress(FileNotFoundError):
        (folder / manifests.NAME).unlink()
        sync_folder(folder)
    remove_leftovers(folder)
    with suppress(OSError):
        folder.rmdir()
