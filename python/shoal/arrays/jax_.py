# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of `shoal.arrays` for arrays of JAX, also under jax.jit, jax.grad, jax.vmap and shoal.jax.jit.

They keep the laws of the frontend: of equal elements the first comes first, rows of no group are zeros, what is out of
range is the nearest row, 0 / 0 of a sum of nothing is 0.
"""

from __future__ import annotations

import builtins
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import jaxpr_as_fun
from jax.sharding import AbstractMesh, AxisType, Mesh as DeviceMesh, NamedSharding, PartitionSpec

from shoal import frames
from shoal.arrays.jax_primitives import PARTS, constrained, hint_p, kind_in, metric_p, ragged_einsum_p
from shoal.errors import CompileWarning, TraceError, UnsupportedError
from shoal.frontend import pytrees
from shoal.frontend.annotations import as_sharding
from shoal.frontend.metrics import default_kind
from shoal.mesh import Axis, Mesh

abs, erf, exp, log, rsqrt, sign = jnp.abs, lax.erf, jnp.exp, jnp.log, lax.rsqrt, jnp.sign
logical_and, logical_not, maximum, minimum = jnp.logical_and, jnp.logical_not, jnp.maximum, jnp.minimum
negative, square, where, clip = jnp.negative, jnp.square, jnp.where, jnp.clip
sin, log1p, named_scope = jnp.sin, jnp.log1p, jax.named_scope
sqrt, cos, power, multiply, isfinite, moveaxis = jnp.sqrt, jnp.cos, jnp.power, jnp.multiply, jnp.isfinite, jnp.moveaxis
relu, sigmoid, silu, softplus = jax.nn.relu, jax.nn.sigmoid, jax.nn.silu, jax.nn.softplus
log_softmax = jax.nn.log_softmax
broadcast_to, concatenate, stack, reshape, matmul = jnp.broadcast_to, jnp.concatenate, jnp.stack, jnp.reshape, jnp.matmul
stop_gradient, while_loop, scan, axis_index = lax.stop_gradient, lax.while_loop, lax.scan, lax.axis_index
fori_loop, dynamic_slice = lax.fori_loop, lax.dynamic_slice
value_and_grad, vjp = jax.value_and_grad, jax.vjp
shape_of = jnp.shape


def as_value(x: Any, what: str) -> Any:
    return jnp.asarray(x)


def advise(text: str) -> None:
    warnings.warn(text, CompileWarning, stacklevel=frames.user_stacklevel())


def or_one(divisor: Any) -> Any:
    return jnp.where(divisor == 0, 1, divisor)


def root_of(squares: Any) -> Any:
    return jnp.where(squares == 0, 0, jnp.sqrt(or_one(squares)))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def softmax(x: Any, axis: int = -1) -> Any:
    """With the frontend's derivative, which holds the result alone; JAX's would hold the exponentials as well."""
    return jax.nn.softmax(x, axis)


@softmax.defjvp
def _softmax_jvp(axis: int, primals: Any, tangents: Any) -> Any:
    made, tangent = softmax(primals[0], axis), tangents[0]
    return made, made * (tangent - jnp.sum(made * tangent, axis, keepdims=True))


def gelu(x: Any, *, approximate: bool = False) -> Any:
    return jax.nn.gelu(x, approximate)


def logsumexp(x: Any, axis: int = -1, *, keepdims: bool = False) -> Any:
    return jax.nn.logsumexp(x, axis, keepdims=keepdims)


def rms_norm(x: Any, *, epsilon: float) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon)


def one_hot(indices: Any, size: int, dtype: Any = "float32", axis: int = -1) -> Any:
    return jax.nn.one_hot(indices, size, dtype=dtype, axis=axis)


def einsum(spec: str, *operands: Any, dtype: Any = None) -> Any:
    return jnp.einsum(spec, *operands, preferred_element_type=dtype)


def ragged_einsum(spec: str, rows: str, lhs: Any, rhs: Any, begins: Any, ends: Any) -> Any:
    lhs, rhs = (jnp.asarray(x, jnp.result_type(lhs, rhs)) for x in (lhs, rhs))
    return ragged_einsum_p.bind(lhs, rhs, begins, ends, spec=spec, rows=rows, dtype=lhs.dtype)


# Creation and structure.


def full(shape: Sequence[int], value: Any, dtype: Any, like: Any) -> Any:
    return jnp.full(shape, value, dtype)


def ones(shape: Sequence[int], dtype: Any, like: Any) -> Any:
    return jnp.ones(shape, dtype)


def zeros(shape: Sequence[int], dtype: Any, like: Any) -> Any:
    return jnp.zeros(shape, dtype)


def iota(shape: Sequence[int], axis: int, like: Any) -> Any:
    return lax.broadcasted_iota(jnp.int32, tuple(shape), axis % len(shape))


def halves(x: Any, axis: int) -> Any:
    dim = axis % x.ndim
    return lax.split(x, [x.shape[dim] // 2] * 2, dim)


def pad(x: Any, widths: Sequence[tuple[int, ...]], value: Any = 0) -> Any:
    return lax.pad(x, jnp.asarray(value, x.dtype), [(*width, 0)[:3] for width in widths])


def repeat(x: Any, count: int, axis: int) -> Any:
    return jnp.repeat(x, count, axis)


# Order, sums, rows.


def argmax(x: Any, axis: int | None = None) -> Any:
    return jnp.argmax(x, axis).astype(jnp.int32)


def argsort(x: Any, axis: int = -1, *, descending: bool = False) -> Any:
    return jnp.argsort(x, axis, stable=True, descending=descending).astype(jnp.int32)


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    best, places = lax.top_k(x, k)
    return best, places.astype(jnp.int32)


def _dims(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def sum(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    return jnp.sum(x, _dims(axis), dtype=dtype, keepdims=keepdims)


def mean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return jnp.mean(x, _dims(axis), keepdims=keepdims)


def max(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return jnp.max(x, _dims(axis), keepdims=keepdims)


def any(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return jnp.any(x, _dims(axis), keepdims=keepdims)


def cumsum(x: Any, axis: int, *, exclusive: bool = False) -> Any:
    summed = jnp.cumsum(x, axis)
    return summed - x if exclusive else summed


def cummax(x: Any, axis: int) -> Any:
    return lax.cummax(x, axis % x.ndim)


def take(x: Any, indices: Any, axis: int) -> Any:
    return jnp.take(x, indices, axis, mode="clip")


def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    return jnp.take_along_axis(x, indices, axis, mode="clip")


def take_rows(values: Any, numbers: Any) -> Any:
    dims = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(2, values.ndim)), collapsed_slice_dims=(1,), start_index_map=(1,),
        operand_batching_dims=(0,), start_indices_batching_dims=(0,),
    )  # fmt: skip
    return lax.gather(values, numbers[..., None], dims, (1, 1, *values.shape[2:]), mode="clip")


def _scatter(function: Callable[..., Any], values: Any, numbers: Any, rows: Any) -> Any:
    dims = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(2, values.ndim)), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,),
        operand_batching_dims=(0,), scatter_indices_batching_dims=(0,),
    )  # fmt: skip
    return function(values, numbers[..., None], rows, dims, mode="drop")


put_rows, add_rows = functools.partial(_scatter, lax.scatter), functools.partial(_scatter, lax.scatter_add)


# Random numbers, by JAX's generators.


def _key(key: Any) -> Any:
    """One of jax.random, also of the two integers of a key of shoal.random."""
    if jnp.issubdtype(getattr(key, "dtype", None), jax.dtypes.prng_key):
        return key
    return jax.random.wrap_key_data(jnp.asarray(key).astype(jnp.uint32))


def fold_in(key: Any, number: Any) -> Any:
    return jax.random.fold_in(_key(key), number)


def uniform(key: Any, shape: Sequence[int], dtype: Any, like: Any) -> Any:
    return jax.random.uniform(_key(key), shape, dtype)


def normal(key: Any, shape: Sequence[int], dtype: Any, like: Any) -> Any:
    return jax.random.normal(_key(key), shape, dtype)


# Where values lie.


def mesh_of(mesh: Mesh, devices: Sequence[Any] | None = None) -> AbstractMesh | DeviceMesh:
    sizes, names = tuple(mesh.axes.values()), tuple(mesh.axes)
    types = (AxisType.Auto,) * len(names)
    if devices is None:
        return AbstractMesh(sizes, names, axis_types=types)
    if len(devices) < mesh.size:
        raise TraceError(f"mesh_of: {len(devices)} devices for the {mesh.size} of {mesh!r}")
    ordered = np.asarray(devices, object)[list(mesh.device_ids or range(mesh.size))]
    return DeviceMesh(ordered.reshape(sizes), names, axis_types=types)


def mesh_around() -> Mesh | None:
    around = jax.sharding.get_abstract_mesh()
    return None if around.empty else Mesh(dict(around.shape))


def _mesh_around(mesh: Mesh) -> Any:
    """That which jax.set_mesh has set, where it has the axes; else the mesh as it is."""
    around = jax.sharding.get_abstract_mesh()
    has_all = all(around.shape.get(axis) == size for axis, size in mesh.axes.items())
    return around if has_all else mesh_of(mesh)


def partition_spec(spec: Any, mesh: Mesh, shape: Sequence[int] | None = None, what: str = "partition_spec") -> PartitionSpec:
    rank = len(spec.dims) if shape is None else len(shape)
    sharding = as_sharding(spec, shape or (0,) * rank, mesh, what)
    if sharding.partial:
        raise UnsupportedError(f"{what}: {spec!r}: arrays of JAX are no sums over axes")
    return PartitionSpec(*(_entry(dim, mesh, size, what) for dim, size in zip(sharding.dims, shape or (0,) * rank)))


def _entry(dim: Any, mesh: Mesh, size: int, what: str) -> Any:
    """JAX has no dimension that more axes may join, none of parts of axes, and none that its devices do not divide."""
    parts = [axis for axis in dim.axes if axis.size]
    if parts:
        raise UnsupportedError(f"{what}: axis {parts[0]} is a part of one, which PartitionSpecs do not name")
    names = tuple(axis.name for axis in dim.axes)
    count = int(np.prod([mesh.axes[name] for name in names]))
    if (dim.is_open and not names) or size % count:
        return PartitionSpec.UNCONSTRAINED
    return names or None


def named_sharding(spec: Any, mesh: Mesh, devices: Sequence[Any] | None = None) -> NamedSharding:
    return NamedSharding(mesh_of(mesh, devices), partition_spec(spec, mesh, what="named_sharding"))


def constrain(x: Any, spec: Any, mesh: Mesh | None, hint: bool) -> Any:
    if mesh is None:
        raise TraceError(f"constrain: {spec!r} without a mesh; give one by jax.set_mesh")
    place = partition_spec(spec, mesh, x.shape, "constrain")
    if hint:
        return hint_p.bind(x, sharding=NamedSharding(mesh_of(mesh), place), binds=False)
    around = _mesh_around(mesh)
    if all(kind == AxisType.Manual for kind in around.axis_types):
        return x  # in a part for one device of all axes nothing is left to say
    return constrained(x, NamedSharding(around, place))


# Parts that are written for one device.


def manual(function: Any, in_shardings: Any, out_shardings: Any, axes: Sequence[str], mesh: Mesh) -> Any:
    ins, outs = _specs(in_shardings, mesh), _specs(out_shardings, mesh)

    def called(*args: Any) -> Any:
        even = jax.tree.map(lambda spec, part: jax.tree.map(lambda x: _even(x, spec, mesh), part), ins, args)
        return jax.shard_map(
            function, mesh=_mesh_around(mesh), in_specs=ins, out_specs=outs, axis_names=set(axes), check_vma=False
        )(*even)  # fmt: skip

    return called


def _specs(tree: Any, mesh: Mesh) -> Any:
    """Of a tree of P; what is open is whole on a device, and the last whole dimensions, which `...` may be none of, are not named."""
    if isinstance(tree, dict):
        return {name: _specs(part, mesh) for name, part in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(_specs(part, mesh) for part in tree)
    entries = [None if entry is PartitionSpec.UNCONSTRAINED else entry for entry in partition_spec(tree, mesh, what="manual")]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def _even(x: Any, spec: PartitionSpec, mesh: Mesh) -> Any:
    """With zeros behind its rows, so that devices have as many each, which JAX asks for."""
    parts = [int(np.prod([mesh.axes[name] for name in _tupled(entry or ())])) for entry in spec]
    missing = [-size % count for size, count in zip(jnp.shape(x), parts)] + [0] * (jnp.ndim(x) - len(parts))
    return jnp.pad(x, [(0, more) for more in missing]) if builtins.any(missing) else x


def _tupled(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def ring_shift(x: Any, axes: Sequence[str]) -> Any:
    count = lax.axis_size(tuple(axes))
    return lax.ppermute(x, tuple(axes), [(place, (place + 1) % count) for place in range(count)])


def all_gather(x: Any, axes: Sequence[str], dim: int = 0) -> Any:
    return lax.all_gather(x, tuple(axes), axis=dim, tiled=True)


def ragged_all_to_all(
    x: Any, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any, axes: Sequence[str],
    mean_rows: int | None = None,
) -> Any:
    """XLA's for CPUs has none: there all rows are gathered. Of prices JAX's programs say nothing."""
    lists = input_offsets, send_sizes, output_offsets, recv_sizes
    exchange = functools.partial(lax.ragged_all_to_all, axis_name=tuple(axes))
    gathered = functools.partial(_ragged_by_gather, axes=tuple(axes))
    return lax.platform_dependent(x, output, *lists, cpu=gathered, **{PARTS: exchange}, default=exchange)


def _ragged_by_gather(x: Any, output: Any, *lists: Any, axes: tuple[str, ...]) -> Any:
    """By what everyone sends, of which each row of the output finds the slice that it is in."""
    everyone, me = lax.all_gather(x, axes, axis=0, tiled=True), lax.axis_index(axes)
    count = everyone.shape[0] // x.shape[0]
    begins, sizes, places = (
        lax.all_gather(table, axes).reshape(count, count, -1)[:, me].reshape(-1) for table in lists[:3]
    )
    begins = begins + jnp.repeat(jnp.arange(count, dtype=begins.dtype) * x.shape[0], begins.shape[0] // count)
    row = jnp.arange(output.shape[0], dtype=begins.dtype)[:, None]
    inside = (row >= places) & (row < places + sizes)
    source = jnp.sum(jnp.where(inside, begins + row - places, 0), 1)
    read = take_rows(everyone[None], source[None])[0]
    return jnp.where(jnp.any(inside, 1).reshape(-1, *[1] * (x.ndim - 1)), read, output)


# What programs say beside their numbers.


def summed(metric: Any) -> Any:
    return metric_p.bind(jnp.asarray(metric), kind="sum")


def largest(metric: Any) -> Any:
    return metric_p.bind(jnp.asarray(metric), kind="max")


def noting_kinds(function: Callable[..., Any], kinds: list[str]) -> Callable[..., Any]:
    """By the function's program, as arrays have no place for what is said of them."""

    def called(*args: Any, **kwargs: Any) -> Any:
        closed, result = jax.make_jaxpr(function, return_shape=True)(*args, **kwargs)
        said = [kind_in(closed.jaxpr, variable) or default_kind(variable.aval) for variable in closed.jaxpr.outvars]
        structure = jax.tree.structure(result)
        kinds[:] = pytrees.flatten(jax.tree.unflatten(structure, said))[0]
        return jax.tree.unflatten(structure, jaxpr_as_fun(closed)(*jax.tree.leaves((args, kwargs))))

    return called
