# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a program's parts, for reports (docs/guide/Report.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from shoal.frontend.checks import check
from shoal.frontend.core import current

__all__ = ["named_scope"]


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Ops that are traced meanwhile have this name, behind those of scopes around: `layers.0/attention`.

    A name is for reports and changes nothing that is computed. TraceError where it is empty or has a "/".
    """
    check(name and "/" not in name, f'named_scope: expected a name without "/", got {name!r}')
    trace = current("named_scope")
    around = trace.names
    trace.names = (*around, name)
    try:
        yield
    finally:
        trace.names = around
