# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.jit: which programs calls get, where arrays lie between them, static and donated ones."""

import collections
import dataclasses
import gc
import importlib.util
import threading
import warnings
import weakref

import numpy as np
import pytest
from shoal_testing import TARGET

if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)
if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import shoal
from shoal import InputError, P, RunError, TensorSpec, TraceError, TraceTypeError
from shoal.devices import devices_of
from shoal.mesh import Axis
from shoal.mesh_sharding import MeshSharding

MESH = shoal.Mesh(x=2, y=2)
W = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)


def train(w, x):
    """Free, the new weights are left where their gradient's sum is scattered to."""
    x = shoal.constrain(x, P("x"))
    y = shoal.einsum("bi,io->bo", x, w)
    return w - 0.1 * shoal.einsum("bi,bo->io", x, y), (y * y).sum()


def numpy_train(w, x):
    y = x @ w
    return w - np.float32(0.1) * x.T @ y, (y * y).sum()


@pytest.mark.parametrize("donated, programs", [((), 2), ((0,), 1)])
def test_a_loop_compiles_once_or_twice_and_moves_nothing(donated, programs):
    step = shoal.jit(train, mesh=MESH, donate_argnums=donated)
    w, expected = W, W
    for _ in range(4):
        w, loss = step(w, X)
        expected, expected_loss = numpy_train(expected, X)
        np.testing.assert_allclose(w, expected, rtol=1e-4, atol=1e-4)
        assert float(loss) == pytest.approx(float(expected_loss), rel=1e-4)
    assert step.cache_size() == programs
    assert step.moves == 0


def turned(state, x):
    """Where nothing is said the new arrays lie by rows, as the old ones do behind a transposition."""
    new = {name: shoal.constrain(w.T, P("x"), hint=True).T + x.sum() for name, w in state.items()}
    return new, x.sum()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("donated", [(), (0,)])
def test_a_state_comes_back_where_the_next_call_takes_it(donated, nested):
    """in_shardings alone: a result of a tree's form lies as the argument."""
    place = {f"w{i}": P("x", "y") if i % 2 else P(("x", "y")) for i in range(6)}
    function = (lambda state, x: {"new": turned(state, x)[0], "loss": x.sum()}) if nested else turned
    step = shoal.jit(function, mesh=MESH, in_shardings=(place, None), donate_argnums=donated)
    state = {name: X[:8] for name in place}
    for _ in range(3):
        made = step(state, W)
        state = made["new"] if nested else made[0]
    assert (step.cache_size(), step.moves) == (1, 0)
    assert [state[name].placement.local_shape for name in ("w0", "w1")] == [(2, 8), (4, 4)]
    np.testing.assert_allclose(state["w0"], X[:8] + 3 * W.sum(), rtol=1e-5, atol=1e-4)


def test_a_result_lies_as_is_said_of_it_though_it_has_an_arguments_form():
    step = shoal.jit(
        lambda state: {name: w + 1 for name, w in state.items()}, mesh=MESH,
        in_shardings=({"w": P("x")},), out_shardings={"w": P(None, "x")},
    )  # fmt: skip
    assert step({"w": X})["w"].placement.local_shape == (16, 4)


def test_results_that_each_call_moves_are_warned_of_once():
    step = shoal.jit(lambda a, b, c: (a + 1, b + 1, c + 1), mesh=MESH,
                     in_shardings=(P("x"), P("y"), None), out_shardings=(P("y"), P("x"), P("x")))  # fmt: skip
    arrays, said = (X, X, X), []
    for _ in range(5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arrays = step(*arrays)
        said += [(str(warning.message), warning.filename) for warning in caught if warning.category is shoal.MoveWarning]
    ((message, file),) = said
    assert "each call moves 2 arrays" in message and ": a, b; give" in message and file == __file__
    assert step.moves == 8
    np.testing.assert_allclose(arrays[0], X + 5, rtol=1e-6)


def test_results_lie_where_the_first_program_puts_them():
    step = shoal.jit(lambda x: x * 2, mesh=MESH, out_shardings=P("y"))
    place = shoal.jit(lambda x: x + 1, mesh=MESH, out_shardings=P("x"))
    free = shoal.jit(lambda x: x + 1, mesh=MESH)
    first = free(W)
    split = free(place(W))
    assert split.placement is first.placement
    assert free.cache_size() in (1, 2)
    assert step(split).placement.local_shape == (4, 4)


def test_arrays_bring_their_sharding_and_mesh():
    rows = shoal.jit(lambda x: x + 1, mesh=MESH, out_shardings=P(("x", "y")))(W)
    # Over the axis "a" of another mesh of four devices the same place is a part of it.
    mesh = shoal.Mesh(a=4)
    double = shoal.jit(lambda x: x * 2, mesh=mesh)
    assert double.executable_for(rows).inputs[0].sharding == '<@mesh, [{"a"}, {}]>'
    # Without a mesh that of the array is meant.
    alone = shoal.jit(lambda x: x * 2)
    np.testing.assert_allclose(alone(rows), (W + 1) * 2)
    assert alone.executable_for(rows).devices == 4
    assert alone.moves == double.moves == 0


def test_what_the_function_says_holds_and_arrays_move():
    columns = shoal.jit(lambda x: x + 1, mesh=MESH, in_shardings=(P(None, "x"),))
    rows = shoal.jit(lambda x: x + 1, mesh=MESH, out_shardings=P("x"))(W)
    for _ in range(2):
        np.testing.assert_allclose(columns(rows), W + 2, rtol=1e-6)
    assert columns.moves == 2
    columns(W)
    assert columns.cache_size() == 1


@pytest.mark.parametrize(
    "axes, mesh, sharding",
    [
        ((Axis("x"),), shoal.Mesh(x=4, y=2), '[{"x"}]'),
        ((Axis("x"),), shoal.Mesh(a=2, b=4), '[{"a", "b":(1)2}]'),
        ((Axis("y"),), shoal.Mesh(a=2, b=4), '[{"b":(2)2}]'),
        ((Axis("y"), Axis("x")), shoal.Mesh(a=8), '[{"a":(4)2, "a":(1)4}]'),
        ((Axis("x", 2, 2),), shoal.Mesh(a=2, b=4), '[{"b":(1)2}]'),
        ((), shoal.Mesh(a=8), "[{}]"),
        ((Axis("x"),), shoal.Mesh(a=4), None),
        ((Axis("x"),), shoal.Mesh(x=4, y=2, device_ids=[1, 0, 2, 3, 4, 5, 6, 7]), None),
    ],
)
def test_shardings_over_other_meshes(axes, mesh, sharding):
    split = MeshSharding(shoal.Mesh(x=4, y=2), (axes,))
    found = split.over([mesh])
    if sharding is None:
        assert found is None
    else:
        assert found.attribute() == f"#shoal.sharding<@mesh, {sharding}>"


def test_axes_that_cut_across_others_say_nothing():
    assert MeshSharding(shoal.Mesh(x=2, y=3), ((Axis("x"),),)).over([shoal.Mesh(a=3, b=2)]) is None


Step = collections.namedtuple("Step", "w count")


def test_trees_keywords_and_static_arguments():
    traced = []

    @shoal.jit(mesh=MESH, static_argnames="power", donate_argnames="state")
    def step(state, /, power, *, scale, offset=1.0):
        """Steps."""
        traced.append(power)
        return Step(state.w**power * scale["s"] + offset, state.count + 1), None

    assert step.__name__ == "step" and step.__doc__ == "Steps."
    state = Step(W, 0)
    for _ in range(2):
        state, nothing = step(state, 2, scale={"s": 0.5})
        assert nothing is None and isinstance(state, Step)
    expected = (W**2 * 0.5 + 1) ** 2 * 0.5 + 1
    np.testing.assert_allclose(state.w, expected, rtol=1e-4)
    assert int(state.count) == 2
    last, _ = step(state, power=1, scale={"s": 1.0}, offset=3)
    assert state.w.is_deleted and int(last.count) == 3
    np.testing.assert_allclose(last.w, expected + 3, rtol=1e-4)
    assert set(traced) == {1, 2}


@dataclasses.dataclass(frozen=True)
class Divisor:
    by: float


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("wrap, unwrap", [(float, float), (lambda k: (1, (k,)), lambda k: k[1][0]), (Divisor, lambda k: k.by)])
def test_static_zeros_have_their_sign(wrap, unwrap):
    divide = shoal.jit(lambda x, k: x / unwrap(k), mesh=MESH, static_argnums=1)
    for _ in range(2):
        assert (divide(X, wrap(0.0)).numpy()[0] == X[0] / np.float32(0.0)).all()
        assert (divide(X, wrap(-0.0)).numpy()[0] == X[0] / np.float32(-0.0)).all()
    assert divide.cache_size() == 2


def test_static_values_of_equal_tuples():
    named = shoal.jit(lambda x, k: x + len(str(k[0])), mesh=MESH, static_argnums=1)
    assert named(X, (1,)).numpy()[0, 0] == X[0, 0] + 1
    assert named(X, (True,)).numpy()[0, 0] == X[0, 0] + 4
    assert named(X, (1.0,)).numpy()[0, 0] == X[0, 0] + 3


def test_arrays_of_the_other_order_of_bytes():
    double = shoal.jit(lambda x: x * 2, mesh=MESH)
    for _ in range(2):
        assert np.array_equal(double(X.astype(">f4")).numpy(), X * 2)


def test_shardings_beside_static_arguments_and_keywords():
    f = shoal.jit(
        lambda x, n, y, *, z: x * n + y + z,
        mesh=MESH,
        static_argnums=1,
        in_shardings=(P("x"), P("y")),
    )
    np.testing.assert_allclose(f(W, 2, W, z=1.0), W * 3 + 1, rtol=1e-6)
    names = {tensor.name: tensor.sharding for tensor in f.executable_for(W, 2, W, z=1.0).inputs}
    assert names["x"] == '<@mesh, [{"x"}, {}]>' and names["y"] == '<@mesh, [{"y"}, {}]>'


def test_methods_and_functions_in_functions():
    class Layer:
        def __init__(self, scale):
            self.scale = scale

        @shoal.jit(static_argnums=0)
        def __call__(self, x):
            return x * self.scale

        @shoal.jit(static_argnums=0)
        def twice(self, x):
            return self(self(x))

    np.testing.assert_allclose(Layer(3.0).twice(W), W * 9, rtol=1e-6)
    assert Layer.twice.cache_size() == 1 and Layer.__call__.cache_size() == 0


def test_abstract_arguments_are_not_run():
    f = shoal.jit(lambda x: {"y": x.sum(0)})
    spec = TensorSpec((8, 4), "float32")
    for shapes in (f(spec), f.eval_shape(spec), f.eval_shape(W)):
        assert shapes["y"].shape == (4,) and shapes["y"].dtype == np.float32
    assert f.cache_size() == 0
    assert "float32[8, 4]" in str(f.executable_for(spec))
    np.testing.assert_allclose(f(W)["y"], W.sum(0), rtol=1e-5)
    assert f.cache_size() == 1
    f.clear_cache()
    assert f.cache_size() == 0
    # The file is linked now.
    np.testing.assert_allclose(f.executable_for(W).run((W,))["y"], W.sum(0), rtol=1e-5)


def test_threads_compile_once():
    f = shoal.jit(lambda x: x - 1, mesh=MESH)
    results = []
    threads = [threading.Thread(target=lambda: results.append(f(W))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and f.cache_size() == 1
    for result in results:
        np.testing.assert_allclose(result, W - 1)


def test_devices_that_are_closed_are_started_again():
    """Those of this process; what was compiled and the arrays stay."""
    step = shoal.jit(lambda x: x * 2, mesh=shoal.Mesh(x=2))
    y = step(X)
    devices_of(2).close()
    np.testing.assert_array_equal(step(y), 4 * X)
    assert (step.cache_size(), step.moves) == (1, 1)
    devices_of(2).close()
    step.clear_cache()
    np.testing.assert_array_equal(step(y), 4 * X)


def test_devices_of_ones_own_that_are_closed():
    with shoal.launch(2) as devices:
        step = shoal.jit(lambda x: x + 1, mesh=shoal.Mesh(x=2), devices=devices)
        y = step(X)
    for _ in range(2):
        with pytest.raises(RunError, match="the devices are closed: shoal.launch starts others"):
            step(X)
        step.clear_cache()
    np.testing.assert_array_equal(y, X + 1)


def test_calls_keep_no_arrays():
    f = shoal.jit(lambda x, y: x * y, donate_argnums=0)
    array = shoal.jit(lambda x: x + 1)(W)
    f(W, array)
    kept = weakref.ref(array)
    del array
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize(
    "kind, message, call",
    [
        (TraceTypeError, r'argument "x": expected an array', lambda: shoal.jit(lambda x: x)("a")),
        (
            TraceTypeError,
            r"static argument 0: expected a value that hashes but got \[1\] of list",
            lambda: shoal.jit(lambda n: n, static_argnums=0)([1]),
        ),
        (
            TraceError,
            'static_argnames: .*has no parameter "m"',
            lambda: shoal.jit(lambda n: n, static_argnames="m"),
        ),
        (
            TraceError,
            "donate_argnums: .*has no positional parameter 1",
            lambda: shoal.jit(lambda n: n, donate_argnums=1),
        ),
        (TypeError, "unexpected keyword argument 'jobs'", lambda: shoal.jit(lambda n: n, jobs=1)),
        (
            InputError,
            "devices: expected 4, as the program is for, but got 1",
            lambda: shoal.jit(
                lambda x: x, mesh=MESH, devices=shoal.jit(lambda x: x)(W).devices
            )(W),
        ),
        (RunError, "was deleted", lambda: deleted()),
    ],
)
def test_errors(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


def deleted():
    array = shoal.jit(lambda x: x + 1)(W)
    array.delete()
    return shoal.jit(lambda x: x + 1)(array)


def test_errors_end_at_the_users_line():
    def wrong(x):
        return shoal.einsum("ab,bc->ac", x, x)

    with pytest.raises(TraceError, match="letter b is 4 in operand 0 and 8 in operand 1"):
        shoal.jit(wrong)(W)
