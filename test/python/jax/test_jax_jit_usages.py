# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways to use jax.jit: shoal.jax.jit gives the same, or one clear error.

docs/guide/JAX.md has the table: `test_the_page_has_all_of_them`.
"""

import functools
import importlib.util
import re
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh
from shoal_testing import ROOT, TARGET

import shoal.jax
from shoal import InputError, RunError, TraceError, UnsupportedError

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

MESH = auto_mesh((2,), ("x",))
X = np.arange(8, dtype=np.float32)

jit_of = {"jax": jax.jit, "shoal": functools.partial(shoal.jax.jit, mesh=MESH)}
usages = {}


def usage(function):
    """`function(jit)` gives what is compared."""
    usages[function.__name__.replace("_", " ")] = function
    return function


@functools.partial(jax.tree_util.register_dataclass, data_fields=["w", "n"], meta_fields=["name"])
class State:
    def __init__(self, w, n, name):
        self.w, self.n, self.name = w, n, name


class Pair(NamedTuple):
    first: object
    second: object


@usage
def a_bare_decorator(jit):
    @jit
    def double(x):
        """Doubles."""
        return x * 2

    assert double.__name__ == "double" and double.__doc__ == "Doubles."
    return double(X), double.__wrapped__(X)


@usage
def a_decorator_with_options(jit):
    @jit(static_argnums=1)
    def power(x, n):
        return x**n

    return power(X, 2), power(X, 3)


@usage
def a_decorator_by_partial(jit):
    @functools.partial(jit, static_argnames=("n",))
    def power(x, n):
        return x**n

    return power(X, n=2), power(X, 3)


@usage
def methods(jit):
    class Layer:
        scale = 3.0

        @functools.partial(jit, static_argnums=0)
        def __call__(self, x):
            return x * self.scale

    return Layer()(X)


@usage
def partial_objects_and_closures(jit):
    offset = jnp.ones(8)
    return jit(functools.partial(lambda a, x: a * x + offset, 2.0))(X)


@usage
def jit_of_a_jitted_function(jit):
    return jit(jax.jit(lambda x: x + 1))(X)


@usage
def keywords_and_defaults(jit):
    f = jit(lambda x, y=1.0, *args, scale, **others: (x + y) * scale + sum(args) + others["z"])
    return f(X, scale=2.0, z=X), f(X, 2.0, 3.0, scale=1.0, z=0.0)


@usage
def nested_trees(jit):
    tree = {"a": [X, (X, None)], "b": Pair(X, {"c": 2.0})}
    return jit(lambda tree: jax.tree.map(lambda leaf: leaf + 1, tree))(tree)


@usage
def registered_dataclasses(jit):
    def step(state):
        return State(state.w * 2, state.n + 1, state.name)

    first = jit(step)(State(X, 0, "s"))
    assert first.name == "s"
    return first, jit(step)(first)


@usage
def no_arrays_at_all(jit):
    return jit(lambda: (3.0, None, ()))(), jit(lambda x: None)(X)


@usage
def arguments_that_nothing_reads(jit):
    return jit(lambda x, unused: x)(X, np.ones(3)), jit(lambda x, y: y, keep_unused=True)(X, X)


@usage
def numbers_of_Python(jit):
    f = jit(lambda x: x * 2)
    return f(3), f(1.5), f(True), f(2j)


@usage
def weak_types(jit):
    weak = jit(lambda x: x * 2.0)(1.5)
    return weak, jit(lambda x, y: x * y)(weak, np.ones(2, np.float16)), weak * np.float16(2)


@usage
def scalars_and_arrays_of_NumPy(jit):
    f = jit(lambda x: x + 1)
    return f(np.float32(2)), f(np.float64(2)), f(np.arange(3)), f(np.ones((2, 3))[:, ::-1])


@usage
def other_types(jit):
    f = jit(lambda x: -x)
    types = (np.uint8, np.int16, jnp.bfloat16, np.float16, np.complex64, jnp.int4, jnp.float8_e3m4)
    return [f(X.astype(dtype)) for dtype in types], jit(jnp.logical_not)(X > 3)


@usage
def random_keys(jit):
    def draw(key):
        first, second = jax.random.split(key)
        return jax.random.uniform(first, (3,)), second

    numbers, key = jit(draw)(jax.random.key(7))
    return numbers, jax.random.key_data(key), jit(draw)(key)[0], jit(draw)(jax.random.PRNGKey(1))


@usage
def tangents_of_integers(jit):
    return jit(lambda x: x)(np.zeros(3, jax.dtypes.float0))


@usage
def new_shapes_and_types(jit):
    f = jit(lambda x: x.sum(0))
    return f(X), f(X[:3]), f(X.reshape(2, 4)), f(X.astype(np.int32))


@usage
def x64_around_a_call(jit):
    f = jit(lambda x: x / 3)
    with jax.enable_x64(True):
        wide = f(X.astype(np.float64))
    return wide, f(X.astype(np.float64))


@usage
def inside_of_another_jit(jit):
    inner = jit(lambda x: x * 2)
    return jax.jit(lambda x: inner(x) + 1)(X), jit(lambda x: inner(x) + inner(3.0))(X)


@usage
def gradients(jit):
    loss = jit(lambda w, x: ((w * x) ** 2).sum())
    return jax.grad(loss)(X, X), jit(jax.value_and_grad(loss))(X, X)


@usage
def vmap_and_scan(jit):
    f = jit(lambda x: x @ x)
    total, each = jit(lambda x: jax.lax.scan(lambda c, v: (c + v, c * v), 0.0, x))(X)
    return jax.vmap(f)(jnp.ones((3, 2))), total, each


@usage
def disable_jit(jit):
    with jax.disable_jit():
        return jit(lambda x: float(x[1]) + x)(jnp.asarray(X))


@usage
def eval_shape(jit):
    f = jit(lambda x: {"y": x.sum(1)})
    spec = jax.ShapeDtypeStruct((3, 2), jnp.float32)
    shapes = f.eval_shape(spec), jax.eval_shape(f, spec)
    return [jnp.zeros(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(shapes)]


@usage
def results_as_arguments(jit):
    f = jit(lambda x, y: x + y)
    first = f(X, X)
    return f(first, X), f(first, first), jnp.sum(first), first + 1, 2 * first[3], first.mean()


@usage
def donated_arguments(jit):
    step = jit(lambda state, x: jax.tree.map(lambda s: s + x, state), donate_argnums=0)
    state = jit(lambda x: (x, x * 2))(X)
    after = step(state, 1.0)
    assert all(_is_deleted(leaf) for leaf in state)
    of_jax = jnp.asarray(X) + 0
    named = jit(lambda state, x: state + x, donate_argnames="state")(state=of_jax, x=1.0)
    assert of_jax.is_deleted()
    return after, named


@usage
def callbacks_and_prints(jit):
    shape = jax.ShapeDtypeStruct((8,), jnp.float32)
    return jit(lambda x: jax.pure_callback(lambda v: np.asarray(v) * 2, shape, x))(X)


@usage
def specs_under_a_mesh(jit):
    """JAX has one device here: it is asked without the mesh."""
    if jit is jax.jit:
        return X + 1
    with jax.sharding.use_abstract_mesh(MESH):
        f = shoal.jax.jit(lambda x: jax.lax.with_sharding_constraint(x + 1, P("x")), in_shardings=P("x"))
        result = f(X)
    assert result.placement.local_shape == (4,)
    return result


@usage
def set_mesh_around_a_call(jit):
    """A mesh of JAX's own devices, of which there is one here."""
    jit = jax.jit if jit is jax.jit else shoal.jax.jit
    with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        return jit(lambda x: x * 2, in_shardings=P("x"))(X)


@usage
def explicit_meshes(jit):
    if jit is jax.jit:
        return X.reshape(2, 4) @ X.reshape(4, 2)
    mesh = AbstractMesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.sharding.use_abstract_mesh(mesh):
        return shoal.jax.jit(lambda x, y: x @ y)(X.reshape(2, 4), X.reshape(4, 2))


def _is_deleted(array):
    deleted = array.is_deleted
    return deleted() if callable(deleted) else deleted


def leaves_of(result):
    leaves, tree = jax.tree.flatten(result)
    return [(np.asarray(leaf), getattr(_in_jax(leaf), "weak_type", False)) for leaf in leaves], tree


def _in_jax(leaf):
    return leaf.__jax_array__() if isinstance(leaf, shoal.Array) else leaf


@pytest.mark.parametrize("name", usages)
def test_usage(name):
    expected, expected_tree = leaves_of(usages[name](jit_of["jax"]))
    results, tree = leaves_of(usages[name](jit_of["shoal"]))
    assert tree == expected_tree
    for (result, is_weak), (wanted, wanted_weak) in zip(results, expected, strict=True):
        assert (result.dtype, result.shape, is_weak) == (wanted.dtype, wanted.shape, wanted_weak)
        if wanted.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(
                result.astype(np.complex128), wanted.astype(np.complex128), rtol=1e-6
            )


jit = jit_of["shoal"]


@functools.cache
def doubled():
    return jit(lambda x: x * 2)


ERRORS = {
    "a string": (TypeError, "not marked as static", lambda: doubled()("abc")),
    "a masked array": (
        ValueError,
        "masked arrays are not supported",
        lambda: doubled()(np.ma.array([1.0], mask=[True])),
    ),
    "an integer that is too large": (OverflowError, "argument path is x", lambda: doubled()(2**40)),
    "a static value that does not hash": (
        ValueError,
        "Non-hashable static arguments",
        lambda: jit(lambda x, n: x, static_argnums=1)(X, [1]),
    ),
    "an `if` on a value": (
        jax.errors.TracerBoolConversionError,
        r"test_jax_jit_usages.py:\d+ for jit",
        lambda: jit(lambda x: 1 if x > 0 else 2)(1.0),
    ),
    "an op without counterpart": (
        UnsupportedError,
        r"test_jax_jit_usages.py:\d+.*gees",
        lambda: jit(jax.lax.linalg.schur)(np.eye(4, dtype=np.float32)),
    ),
    "no mesh": (
        TraceError,
        r"no mesh: pass in_shardings.*or set one around the call by jax.set_mesh",
        lambda: shoal.jax.jit(lambda x: x)(X),
    ),
    "a spec without a mesh": (
        TraceError,
        r"P\('x',\): a PartitionSpec needs mesh=, or jax.set_mesh",
        lambda: shoal.jax.jit(lambda x: x, in_shardings=P("x"))(X),
    ),
    "a sharding that does not divide": (
        ValueError,
        "evenly divide",
        lambda: jit(lambda x: x, in_shardings=NamedSharding(MESH, P("x")))(X[:3]),
    ),
    "other devices": (
        InputError,
        "devices: expected 4, as the program is for, but got 2",
        lambda: shoal.jax.jit(
            lambda x: x, mesh=auto_mesh((4,), ("x",)), devices=doubled()(X).devices
        )(X),
    ),
    "a deleted array": (RunError, 'input "x": the array .* was deleted', lambda: use_deleted()),
    "a callback that raises": (RunError, "ValueError: no way", lambda: call_what_raises()),
    "an unknown option": (
        TypeError,
        r"jit\(\) got an unexpected keyword argument 'backend'",
        lambda: jit(lambda x: x, backend="cpu"),
    ),
}


def use_deleted():
    array = doubled()(X)
    jit(lambda x: x + 1, donate_argnums=0)(array)
    return doubled()(array)


def call_what_raises():
    def refuse(value):
        raise ValueError("no way")

    shape = jax.ShapeDtypeStruct((8,), jnp.float32)
    return jit(lambda x: jax.pure_callback(refuse, shape, x))(X)


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    kind, message, call = ERRORS[name]
    with pytest.raises(kind, match=re.compile(message, re.DOTALL)):
        call()


def test_the_page_has_all_of_them():
    page = (ROOT / "docs/guide/JAX.md").read_text()
    section = page.split("## Functions that are compiled when they are called")[1].split("\n## ")[0]
    listed = {cell.strip() for cell in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)}
    assert {*usages, *ERRORS} <= listed
