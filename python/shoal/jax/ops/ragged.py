# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""chlo.ragged_dot: what JAX lowers lax.ragged_dot to where it keeps the groups.

For CPUs JAX masks the operands for every group instead, which multiplies as
often as there are groups; lowered for TPUs the groups stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from shoal.ir import Value, quoted
from shoal.jax.attributes import field
from shoal.jax.ops.contractions import lettered, product
from shoal.jax.registry import Unsupported, imports
from shoal.jax.types import is_unsigned

if TYPE_CHECKING:
    from shoal.jax.importer import Importer

_GROUP = "Z"


@imports("chlo.ragged_dot")
def ragged_dot(importer: Importer, op: ir.Operation) -> Value:
    numbers = str(op.attributes["ragged_dot_dimension_numbers"])
    ranks = [len(operand.type.shape) for operand in op.operands]
    spec, rows = ragged_spec(numbers, *ranks)
    sizes = importer.operands(op)[2]
    if sizes.type.element not in ("i32", "i64"):
        sizes = importer.arith.convert(sizes, "i32", unsigned=is_unsigned(op.operands[2].type))
    attributes = {"spec": quoted(spec), "rows": quoted(rows)}
    return product(importer, op, "shoal.ragged_dot", attributes, [sizes])


def ragged_spec(numbers: str, lhs_rank: int, rhs_rank: int, sizes_rank: int) -> tuple[str, str]:
    """Spec and ragged letter, from CHLO's dimension numbers and the operands' ranks."""
    (ragged,) = field(numbers, "lhs_ragged_dimensions")
    groups = field(numbers, "rhs_group_dimensions")
    batch, contracting = _pairs(numbers, "batching"), _pairs(numbers, "contracting")
    if ragged in [left for left, _ in batch]:
        raise Unsupported("its ragged dimension is a batching one")
    given = dict.fromkeys(groups, _GROUP)
    lhs, rhs, free = lettered(lhs_rank, rhs_rank, [*batch, *contracting], given)
    batch_letters = [lhs[left] for left, _ in batch]
    summed = [lhs[left] for left, _ in contracting]
    # Sizes may differ between batches, and between what stands before the rows.
    kind = summed if lhs[ragged] in summed else free
    prefix = [*batch_letters, *(letter for letter in lhs[:ragged] if letter in kind)]
    sizes = [*(prefix if sizes_rank > 1 else []), _GROUP]
    if len(sizes) != sizes_rank:
        raise Unsupported(f"sizes of groups of rank {sizes_rank}")
    result = [*([] if groups else [_GROUP]), *batch_letters, *free]
    terms = ",".join("".join(term) for term in (lhs, rhs, sizes))
    return f"{terms}->{''.join(result)}", lhs[ragged]


def _pairs(numbers: str, kind: str) -> list[tuple[int, int]]:
    sides = (field(numbers, f"{side}_{kind}_dimensions") for side in ("lhs", "rhs"))
    return list(zip(*sides, strict=True))
