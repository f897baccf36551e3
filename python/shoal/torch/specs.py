# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardings as text, which is what arguments of torch's ops can be."""

from __future__ import annotations

import json
from typing import Any

from shoal.errors import TraceTypeError
from shoal.frontend.annotations import P, as_ours


def spelled(spec: Any) -> str:
    """JSON of a P, of names of axes, None, "?" and a last `...`."""
    ours = as_ours(spec, "annotate")
    if not isinstance(ours, P):
        raise TraceTypeError(f"annotate: expected shoal.P(...), got {spec!r}")
    return json.dumps({"dims": list(map(_entry, ours.dims)), "replicated": list(map(_axis, ours.replicated))})


def _entry(entry: Any) -> Any:
    if entry is Ellipsis:
        return "..."
    return entry if entry is None else list(map(_axis, entry)) if isinstance(entry, (tuple, list)) else _axis(entry)


def _axis(axis: Any) -> str:
    if not isinstance(axis, str) or axis == "...":
        raise TraceTypeError(f"annotate: expected an axis's name, got {axis!r}")
    return axis


def read(text: str) -> P:
    """The P that was spelled so."""
    found = json.loads(text)
    dims = [tuple(entry) if isinstance(entry, list) else ... if entry == "..." else entry for entry in found["dims"]]
    return P(*dims, replicated=found["replicated"])
