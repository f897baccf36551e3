# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables as files.

A file is a zip of `program` (the executable), `program.so` (the shared library),
`program.mlir` (the program as written) and `program.json`: format, version,
description, statistics, options, source and structure. Programs are compiled
for the CPU of the machine that compiled them.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from typing import Any, NamedTuple

from shoal.errors import ShoalError
from shoal.executable.call_structure import CallStructure
from shoal.executable.metadata import check_metadata
from shoal.executable.options import CompileOptions
from shoal.executable.signature import Signature
from shoal.executable.storage import TemporaryFolder

FORMAT = 1
_FILES = ("program", "program.so")


class Contents(NamedTuple):
    """What an executable is made of. The folder has `program` and `program.so`."""

    text: str
    signature: Signature
    stats: dict[str, Any]
    options: CompileOptions
    folder: TemporaryFolder
    source: str
    structure: CallStructure | None


def pack(contents: Contents) -> bytes:
    structure = contents.structure
    if structure is not None and not structure.is_portable:
        structure = None
    metadata = {
        "format": FORMAT,
        "description": contents.signature.description,
        "statistics": contents.stats,
        "options": dataclasses.asdict(contents.options),
        "source": contents.source,
        "structure": structure and [structure.inputs, structure.outputs],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("program.json", json.dumps(metadata, default=str))
        archive.writestr("program.mlir", contents.text)
        for name in _FILES:
            archive.write(contents.folder.path / name, name)
    return buffer.getvalue()


def unpack(content: bytes, name: str) -> Contents:
    """The inverse of pack; ShoalError, of the name, where the content is something else."""
    try:
        metadata, members = _read(content)
        check_metadata(metadata)
        text = members["program.mlir"].decode()
        options = CompileOptions(**metadata["options"])
    except _OtherVersion as error:
        raise ShoalError(f"{name}: {error}") from None
    # A damaged archive makes zipfile, zlib and json raise nearly all kinds.
    except Exception as error:
        raise ShoalError(f"{name}: not an executable that Shoal saved: {error}") from error
    structure = metadata["structure"]
    return Contents(
        text,
        Signature.parse(json.dumps(metadata["description"])),
        metadata["statistics"],
        options,
        _unfold({file: members[file] for file in _FILES}),
        metadata["source"],
        structure and CallStructure(*structure),
    )


class _OtherVersion(ShoalError):
    pass


def _read(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What `program.json` says, and the other members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        metadata = json.loads(archive.read("program.json"))
        if metadata["format"] != FORMAT:
            raise _OtherVersion(
                f"expected format {FORMAT} but got {metadata['format']}: "
                "it was saved by another version of Shoal"
            )
        return metadata, {name: archive.read(name) for name in ("program.mlir", *_FILES)}


def _unfold(files: dict[str, bytes]) -> TemporaryFolder:
    folder = TemporaryFolder(prefix="shoal-")
    for name, content in files.items():
        path = folder.path / name
        path.write_bytes(content)
        path.chmod(0o755)
    return folder
