# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products: as einsums whose letters are those of the op, so that shardings of batches are kept."""

from __future__ import annotations

import string
from typing import Any

from shoal.frontend import contraction, dtypes, elementwise, structure
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports, refuses


@imports("aten.linear.default")
def linear(op: Op, input: Value, weight: Value, bias: Value | None = None) -> Value:
    rows = string.ascii_lowercase[: input.ndim - 1]
    if weight.ndim == 1:
        product = contraction.einsum(f"{rows}I,I->{rows}", input, weight)
    else:
        product = contraction.einsum(f"{rows}I,OI->{rows}O", input, weight)
    return product if bias is None else elementwise.add(product, bias)


@imports("aten.matmul.default", "aten.mm.default", "aten.mv.default", "aten.dot.default", "aten.bmm.default", "aten.vdot.default")
def matmul(op: Op, self: Value, other: Value | None = None, mat2: Value | None = None, vec: Value | None = None,
           tensor: Value | None = None) -> Value:  # fmt: skip
    second = next(value for value in (other, mat2, vec, tensor) if value is not None)
    return contraction.matmul(*op.cast(self, second))


@imports("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default", "aten.addbmm.default")
def added_product(op: Op, self: Value, mat1: Value | None = None, mat2: Value | None = None, mat: Value | None = None,
                  vec: Value | None = None, batch1: Value | None = None, batch2: Value | None = None,
                  beta: Any = 1, alpha: Any = 1) -> Value:  # fmt: skip
    a, b = (value for value in (mat1, mat2, mat, vec, batch1, batch2) if value is not None)
    if op.node.target == "aten.addbmm.default":
        product = contraction.einsum("bij,bjk->ik", a, b)
    else:
        product = contraction.matmul(a, b)
    product = product if alpha == 1 else elementwise.multiply(product, alpha)
    # A beta of 0 leaves out the summand, NaNs in it too.
    if beta == 0:
        return op.value(product)
    return op.value(elementwise.add(product, self if beta == 1 else elementwise.multiply(self, beta)))


@imports("aten.outer.default", "aten.ger.default")
def outer(op: Op, self: Value, vec2: Value) -> Value:
    return contraction.outer(*op.cast(self, vec2))


@imports("aten.einsum.default")
def einsum(op: Op, equation: str, tensors: list[Value], path: Any = None) -> Value:
    spec = _without_ellipsis(equation.replace(" ", ""), [tensor.ndim for tensor in tensors])
    return contraction.einsum(spec, *op.cast(*tensors))


def _without_ellipsis(spec: str, ranks: list[int]) -> str:
    """Letters for "...", the last dimensions of all of them the same."""
    if "..." not in spec:
        return spec
    free = [letter for letter in string.ascii_letters if letter not in spec]
    inputs, arrow, output = spec.partition("->")
    terms = inputs.split(",")
    counts = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    wide = max((count for term, count in zip(terms, counts) if "..." in term), default=0)
    if min(counts) < 0 or wide > len(free):
        raise Unsupported(f'the letters of "{spec}" do not fit operands of ranks {ranks}')
    letters = free[:wide]
    terms = [term.replace("...", "".join(letters[wide - count :])) for term, count in zip(terms, counts)]
    if not arrow:
        once = sorted(letter for letter in set(inputs) - set(".,") if inputs.count(letter) == 1)
        return f"{','.join(terms)}->{''.join(letters)}{''.join(once)}"
    return f"{','.join(terms)}->{output.replace('...', ''.join(letters))}"


# transformers' own op is what its layers call where torch has none for the device and type.
@imports("aten._grouped_mm.default", "transformers.grouped_mm_fallback.default")
def grouped_mm(op: Op, self: Value | None = None, mat2: Value | None = None, offs: Value | None = None, bias: Any = None,
               out_dtype: Any = None, input: Value | None = None, weight: Value | None = None) -> Value:  # fmt: skip
    """Rows of group e, offs[e - 1] to offs[e], by the matrix of e: [T, M], [E, M, H] -> [T, H]."""
    lhs, rhs = (self, mat2) if self is not None else (input, weight)
    assert lhs is not None and rhs is not None
    if offs is None or (lhs.ndim, rhs.ndim) != (2, 3) or bias is not None:
        raise Unsupported(f"groups of ranks {lhs.ndim} and {rhs.ndim}; expected rows [T, M] by matrices [E, M, H]")
    sizes = op.summands.get(offs)
    if sizes is not None:
        return contraction.ragged_dot(lhs, rhs, elementwise.astype(sizes, dtypes.INT32), dtype=op.dtype)
    ends = elementwise.astype(offs, dtypes.INT32)
    begins = structure.pad(ends[:-1], [(1, 0)])
    return contraction.ragged_einsum("TM,EMH,E->TH", "T", lhs, rhs, begins, ends, dtype=op.dtype)


refuses(
    "aten._scaled_mm.default", "aten._scaled_grouped_mm.default",
    reason="products of scaled floats of 8 bits; convert the operands to bfloat16",
)  # fmt: skip
