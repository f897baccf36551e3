# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations, names and shardings of arguments and results."""

import functools

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal import Axis, Dim, P, Sharding, TensorSpec
from shoal_testing import BIN, run

MESH = shoal.Mesh(data=2, expert=4)
X = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)


def line_of(text, op):
    """The only line of the program with this op."""
    (line,) = [line for line in text.splitlines() if f'"{op}"' in line]
    return line


def trace_one(function, **options):
    return shoal.trace(function, (TensorSpec((16, 8), "float32"),), MESH, **options)


def test_annotations_are_the_identity_on_any_devices(tmp_path):
    order = np.array([[7, 6], [5, 4], [3, 2], [1, 0]])[:, :, None].reshape(4, 2)

    def layer(x):
        x = shoal.split(x, 0, 8) * 2
        x = shoal.shard(x, order) + 1
        x = shoal.constrain(x, P(("expert", "data"), "?"))
        x = shoal.constrain(x, (None, "expert"), hint=True)
        return shoal.replicate(shoal.einsum("ab,cb->ac", x, x))

    y = X * 2 + 1
    actual = evaluate(tmp_path, layer, X, mesh=MESH, devices=8)
    assert_same("y", actual, y @ y.T, np.float32, 1e-5)


@pytest.mark.parametrize(
    "spec, written",
    [
        (P("data"), '[{"data"}, {}]'),
        ((None, ("data", "expert")), '[{}, {"data", "expert"}]'),
        (P("?", ("expert", "?")), '[{?}, {"expert", ?}]'),
        (P(Axis("expert", 1, 2), Axis("expert", 2, 2)), '[{"expert":(1)2}, {"expert":(2)2}]'),
        (P(Dim((Axis("data"),), True, 3)), '[{"data", ?}p3, {}]'),
        (P("?", replicated=["expert"]), '[{?}, {}], replicated = {"expert"}'),
        (P(None, "data", partial=["expert"]), '[{}, {"data"}], partial = {"expert"}'),
        (P("?", ..., partial=[Axis("data")]), '[{?}, {?}], partial = {"data"}'),
        (Sharding("mesh", (Dim(), Dim((Axis("data"),)))), '[{}, {"data"}]'),
    ],
)
def test_specs(spec, written):
    constrained = trace_one(lambda x: shoal.constrain(x, spec))
    assert f"<@mesh, {written}>" in line_of(constrained, "shoal.sharding_constraint")
    if not isinstance(spec, tuple):
        program = trace_one(lambda x: x + 1, in_shardings=spec, out_shardings=spec)
        assert line_of(program, "func.func").count(f"<@mesh, {written}>") == 2


def test_shardings_of_trees():
    def layer(x, params):
        return {"y": x @ params["wi"], "aux": params["b"][0]}

    args = (
        TensorSpec((16, 8), "float32", P("data")),
        {"wi": TensorSpec((8, 4), "float32"), "b": [np.float32(1), np.int64(2)]},
    )
    program = shoal.trace(
        layer,
        args,
        MESH,
        in_shardings=(None, {"wi": P(None, "expert"), "b": P()}),
        out_shardings={"y": P("data"), "aux": None},
    )
    header = line_of(program, "func.func")
    for name, sharding in (
        ("x", '[{"data"}, {}]'),
        ("params.wi", '[{}, {"expert"}]'),
        ("params.b.0", "[]"),
        ("params.b.1", "[]"),
        ("y", '[{"data"}, {}]'),
    ):
        assert (
            f'{{shoal.name = "{name}", shoal.sharding = #shoal.sharding<@mesh, {sharding}>}}'
            in header
        )
    assert '{shoal.name = "aux"}' in header
    assert "tensor<16x8xf32>, tensor<f32>, tensor<i64>, tensor<8x4xf32>" in header


def test_names(tmp_path):
    def named(x, *rest, scale=1.0):
        return x * scale, [rest[0], {"b/c d": rest[1][0]}], 3

    result = evaluate(tmp_path, named, X, X[0], (X[1],))
    assert_same("tree", result[1][1]["b/c d"], X[1])
    assert result[2] == 3 and result[2].dtype == np.int32
    program = shoal.trace_program(named, (X, X[0], (X[1],)))
    assert list(program.inputs) == ["x", "rest.0", "rest.1.0"]
    assert list(program.outputs) == ["result0", "result1.0", "result1.1.b.c.d", "result2"]
    program = shoal.trace_program(lambda x, scale: x * scale, {"scale": 2.0, "x": X})
    assert list(program.inputs) == ["scale", "x"]
    assert program.inputs["scale"].dtype == np.float32
    assert list(program.outputs) == ["result0"]


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


@pytest.mark.parametrize(
    "function", [Scale(2), functools.partial(lambda x, n: x * n, n=2), lambda x, n=2: x * n]
)
def test_what_is_called_like_a_function(tmp_path, function):
    assert_same("x", evaluate(tmp_path, function, X), X * 2)


def test_all_that_is_exported_says_what_it_is():
    for owner, names in ((shoal, shoal.__all__), (shoal.Value, vars(shoal.Value))):
        for name in names:
            thing = getattr(owner, name)
            if callable(thing) and not name.startswith("_"):
                assert thing.__doc__, name
    assert len(set(shoal.__all__)) == len(shoal.__all__)


def nested(x, ins, axes):
    inner = shoal.manual(lambda x: x, ins, ins, axes)
    return shoal.manual(inner, P("data"), P("data"), "data")(x)


def leaks_into_manual(x):
    row = x[0]
    return shoal.manual(lambda y: y + row, P("data"), P("data"))(x)


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: shoal.split(x, 2, 4), "split: axis 2 of 2 dimensions"),
        (
            lambda x: shoal.split(x, 0, 3),
            r"split: 3 partitions do not divide the 8 devices of Mesh\(",
        ),
        (lambda x: shoal.shard(x, np.arange(8)), "shard: 1 dimensions of devices for 2"),
        (lambda x: shoal.shard(x, np.zeros((8, 1), int)), r"each device of 0 \.\.\. 7 once"),
        (
            lambda x: shoal.constrain(x, P("model")),
            r'axis "model" is not one of Mesh\(data=2, expert=4\)',
        ),
        (lambda x: shoal.constrain(x, P("data", "data")), 'axis "data" is used twice'),
        (lambda x: shoal.constrain(x, P(None, None, None)), r"has 3 entries, \[16, 8\] has 2"),
        (lambda x: shoal.constrain(x, "data"), r"expected shoal.P\(...\) or a tuple"),
        (lambda x: shoal.constrain(x, P(3)), "expected an axis's name, got 3"),
        (lambda x: shoal.axis_index("data"), 'axis "data" is not one of a shoal.manual around it'),
        (
            lambda x: nested(x, P("expert"), "data"),
            'manual: axis "data" is manual already around it',
        ),
        (
            lambda x: nested(x, P("data"), "expert"),
            'manual: in_shardings: axis "data" is manual around it',
        ),
        (lambda x: nested(x, P("expert"), "model"), 'manual: axis "model" is not one of Mesh'),
        (leaks_into_manual, "a value from outside of manual's function; pass it as an operand"),
    ],
)
def test_bad_annotations(function, message):
    with pytest.raises(shoal.TraceError, match=message):
        trace_one(function)


@pytest.mark.parametrize(
    "annotate", [lambda x: shoal.split(x, 0, 2), lambda x: shoal.constrain(x, P("a"))]
)
def test_annotations_need_a_mesh(annotate):
    with pytest.raises(shoal.TraceError, match="the program has no mesh; give shoal.trace"):
        shoal.trace(annotate, (X,))


@pytest.mark.parametrize(
    "args, options, message",
    [
        (X, {}, r"args: expected a tuple of the function's arguments, got ndarray"),
        ((), {}, r"f\(x\): missing a required argument: 'x'"),
        ((X, X), {}, r"f\(x\): too many positional arguments"),
        (("text",), {}, 'argument "x": expected an array, a number or a TensorSpec, got str'),
        ((np.ones(2, complex),), {}, 'argument "x": elements of type complex128 are not supported'),
        (([np.float32(1)],), {"in_shardings": "data"}, r"in_shardings: expected shoal.P\(...\)"),
        ((X,), {"in_shardings": (P(), P())}, "in_shardings: "),
        ((X,), {"in_shardings": P("model")}, 'argument "x": axis "model" is not one of'),
        ((X,), {"out_shardings": {"a": P()}}, "out_shardings: "),
        (({"a b": X, "a.b": X},), {}, 'would both be called "x.a.b"'),
    ],
)
def test_bad_arguments(args, options, message):
    def f(x):
        return x

    with pytest.raises(shoal.TraceError, match=message):
        shoal.trace(f, args, MESH, **options)


def test_a_program_needs_a_result():
    with pytest.raises(shoal.TraceError, match="the function returns no value but None"):
        shoal.trace(lambda x: None, (X,))


def test_a_trace_in_a_trace_is_refused():
    with pytest.raises(shoal.TraceError, match="inside of a function that is being traced"):
        shoal.trace(lambda x: shoal.trace(lambda y: y, (X,)), (X,))


def test_the_partitioners_errors_point_at_the_users_line(tmp_path):
    """Two annotations that cannot both hold: the compiler names this file and the lines."""

    def layer(x):
        x = shoal.constrain(x, P(Axis("expert", 1, 3)))  # no sub-axis of 4
        return x

    text = trace_one(layer)
    (tmp_path / "program.mlir").write_text(text)
    ended = run(BIN / "shoal-opt", tmp_path / "program.mlir")
    line = layer.__code__.co_firstlineno + 1
    assert ended.code == 1
    assert f"{__file__}:{line}:" in ended.stderr
