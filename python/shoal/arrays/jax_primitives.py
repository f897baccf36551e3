# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Shoal has an op for and JAX has none, as primitives of JAX.

XLA gets what they are by other ops; `shoal.jax` lowers them to what its importer reads as the op.
They can be differentiated, in both modes, and mapped by jax.vmap.
"""

from __future__ import annotations

import functools
import string
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Jaxpr, Literal, Primitive, Var, jaxprs_in_params, primitives
from jax.interpreters import ad, batching, mlir

__all__ = ["PARTS", "RAGGED_EINSUM", "constrained", "hint_p", "kind_in", "metric_p", "ragged_einsum_p"]

RAGGED_EINSUM = "shoal.ragged_einsum"  # the target of the custom call
PARTS = "shoal"  # the platform of `jax.lax.platform_dependent` whose part `shoal.jax` takes

ragged_einsum_p = Primitive(RAGGED_EINSUM)
"""`shoal.ragged_einsum` of (lhs, rhs, begins, ends) with `spec`, `rows` and `dtype`."""

hint_p = Primitive("shoal.sharding_hint")
"""The operand, where `sharding`, a NamedSharding, asks that it lies. XLA binds what it is told: it is where `binds` says."""

metric_p = Primitive("shoal.metric")
"""The operand, of which `kind`, "sum" or "max", says how those of the parts of a batch make that of the whole."""

_CALLS = (
    primitives.jit_p, primitives.closed_call_p, primitives.remat_p, primitives.custom_jvp_call_p,
    primitives.custom_vjp_call_p,
)  # fmt: skip
"""What a function is called by once, whose results are the function's as they are."""


def _terms(spec: str) -> tuple[list[str], str]:
    inputs, _, output = spec.partition("->")
    return inputs.split(","), output


def _masked(lhs: Any, rhs: Any, begins: Any, ends: Any, *, spec: str, rows: str, dtype: Any) -> Any:
    """By a mask of each group's rows: a choice, as what stands in a row of no group, NaN too, is not read."""
    terms, output = _terms(spec)
    values = [lhs, rhs]
    first = 0 if rows in terms[0] else 1
    term, bounds = terms[first], terms[2]
    wide = bounds + "".join(letter for letter in term if letter not in bounds)
    sizes = dict(zip(term, values[first].shape)) | dict(zip(bounds, begins.shape))
    place = jnp.arange(sizes[rows], dtype=begins.dtype)
    inside = (place >= begins[..., None]) & (place < ends[..., None])

    def spread(value: Any, letters: str) -> Any:
        """With all dimensions of `wide`, of which it has some."""
        order = sorted(range(len(letters)), key=lambda d: wide.index(letters[d]))
        shape = [sizes[letter] if letter in letters else 1 for letter in wide]
        return jnp.broadcast_to(value.transpose(order).reshape(shape), [sizes[letter] for letter in wide])

    chosen = jnp.where(spread(inside, bounds + rows), spread(values[first], term), 0)
    values[first], terms[first] = chosen, wide
    return jnp.einsum(f"{terms[0]},{terms[1]}->{output}", *values, preferred_element_type=dtype).astype(dtype)


@ragged_einsum_p.def_abstract_eval
def _type_of(lhs: Any, rhs: Any, begins: Any, ends: Any, *, spec: str, rows: str, dtype: Any) -> ShapedArray:
    terms, output = _terms(spec)
    sizes: dict[str, int] = {}
    for term, value in zip(terms, (lhs, rhs, begins)):
        sizes |= dict(zip(term, value.shape))
    return ShapedArray([sizes[letter] for letter in output], dtype)


ragged_einsum_p.def_impl(_masked)
mlir.register_lowering(ragged_einsum_p, mlir.lower_fun(_masked, multiple_results=False))


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    lhs, rhs, *bounds = primals
    parts = []
    if type(tangents[0]) is not ad.Zero:
        parts.append(ragged_einsum_p.bind(tangents[0], rhs, *bounds, **params))
    if type(tangents[1]) is not ad.Zero:
        parts.append(ragged_einsum_p.bind(lhs, tangents[1], *bounds, **params))
    made = ragged_einsum_p.bind(*primals, **params)
    return made, sum(parts[1:], parts[0]) if parts else ad.Zero.from_primal_value(made)


def _transpose(cotangent: Any, lhs: Any, rhs: Any, *bounds: Any, spec: str, rows: str, dtype: Any) -> Any:
    (left, right, limits), output = _terms(spec)

    def product(a: Any, b: Any, terms: str, of: Any) -> Any:
        return ragged_einsum_p.bind(a, b, *bounds, spec=terms, rows=rows, dtype=of.aval.dtype)

    if ad.is_undefined_primal(lhs):
        return product(cotangent, rhs, f"{output},{right},{limits}->{left}", lhs), None, None, None
    return None, product(lhs, cotangent, f"{left},{output},{limits}->{right}", rhs), None, None


def _batched(operands: Any, dims: Any, *, spec: str, rows: str, dtype: Any) -> Any:
    """A letter more, of those that are mapped; of the bounds both or none."""
    terms, output = _terms(spec)
    letter = next(letter for letter in string.ascii_letters if letter not in spec)
    size = next(x.shape[d] for x, d in zip(operands, dims) if d is not None)
    lhs, rhs, *bounds = (x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(operands, dims))
    if any(d is not None for d in dims[2:]):
        bounds = [jnp.broadcast_to(b, (size, *b.shape)) if d is None else b for b, d in zip(bounds, dims[2:])]
    terms = [term if d is None else letter + term for term, d in zip(terms, (*dims[:2], dims[2] if dims[2] is not None else dims[3]))]
    made = ragged_einsum_p.bind(lhs, rhs, *bounds, spec=f"{','.join(terms)}->{letter}{output}", rows=rows, dtype=dtype)
    return made, 0


ad.primitive_jvps[ragged_einsum_p] = _jvp
ad.primitive_transposes[ragged_einsum_p] = _transpose
batching.primitive_batchers[ragged_einsum_p] = _batched



@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def constrained(x: Any, sharding: Any) -> Any:
    """With JAX's constraint, whose derivative is a hint to us, as the frontend's is (docs/guide/Autodiff.md): a sum that is
    still partial is not completed at it. XLA's derivative is bound."""
    return jax.lax.with_sharding_constraint(x, sharding)


@constrained.defjvp
def _constrained_jvp(sharding: Any, primals: Any, tangents: Any) -> Any:
    return constrained(primals[0], sharding), hint_p.bind(tangents[0], sharding=sharding, binds=True)


def _of_xla(x: Any, *, sharding: Any, binds: bool) -> Any:
    return jax.lax.with_sharding_constraint(x, sharding) if binds else x


hint_p.def_abstract_eval(lambda x, *, sharding, binds: ShapedArray(x.shape, x.dtype))
hint_p.def_impl(lambda x, *, sharding, binds: x)
mlir.register_lowering(hint_p, mlir.lower_fun(_of_xla, multiple_results=False))
ad.deflinear2(hint_p, lambda cotangent, x, **params: [hint_p.bind(cotangent, **params)])
batching.primitive_batchers[hint_p] = lambda operands, dims, **params: (operands[0], dims[0])

metric_p.def_abstract_eval(lambda x, *, kind: ShapedArray(x.shape, x.dtype, x.weak_type))
metric_p.def_impl(lambda x, *, kind: x)
mlir.register_lowering(metric_p, lambda context, x, *, kind: [x])
ad.deflinear2(metric_p, lambda cotangent, x, *, kind: [cotangent])
batching.primitive_batchers[metric_p] = lambda operands, dims, *, kind: (metric_p.bind(*operands, kind=kind), dims[0])


def kind_in(jaxpr: Jaxpr, variable: Var | Literal) -> str | None:
    """What the program says of one of its variables, which functions that are called in it hand on, one that
    jax.checkpoint or jax.jit has made as well."""
    if isinstance(variable, Literal):
        return None
    for eqn in jaxpr.eqns:
        if variable not in eqn.outvars:
            continue
        if eqn.primitive is metric_p:
            return eqn.params["kind"]
        if eqn.primitive not in _CALLS:
            return None
        called = next(iter(jaxprs_in_params(eqn.params)))
        result = called.outvars[eqn.outvars.index(variable)]
        if result in called.invars:
            return kind_in(jaxpr, eqn.invars[called.invars.index(result)])
        return kind_in(called, result)
    return None
