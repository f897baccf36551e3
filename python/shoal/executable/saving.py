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
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import ShoalError
from shoal.executable.options import CompileOptions
from shoal.executable.signature import Signature
from shoal.executable.structure import CallStructure

FORMAT = 1


class Contents(NamedTuple):
    """What an executable is made of. The folder has `program` and `program.so`."""

    text: str
    signature: Signature
    stats: dict[str, Any]
    options: CompileOptions
    folder: tempfile.TemporaryDirectory[str]
    source: str
    structure: CallStructure | None


def pack(contents: Contents) -> bytes:
    structure = contents.structure
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
        for member in ("program", "program.so"):
            archive.write(Path(contents.folder.name, member), member)
    return buffer.getvalue()


def unpack(content: bytes, name: str) -> Contents:
    """The inverse of pack; ShoalError, of the name, where the content is something else."""
    folder = tempfile.TemporaryDirectory(prefix="shoal-")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            metadata = json.loads(archive.read("program.json"))
            if metadata["format"] != FORMAT:
                raise ShoalError(
                    f"{name}: expected format {FORMAT} but got {metadata['format']}: "
                    "it was saved by another version of Shoal"
                )
            text = archive.read("program.mlir").decode()
            for member in ("program", "program.so"):
                Path(archive.extract(member, folder.name)).chmod(0o755)
        return _contents(text, metadata, folder)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ShoalError(f"{name}: not an executable that Shoal saved: {error}") from error


def _contents(
    text: str, metadata: dict[str, Any], folder: tempfile.TemporaryDirectory[str]
) -> Contents:
    structure = metadata["structure"]
    return Contents(
        text,
        Signature.parse(json.dumps(metadata["description"])),
        metadata["statistics"],
        CompileOptions(**metadata["options"]),
        folder,
        metadata["source"],
        structure and CallStructure(*structure),
    )
