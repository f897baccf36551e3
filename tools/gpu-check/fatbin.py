# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared libraries with the device code of one GPU alone.

NVIDIA's libraries hold code for a dozen GPUs, compressed: ten times what one
machine needs. Here the code of the others becomes zeros, which an archive has
for nothing; no address in the library changes.

A section .nv_fatbin is a row of fat binaries, each a header (magic, version,
size of the header, size of what follows) before its entries, each again a header
(kind, version, its size, size of the code, …, at byte 28 the number of the
architecture: 90) before its code. __nv_relfatbin is the same for linking alone.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0xBA55ED50
SECTIONS = (".nv_fatbin", "__nv_relfatbin")


@dataclass(frozen=True)
class Section:
    name: str
    begin: int
    end: int


@dataclass(frozen=True)
class Entry:
    """Code for an architecture, in the bytes [begin, end) of the file."""

    section: str
    arch: int
    begin: int
    end: int


def sections(data):
    """Of an ELF file of 64 bits, little-endian. Raises ValueError for others."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("expected an ELF file of 64 bits, little-endian")
    (table,) = struct.unpack_from("<Q", data, 40)
    width, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * width) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, size in headers:
        begin = strings + name
        yield Section(bytes(data[begin : data.index(b"\0", begin)]).decode(), offset, offset + size)


def entries(data):
    """All code for GPUs in the file. Raises ValueError where it is not as the module says."""
    for section in sections(data):
        if section.name not in SECTIONS:
            continue
        at = section.begin
        while at < section.end:
            magic, version, header, size = struct.unpack_from("<IHHQ", data, at)
            if magic == 0:  # padding
                at += 4
                continue
            if magic != MAGIC or version != 1:
                raise ValueError(f"{section.name}, byte {at}: no fat binary of version 1")
            at, end = at + header, at + header + size
            while at < end:
                _, _, header, size = struct.unpack_from("<HHIQ", data, at)
                (arch,) = struct.unpack_from("<I", data, at + 28)
                at += header + size
                if header < 32 or at > end:
                    raise ValueError(f"{section.name}: an entry goes beyond its fat binary")
                yield Entry(section.name, arch, at - size, at)


def keep_device_code(source, target, arch):
    """Copies a library; of its device code that for `arch` (90) remains, not for linking.

    Raises ValueError where the library has none for it.
    """
    data = bytearray(Path(source).read_bytes())
    kept = 0
    for entry in list(entries(data)):
        if entry.section == ".nv_fatbin" and entry.arch == arch:
            kept += entry.end - entry.begin
        else:
            data[entry.begin : entry.end] = bytes(entry.end - entry.begin)
    if not kept:
        raise ValueError(f"{source} has no code for sm_{arch}")
    Path(target).write_bytes(data)
