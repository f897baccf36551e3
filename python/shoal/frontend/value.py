# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values of a program that is being traced: what is known of them before it runs.

What can be done with them is attached by `shoal.frontend.operators`; for type
checkers, value.pyi has it all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal import ir
from shoal.errors import TraceTypeError


@dataclass
class Scope:
    """A region that is being traced; its values live as long as it is open.

    captured: of a function of its own, the values from around it that it uses, by their
      names in the program; None of a region.
    """

    name: str
    is_isolated: bool = False
    is_open: bool = True
    captured: dict[str, Value] | None = None


class Value:
    """An array that will exist when the program runs; what is done with it is recorded.

    Operators and methods are NumPy's, shapes broadcast as there; types promote
    as `shoal.promote_types` says. Ops whose operands do not fit raise a
    TraceError (a ValueError), at the user's line.
    """

    __slots__ = ("ir", "dtype", "scope")
    # NumPy arrays on the left leave the operation to us.
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, value: ir.Value, dtype: np.dtype, scope: Scope):
        self.ir = value
        self.dtype = dtype
        self.scope = scope

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self.ir.type.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=object))

    def __len__(self) -> int:
        if not self.shape:
            raise TraceTypeError("len: a scalar has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Value({self.dtype}[{','.join(map(str, self.shape))}])"
