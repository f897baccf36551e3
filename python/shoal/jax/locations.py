# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an op came from: JAX's file, line, column and name stack."""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from shoal.ir import Location, quoted


def place_of(location: ir.Location) -> Location | None:
    """The innermost place in a file, named by JAX's name stack; None without a file."""
    file = _file_of(location)
    if file is None:
        return None
    return Location(file.filename, file.start_line, file.start_col, name_of(location))


def name_of(location: ir.Location) -> str:
    """The outermost name, `jit(f)/dot_general`; "" without one."""
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.CallSiteLoc):
        return name_of(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, map(name_of, location.locations)), "")
    return ""


def _file_of(location: ir.Location) -> ir.FileLineColLoc | None:
    if isinstance(location, ir.FileLineColLoc):
        return location
    if isinstance(location, ir.NameLoc):
        return _file_of(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return _file_of(location.callee) or _file_of(location.caller)
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, map(_file_of, location.locations)), None)
    return None


def spelled(location: ir.Location, outer: Location | None) -> Location | str | None:
    """The location for the Shoal program.

    Ops of JAX's own helper functions have a name and no file: they get the
    place of the function, `outer`.
    """
    place = place_of(location)
    if place:
        return place
    name = name_of(location)
    if outer:
        return Location(outer.file, outer.line, outer.column, name or outer.name)
    return quoted(name) if name else None


def readable(place: Location | str | None) -> str:
    """For messages: `file:line:column (name)`."""
    if isinstance(place, Location):
        name = f" ({place.name})" if place.name else ""
        return f"{place.file}:{place.line}:{place.column}{name}"
    return place or "an unknown place"


def legal_name(path: str) -> str:
    """A tree path of JAX's as a name for files and command lines.

    `params['w']` is `params.w`, `result[0][1]` is `result.0.1`.
    """
    joined = re.sub(r"\[(?:'([^']*)'|\"([^\"]*)\"|([^\]]*))\]", r".\1\2\3", path)
    return re.sub(r"[^A-Za-z0-9_.+-]+", "_", joined).strip(".")


def unique_names(paths: list[str], default: str) -> list[str | None]:
    """Legal names of arguments or results; None for one without a name of its own.

    A name that occurs twice, or that is the `default` of another place
    (`arg1`), is nobody's.
    """
    names = [legal_name(path) for path in paths]
    defaults = {f"{default}{i}" for i in range(len(names))}
    return [
        name if name and names.count(name) == 1 and name not in defaults else None
        for name in names
    ]
