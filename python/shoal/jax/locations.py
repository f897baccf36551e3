# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an op came from: JAX's file, line, column and name stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlib.mlir import ir

from shoal.ir import Location, quoted


def place_of(location: ir.Location) -> Location | None:
    """The innermost place in a file of the user's, named by JAX's name stack.

    Files of packages that are installed, as Flax, are the user's only where
    nothing else is on the stack. None without a file.
    """
    files = list(_files_of(location))
    if not files:
        return None
    own = (file for file in files if not _is_installed(file.filename))
    file = next(own, files[0])
    return Location(file.filename, file.start_line, file.start_col, name_of(location))


def _is_installed(filename: str) -> bool:
    return any(f"/{folder}/" in filename for folder in ("site-packages", "dist-packages"))


def name_of(location: ir.Location) -> str:
    """The outermost name, `jit(f)/dot_general`; "" without one."""
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.CallSiteLoc):
        return name_of(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, map(name_of, location.locations)), "")
    return ""


def _files_of(location: ir.Location) -> Iterator[ir.FileLineColLoc]:
    """The places of a call stack, the innermost first."""
    if isinstance(location, ir.FileLineColLoc):
        yield location
    elif isinstance(location, ir.NameLoc):
        yield from _files_of(location.child_loc)
    elif isinstance(location, ir.CallSiteLoc):
        yield from _files_of(location.callee)
        yield from _files_of(location.caller)
    elif isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from _files_of(part)


def spelled(location: ir.Location, outer: Location | str | None) -> Location | str | None:
    """The location for the Shoal program.

    Ops of JAX's own helper functions have a name and no file: they get the
    place of the function, `outer`.
    """
    place = place_of(location)
    if place:
        return place
    name = name_of(location)
    if isinstance(outer, Location):
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
        name if name and names.count(name) == 1 and name not in defaults else None for name in names
    ]
