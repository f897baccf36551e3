# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program that XLA compiled multiplies: read from its optimised HLO.

Operations of products (dot, convolution): a multiplication and an addition for
each element of the result and of what is summed over.
"""

from __future__ import annotations

import math
import re

from hlo import Computation, sizes, total

_PRODUCT = re.compile(r"\b(dot|convolution)\(%?([\w.\-]+), %?([\w.\-]+)\)")


def product_flops(hlo: str) -> int:
    """Of one device. hlo: the text of a module."""
    return total(hlo, _cost)["flops"]


def _cost(computation: Computation, text: str) -> dict[str, int]:
    if not (product := _PRODUCT.search(text)):
        return {}
    kind, left, right = product.groups()
    summed = _summed_by_dot if kind == "dot" else _summed_by_convolution
    dims = computation.dims(left if kind == "dot" else right)
    result = math.prod(sizes(text[: product.start()])[0])
    return {"flops": 2 * result * summed(text, dims)}


def _summed_by_dot(text: str, left: list[int]) -> int:
    dims = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", text)
    return math.prod(left[int(dim)] for dim in dims[1].split(",") if dim) if dims else 1


def _summed_by_convolution(text: str, kernel: list[int]) -> int:
    """All of the kernel but its output features."""
    letters = re.search(r"dim_labels=\w+_(\w+)->", text)[1]
    return math.prod(size for size, letter in zip(kernel, letters) if letter != "o")
