# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the library of layers is written in: each function is that of its first array's world.

The worlds are modules of the same functions, `shoal_` and `jax_`, which keep the same laws. Functions that get no array
have `like`, one of the world that is meant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy as np

from shoal.arrays import shoal_
from shoal.arrays.worlds import is_array, jax_world, like, world_of
from shoal.frontend.annotations import P
from shoal.frontend.core import is_tracing
from shoal.frontend.remat import one_kernel
from shoal.frontend.value import Value
from shoal.mesh import Mesh

Array: TypeAlias = Value
"""An array of either world: of type checkers the frontend's value, whose operators and methods JAX's arrays have, too."""
ArrayLike: TypeAlias = Any
"""An array of either world, one of NumPy's or a number."""
Axes = int | Sequence[int] | None
Shape = Sequence[int]


def as_value(x: ArrayLike, like: Any = None, what: str = "") -> Array:
    """The array; NumPy's and numbers as constants of the world of `like`. TraceTypeError for what is neither, which
    calls it `what`."""
    return world_of(x, like).as_value(x, what)


# Element by element.


def abs(x: ArrayLike) -> Array:
    """The size without the sign."""
    return world_of(x).abs(x)


def exp(x: ArrayLike) -> Array:
    """e to the x."""
    return world_of(x).exp(x)


def log(x: ArrayLike) -> Array:
    """The natural logarithm."""
    return world_of(x).log(x)


def erf(x: ArrayLike) -> Array:
    """The error function."""
    return world_of(x).erf(x)


def rsqrt(x: ArrayLike) -> Array:
    """1 / sqrt(x)."""
    return world_of(x).rsqrt(x)


def sign(x: ArrayLike) -> Array:
    """-1, 0 or 1."""
    return world_of(x).sign(x)


def square(x: ArrayLike) -> Array:
    """x times x."""
    return world_of(x).square(x)


def negative(x: ArrayLike) -> Array:
    """-x."""
    return world_of(x).negative(x)


def sqrt(x: ArrayLike) -> Array:
    """The square root."""
    return world_of(x).sqrt(x)


def cos(x: ArrayLike) -> Array:
    """The cosine of an angle."""
    return world_of(x).cos(x)


def sin(x: ArrayLike) -> Array:
    """The sine of an angle."""
    return world_of(x).sin(x)


def log1p(x: ArrayLike) -> Array:
    """log(1 + x)."""
    return world_of(x).log1p(x)


def power(a: ArrayLike, b: ArrayLike) -> Array:
    """a to the b."""
    return world_of(a, b).power(a, b)


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """a times b."""
    return world_of(a, b).multiply(a, b)


def isfinite(x: ArrayLike) -> Array:
    """Where it is neither infinite nor NaN."""
    return world_of(x).isfinite(x)


def maximum(a: ArrayLike, b: ArrayLike) -> Array:
    """The larger one of each two elements; shapes broadcast."""
    return world_of(a, b).maximum(a, b)


def minimum(a: ArrayLike, b: ArrayLike) -> Array:
    """The smaller one of each two elements; shapes broadcast."""
    return world_of(a, b).minimum(a, b)


def clip(x: ArrayLike, low: Any = None, high: Any = None) -> Array:
    """min(max(x, low), high); a bound of None is none."""
    return world_of(x).clip(x, low, high)


def logical_and(a: ArrayLike, b: ArrayLike) -> Array:
    """Where both hold."""
    return world_of(a, b).logical_and(a, b)


def logical_not(x: ArrayLike) -> Array:
    """Where it does not hold."""
    return world_of(x).logical_not(x)


def where(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """a where the condition, bools, holds, else b; shapes broadcast. What is not chosen has a gradient of 0."""
    return world_of(condition, a, b).where(condition, a, b)


def or_one(x: ArrayLike) -> Array:
    """x, or 1 where it is 0: 0 divided by it, and the gradient of that, is then 0 and no NaN."""
    return world_of(x).or_one(x)


def root_of(x: ArrayLike) -> Array:
    """The square root, with a gradient of 0 at 0."""
    return world_of(x).root_of(x)


# Of neural networks.


def relu(x: ArrayLike) -> Array:
    """max(x, 0)."""
    return world_of(x).relu(x)


def gelu(x: ArrayLike, *, approximate: bool = False) -> Array:
    """x Phi(x), by erf or, approximately, by tanh."""
    return world_of(x).gelu(x, approximate=approximate)


def silu(x: ArrayLike) -> Array:
    """x / (1 + exp(-x))."""
    return world_of(x).silu(x)


def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x))."""
    return world_of(x).sigmoid(x)


def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x))."""
    return world_of(x).softplus(x)


def softmax(x: ArrayLike, axis: int = -1) -> Array:
    """exp(x - max) / sum along a dimension."""
    return world_of(x).softmax(x, axis)


def log_softmax(x: ArrayLike, axis: int = -1) -> Array:
    """log(softmax(x)), without overflow."""
    return world_of(x).log_softmax(x, axis)


def logsumexp(x: ArrayLike, axis: int = -1, *, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) along a dimension, without overflow."""
    return world_of(x).logsumexp(x, axis, keepdims=keepdims)


def rms_norm(x: ArrayLike, *, epsilon: float = 1e-5) -> Array:
    """x / sqrt(mean(x^2) + epsilon) along the last dimension."""
    return world_of(x).rms_norm(x, epsilon=epsilon)


def one_hot(indices: ArrayLike, size: int, dtype: Any = "float32", axis: int = -1) -> Array:
    """A one at each index, integers, along a new dimension of the result; out of range: zeros."""
    return world_of(indices).one_hot(indices, size, dtype, axis)


# Products.


def einsum(spec: str, *operands: ArrayLike, dtype: Any = None) -> Array:
    """NumPy's einsum, a letter a dimension and no ellipsis. dtype: of the result and of its sums."""
    return world_of(*operands).einsum(spec, *operands, dtype=dtype)


def matmul(a: ArrayLike, b: ArrayLike) -> Array:
    """NumPy's @: over the last two dimensions, the others broadcast."""
    return world_of(a, b).matmul(a, b)


def ragged_einsum(spec: str, rows: str, lhs: ArrayLike, rhs: ArrayLike, begins: ArrayLike, ends: ArrayLike) -> Array:
    """An einsum whose rows belong to groups, "TM,EMH,E->TH" with rows "T": row t meets the matrices of the groups e with
    begins[e] <= t < ends[e], of whose products it is the sum; rows of no group give zeros."""
    return world_of(lhs, rhs, begins).ragged_einsum(spec, rows, lhs, rhs, begins, ends)


# Over a dimension.


def sum(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None) -> Array:
    """The sum over the dimensions, all for None."""
    return world_of(x).sum(x, axis, keepdims=keepdims, dtype=dtype)


def mean(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The sum over the number of elements."""
    return world_of(x).mean(x, axis, keepdims=keepdims)


def max(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The largest element."""
    return world_of(x).max(x, axis, keepdims=keepdims)


def any(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Whether an element is not 0."""
    return world_of(x).any(x, axis, keepdims=keepdims)


def cumsum(x: ArrayLike, axis: int, *, exclusive: bool = False) -> Array:
    """Element i is the sum of 0 ... i of its line; exclusive: of 0 ... i - 1."""
    return world_of(x).cumsum(x, axis, exclusive=exclusive)


def cummax(x: ArrayLike, axis: int) -> Array:
    """Element i is the largest of 0 ... i of its line."""
    return world_of(x).cummax(x, axis)


def argmax(x: ArrayLike, axis: int | None = None) -> Array:
    """The place of the largest element, int32, the first of equal ones."""
    return world_of(x).argmax(x, axis)


def argsort(x: ArrayLike, axis: int = -1, *, descending: bool = False) -> Array:
    """The places of the elements in order, int32; equal ones keep theirs, also in descending order."""
    return world_of(x).argsort(x, axis, descending=descending)


def top_k(x: ArrayLike, k: int) -> tuple[Array, Array]:
    """The k largest elements of the last dimension, from the largest on, and their places, int32; of equal ones the first
    comes first."""
    return world_of(x).top_k(x, k)


# Made of nothing, moved and repeated.


def full(shape: Shape, value: ArrayLike, dtype: Any = None, *, like: ArrayLike) -> Array:
    """The value everywhere, in the world of `like`."""
    return world_of(like).full(shape, value, dtype, like)


def ones(shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Ones everywhere, in the world of `like`."""
    return world_of(like).ones(shape, dtype, like)


def zeros(shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Zeros everywhere, in the world of `like`; NumPy's, which either takes, where it is None and nothing is traced."""
    if like is None and not is_tracing():
        return np.zeros(shape, dtype)
    return world_of(like).zeros(shape, dtype, like)


def iota(shape: Shape, axis: int, *, like: ArrayLike) -> Array:
    """Each element is its index along the dimension, int32, in the world of `like`."""
    return world_of(like).iota(shape, axis, like)


def reshape(x: ArrayLike, shape: Shape) -> Array:
    """The same elements, row-major; one size may be -1."""
    return world_of(x).reshape(x, shape)


def broadcast_to(x: ArrayLike, shape: Shape) -> Array:
    """Repeated along new dimensions and those of size 1."""
    return world_of(x).broadcast_to(x, shape)


def concatenate(parts: Sequence[ArrayLike], axis: int = 0) -> Array:
    """One behind the other."""
    return world_of(*parts).concatenate(parts, axis)


def stack(parts: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Along a new dimension of the result."""
    return world_of(*parts).stack(parts, axis)


def halves(x: ArrayLike, axis: int) -> tuple[Array, Array]:
    """The first and the second half of a dimension of even size, whose gradients are put together again."""
    return world_of(x).halves(x, axis)


def pad(x: ArrayLike, widths: Sequence[tuple[int, ...]], value: ArrayLike = 0) -> Array:
    """With elements (before, behind) or (before, behind, between) of each dimension."""
    return world_of(x).pad(x, widths, value)


def repeat(x: ArrayLike, count: int, axis: int) -> Array:
    """Each element of the dimension `count` times in a row."""
    return world_of(x).repeat(x, count, axis)


def moveaxis(x: ArrayLike, source: int, target: int) -> Array:
    """Dimension `source` in place `target`, the others in their order."""
    return world_of(x).moveaxis(x, source, target)


def take(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """Rows of a dimension: x[..., indices, ...]. Out of range: the nearest end."""
    return world_of(x, indices).take(x, indices, axis)


def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """NumPy's: element (i, j) is x[indices[i, j], j] for axis 0. Out of range: the nearest end."""
    return world_of(x, indices).take_along_axis(x, indices, axis)


def dynamic_slice(x: ArrayLike, starts: Sequence[ArrayLike], sizes: Sequence[int]) -> Array:
    """The box of these sizes that begins where scalars of the program say, one a dimension; clamped to lie inside."""
    return world_of(x).dynamic_slice(x, starts, sizes)


def take_rows(values: ArrayLike, numbers: ArrayLike) -> Array:
    """values [G, N, ...], numbers [G, R] int32: [G, R, ...], each group on its own. Out of range: the nearest row."""
    return world_of(values, numbers).take_rows(values, numbers)


def put_rows(values: ArrayLike, numbers: ArrayLike, rows: ArrayLike) -> Array:
    """values [G, N, ...] with rows [G, R, ...] at their numbers [G, R]; out of range: none."""
    return world_of(values, numbers, rows).put_rows(values, numbers, rows)


def add_rows(values: ArrayLike, numbers: ArrayLike, rows: ArrayLike) -> Array:
    """As `put_rows`, added to what is there."""
    return world_of(values, numbers, rows).add_rows(values, numbers, rows)


def shape_of(x: ArrayLike) -> tuple[int, ...]:
    """The sizes of the dimensions, of numbers none."""
    return world_of(x).shape_of(x)


# Gradients, loops, random numbers.


def stop_gradient(x: ArrayLike) -> Array:
    """The same, without a gradient."""
    return world_of(x).stop_gradient(x)


def value_and_grad(function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function with its gradient, of trees of arrays: `shoal.value_and_grad`, or JAX's."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return world_of(like(*args)).value_and_grad(function, argnums, has_aux)(*args, **kwargs)

    return called


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result, and the function that pulls cotangents back, of trees of arrays; with `has_aux` what the function returns
    beside it as a third: `shoal.vjp`, or JAX's."""
    return world_of(like(*primals)).vjp(function, *primals, has_aux=has_aux)


def scan(body: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None) -> Any:
    """`carry, ys[i] = body(carry, xs[i])` for each row i of xs, trees of arrays, or `length` times; gives (carry, ys)."""
    return world_of(like(init, xs)).scan(body, init, xs, length)


def fori_loop(lower: int, upper: int, body: Callable[[Array, Any], Any], init: Any) -> Any:
    """`carry = body(i, carry)` for i in lower ... upper - 1; a tree of arrays of the same types."""
    return world_of(like(init)).fori_loop(lower, upper, body, init)


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """Repeats `carry = body(carry)` while `cond(carry)`, a scalar bool, holds; a tuple of arrays of the same types."""
    return world_of(*init).while_loop(cond, body, init)


def fold_in(key: ArrayLike, number: ArrayLike, *, like: Any = None) -> Array:
    """A new key of a key and an integer, of a key of NumPy's in the world of `like`."""
    return world_of(key, like).fold_in(key, number)


def uniform(key: ArrayLike, shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Uniform in [0, 1), in the world of `like` by its generator: `shoal.random`, or `jax.random`."""
    return world_of(like).uniform(key, shape, dtype, like)


def normal(key: ArrayLike, shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Of mean 0 and variance 1, as `uniform`."""
    return world_of(like).normal(key, shape, dtype, like)


# Where arrays lie, and what programs say beside their numbers.


def constrain(x: ArrayLike, spec: Any, mesh: Mesh | None, *, hint: bool = False) -> Array:
    """The array where a `shoal.P` over the mesh says; the identity on its elements: `shoal.constrain`, or JAX's
    with_sharding_constraint. hint: it only asks, which XLA does not hear.

    JAX has no dimension that its devices do not divide and none that more axes may join: these are left to the
    compiler, or closed. UnsupportedError for parts of axes there; TraceError where there is no mesh.
    """
    return world_of(x).constrain(x, spec, mesh, hint)


def all_gather(x: ArrayLike, axes: Sequence[str], dim: int = 0) -> Array:
    """In `manual`: the devices' arrays one behind the other along a dimension, on each."""
    return world_of(x).all_gather(x, axes, dim)


def axis_index(axes: Sequence[str], *, like: ArrayLike) -> Array:
    """In `manual`: the device's place along the axes, major to minor, int32."""
    return world_of(like).axis_index(axes)


def ring_shift(x: ArrayLike, axes: Sequence[str]) -> Array:
    """In `manual`: the array of the device before this one along the axes, around the end."""
    return world_of(x).ring_shift(x, axes)


def ragged_all_to_all(
    x: ArrayLike, output: ArrayLike, input_offsets: ArrayLike, send_sizes: ArrayLike, output_offsets: ArrayLike,
    recv_sizes: ArrayLike, axes: Sequence[str],
) -> Array:
    """In `manual`: `output` with the rows that all devices send here, see `shoal.ragged_all_to_all`. XLA has none for CPUs,
    where all rows are gathered."""
    return world_of(x, output).ragged_all_to_all(x, output, input_offsets, send_sizes, output_offsets, recv_sizes, axes)


def named_scope(name: str) -> AbstractContextManager[None]:
    """Ops that are traced meanwhile have this name, for reports: `shoal.named_scope`, or JAX's where the frontend
    traces nothing."""
    return (shoal_ if is_tracing() or "jax" not in sys.modules else jax_world()).named_scope(name)


def summed(metric: ArrayLike) -> Array:
    """A metric whose value of a batch is the sum of its parts': see `shoal.train`."""
    return world_of(metric).summed(metric)


def largest(metric: ArrayLike) -> Array:
    """A metric whose value of a batch is the largest of its parts'."""
    return world_of(metric).largest(metric)


def kind_of(metric: Array) -> str:
    """How the values of parts make that of a batch, "sum", "max" or "mean": as was said of this array, else by its type."""
    return world_of(metric).kind_of(metric)


def advise(text: str, *, like: ArrayLike) -> None:
    """A warning of memory: when the program is compiled, or at once."""
    return world_of(like).advise(text)


def manual(function: Callable[..., Any], in_shardings: Any, out_shardings: Any, axes: Sequence[str], mesh: Mesh) -> Any:
    """The function as it runs on one device along the axes: `shoal.manual`, or JAX's shard_map.

    in_shardings, out_shardings: a `shoal.P` for each argument and result, or for whole subtrees. It must use no arrays
    from around it. Of n rows over p devices each has ceil(n / p), those past the end zero, and a whole result has all
    rows of its shards.
    """

    def called(*args: Any) -> Any:
        return world_of(like(args)).manual(function, in_shardings, out_shardings, axes, mesh)(*args)

    return called


def mesh_of(mesh: Mesh, devices: Sequence[Any] | None = None) -> Any:
    """The mesh as JAX's AbstractMesh, or over the first of JAX's devices; its axes are Auto. TraceError for fewer devices
    than it has."""
    return jax_world().mesh_of(mesh, devices)


def mesh_around(like: ArrayLike) -> Mesh | None:
    """The mesh of the program that is traced, or that jax.set_mesh has set, where there is one."""
    return world_of(like).mesh_around()


def named_shardings(specs: Any, mesh: Mesh, devices: Sequence[Any] | None = None) -> Any:
    """A tree of dicts, lists and tuples of `shoal.P` as JAX's NamedShardings over the same mesh; None stays None.

    devices: JAX's, whose first ones the mesh has; None: an AbstractMesh, as `shoal.jax.jit` takes it. TraceError
    for fewer devices than the mesh has, UnsupportedError for parts of axes.
    """
    if isinstance(specs, dict):
        return {name: named_shardings(part, mesh, devices) for name, part in specs.items()}
    if isinstance(specs, (list, tuple)):
        parts = [named_shardings(part, mesh, devices) for part in specs]
        return type(specs)(*parts) if hasattr(specs, "_fields") else type(specs)(parts)
    return None if specs is None else jax_world().named_sharding(specs, mesh, devices)
