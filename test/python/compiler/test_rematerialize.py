# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward passes that compute values again: the same bits, the same bytes sent, and less memory."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import shoal
from example_modules import load_example
from frontend_testing import evaluate
from shoal_testing import BIN, TARGET, run, save_inputs, shoal_run

model = load_example("examples/moe_training/model.py")

CONFIG = model.Config(sentences=4, length=32, model=32, heads=2, hidden=64, capacity=20, layers=4, bytes=64)
PARAMETERS = model.initial_parameters(CONFIG)
TOKENS = np.random.default_rng(3).integers(0, CONFIG.bytes, (4, 33)).astype(np.int32)


def one_by_one(config, parameters, tokens, wrap=lambda layer: layer):
    """The example's loss with its layers written out."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = shoal.constrain(parameters["embed"][inputs] + parameters["position"], model.SENTENCES)
    aux = 0
    for number in range(config.layers):
        weights = {name: value[number] for name, value in parameters["layers"].items()}
        x, more = wrap(partial(model.layer, config))(x, weights)
        aux = aux + more
    logits = shoal.einsum("BSM,VM->BSV", shoal.rms_norm(x, parameters["norm"]), parameters["embed"])
    return shoal.layers.cross_entropy(logits, targets) + 0.01 * aux


def scanned(config, parameters, tokens, wrap=lambda layer: layer):
    """The example's loss, whose layers are a loop."""
    layer = model.layer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "layer", lambda config, *args: wrap(partial(layer, config))(*args))
        return model.loss_of(config, parameters, tokens)[0]


def compile_gradients(loss, wrap=lambda layer: layer, **options):
    def program(parameters, tokens):
        return shoal.value_and_grad(partial(loss, CONFIG, wrap=wrap))(parameters, tokens)

    weights = model.parameter_shardings(PARAMETERS)
    return shoal.compile(
        program,
        (PARAMETERS, TOKENS),
        model.MESH,
        in_shardings=(weights, model.SENTENCES),
        out_shardings=(None, weights),
        flops_per_byte=1000,
        **options,
    )


def peak(executable):
    return executable.stats["peak_bytes_per_device"]


def leaves_of(*trees):
    return [shoal.frontend.pytrees.flatten(tree)[0] for tree in trees]


def assert_equal_bits(actual, expected):
    for one, other in zip(*leaves_of(actual, expected), strict=True):
        np.testing.assert_array_equal(np.asarray(one).view(np.int32), np.asarray(other).view(np.int32))


def assert_equal_results(actual, expected):
    """Equal bits; of a GPU, whose sums depend on what is fused into them, nearly."""
    if TARGET == "cpu":
        return assert_equal_bits(actual, expected)
    for one, other in zip(*leaves_of(actual, expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module", params=[one_by_one, scanned])
def saved(request):
    """How the loss is computed, the program that saves everything, and its results."""
    executable = compile_gradients(request.param)
    return request.param, executable, executable.run((PARAMETERS, TOKENS))


def test_a_limit_is_kept_by_the_arena(saved):
    loss, everything, expected = saved
    limit = peak(everything) - everything.stats["arena_bytes_per_device"] // 4
    less = compile_gradients(loss, memory_limit=limit)
    assert peak(less) <= limit
    assert less.stats["bytes_sent_per_device"] == everything.stats["bytes_sent_per_device"]
    assert less.stats["rematerialized"] and not everything.stats["rematerialized"]
    assert_equal_results(less.run((PARAMETERS, TOKENS)), expected)


@pytest.mark.parametrize("saved", [one_by_one], indirect=True)
@pytest.mark.parametrize("policy", ["dots", "nothing"])
def test_policies_change_no_bits_of_a_model(saved, policy):
    """Sums are fused with other ops where these run again."""
    loss, _, expected = saved
    again = compile_gradients(loss, remat=policy)
    assert again.stats["rematerialized"]
    assert_equal_results(again.run((PARAMETERS, TOKENS)), expected)


@pytest.mark.parametrize("saved", [scanned], indirect=True)
def test_rematerialized_layers_hold_less(saved):
    loss, everything, expected = saved
    nothing = compile_gradients(loss, wrap=shoal.remat)
    assert peak(nothing) < peak(everything)
    assert_equal_bits(nothing.run((PARAMETERS, TOKENS)), expected)


def test_the_program_computes_the_same_bits(tmp_path):
    """As the interpreter runs it, partitioned, with all and nothing saved, on four devices."""
    program = tmp_path / "program.mlir"
    program.write_text(
        shoal.trace(
            lambda parameters, tokens: shoal.grad(partial(one_by_one, CONFIG))(parameters, tokens),
            (PARAMETERS, TOKENS),
            model.MESH,
            in_shardings=(model.parameter_shardings(PARAMETERS), model.SENTENCES),
        )
    )
    inputs = save_inputs(tmp_path, {"tokens": TOKENS})
    for name, limit in (("all", ""), ("less", "remat=nothing")):
        partition = f"--shoal-partition=flops-per-byte=1000 {limit}"
        run(BIN / "shoal-opt", program, partition, "-o", tmp_path / f"{name}.mlir").expect_success()
        flags = ("--devices=4", "--random-inputs=1", *inputs, "--output-dir", tmp_path / name)
        shoal_run(tmp_path / f"{name}.mlir", *flags).expect_success()
    assert "optimization_barrier" in (tmp_path / "less.mlir").read_text()
    results = sorted((tmp_path / "all").glob("*.npy"))
    assert results
    for result in results:
        assert result.read_bytes() == (tmp_path / "less" / result.name).read_bytes()


def test_a_limit_that_nothing_keeps_is_one_error():
    def loss(x):
        return shoal.sum(shoal.tanh(shoal.exp(x)))

    x = np.ones((64, 64), np.float32)
    fits = shoal.compile(shoal.grad(loss), (x,))
    assert not shoal.compile(shoal.grad(loss), (x,), memory_limit=peak(fits)).stats["rematerialized"]
    with pytest.raises(shoal.CompileError) as error:
        shoal.compile(shoal.grad(loss), (x,), memory_limit="1kB")
    told = error.value.diagnostics
    assert "the memory limit is 1,000 bytes a device, but the least that was found is" in told[0].message
    assert [each.severity for each in told[1:]] == ["note"] * (len(told) - 1) and len(told) > 1
    assert all("test_rematerialize.py" in each.location for each in told[1:])


def chain(x, policy):
    @partial(shoal.remat, policy=policy)
    def block(x):
        y = shoal.checkpoint_name(shoal.exp(shoal.sin(x)), "y")
        return shoal.tanh(shoal.cos(y) * y)

    return shoal.sum(block(shoal.sin(x)))


@pytest.mark.parametrize("policy", [None, "everything", "dots", ["y"], "dots_no_batch"])
def test_policies_change_no_bits(tmp_path, policy):
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    plain = evaluate(tmp_path, shoal.grad(partial(chain, policy="everything")), x)
    again = shoal.compile(shoal.grad(partial(chain, policy=policy)), (x,))
    np.testing.assert_allclose(again.run((x,)), plain, rtol=1e-6)
    assert bool(again.stats["rematerialized"]) == (policy != "everything")
    if policy == ["y"]:
        told = "\n".join(again.stats["rematerialized"])
        assert "math.exp" not in told and "math.cos" in told


def attention(x, w):
    q, k, v = (shoal.einsum("SM,MHD->SHD", x, w[name]) for name in "qkv")
    weights = shoal.softmax(shoal.einsum("SHD,THD->HST", q, k))
    return shoal.einsum("SHD,HDM->SM", shoal.einsum("HST,THD->SHD", weights, v), w["o"])


def test_selective_computes_scores_and_softmax_again():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(64, 16)).astype(np.float32)
    w = {name: generator.normal(size=(16, 2, 8)).astype(np.float32) for name in "qkv"}
    w["o"] = generator.normal(size=(2, 8, 16)).astype(np.float32)

    def gradient(policy):
        block = shoal.remat(attention, policy=policy)
        return shoal.compile(shoal.grad(lambda w, x: shoal.sum(shoal.tanh(block(x, w)))), (w, x))

    every, selective = gradient("everything"), gradient("selective")
    told = selective.stats["rematerialized"]
    assert any("tensor<2x64x64xf32>" in line for line in told)
    # Neither q, k and v nor what attention makes of them.
    assert not any("tensor<64x2x8xf32>" in line or "tensor<64x16xf32>" in line for line in told)
    assert_equal_results(selective.run((w, x)), every.run((w, x)))


def test_wrong_policies_are_told():
    with pytest.raises(shoal.TraceError, match="expected the policy to be one of everything"):
        shoal.remat(shoal.exp, policy="most")
    with pytest.raises(shoal.CompileError, match='policy of rematerialisation: .* but got "most"'):
        shoal.compile(lambda x: x + 1, (np.float32(1),), remat="most")
    with pytest.raises(shoal.CompileError, match='memory limit: expected bytes, as 12GiB, but got "12 G"'):
        shoal.compile(lambda x: x + 1, (np.float32(1),), memory_limit="12 G")
    with pytest.raises(shoal.TraceError, match="checkpoint_name: only inside of a function"):
        shoal.checkpoint_name(np.float32(1), "x")


def test_jax_checkpoint_holds_less():
    jax = pytest.importorskip("jax")
    import shoal.jax

    def layer(x, w):
        for _ in range(4):
            x = jax.numpy.tanh(jax.numpy.sin(x @ w))
        return x

    def loss(wrap, x, w):
        for number in range(4):
            x = wrap(layer)(x, w[number])
        return (x * x).sum()

    x, w = np.ones((512, 32), np.float32), np.full((4, 32, 32), 0.1, np.float32)

    def compiled(wrap, **options):
        gradient = jax.grad(partial(loss, wrap), argnums=1)
        return shoal.jax.compile(gradient, x, w, mesh=jax.sharding.AbstractMesh((2,), ("d",)), **options)

    plain, again = compiled(lambda f: f), compiled(jax.checkpoint)
    assert peak(again) < 0.7 * peak(plain)
    limit = int(0.7 * peak(plain))
    limited = compiled(lambda f: f, memory_limit=limit)
    assert peak(limited) <= limit and limited.stats["rematerialized"]
    expected = plain.run(x, w)
    for other in (again, limited):
        np.testing.assert_array_equal(other.run(x, w), expected)


def test_offloading_is_refused_at_its_line():
    block = shoal.remat(shoal.exp, policy="offload")
    with pytest.raises(shoal.CompileError, match='policy "offload": .* to move values to') as error:
        shoal.compile(shoal.grad(lambda x: shoal.sum(block(x))), (np.ones(4, np.float32),))
    assert "test_rematerialize.py" in error.value.diagnostics[0].location


def zero_3(gathered, wrap=lambda layer: layer):
    """Six layers as a loop, whose weights and moments are split over the data's axis."""
    weights = {"w": (np.random.default_rng(7).standard_normal((6, 64, 64)) / 8).astype(np.float32)}
    optimizer, mesh = shoal.optim.adam(1e-3), shoal.Mesh(data=4)
    state = optimizer.init(weights)
    split = {"w": shoal.P(None, "data")}

    def layer(x, w):
        return shoal.tanh(x @ gathered(w)), ()

    def loss(weights, x):
        x, _ = shoal.scan(wrap(layer), x, weights["w"])
        return shoal.mean(shoal.square(x))

    def step(weights, state, x):
        value, grads = shoal.value_and_grad(loss)(weights, x)
        updates, state = optimizer.update(grads, state, weights)
        return shoal.optim.apply_updates(weights, updates), state, value

    placed = split, shoal.optim.shardings_like(state, weights, split)
    arguments = weights, state, np.ones((1024, 64), np.float32) / 8
    return step, arguments, mesh, (*placed, shoal.P("data")), (*placed, None)


def compile_zero_3(*program, **options):
    step, arguments, mesh, inputs, outputs = zero_3(*program)
    shardings = {"in_shardings": inputs, "out_shardings": outputs}
    return shoal.compile(step, arguments, mesh, **shardings, flops_per_byte=1000, **options), arguments


def sent(executable):
    return sum(executable.stats["bytes_sent_per_device"].values())


def whole(w):
    return shoal.constrain(w, shoal.P())


@pytest.mark.parametrize(
    ("wrap", "options", "most_flops"),
    [
        (lambda layer: layer, {"remat_collectives": "params"}, 1.0),
        (partial(shoal.remat, collectives="params"), {}, 1.35),
    ],
)
def test_gathered_parameters_are_sent_again(wrap, options, most_flops):
    """ZeRO-3: each weight is gathered forward and backward, one layer's at a time."""
    saved, arguments = compile_zero_3(whole)
    again, _ = compile_zero_3(whole, wrap, **options)
    parameters = 6 * 64 * 64 * 4
    assert sent(saved) == 2 * parameters * 3 // 4 + 6
    assert sent(again) == 3 * parameters * 3 // 4 + 6
    assert again.stats["flops_per_device"] <= most_flops * saved.stats["flops_per_device"]
    # Of the rows of gathered weights, the quarter that a device has may stay.
    assert peak(again) <= peak(saved) - parameters * 3 // 4
    assert_equal_results(again.run(arguments), saved.run(arguments))


def test_wrong_collectives_are_told():
    with pytest.raises(shoal.TraceError, match="expected collectives to be one of save, params"):
        shoal.remat(shoal.exp, collectives="all")
    with pytest.raises(shoal.CompileError, match='expected save, params or repeat, but got "all"'):
        shoal.compile(lambda x: x + 1, (np.float32(1),), remat_collectives="all")


def repeated(executable):
    """Per cent of the forward pass's time."""
    lines = executable.stats["rematerialized"]
    return float(re.search(r"([\d.]+)%", lines[0])[1]) if lines else 0.0


@pytest.mark.parametrize("policy", ["selective", "nothing"])
def test_a_limit_is_never_worse_than_a_policy(policy):
    """What a policy fits into, a limit does, too, and computes no more again."""
    wide = replace(CONFIG, sentences=8, length=128, layers=6)
    tokens = np.zeros((8, 129), np.int32)
    parameters = model.initial_parameters(wide)

    def compiled(**options):
        program = shoal.value_and_grad(partial(one_by_one, wide))
        weights = model.parameter_shardings(parameters)
        return shoal.compile(
            program, (parameters, tokens), model.MESH, in_shardings=(weights, model.SENTENCES),
            out_shardings=(None, weights), flops_per_byte=1000, **options,
        )  # fmt: skip

    saved = compiled(remat=policy)
    limited = compiled(memory_limit=peak(saved))
    assert peak(limited) <= peak(saved)
    assert repeated(limited) <= repeated(saved)
