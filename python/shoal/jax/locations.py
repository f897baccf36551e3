# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an op came from: JAX's file, line, column and name stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlib.mlir import ir

from shoal.ir import Location, quoted


def place_of(location: ir.Location) -> Location | None:
    """The innermost place in a file that is not JAX's own, named by JAX's name stack.

    A library's line, as Flax', tells its layers' ops apart; the user's one would be the same
    for all of them. JAX's files count only where nothing else is on the stack. None without
    a file.
    """
    files = list(_files_of(location))
    if not files:
        return None
    others = (file for file in files if not _is_of_jax(file.filename))
    file = next(others, files[0])
    return Location(file.filename, file.start_line, file.start_col, name_of(location))


def _is_of_jax(filename: str) -> bool:
    return re.search(r"/(site|dist)-packages/(jax|jaxlib)/", filename) is not None


def name_of(location: ir.Location) -> str:
    """The outermost name, `jit(f)/dot_general`; "" without one.

    JAX ends the name of an op's type, `reduce:`, in a colon.
    """
    parts = _parts_of(location, with_callers=False)
    names = (part.name_str.removesuffix(":") for part in parts if isinstance(part, ir.NameLoc))
    return next(filter(None, names), "")


def joined(outer: str, name: str) -> str:
    """A name in what stands at another one; whole names, of the same root, stay."""
    if not outer or not name:
        return outer or name
    is_whole = outer.partition("/")[0] == name.partition("/")[0]
    return name if is_whole else f"{outer}/{name}"


def _files_of(location: ir.Location) -> Iterator[ir.FileLineColLoc]:
    """The places of a call stack, the innermost first."""
    return (part for part in _parts_of(location) if isinstance(part, ir.FileLineColLoc))


# More than JAX has of a call stack. Files may nest locations in any depth, or have one as many parts of another.
_MOST_PARTS = 1000


def _parts_of(location: ir.Location, with_callers: bool = True) -> Iterator[ir.Location]:
    """A location and those in it: what is called before who calls it, the first ones of all."""
    left = [location]
    for _ in range(_MOST_PARTS):
        if not left:
            return
        part = left.pop()
        yield part
        if isinstance(part, ir.NameLoc):
            left.append(part.child_loc)
        elif isinstance(part, ir.CallSiteLoc):
            left += [part.caller, part.callee] if with_callers else [part.callee]
        elif isinstance(part, ir.FusedLoc):
            left += reversed(part.locations[:_MOST_PARTS])


def spelled(
    location: ir.Location, outer: Location | str | None, around: str = ""
) -> Location | str | None:
    """The location for the Shoal program.

    Ops of JAX's own helper functions have a name and no file: they get the
    place of the function, `outer`. Names are behind that of what is `around`.
    """
    place = place_of(location)
    if place:
        return Location(place.file, place.line, place.column, joined(around, place.name))
    name = joined(around, name_of(location)) if name_of(location) else ""
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
