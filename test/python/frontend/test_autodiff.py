# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of the frontend's functions, against JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shoal
import shoal.jax
from frontend_testing import assert_same, evaluate
from shoal.jax.locations import legal_name
from example_modules import load_example
from shoal_testing import BIN, ROOT, load_results, run, save_inputs, shoal_run

RNG = np.random.default_rng(5)
X = RNG.standard_normal((3, 4)).astype(np.float32)
POSITIVE = np.abs(X) + 0.5
SMALL = np.clip(X * 0.3, -0.9, 0.9)
TIES = np.float32([[1, 2, 2, -1], [0, 0, 0, 0], [3, 1, -2, 3]])

# Functions of one array, of either module.
UNARY = {
    "exp": (lambda m, x: m.exp(x), X),
    "log": (lambda m, x: m.log(x), POSITIVE),
    "sqrt": (lambda m, x: m.sqrt(x), POSITIVE),
    "sin": (lambda m, x: m.sin(x), X),
    "cos": (lambda m, x: m.cos(x), X),
    "tan": (lambda m, x: m.tan(x), SMALL),
    "tanh": (lambda m, x: m.tanh(x), X),
    "sinh": (lambda m, x: m.sinh(x), X),
    "cosh": (lambda m, x: m.cosh(x), X),
    "arcsin": (lambda m, x: m.arcsin(x), SMALL),
    "arccos": (lambda m, x: m.arccos(x), SMALL),
    "arctan": (lambda m, x: m.arctan(x), X),
    "arctanh": (lambda m, x: m.arctanh(x), SMALL),
    "log1p": (lambda m, x: m.log1p(x), POSITIVE),
    "expm1": (lambda m, x: m.expm1(x), X),
    "abs": (lambda m, x: m.abs(x), X),
    "floor": (lambda m, x: m.floor(x) * x, X),
    "square": (lambda m, x: m.square(x), X),
    "power": (lambda m, x: x**3 + x**2.5, POSITIVE),
    "reciprocal": (lambda m, x: 1 / x, POSITIVE),
    "maximum": (lambda m, x: m.maximum(x, x[:, ::-1]) * x, TIES),
    "minimum": (lambda m, x: m.minimum(x, x[:, ::-1]) * x, TIES),
    "where": (lambda m, x: m.where(x > 0, x * x, -x), X),
    "clip": (lambda m, x: m.clip(x, -0.5, 0.7) * x, X),
    "sum": (lambda m, x: m.sum(x, 0) * m.sum(x), X),
    "mean": (lambda m, x: m.mean(x, 1, keepdims=True) * x, X),
    "max": (lambda m, x: m.max(x, 1) * m.max(x), TIES),
    "min": (lambda m, x: m.min(x, 0), TIES),
    "prod": (lambda m, x: m.prod(x, 1), TIES),
    "prod_all": (lambda m, x: m.prod(x * 0.9 + 1), X),
    "cumsum": (lambda m, x: m.cumsum(x, 1) ** 2, X),
    "cumprod": (lambda m, x: m.cumprod(x, 1), TIES),
    "transpose": (lambda m, x: m.transpose(x, (1, 0)) * m.arange(3.0), X),
    "reshape": (lambda m, x: m.reshape(x, (6, 2)) ** 2, X),
    "slice": (lambda m, x: x[::2, 1:4:2] * x[1:, :2], X),
    "pad": (lambda m, x: m.pad(x, ((1, 0), (2, 1))) ** 2, X),
    "flip": (lambda m, x: m.flip(x, 1) * x, X),
    "roll": (lambda m, x: m.roll(x, 1, 0) * x, X),
    "concatenate": (lambda m, x: m.concatenate([x, x * 2, x[:1]], 0) ** 2, X),
    "broadcast": (lambda m, x: m.broadcast_to(x[:, None, :1], (3, 2, 4)) ** 2, X),
    "sort": (lambda m, x: m.sort(x, 1) * m.arange(4.0), X),
    "take_rows": (lambda m, x: x[np.int32([2, 0, 2])] ** 2, X),
    "take_along": (lambda m, x: m.take_along_axis(x, np.int32([[1], [3], [0]]), 1) ** 2, X),
    "at_add": (lambda m, x: x.at[np.int32([1, 1])].add(x[:2] * 2) ** 2, X),
    "at_set": (lambda m, x: x.at[np.int32([1, 0])].set(x[1:] * 2) ** 2, X),
    "at_max": (lambda m, x: x.at[np.int32([1, 1])].max(x[:2]) ** 2, X),
    "einsum_diagonal": (lambda m, x: m.einsum("ii->i", x[:, :3]) ** 2, X),
    "einsum_alone": (lambda m, x: m.einsum("ij,kj->k", x, x), X),
    "matmul": (lambda m, x: x @ x.T, X),
    "constant": (lambda m, x: x * 0 + 2, X),
}


def weights(shape):
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float32)).reshape(shape)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All gradients, of one program."""

    def gradients(*arrays):
        def of(case, x):
            def total(x):
                y = case(shoal, x)
                return shoal.sum(y * weights(y.shape))

            return shoal.grad(total)(x)

        return {
            name: of(case, x) for (name, (case, _)), x in zip(UNARY.items(), arrays, strict=True)
        }

    arrays = [x for _, x in UNARY.values()]
    return evaluate(tmp_path_factory.mktemp("unary"), gradients, *arrays)


@pytest.mark.parametrize("name", UNARY)
def test_gradients_are_those_of_jax(made, name):
    case, x = UNARY[name]

    def total(x):
        y = case(jnp, x)
        return jnp.sum(y * weights(y.shape))

    expected = np.asarray(jax.grad(total)(jnp.asarray(x)))
    assert_same(name, made[name], expected, np.float32, 2e-5)


# Functions of one array that are not in both modules by one name: ours, JAX's.
PAIRS = {
    "relu": (lambda x: shoal.relu(x - 2), lambda x: jax.nn.relu(x - 2), TIES),
    "silu": (shoal.silu, jax.nn.silu, X),
    "gelu": (shoal.gelu, lambda x: jax.nn.gelu(x, approximate=False), X),
    "softmax": (lambda x: shoal.softmax(x, 1), lambda x: jax.nn.softmax(x, 1), X),
    "log_softmax": (shoal.log_softmax, jax.nn.log_softmax, X),
    "logsumexp": (lambda x: shoal.logsumexp(x, 1), lambda x: jax.nn.logsumexp(x, 1), X),
    "top_k": (lambda x: shoal.top_k(x, 2)[0], lambda x: jax.lax.top_k(x, 2)[0], X),
    "argmax": (
        lambda x: shoal.argmax(x, 1) * shoal.sum(x, 1),
        lambda x: jnp.argmax(x, 1) * jnp.sum(x, 1),
        X,
    ),
    "scan": (
        lambda x: shoal.scan(lambda c, row: (shoal.tanh(c * row + x[0]), c * row), x[1], x),
        lambda x: jax.lax.scan(lambda c, row: (jnp.tanh(c * row + x[0]), c * row), x[1], x),
        X,
    ),
    "fori_loop": (
        lambda x: shoal.fori_loop(0, 5, lambda i, c: shoal.sin(c) * x + i, x),
        lambda x: jax.lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * x + i, x),
        X,
    ),
    "no_steps": (
        lambda x: shoal.fori_loop(0, 0, lambda i, c: shoal.sin(c), x) * x,
        lambda x: x * x,
        X,
    ),
    "nested_loops": (
        lambda x: shoal.fori_loop(
            0, 3, lambda i, c: shoal.fori_loop(0, 2, lambda j, d: shoal.sin(d * x) + j * d, c), x
        ),
        lambda x: jax.lax.fori_loop(
            0, 3, lambda i, c: jax.lax.fori_loop(0, 2, lambda j, d: jnp.sin(d * x) + j * d, c), x
        ),
        X,
    ),
    "cond": (
        lambda x: shoal.cond(x[0, 0] > 0, lambda: shoal.sin(x) * x[0], lambda: x * x[1] * x),
        lambda x: jax.lax.cond(x[0, 0] > 0, lambda: jnp.sin(x) * x[0], lambda: x * x[1] * x),
        X,
    ),
    "cond_in_loop": (
        lambda x: shoal.fori_loop(
            0, 4, lambda i, c: shoal.cond(i > 1, lambda: c * x, lambda: shoal.cos(c)), x
        ),
        lambda x: jax.lax.fori_loop(
            0, 4, lambda i, c: jax.lax.cond(i > 1, lambda: c * x, lambda: jnp.cos(c)), x
        ),
        X,
    ),
}


def total_of(tree, m):
    return sum(m.sum(y * weights(y.shape)) for y in jax.tree.leaves(tree))


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_are_those_of_jaxs_function(tmp_path, name):
    ours, theirs, x = PAIRS[name]

    def total(x):
        leaves = shoal.frontend.pytrees.flatten(ours(x))[0]
        return sum(shoal.sum(y * weights(y.shape)) for y in leaves)

    actual = evaluate(tmp_path, shoal.grad(total), x)
    expected = jax.grad(lambda x: total_of(theirs(x), jnp))(jnp.asarray(x))
    assert_same(name, actual, np.asarray(expected), np.float32, 2e-5)


@pytest.mark.parametrize("name", ["softmax", "scan", "cond", "nested_loops"])
def test_second_order(tmp_path, name):
    ours, theirs, x = PAIRS[name]

    def total(x):
        leaves = shoal.frontend.pytrees.flatten(ours(x))[0]
        return sum(shoal.sum(y * weights(y.shape)) for y in leaves)

    def product(m, grad, total):
        return lambda x: m.sum(grad(total)(x) * weights(x.shape))

    actual = evaluate(tmp_path, shoal.grad(product(shoal, shoal.grad, total)), x)
    expected = jax.grad(product(jnp, jax.grad, lambda x: total_of(theirs(x), jnp)))(jnp.asarray(x))
    assert_same(name, actual, np.asarray(expected), np.float32, 1e-4)


def test_arguments_and_aux(tmp_path):
    params = {"w": X, "b": X[0]}

    def loss(params, x, scale=1.0):
        y = shoal.tanh(x @ params["w"] + params["b"]) * scale
        return shoal.sum(y * y), {"y": y}

    def step(params, x):
        (value, aux), (by_params, by_x) = shoal.value_and_grad(loss, (0, 1), has_aux=True)(
            params, x, scale=2.0
        )
        by_last = shoal.grad(lambda a, b: shoal.sum(a * b), argnums=-1)(x, x)
        only, _ = shoal.grad(loss, has_aux=True)(params, x)
        return value, aux, by_params, by_x, by_last, only

    def theirs(params, x):
        y = jnp.tanh(x @ params["w"] + params["b"]) * 2.0
        return jnp.sum(y * y), {"y": y}

    x = X[:, :3]
    value, aux, by_params, by_x, by_last, only = evaluate(tmp_path, step, params, x)
    (expected, expected_aux), (p, q) = jax.value_and_grad(theirs, (0, 1), has_aux=True)(params, x)
    assert_same("value", value, expected, np.float32)
    assert_same("aux", aux["y"], expected_aux["y"], np.float32)
    for name in params:
        assert_same(name, by_params[name], p[name], np.float32)
    assert_same("x", by_x, q, np.float32)
    assert_same("last", by_last, x, np.float32)
    single = jax.grad(lambda p, x: theirs(p, x)[0] / 4)(params, x)
    for name in params:
        assert_same(name, only[name], single[name], np.float32)


def test_vjp_and_jvp(tmp_path):
    tangent = np.cos(X)

    def function(m, x):
        return m.sin(x) * m.sum(x), m.exp(x[0])

    def run(x):
        out, pull = shoal.vjp(lambda x: function(shoal, x), x)
        _, pushed = shoal.jvp(lambda x: function(shoal, x), (x,), (tangent,))
        counts, back, aux = shoal.vjp(lambda x: (x * x, shoal.floor(x)), x, has_aux=True)
        mixed, through = shoal.vjp(lambda x: {"i": shoal.argmax(x, 1), "y": x * x}, x)
        by_mixed = through({"i": shoal.zeros((3,), "int32"), "y": tangent})
        return out, pull((tangent, tangent[1])), pushed, counts, back(tangent), aux, by_mixed

    out, pulled, pushed, counts, back, aux, by_mixed = evaluate(tmp_path, run, X)
    expected, pull = jax.vjp(lambda x: function(jnp, x), X)
    _, push = jax.jvp(lambda x: function(jnp, x), (X,), (tangent,))
    for ours, theirs in zip(out, expected, strict=True):
        assert_same("out", ours, theirs, np.float32)
    assert_same("pulled", pulled[0], pull((tangent, tangent[1]))[0], np.float32)
    for ours, theirs in zip(pushed, push, strict=True):
        assert_same("pushed", ours, theirs, np.float32)
    assert_same("counts", counts, X * X, np.float32)
    assert_same("back", back[0], 2 * X * tangent, np.float32)
    assert_same("aux", aux, np.floor(X), np.float32)
    assert_same("mixed", by_mixed[0], 2 * X * tangent, np.float32)


def test_a_result_of_vjp_is_computed_once():
    """The loop that keeps rows for the pullback is the one that makes the result."""

    def layers(weights, x):
        return shoal.scan(lambda x, w: (shoal.tanh(x @ w), None), x, weights)[0]

    def step(weights, x):
        y, pull = shoal.vjp(lambda w: layers(w, x), weights)
        return y, pull(y)[0]

    shapes = np.zeros((6, 16, 16), np.float32), np.zeros((8, 16), np.float32)
    once = 6 * 2 * 8 * 16 * 16
    stats = shoal.compile(step, shapes, shoal.Mesh(d=1)).stats
    assert stats["flops_per_device"] == 3 * once


def test_what_stops_is_constant(tmp_path):
    def run(x):
        y = x * 2
        inner = shoal.grad(lambda z: shoal.sum(z * y))  # y is a value from around it
        return shoal.grad(lambda x: shoal.sum(shoal.stop_gradient({"a": x})["a"] * x))(x), inner(x)

    stopped, captured = evaluate(tmp_path, run, X)
    assert_same("stopped", stopped, X, np.float32)
    assert_same("captured", captured, 2 * X, np.float32)


def test_gradients_through_captured_values(tmp_path):
    """The derivative of a function that takes a derivative by another value."""

    def ours(x):
        def outer(w):
            return shoal.sum(shoal.grad(lambda x: shoal.sum(shoal.sin(x * w)))(x))

        return shoal.grad(outer)(x * 0.5)

    def theirs(x):
        def outer(w):
            return jnp.sum(jax.grad(lambda x: jnp.sum(jnp.sin(x * w)))(x))

        return jax.grad(outer)(x * 0.5)

    assert_same("captured", evaluate(tmp_path, ours, X), theirs(X), np.float32)


STEPS = 512
# What each step of a loop makes of what all of them read; its gradient is 1 + i / STEPS, of bits that few have.
READS = {
    "elementwise": lambda w, row: shoal.sum(w * row),
    "product": lambda w, row: shoal.sum(shoal.reshape(w, (1, 1)) @ shoal.reshape(row, (1, 1))),
    "row": lambda w, row: shoal.sum(shoal.dynamic_slice(w, (0,), (1,)) * row),
    "loop": lambda w, row: shoal.fori_loop(0, 4, lambda i, c: c + shoal.sum(w * row) / 4, row[0] * 0),
    "branch": lambda w, row: shoal.cond(row[0] > 1.5, lambda: shoal.sum(w * row), lambda: shoal.sum(row * w)),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e5m2"])
def test_sums_over_the_steps_of_a_loop_are_float32(tmp_path, dtype):
    """A sum of 512 in few bits stops growing at 256; these are rounded once, behind the loop."""
    rows = np.float32(1 + np.arange(STEPS) / STEPS).reshape(STEPS, 1)

    def run(w, rows):
        narrow = rows.astype(w.dtype)

        def gradient(read):
            def total(w):
                return shoal.scan(lambda c, row: (c + read(w, row).astype("float32"), None), shoal.zeros(()), narrow)[0]

            return shoal.grad(total)(w)

        return {name: gradient(read) for name, read in READS.items()}, narrow.astype("float32")

    made, narrow = evaluate(tmp_path, run, np.ones(1, getattr(shoal, dtype, np.float16)), rows)
    exact = narrow.astype(np.float64).sum()
    for name, grad in made.items():
        assert float(grad[0]) == float(np.float32(exact).astype(grad.dtype)), name


MESSAGES = {
    "grad: the output is Value(float32[4]); expected a scalar of floats": lambda x: shoal.grad(
        lambda x: shoal.sum(x, 0)
    )(x),
    "grad: the output is (": lambda x: shoal.grad(lambda x: (shoal.sum(x), x))(x),
    "grad: expected the function to return (value, aux)": lambda x: shoal.grad(
        shoal.sum, has_aux=True
    )(x),
    'grad: argument[0]["i"] is Value(int32[': lambda x: shoal.grad(lambda t: shoal.sum(t["x"]))(
        {"i": x.astype("int32"), "x": x}
    ),
    "grad: argument 1 of sum, which is called with 1": lambda x: shoal.grad(shoal.sum, 1)(x),
    "grad: argnums is empty": lambda x: shoal.grad(shoal.sum, ())(x),
    "vjp: the cotangents have the structure": lambda x: shoal.vjp(shoal.sin, x)[1]((x, x)),
    "vjp: a cotangent is Value(float32[4])": lambda x: shoal.vjp(shoal.sin, x)[1](x[0]),
    "jvp: expected the function to return floats alone": lambda x: shoal.jvp(
        lambda x: shoal.argmax(x, 0), (x,), (x,)
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_errors(message):
    with pytest.raises(shoal.TraceError) as error:
        shoal.trace(MESSAGES[message], (X,))
    assert message.replace('["i"]', "['i']") in str(error.value)


def clipped(m, decorate):
    """The identity with a gradient of at most 1, times the number of the first argument."""

    @decorate
    def identity(factor, x, count):
        return {"y": x * 1.0, "n": count}

    def forward(factor, x, count):
        return identity(factor, x, count), (x,)

    def backward(factor, residuals, cotangents):
        (x,) = residuals
        return m.clip(cotangents["y"], -1, 1) * factor * m.cos(x), None

    identity.defvjp(forward, backward)
    return identity


def test_derivatives_of_a_users_own(tmp_path):
    def ours(x):
        identity = clipped(shoal, lambda f: shoal.custom_vjp(f, nondiff_argnums=(0,)))

        def loss(x):
            out = identity(3.0, x, np.int32(2))
            return shoal.sum(out["y"] ** 3) + identity(1.0, x, np.int32(0))["y"][0, 0]

        first = shoal.grad(loss)
        return loss(x), first(x), shoal.grad(lambda x: shoal.sum(first(x) * x))(x)

    def theirs(x):
        identity = clipped(jnp, lambda f: jax.custom_vjp(f, nondiff_argnums=(0,)))

        def loss(x):
            return jnp.sum(identity(3.0, x, 2.0)["y"] ** 3) + identity(1.0, x, 0.0)["y"][0, 0]

        first = jax.grad(loss)
        return loss(x), first(x), jax.grad(lambda x: jnp.sum(first(x) * x))(x)

    for actual, expected in zip(evaluate(tmp_path, ours, X), theirs(jnp.asarray(X)), strict=True):
        assert_same("own", actual, np.asarray(expected), np.float32, 1e-5)


def test_errors_of_a_users_own():
    def with_rules(forward, backward):
        own = shoal.custom_vjp(lambda x: x)
        own.defvjp(forward, backward)
        return lambda x: shoal.grad(lambda x: shoal.sum(own(x)))(x)

    cases = {
        "has no derivative yet": lambda x: shoal.custom_vjp(lambda x: x)(x),
        "to return (result, residuals), got": with_rules(lambda x: x, lambda r, g: (g,)),
        "to return a tuple of 1 cotangents": with_rules(lambda x: (x, ()), lambda r, g: g),
        "is Value(float32[4]), of an argument": with_rules(lambda x: (x, ()), lambda r, g: (g[0],)),
        "from around it; pass it as an argument": lambda x: with_rules(
            lambda y: (y * x, ()), lambda r, g: (g,)
        )(x),
        "its forward": with_rules(lambda x: (x[0], ()), lambda r, g: (g,)),
    }
    for message, function in cases.items():
        with pytest.raises(shoal.TraceError) as error:
            shoal.trace(function, (X,))
        assert message in str(error.value)


def test_gradients_are_of_programs():
    with pytest.raises(shoal.TraceError, match="grad: only inside of a function that shoal.jit"):
        shoal.grad(shoal.sum)(X)
    with pytest.raises(shoal.TraceError, match="vjp: only inside of a function"):
        shoal.vjp(shoal.sum, X)


def test_a_forward_function_of_jax(tmp_path):
    """A Mixture-of-Experts Transformer, imported and differentiated here."""
    model = load_example("examples/moe_training/model.py")
    config = model.Config(
        sentences=2, length=8, model=16, heads=2, hidden=16, capacity=5, layers=2, bytes=32
    )
    params = model.initial_parameters(config)
    tokens = np.random.default_rng(0).integers(0, 32, (2, 9)).astype(np.int32)

    def forward(params, tokens):
        return model.loss_of(config, params, tokens)[0]

    expected = named("grad.params", jax.grad(forward)(params, tokens))
    inputs = named("params", params) | named("tokens", tokens)
    made = differentiated(tmp_path, forward, (params, tokens), inputs, expected)
    for name, gradient in made.items():
        assert_same(name, gradient, expected[name], np.float32, 1e-5)


# Of what a branch of its polynomials computes the slope at 0 is infinite.
SPECIAL = {
    "erf_inv": [0.0, -0.0, 0.3, -0.9, 0.999, 1.0, -1.0],
    "lgamma": [0.25, 1.0, 2.0, 17.5, -1.5, 1e4],
    "digamma": [0.25, 1.0, 2.0, 17.5, 1e4],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_of_jax_have_its_derivatives(tmp_path, name):
    """The first, and at one point the second, of functions that are imported as many ops."""
    function, x = getattr(jax.lax, name), np.array(SPECIAL[name], np.float32)

    def total(x):
        return function(x).sum()

    (made,) = differentiated(tmp_path, total, (x,), {"x": x}, ["grad.x"]).values()
    np.testing.assert_allclose(made, jax.grad(total)(x), rtol=2e-5)
    point = np.float32(0.3)
    (made,) = differentiated(tmp_path, total, (point,), {"x": point}, ["grad.x"], times=2).values()
    np.testing.assert_allclose(made, jax.grad(jax.grad(total))(point), rtol=1e-4)


def differentiated(folder, function, arguments, inputs, names, times=1):
    """Gradients of a function of JAX, which is imported and differentiated here, by their names."""
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    source, program, out = (folder / part for part in ("forward.mlir", "gradient.mlir", "out"))
    source.write_text(shoal.jax.import_stablehlo(lowered))
    entries = ["main" + "_grad" * n for n in range(times + 1)]
    passes = [f"--shoal-differentiate=function={entry} mode=grad" for entry in entries[:-1]]
    program.write_text(run(BIN / "shoal-opt", source, *passes).expect_success().stdout)
    flags = ("--devices=0", f"--entry={entries[-1]}", "--output-dir", out)
    shoal_run(program, *flags, *save_inputs(folder, inputs)).expect_success()
    return load_results(out, names)


def named(root, tree):
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {legal_name(root + jax.tree_util.keystr(path)): np.asarray(a) for path, a in leaves}
