# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importers are told beside the graph."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import TraceError
from shoal.mesh import Mesh
from shoal.moe import Layout


@dataclass(frozen=True)
class Settings:
    """layout: where the rows of experts go, as of `shoal.moe.moe`; None: as is best.

    capacity_factor: rows of an expert's buffer, in multiples of the mean; those beyond are dropped, which changes results.
    None: nothing is dropped. is_differentiated: whether gradients of the program are made.
    """

    layout: Layout | None = None
    capacity_factor: float | None = None
    is_differentiated: bool = False

    def mesh(self, mesh: Mesh | None) -> Mesh | None:
        """The layout's where there is one; TraceError where another is given."""
        if self.layout is None:
            return mesh
        if mesh is not None and mesh != self.layout.mesh:
            raise TraceError(f"layout: is of {self.layout.mesh!r}, and mesh= is {mesh!r}")
        return self.layout.mesh
