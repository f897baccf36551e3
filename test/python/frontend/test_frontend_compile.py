# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.compile: from a function to numbers of an executable."""

import collections

import numpy as np
import optree
import pytest
from frontend_testing import assert_same, shoal
from shoal import P, TensorSpec
from shoal_testing import TARGET

if TARGET != "cpu":
    pytest.skip("the frontend's programs are as others for every target", allow_module_level=True)

MESH = shoal.Mesh(x=2)
X = np.arange(24, dtype=np.float32).reshape(4, 6)
Step = collections.namedtuple("Step", "loss state")


class Adam:
    """A container of the user's own."""

    def __init__(self, m, v):
        self.m, self.v = m, v


optree.register_pytree_node(
    Adam, lambda a: ((a.m, a.v), None), lambda _, children: Adam(*children), namespace="shoal"
)


@pytest.fixture(scope="module")
def step():
    """Takes and gives trees of many kinds, of many types, with most kinds of ops."""

    def step(params, adam, tokens):
        table = shoal.constrain(params["table"], P("x"))
        u = params["list"][0]
        rows = shoal.sort(table[tokens] * 2.0, axis=1)

        def body(i, total):
            return total + rows[i].sum() * (i % 2)

        loss = shoal.fori_loop(0, 3, body, 0.0)
        best, places = shoal.top_k(rows, 2)
        state = Adam(adam.m.at[1].add(1.0), shoal.where(adam.v > 3, adam.v, 0))
        more = {
            "unsigned": (u // 3, u >= 2**31, shoal.sort(u, descending=True)),
            "places": [places, best.astype(shoal.bfloat16)],
            "flag": shoal.any(rows < 0),
            "random": shoal.random.uniform(shoal.random.key(3), (4,)),
        }
        return Step(loss, state), more

    args = (
        {"table": X, "list": [TensorSpec((3,), "uint32")]},
        Adam(X[0], TensorSpec((6,), "int64")),
        TensorSpec((3,), "int32"),
    )
    return shoal.compile(step, args, MESH)


U = np.array([7, 2**31 + 1, 2**32 - 1], np.uint32)
V = np.arange(6)
TOKENS = np.array([3, 0, 2], np.int32)
INPUTS = ({"table": X, "list": [U]}, Adam(X[0], V), TOKENS)


def expect_step(result):
    (loss, adam), more = result
    rows = X[TOKENS] * 2
    assert loss == rows[1].sum()
    assert_same("m", adam.m, X[0] + np.float32([0, 1, 0, 0, 0, 0]))
    assert_same("v", adam.v, np.where(V > 3, V, 0))
    quotient, is_large, descending = more["unsigned"]
    assert_same("quotient", quotient, U // np.uint32(3))
    assert_same("is_large", is_large, U >= 2**31)
    assert_same("descending", descending, U[::-1])
    assert_same("places", more["places"][0], np.array([[5, 4]] * 3, np.int32))
    assert_same("best", more["places"][1], rows[:, :-3:-1].astype(shoal.bfloat16))
    assert not more["flag"]
    assert more["random"].dtype == np.float32 and more["random"].shape == (4,)


def test_takes_and_gives_the_functions_own_trees(step):
    result = step.run(INPUTS)
    assert isinstance(result, tuple) and isinstance(result[0], Step)
    assert isinstance(result[0].state, Adam)
    expect_step(result)
    expect_step(step.run(list(INPUTS)))


def test_takes_arrays_by_name(step):
    names = [tensor.name for tensor in step.inputs]
    assert names == ["params.list.0", "params.table", "adam.0", "adam.1", "tokens"]
    expect_step(step.run(dict(zip(names, (U, X, X[0], V, TOKENS)))))


def test_a_file_keeps_all_but_the_users_containers(step, tmp_path):
    step.save(tmp_path / "step.shoal")
    loaded = shoal.load(tmp_path / "step.shoal")
    (loss, state), more = loaded.run((INPUTS[0], (X[0], V), TOKENS))
    expect_step((Step(loss, Adam(*state)), more))


@pytest.mark.parametrize(
    "inputs, message",
    [
        (INPUTS[:2], r"inputs: expected \(\{'list': \[\*\], 'table': \*\}, .*, \*\), got \("),
        ({"tokens": TOKENS}, "inputs missing: params.list.0"),
        (({"table": X, "list": [U.view(np.int32)]}, *INPUTS[1:]), "expected uint32 but got int32"),
        (({"table": X[1:], "list": [U]}, *INPUTS[1:]), r"expected shape \[4, 6\] but got \[3, 6\]"),
    ],
)
def test_other_trees_are_refused(step, inputs, message):
    with pytest.raises(shoal.InputError, match=message):
        step.run(inputs)


def test_the_compilers_errors_have_the_users_line():
    def gathered(x):
        y = shoal.constrain(x, P("x"))
        return shoal.sort(y.reshape(-1))

    with pytest.raises(shoal.CompileError, match="whole on every device") as raised:
        shoal.compile(gathered, (X,), MESH, max_replicated_bytes=16)
    line = gathered.__code__.co_firstlineno + 2
    assert raised.value.diagnostics[0].location.startswith(f"{__file__}:{line}:")


def test_the_compilers_warnings_are_at_the_users_line():
    def called(x):
        y = shoal.constrain(x, P("x"))
        return shoal.custom_call("anything", [y], [TensorSpec((4, 6), "float32")])[0]

    text = shoal.trace(called, (X,), MESH)
    with pytest.warns(
        shoal.CompileWarning, match=f"{__file__}:{called.__code__.co_firstlineno + 2}:"
    ) as warned:
        shoal.executable.statistics_of_text(text)
    assert {warning.filename for warning in warned} == {__file__}


def test_custom_calls_may_take_zeros_past_the_end():
    """Three rows on two devices are two each, and nothing is gathered for the call."""

    def called(x):
        y, results = shoal.constrain(x[:3], P("x")), [TensorSpec((3, 6), "float32")]
        return shoal.custom_call("f", [y], results, rule="r.->r.", padded="r")[0]

    text = shoal.trace(called, (X,), MESH, in_shardings=P(None, None), out_shardings=P("x"))
    stats = shoal.executable.statistics_of_text(text)
    assert 'padded = "r"' in text and not stats["bytes_sent_per_device"]


def test_arguments_by_keyword_names_and_options():
    args = {"x": X, "scale": 2.0}
    exe = shoal.compile(lambda x, scale: x * scale, args, MESH, name="scaled", out_shardings=P("x"))
    assert exe.name == "scaled" and exe.devices == 2
    assert exe.outputs[0].local_shape == (2, 6)
    assert_same("y", exe.run({"x": X, "scale": 3.0}), X * 3)
    with pytest.raises(TypeError, match="no_such_option"):
        shoal.compile(lambda x: x, (X,), no_such_option=1)
