# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dot_general and dot as einsum; chlo.ragged_dot, whose rows belong to groups.

Dot algorithms and precisions allow less accurate products, as of operands
rounded to bf16. The operands' own type is used, as XLA does on CPUs.

JAX lowers lax.ragged_dot to ragged_dot where it keeps the groups. For CPUs it
masks the operands for every group instead, which multiplies as often as there
are groups; lowered for TPUs the groups stay.
"""

from __future__ import annotations

import json
import re
import string as characters
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shoal.arrays.jax_primitives import RAGGED_EINSUM
from shoal.ir import TensorType, Value, quoted
from shoal.jax.attributes import field, string
from shoal.jax.importer import Importer
from shoal.jax.locations import name_of
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports
from shoal.jax.types import FLOATS8, bits, is_bool, is_float, is_unsigned, with_element

_GROUP = "Z"
# Of two operands: those of more are several products, each with a name of its own.
_EINSUM = re.compile(r"(?<![\w.>])([A-Za-z]+),([A-Za-z]+)->([A-Za-z]*)(?![\w,.])")
_LETTERS = characters.ascii_uppercase + characters.ascii_lowercase


@imports("stablehlo.dot_general", of_complex=OfComplex.PRODUCT)
def dot_general(importer: Importer, op: ir.Operation) -> Value:
    dims = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    ranks = [len(operand.type.shape) for operand in op.operands]
    batch = list(zip(dims.lhs_batching_dimensions, dims.rhs_batching_dimensions))
    contracting = list(zip(dims.lhs_contracting_dimensions, dims.rhs_contracting_dimensions))
    spec = users_spec(name_of(op.location), ranks, batch, contracting)
    return _einsum(importer, op, spec or einsum_spec(*ranks, batch, contracting))


@imports("stablehlo.dot", of_complex=OfComplex.PRODUCT)
def dot(importer: Importer, op: ir.Operation) -> Value:
    """Of vectors and matrices: the last dimension by the first."""
    lhs, rhs = (len(operand.type.shape) for operand in op.operands)
    return _einsum(importer, op, einsum_spec(lhs, rhs, [], [(lhs - 1, 0)]))


def einsum_spec(
    lhs_rank: int,
    rhs_rank: int,
    batch: list[tuple[int, int]],
    contracting: list[tuple[int, int]],
) -> str:
    """The result has batch dimensions, then free ones of lhs, then those of rhs."""
    lhs, rhs, free = lettered(lhs_rank, rhs_rank, [*batch, *contracting])
    result = [lhs[left] for left, _ in batch] + free
    return f"{''.join(lhs)},{''.join(rhs)}->{''.join(result)}"


def users_spec(
    name: str, ranks: Sequence[int], batch: list[tuple[int, int]], contracting: list[tuple[int, int]]
) -> str | None:
    """The product in the letters of the jnp.einsum that made it, which JAX has in names: `jit(f)/BTD,DZ->BTZ/dot_general`.

    It is the einsum itself, in either order of its operands, or a product of its gradient, of which JAX has what comes
    from the result first. None where it is neither, as of a batch that vmap has added.
    """
    found, turns = _EINSUM.findall(name), name.count("transpose(")
    if not found or turns > 1:  # a gradient's gradient: any of its products
        return None
    left, right, result = found[-1]
    for lhs, rhs in ((result, left), (result, right)) if turns else ((left, right), (right, left)):
        if [len(lhs), len(rhs)] != list(ranks) or any(len(set(term)) < len(term) for term in (lhs, rhs)):
            continue
        pairs = [(lhs[i], rhs[k]) for i, k in [*batch, *contracting]]
        shared = {letter for letter, _ in pairs}
        # What has one letter is one dimension: the others have theirs alone.
        if all(i == k for i, k in pairs) and set(lhs) & set(rhs) == shared:
            kept = [lhs[i] for i, _ in batch]
            free = [letter for letter in lhs + rhs if letter not in shared]
            return f"{lhs},{rhs}->{''.join(kept + free)}"
    return None


def lettered(
    lhs_rank: int,
    rhs_rank: int,
    pairs: Iterable[tuple[int, int]],
    given: Mapping[int, str] = MappingProxyType({}),
) -> tuple[list[str], list[str], list[str]]:
    """Letters of lhs, of rhs and of the free dimensions, first of lhs, then of rhs.

    pairs: dimensions that have a letter in common. given: letters of rhs' dimensions that are
    not to count as free ones.
    """
    letters = (letter for letter in _LETTERS if letter not in given.values())
    lhs, rhs = [""] * lhs_rank, [given.get(dim, "") for dim in range(rhs_rank)]
    for left, right in pairs:
        lhs[left] = rhs[right] = next(letters)
    free = []
    for side in (lhs, rhs):
        for dim, letter in enumerate(side):
            if not letter:
                side[dim] = next(letters)
                free.append(side[dim])
    return lhs, rhs, free


def _einsum(importer: Importer, op: ir.Operation, spec: str) -> Value:
    return product(importer, op, "shoal.einsum", {"spec": quoted(spec)})


def product(
    importer: Importer,
    op: ir.Operation,
    name: str,
    attributes: dict[str, str | None],
    more: Sequence[Value] = (),
    *,
    factors: Sequence[Value] | None = None,
    type: TensorType | None = None,
) -> Value:
    """Shoal's op on both factors and more, of the element type that JAX's has.

    factors, type: the op's operands and result in another shape.
    """
    arith, type = importer.arith, type or importer.type(op.results[0])
    operands = _converted_operands(importer, op, factors or importer.operands(op)[:2], type)
    summed = with_element(type, _sum_element(operands[0].type.element, type.element))
    return arith.convert(arith.op(name, [*operands, *more], summed, attributes), type.element)


def _converted_operands(
    importer: Importer, op: ir.Operation, factors: Sequence[Value], type: TensorType
) -> list[Value]:
    """Both factors, of the one element type that a product for this result takes, or two of f8."""
    if all(value.type.element in FLOATS8 for value in factors):
        return list(factors)
    element = _operand_element(op, importer, type)
    return [
        importer.arith.convert(value, element, unsigned=is_unsigned(operand.type))
        for value, operand in zip(factors, op.operands)
    ]


def _operand_element(op: ir.Operation, importer: Importer, type: TensorType) -> str:
    """What both operands are converted to: one type, as einsum wants it."""
    elements = [importer.type(operand).element for operand in list(op.operands)[:2]]
    if "i1" in elements:  # any of all: counted, then compared with 0
        return "i32" if is_bool(type) else type.element
    if not is_float(type) and any(is_unsigned(operand.type) for operand in list(op.operands)[:2]):
        return type.element  # einsum would extend signs
    return max(elements, key=bits) if elements[0] != elements[1] else elements[0]


def _sum_element(operands: str, result: str) -> str:
    """The element type of a sum of products: the result's, or the operands' where that is wider."""
    if operands in FLOATS8 and result in FLOATS8:
        return "f32"
    if result == "i1" or bits(result) < bits(operands):
        return operands
    return result if result.startswith("i") == operands.startswith("i") else operands


@imports("stablehlo.einsum", of_complex=OfComplex.PRODUCT)
@imports("stablehlo.unary_einsum", of_complex=OfComplex.EACH)
def einsum(importer: Importer, op: ir.Operation) -> Value:
    return _einsum(importer, op, string(op, "einsum_config").replace(" ", ""))


@imports("chlo.ragged_dot")
def ragged_dot(importer: Importer, op: ir.Operation) -> Value:
    numbers = str(op.attributes["ragged_dot_dimension_numbers"])
    ranks = [len(operand.type.shape) for operand in op.operands]
    if set(field(numbers, "lhs_ragged_dimensions")) <= set(field(numbers, "lhs_batching_dimensions")):
        # Groups of batches, which have no matrices of their own: JAX multiplies all of them.
        pairs = (_pairs(numbers, kind) for kind in ("batching", "contracting"))
        return _einsum(importer, op, einsum_spec(*ranks[:2], *pairs))
    spec, rows = ragged_spec(numbers, *ranks)
    sizes = importer.operands(op)[2]
    if sizes.type.element not in ("i32", "i64"):
        sizes = importer.arith.convert(sizes, "i32", unsigned=is_unsigned(op.operands[2].type))
    attributes = {"spec": quoted(spec), "rows": quoted(rows)}
    return product(importer, op, "shoal.ragged_dot", attributes, [sizes])


@imports(f"stablehlo.custom_call @{RAGGED_EINSUM}")
def ragged_einsum(importer: Importer, op: ir.Operation) -> Value:
    said = json.loads(string(op, "backend_config"))
    attributes = {name: quoted(said[name]) for name in ("spec", "rows")}
    return importer.emit("shoal.ragged_einsum", importer.operands(op), importer.result_types(op)[0], attributes)[0]


def ragged_spec(numbers: str, lhs_rank: int, rhs_rank: int, sizes_rank: int) -> tuple[str, str]:
    """Spec and ragged letter, from CHLO's dimension numbers and the operands' ranks."""
    (ragged,) = field(numbers, "lhs_ragged_dimensions")
    groups = field(numbers, "rhs_group_dimensions")
    batch, contracting = _pairs(numbers, "batching"), _pairs(numbers, "contracting")
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
