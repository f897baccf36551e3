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
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.executable.options import CompileOptions
from shoal.executable.signature import Signature
from shoal.executable.structure import CallStructure

if TYPE_CHECKING:
    from shoal.executable.executable import Executable

FORMAT = 1


def to_bytes(executable: Executable) -> bytes:
    structure = executable.structure
    metadata = {
        "format": FORMAT,
        "description": executable._signature.description,
        "statistics": executable.stats,
        "options": dataclasses.asdict(executable.options),
        "source": executable.source,
        "structure": structure and [structure.inputs, structure.outputs],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("program.json", json.dumps(metadata, default=str))
        archive.writestr("program.mlir", executable.text)
        archive.write(executable.program, "program")
        archive.write(executable.library, "program.so")
    return buffer.getvalue()


def from_bytes(content: bytes, name: str = "the file") -> Executable:
    """The inverse of to_bytes; ShoalError where the content is something else."""
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
        return _build(text, metadata, folder)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ShoalError(f"{name}: not an executable that Shoal saved: {error}") from error


def _build(
    text: str, metadata: dict[str, Any], folder: tempfile.TemporaryDirectory[str]
) -> Executable:
    from shoal.executable.executable import Executable

    structure = metadata["structure"]
    return Executable(
        text,
        Signature.parse(json.dumps(metadata["description"])),
        metadata["statistics"],
        CompileOptions(**metadata["options"]),
        folder,
        source=metadata["source"],
        structure=structure and CallStructure(*structure),
    )


def load(path: str | Path) -> Executable:
    """What `Executable.save` wrote. Containers of a frontend's own come back as tuples.

    A program that is loaded can run anything, as an executable file can: load
    what you trust. Raises ShoalError where the file is something else.
    """
    return from_bytes(Path(path).read_bytes(), str(path))
