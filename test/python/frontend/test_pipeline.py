# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines: the results of their stages one after the other, and what they send."""

import re

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from moe_layouts import all_statistics, statistics
from shoal import P
from shoal.frontend.pytrees import flatten
from shoal_testing import BIN, run

M, B = 6, 4  # sizes of a micro-batch [B, M]
RNG = np.random.default_rng(0)


def arrays(turns, devices, count):
    """params [V, p, ...], xs and rows [m, ...]."""

    def normal(*shape):
        return RNG.standard_normal(shape).astype(np.float32)

    params = {"w": normal(turns, devices, M, M) / 2, "number": np.arange(turns * devices).reshape(turns, devices)}
    return params, normal(count, B, M), {"bias": normal(count, M)}


def stage(params, x, row):
    """Order matters: a product, a bend, what the micro-batch adds and the number of the stage."""
    y = shoal.tanh(x @ params["w"]) + row["bias"] + x / 2
    return y, {"norm": shoal.sum(y * y), "was": params["number"]}


def one_after_the_other(params, xs, rows):
    """The same without `pipeline`."""
    turns, devices = params["w"].shape[:2]
    ys, records = [], []
    for i in range(xs.shape[0]):
        x, made = xs[i], []
        for number in range(turns * devices):
            place = divmod(number, devices)
            own = {name: leaf[place] for name, leaf in params.items()}
            x, record = stage(own, x, {"bias": rows["bias"][i]})
            made.append(record)
        ys.append(x)
        records.append({k: shoal.stack([r[k] for r in made]).reshape(turns, devices) for k in made[0]})
    return shoal.stack(ys), {k: shoal.stack([r[k] for r in records], 2) for k in records[0]}


def with_gradients(function):
    """Its results, and the gradients of a loss that reads all of them."""

    def step(params, xs, rows):
        def loss(w, xs, rows):
            ys, records = function({**params, "w": w}, xs, rows)
            weight = shoal.iota(ys.shape[:1]).reshape(-1, 1, 1) + 1.0
            return shoal.mean(ys**2 * weight) + shoal.mean(records["norm"] ** 2), (ys, records)

        return shoal.value_and_grad(loss, (0, 1, 2), has_aux=True)(params["w"], xs, rows)

    return step


# V, p, m
SIZES = [(1, 4, 4), (1, 4, 6), (1, 4, 3), (2, 4, 4), (2, 4, 8), (3, 2, 4), (2, 1, 3)]


@pytest.mark.parametrize("turns,devices,count", SIZES)
def test_stages_one_after_the_other(tmp_path, turns, devices, count):
    """Results, records and all gradients, on devices and on one."""
    given = arrays(turns, devices, count)
    expected = evaluate(tmp_path, with_gradients(one_after_the_other), *given)
    mesh = shoal.Mesh(pp=devices)
    here = evaluate(tmp_path, with_gradients(lambda p, x, r: shoal.pipeline(stage, p, x, "pp", r)), *given, mesh=mesh)
    many = evaluate(
        tmp_path, with_gradients(lambda p, x, r: shoal.pipeline(stage, p, x, "pp", r)), *given, mesh=mesh,
        devices=devices, in_shardings=({"w": P(None, "pp"), "number": P(None, "pp")}, None, None),
    )  # fmt: skip
    assert np.asarray(many[0][1][1]["was"]).tolist() == np.asarray(expected[0][1][1]["was"]).tolist()
    for actual in (here, many):
        for a, e in zip(flatten(actual)[0], flatten(expected)[0]):
            assert_same("pipeline", np.asarray(a, np.float64), np.asarray(e, np.float64), tolerance=1e-5)


def test_without_axes(tmp_path):
    """All stages here: no mesh is asked for."""
    params, xs, rows = arrays(3, 1, 5)
    expected = evaluate(tmp_path, with_gradients(one_after_the_other), params, xs, rows)
    actual = evaluate(tmp_path, with_gradients(lambda p, x, r: shoal.pipeline(stage, p, x, rows=r)), params, xs, rows)
    for a, e in zip(flatten(actual)[0], flatten(expected)[0]):
        assert_same("pipeline", np.asarray(a, np.float64), np.asarray(e, np.float64), tolerance=1e-5)


def text_of(turns, devices, count, gradient):
    """A pipeline whose batch comes in and goes out over its micro-batches."""
    params = shoal.TensorSpec((turns, devices, M, M), "float32", P(None, "pp"))
    xs = shoal.TensorSpec((count, B, M), "float32")

    def forward(w, xs):
        return shoal.pipeline(lambda w, x, _: (shoal.tanh(x @ w), None), w, xs, "pp")[0]

    def loss(w, xs):
        return shoal.sum(shoal.constrain(forward(w, xs), P("pp")) ** 2)

    mesh = shoal.Mesh(pp=devices)
    if gradient:
        return shoal.trace(shoal.grad(loss, (0, 1)), (params, xs), mesh, out_shardings=(P(None, "pp"), P("pp")))
    return shoal.trace(forward, (params, xs), mesh, out_shardings=P("pp"))


@pytest.mark.parametrize("turns,count", [(1, 8), (2, 8), (1, 4)])
def test_what_is_sent(turns, count):
    """A micro-batch after each tick, and the same back; what goes in and comes out over micro-batches, once."""
    devices, micro = 4, B * M * 4
    ticks = count * turns + devices - 1
    whole = count * micro * (devices - 1) / devices
    sent, kinds = statistics(text_of(turns, devices, count, gradient=False))
    assert sent["collective_permute"] == ticks * micro and kinds["collective_permute"] == ticks
    assert sum(sent.values()) == ticks * micro + whole, sent
    sent, kinds = statistics(text_of(turns, devices, count, gradient=True))
    assert sent["collective_permute"] == 2 * ticks * micro and kinds["collective_permute"] == 2 * ticks
    assert sum(sent.values()) == 2 * ticks * micro + 3 * whole, sent


def block(w, x, _):
    """Hidden units over "tp", rows over "dp"."""
    hidden = shoal.tanh(x @ w["i"])
    return x + (shoal.constrain(hidden, P("dp", "tp")) if "placed" in w else hidden) @ w["o"], None


def step_of_blocks(placed, wi, wo, xs):
    def loss(wi, wo, xs):
        w = {"i": wi, "o": wo}
        w |= {"placed": np.zeros(wi.shape[:2], np.int32)} if placed else {}
        return shoal.sum(shoal.pipeline(block, w, xs, "pp" if placed else ())[0] ** 2)

    return shoal.value_and_grad(loss, (0, 1, 2))(wi, wo, xs)


SPREAD = (P(None, "pp", None, "tp"), P(None, "pp", "tp"), P(None, "dp"))


def test_other_axes_are_partitioned_in_a_stage(tmp_path):
    mesh = shoal.Mesh(pp=2, dp=2, tp=2)
    wi, wo = (RNG.standard_normal((2, 2, *shape)).astype(np.float32) for shape in ((M, 8), (8, M)))
    xs = RNG.standard_normal((4, B, M)).astype(np.float32)
    here = (w.reshape(4, 1, *w.shape[2:]) for w in (wi, wo))
    expected = evaluate(tmp_path, lambda *args: step_of_blocks(False, *args), *here, xs)
    actual = evaluate(
        tmp_path, lambda *args: step_of_blocks(True, *args), wi, wo, xs, mesh=mesh, devices=8, in_shardings=SPREAD
    )
    for a, e in zip(flatten(actual)[0], flatten(expected)[0]):
        assert_same("step", a.reshape(e.shape), e, tolerance=1e-5)


def test_shifts_go_over_the_pipeline_alone(tmp_path):
    """Of a device's part of a micro-batch; a tick's sums go over tp, and gradients over dp behind all ticks."""
    shapes = ((1, 2, 64, 256), (1, 2, 256, 64), (4, 512, 64))
    given = [shoal.TensorSpec(shape, "float32", place) for shape, place in zip(shapes, SPREAD)]
    source = tmp_path / "step.mlir"
    program = shoal.trace(
        lambda *args: step_of_blocks(True, *args), given, shoal.Mesh(pp=2, dp=2, tp=2), out_shardings=(P(), SPREAD)
    )
    source.write_text(program)
    partitioned = run(BIN / "shoalc", source, "--emit=spmd", "-o", "-").expect_success().stdout
    permutes = re.findall(r"spmd.collective_permute @mesh (.*?) -> @mesh (.*?) %.* : tensor<(\d+)x(\d+)xf32>", partitioned)
    assert [axes for *axes, _, _ in permutes] == [['{"pp"}', '{"pp"}']] * 2
    assert all(int(rows) * int(columns) <= 256 * 64 for *_, rows, columns in permutes)  # tp may halve it further
    in_ticks = re.findall(r"\n {6}%\S+ = spmd\.(?!collective_permute)\S+ (.*?) %", partitioned)
    assert in_ticks and {axis for text in in_ticks for axis in re.findall(r'"(\w+)"', text)} == {"tp"}


def test_gradients_of_interleaved_stages_are_summed_once():
    """Over dp, behind the ticks, although a tick adds to one of V rows."""
    p, turns, count, shards = 2, 2, 4, 4

    def stage(w, x, _):
        return x + shoal.tanh(x @ w["in"]) @ w["out"], None

    def loss(w, xs):
        return shoal.mean(shoal.pipeline(stage, w, xs, "pp")[0] ** 2)

    split = P(None, "pp")
    shapes = {"in": (turns, p, 64, 256), "out": (turns, p, 256, 64)}
    params = {name: shoal.TensorSpec(shape, "float32", split) for name, shape in shapes.items()}
    xs = shoal.TensorSpec((count, 64, 64), "float32", P(None, "dp"))
    places = dict.fromkeys(shapes, split)
    mesh = shoal.Mesh(pp=p, dp=shards)
    sent, kinds = statistics(shoal.trace(shoal.value_and_grad(loss), (params, xs), mesh, out_shardings=(None, places)))
    weights, micro = 4 * turns * 2 * 64 * 256, 4 * 64 * 64 // shards
    assert kinds["collective_permute"] == 2 * (count * turns + p - 1)
    sums = sum(sent.values()) - sent["collective_permute"] - count * micro  # and the pipeline's results, halved twice
    assert 0 <= sums - 2 * weights * (shards - 1) // shards < 16, (sent, kinds)


def costs_of_gradient(count, rows, width, again=False, parts=1):
    """(peak, bytes sent) of a device, of four products a stage and 4 stages."""

    def stage(w, x, _):
        for _ in range(4):
            x = shoal.tanh(x @ w)
        return x

    kept = shoal.remat(stage) if again else stage

    def loss(w, xs):
        return shoal.mean(shoal.pipeline(lambda w, x, _: (kept(w, x, 0), None), w, xs, "pp")[0] ** 2)

    place = P(None, "pp")
    given = shoal.TensorSpec((1, 4, width, width), "float32", place), shoal.TensorSpec((count, rows, width), "float32")
    step = shoal.optim.accumulate(loss, parts)
    stats = all_statistics(shoal.trace(step, given, shoal.Mesh(pp=4), out_shardings=(None, place)))
    return stats["peak_bytes_per_device"], stats["bytes_sent_per_device"], stats["flops_per_device"]


def test_a_stage_that_is_computed_again():
    """What enters a tick is kept, and not what the four products of a stage make; nothing more is sent."""
    plain, again = (costs_of_gradient(16, 64, 32, again=again) for again in (False, True))
    assert again[0] < 0.7 * plain[0] and again[1] == plain[1]


def test_parts_of_a_batch_through_the_pipeline():
    """As in docs/guide/Pipelines.md: what is held is that of a part, and a part waits for as long as the batch did."""
    whole = costs_of_gradient(32, 64, 64)
    for again, parts, most in ((True, 1, 0.63), (False, 4, 0.53), (False, 8, 0.43), (True, 4, 0.41)):
        held, sent, flops = costs_of_gradient(32, 64, 64, again, parts)
        assert 0.9 * most < held / whole[0] < most, (again, parts)
        ticks = parts * (32 // parts + 3)
        assert sent["collective_permute"] == whole[1]["collective_permute"] * ticks / 35
        assert 0.97 < flops / whole[2] / (ticks / 35 * (4 / 3 if again else 1)) < 1.03


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("turns, count", [(1, 4096), (2, 1024)])
def test_gradients_of_narrow_parameters_are_summed_in_float32(tmp_path, dtype, turns, count):
    """Of so many micro-batches, more than 8 and 11 bits can count. The masters' gradients are rounded once."""

    def stage(params, x, _):
        return x, {"made": (x * params["w"]).astype("float32")}

    def loss(masters, xs):
        narrow = {"w": masters.astype(dtype)}
        made = shoal.pipeline(stage, narrow, xs.astype(dtype))[1]["made"]
        return made.sum() / count

    xs = np.ones((count, 1), np.float32)
    grads = evaluate(tmp_path, shoal.grad(loss), np.ones((turns, 1, 1), np.float32), xs)
    np.testing.assert_array_equal(grads, np.ones((turns, 1, 1)))


def test_what_is_no_pipeline():
    params, xs, rows = arrays(2, 4, 8)
    mesh = shoal.Mesh(pp=4, dp=2)

    def fails(message, params=params, xs=xs, rows=rows, stage=stage, axes="pp"):
        with pytest.raises(shoal.TraceError, match=message):
            shoal.trace(lambda *args: shoal.pipeline(stage, *args[:2], axes, args[2]), (params, xs, rows), mesh)

    fails("6 micro-batches through 2 stages on each of 4 devices: 6 is not divisible by 4", xs=xs[:6],
          rows={"bias": rows["bias"][:6]})  # fmt: skip
    fails(r"params of 2 x 4 stages on 2 devices: expected \[V, 2, ...\]", axes="dp")
    fails(r"one number of micro-batches, got \[\(7,\), \(8,\)\]", rows={"bias": rows["bias"][:7]})
    fails("one number of stages", params={**params, "number": params["number"][:1]})
    fails(r"params\['w'\]: .* has no 2 dimensions in front", params={**params, "w": np.ones(4, np.float32)})
    fails(r"the stage makes Value\(float32\[6\]\) of Value\(float32\[4,6\]\)", stage=lambda w, x, r: (x[0], None))
    fails(r"the stage makes \(\*, \*\) of \*", stage=lambda w, x, r: ((x, x), None))
    fails('axis "xx" is not one of', axes="xx")


def test_executable():
    """4 processes, interleaved, with gradients."""
    given = arrays(2, 4, 4)
    mesh = shoal.Mesh(pp=4)
    step = with_gradients(lambda p, x, r: shoal.pipeline(stage, p, x, "pp", r))
    actual = shoal.compile(step, given, mesh).run(given)
    plain = with_gradients(one_after_the_other)
    expected = shoal.compile(plain, given, shoal.Mesh(one=1)).run(given)
    for a, e in zip(flatten(actual)[0], flatten(expected)[0]):
        assert_same("step", np.asarray(a, np.float64), np.asarray(e, np.float64), tolerance=1e-5)
