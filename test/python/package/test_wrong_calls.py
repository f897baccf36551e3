# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that are wrong: the error names the function, the parameter, what it may be and what it is, behind the user's
line and at most six frames of the package."""

import json
import traceback

import numpy as np
import pytest

import shoal
from shoal import checkpoints, optim, train
from shoal.models import from_config, upcycle
from shoal.moe import Layout, MoeConfig
from shoal_testing import ROOT

CONFIG = json.loads((ROOT / "test/python/models/expected/mixtral.json").read_text())["config"]
MODEL = from_config(CONFIG)
PARAMS = MODEL.init()
TOKENS = np.zeros((2, 9), np.int32)
A = np.ones((4, 8), np.float32)
STATE = train.TrainState(np.int32(0), PARAMS, ())
MOST = "an integer from 1 to 2147483647"


def product(x, y):
    return x @ y


def same(state, batch):
    return state, {}


def fit(steps=3, step=same, state=STATE, batches=(), **options):
    return train.fit(step, state, batches, steps, **options)


def without(tree, name):
    return {key: value for key, value in tree.items() if key != name}


JIT = {
    "shapes": (lambda: shoal.jit(product)(A, A), "matmul: [4, 8] @ [4, 8]: 8 columns and 4 rows"),
    "an argument less": (lambda: shoal.jit(product)(A), "product(x, y): missing a required argument: 'y'"),
    "an argument more": (lambda: shoal.jit(product)(A, A, A), "product(x, y): too many positional arguments"),
    "a text": (lambda: shoal.jit(product)("x", A), 'argument "x": expected an array, a number or a TensorSpec, got str'),
    "None": (lambda: shoal.jit(lambda x: shoal.concatenate([x, {}]))(A), "concatenate: operands[1]: expected a Value, a NumPy array"),
    "objects": (lambda: shoal.jit(product)(np.array([{}]), A), 'argument "x": elements of type object are not supported'),
    "no function": (lambda: shoal.jit(5), "jit: function: expected a function or None, got 5"),
    "no mesh": (lambda: shoal.jit(product, mesh="x"), "jit: mesh: expected a shoal.Mesh or None, got 'x'"),
    "no sharding": (lambda: shoal.jit(product, mesh=shoal.Mesh(x=2), in_shardings=("q", None))(A, A.T),
                    "in_shardings: expected shoal.P(...), a Sharding or None, got 'q'"),
    "too few shardings": (lambda: shoal.jit(product, mesh=shoal.Mesh(x=2), in_shardings=(None,))(A, A.T),
                          "in_shardings: tuple arity mismatch; expected: 1, got: 2"),
    "a donation": (lambda: shoal.jit(product, donate_argnums=7), "donate_argnums: product(x, y) has no positional parameter 7"),
    "a static array": (lambda: shoal.jit(product, static_argnums=1)(A, A.T),
                       "static argument 1: expected a value that hashes but got ndarray of ndarray"),
    "an option": (lambda: shoal.jit(product, memory_limt="3GiB"), "'memory_limt'; nearest is memory_limit"),
    "a target": (lambda: shoal.jit(product, target="gpu"), "target: expected \"cpu\" or \"cuda\" but got 'gpu'"),
    "a policy": (lambda: shoal.jit(product, remat="selectiv")(A, A.T), 'or names:NAME,..., but got "selectiv"'),
    "a limit": (lambda: shoal.jit(product, memory_limit="lots")(A, A.T), 'expected bytes, as 12GiB, but got "lots"'),
    "a result": (lambda: shoal.jit(lambda x: "x")(A), 'result "result0": expected a Value, a NumPy array or a number, got str'),
    "a gradient": (lambda: shoal.jit(shoal.grad(lambda x: x.sum()))(TOKENS), "grad: argument[0] is Value(int32[2,9])"),
}  # fmt: skip
MODELS = {
    "tokens in a dict": (lambda: shoal.jit(MODEL.logits)(PARAMS, {"tokens": TOKENS}),
                         "decode: tokens: expected integers [B, S], got a mapping with ['tokens']"),
    "floats": (lambda: shoal.jit(MODEL.logits)(PARAMS, A), "decode: tokens: expected integers [B, S], got float32[4, 8]"),
    "one sequence": (lambda: shoal.jit(MODEL.logits)(PARAMS, TOKENS[0]), "decode: tokens: expected [B, S], got [9]"),
    "swapped": (lambda: shoal.jit(MODEL.logits)(TOKENS, PARAMS), "decode: params: expected a mapping with ['embed'"),
    "a parameter less": (lambda: shoal.jit(MODEL.loss)(without(PARAMS, "norm"), TOKENS),
                         'loss: params: "norm" is missing; there are'),
    "a layer less": (lambda: shoal.jit(MODEL.loss)({**PARAMS, "layers": PARAMS["layers"][:1]}, TOKENS),
                     'loss: params["layers"]: expected a list of 2, got 1'),
    "another shape": (lambda: shoal.jit(MODEL.loss)({**PARAMS, "embed": A}, TOKENS),
                      'loss: params["embed"]: expected [24, 16], got [4, 8]'),
    "labels": (lambda: shoal.jit(lambda p, t: MODEL.loss(p, t, labels=t[:, 1:]))(PARAMS, TOKENS),
               "loss: labels [2, 8] of tokens [2, 9]"),
    "a name": (lambda: shoal.jit(MODEL.loss)(PARAMS, {"x": TOKENS}), 'loss: expected "tokens" and any of'),
    "a config": (lambda: from_config(5), "from_config: config: expected a config.json's path or fields, got 5"),
    "a layout": (lambda: from_config(CONFIG, "ep"), "from_config: layout: expected a shoal.moe.Layout, got 'ep'"),
    "a field": (lambda: from_config(CONFIG, num_layers=3), "from_config: num_layers= is no field; nearest is"),
    "a seed": (lambda: MODEL.init(-1), "init: seed: expected an integer from 0 to 2147483647, got -1"),
    "a folder": (lambda: MODEL.read(5), "read: folder: expected a path, got 5"),
    "no parameters": (lambda: MODEL.write("x", None), "write: params: expected an object, got None"),
    "a text of bytes": (lambda: MODEL.write("x", PARAMS, "5GB"), "write: max_shard_bytes: expected an integer from 1 to"),
    "a model": (lambda: upcycle(PARAMS, "x", MODEL), "upcycle: dense: expected a model of from_config, got 'x'"),
    "a preset": (lambda: MoeConfig.from_hf("mixtral-8x77b"), 'from_hf: "mixtral-8x77b" is not one of'),
    "a size": (lambda: MoeConfig.flat("8", 16), "MoeConfig: num_experts='8' is not a positive integer"),
    "a role": (lambda: Layout.folded({"dp": "8"}), "fold: role \"dp\": size '8' is not a positive integer"),
}  # fmt: skip
TRAIN = {
    "a loss": (lambda: train.step(5, optim.sgd(0.1)), "step: loss: expected a function, got 5"),
    "an optimizer": (lambda: train.step(print, optim.adamw), "step: optimizer: expected a Transform, as of optim.adamw(1e-3)"),
    "parts": (lambda: train.step(print, optim.sgd(0.1), micro_batches=0), f"step: micro_batches: expected {MOST}, got 0"),
    "a rate": (lambda: optim.adamw("x"), "rate: expected a number or a schedule, as of optim.warmup_cosine, got 'x'"),
    "steps": (lambda: fit(2.5), f"fit: steps: expected {MOST}, got 2.5"),
    "a step": (lambda: fit(step=5), "fit: step: expected a function, got 5"),
    "a state": (lambda: fit(state={"x": 1}), "fit: state: expected a TrainState, or what else has a step, got {'x': 1}"),
    "batches": (lambda: fit(batches=5), "fit: batches: expected shoal.data.Batches or an iterable of batches, got 5"),
    "how often": (lambda: fit(save_every=-1), "fit: save_every: expected an integer from 0 to 2147483647, got -1"),
    "how often, too": (lambda: fit(evaluate_every=True), "fit: evaluate_every: expected an integer from 0 to 2147483647"),
    "tokens": (lambda: fit(tokens="x"), f"fit: tokens: expected {MOST} or None, got 'x'"),
    "a log": (lambda: fit(log=print), "fit: log: expected a list of functions of (step, values), got builtin_function"),
    "a metric": (lambda: fit(finite="loss"), "fit: finite: expected a list, each of it a text, got 'loss'"),
    "a file": (lambda: train.JsonLines(5), "JsonLines: path: expected a path, got 5"),
}  # fmt: skip
CHECKPOINTS = {
    "a folder": (lambda: checkpoints.save(5, {"x": A}), "save: folder: expected a path, got 5"),
    "a source": (lambda: checkpoints.load(5, {"x": A}), "open: path: expected a path, got 5"),
    "a text": (lambda: checkpoints.save("x", {"x": "y"}), "x: elements of type <U1 cannot be saved"),
    "how many": (lambda: checkpoints.Series("x", keep_last=2.5), f"Series: keep_last: expected {MOST} or None, got 2.5"),
    "a step": (lambda: checkpoints.Series("x").save("y", {"x": A}), "save: step: expected an integer, got 'y'"),
}  # fmt: skip


@pytest.mark.parametrize(
    "call, message",
    [pytest.param(*case, id=name) for table in (JIT, MODELS, TRAIN, CHECKPOINTS) for name, case in table.items()],
)
def test_wrong_calls(tmp_path, monkeypatch, call, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(shoal.ShoalError) as error:
        call()
    assert message in str(error.value), str(error.value)
    assert len(str(error.value).splitlines()[0]) < 400
    files = [frame.filename for frame in traceback.extract_tb(error.value.__traceback__)]
    assert __file__ in files and len([file for file in files if "/python/shoal/" in file]) <= 6, files


def test_wrong_calls_of_jax():
    """JAX's own errors, and Shoal's of what JAX has not."""
    jax = pytest.importorskip("jax")
    from jax.sharding import AbstractMesh

    import shoal.jax

    cases = [
        (lambda: shoal.jax.jit(product)(A, A), "dot_general requires contracting dimensions to have the same shape"),
        (lambda: shoal.jax.jit(product)(A), "missing 1 required positional argument: 'y'"),
        (lambda: shoal.jax.jit(product, donate_argnums=9)(A, A.T), "donate_argnums=(9,), but only accepts 2"),
        (lambda: shoal.jax.jit(product, memory_limt=3), "'memory_limt'; nearest is memory_limit"),
        (lambda: shoal.jax.jit(5), "Expected a callable value, got 5"),
        (lambda: shoal.jax.import_stablehlo(None), "a StableHLO program is text, bytes or a module but got"),
        (lambda: shoal.jax.jit(product, mesh=AbstractMesh((2,), ("x",)), in_shardings="x")(A, A.T), "in_shardings"),
    ]
    for call, message in cases:
        with pytest.raises((shoal.ShoalError, TypeError, ValueError)) as error:
            call()
        assert message in str(error.value), str(error.value)
        files = [frame.filename for frame in traceback.extract_tb(error.value.__traceback__)]
        assert len([file for file in files if "/python/shoal/" in file]) <= 6, files
    assert jax is not None
