# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders of seven families: what transformers computes, from its configurations and files.

test/python/models/expected/make.py wrote what is expected.
"""

import json

import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal import CheckpointError, InputError, checkpoints
from shoal.models import from_config, rope_of, write_file
from shoal.models.weights import from_tensors, to_tensors
from shoal.moe import Layout
from shoal_testing import ROOT

MODELS = ROOT / "test/python/models/expected"
FAMILIES = ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "deepseek_v2", "deepseek_v3", "gpt_oss")


def load(family):
    """The model, the tensors of its file, gradients by their names, tokens and logits."""
    config = json.loads((MODELS / f"{family}.json").read_text())["config"]
    arrays = dict(np.load(MODELS / f"{family}.npz"))
    parts = [{name[2:]: a for name, a in arrays.items() if name.startswith(kind)} for kind in ("w:", "g:")]
    return from_config(config), *parts, arrays["tokens"], arrays["logits"]


def gradient_of(model, params, tokens):
    """Of the mean cross entropy, without the losses of balance, which transformers leaves out, too."""

    def loss(params):
        logits = model.logits(params, tokens)
        return shoal.layers.cross_entropy(logits[:, :-1], tokens[:, 1:]), logits

    return shoal.value_and_grad(loss, has_aux=True)(params)


RATE, EPS, DECAY = 1e-3, 1e-3, 0.1


def stepped(weights, gradient):
    """The first step of AdamW: both moments, corrected, are those of this gradient alone."""
    return weights - RATE * (gradient / (np.abs(gradient) + EPS) + DECAY * weights)


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_gradients_of_transformers(tmp_path, family):
    """And one step of AdamW by them."""
    model, tensors, gradients, tokens, logits = load(family)
    params, optimizer = from_tensors(tensors, model.config), shoal.optim.adamw(RATE, eps=EPS, weight_decay=DECAY)

    def run(params, tokens):
        (_, logits), grads = gradient_of(model, params, tokens)
        updates, _ = optimizer.update(grads, optimizer.init(params), params)
        return logits, grads, shoal.optim.apply_updates(params, updates)

    actual, *trees = evaluate(tmp_path, run, params, tokens)
    assert_same("logits", actual, logits, np.float32, 1e-5)
    made, moved = (to_tensors(tree, model.config) for tree in trees)
    for name, expected in gradients.items():
        if not name.endswith("e_score_correction_bias"):
            assert_same(name, made[name], expected, np.float32, 1e-5)
            assert_same(f"{name} behind a step", moved[name], stepped(tensors[name], expected), np.float32, 1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_files_have_their_names(tmp_path, family):
    """What is read and written again are the same tensors, to the bit."""
    model, tensors, *_ = load(family)
    params = from_tensors(tensors, model.config)
    model.write(tmp_path, params)
    with checkpoints.open(tmp_path / "model.safetensors") as source:
        read = {name: source.read(name) for name in source.arrays}
    assert {n: (a.dtype, a.tobytes()) for n, a in read.items()} == {
        n: (a.dtype, a.tobytes()) for n, a in tensors.items()
    }
    assert sorted(map(str, shape_paths(model.shapes()))) == sorted(map(str, shape_paths(model.shardings())))


def shape_paths(tree, path=()):
    if isinstance(tree, (dict, list)):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, node in items:
            yield from shape_paths(node, (*path, key))
    else:
        yield path


@pytest.mark.parametrize("family", ["mixtral", "deepseek_v3"])
def test_over_devices(tmp_path, family):
    """Heads and hidden units over tp, experts over ep, with the balance of the whole batch."""
    model, tensors, _, tokens, _ = load(family)
    params = from_tensors(tensors, model.config)
    layout = Layout.folded({"tp": 2, "dp": 2}, {"ep": 4})
    one = evaluate(tmp_path, lambda p, t: shoal.value_and_grad(model.loss, has_aux=True)(p, t), params, tokens)
    many = model.over(layout)
    actual = evaluate(
        tmp_path, lambda p, t: shoal.value_and_grad(many.loss, has_aux=True)(p, t), params, tokens,
        mesh=layout.mesh, devices=4, in_shardings=(many.shardings(), None),
    )  # fmt: skip
    assert_same("loss", actual[0][0], one[0][0], np.float32, 1e-5)
    expected, made = (to_tensors(grads, model.config) for grads in (one[1], actual[1]))
    for name in expected:
        assert_same(name, made[name], expected[name], np.float32, 1e-5)


def test_what_there_is_none_of():
    config = json.loads((MODELS / "mixtral.json").read_text())["config"]
    cases = {
        'rope_type "dynamic" is not one of': {"rope_parameters": {"rope_type": "dynamic"}},
        'quantization_config: quant_method "gptq" is not one of': {"quantization_config": {"quant_method": "gptq"}},
        'hidden_act "xielu" is not one of': {"hidden_act": "xielu"},
        'model_type "mamba" is not one of': {"model_type": "mamba", "architectures": ["MambaForCausalLM"]},
        "attention_bias of mixtral": {"attention_bias": True},
        "partial_rotary_factor 0.5": {"partial_rotary_factor": 0.5},
        "hidden_size is missing": {"hidden_size": None},
        "num_attention_heads 4 is not divisible by num_key_value_heads 3": {"num_key_value_heads": 3},
        "head_dim 5: elements turn in pairs": {"head_dim": 5},
        "sliding_window 0": {"sliding_window": 0},
        r"layer_types \['chunked_attention'\]": {"layer_types": ["chunked_attention"] * 2},
        "layer_types of 3 layers, num_hidden_layers 2": {"layer_types": ["full_attention"] * 3},
    }
    for message, fields in cases.items():
        with pytest.raises(shoal.UnsupportedError, match=message):
            from_config({**config, **fields})
    for kind, option in {"linear": "factor", "llama3": "low_freq_factor", "longrope": "short_factor"}.items():
        with pytest.raises(shoal.InputError, match=f"rope_parameters: {option} of {kind} is missing"):
            from_config({**config, "rope_parameters": {"rope_type": kind}})


def test_files_that_are_wrong(tmp_path):
    model, tensors, *_ = load("mixtral")
    name = "model.layers.0.block_sparse_moe.experts.1.w2.weight"
    less = {key: array for key, array in tensors.items() if key != name}
    cases = {
        f"from_tensors: no tensor '{name}'": less,
        "1 tensors that nothing reads, first 'x'": {**tensors, "x": tensors[name]},
        r"instead of \[24, 16\]": {**tensors, "model.embed_tokens.weight": np.zeros((3, 3), np.float32)},
    }
    for message, wrong in cases.items():
        with pytest.raises(shoal.InputError, match=message):
            from_tensors(wrong, model.config)
    path = tmp_path / "model.safetensors"
    more = {**tensors, "x": tensors[name]}
    for wrong, message in ((less, f"{tmp_path}: no tensor '{name}'"), (more, f"{path}: 1 tensors")):
        write_file(path, wrong)
        with pytest.raises(shoal.InputError, match=message):
            model.read(tmp_path)
    write_file(path, {"a": np.zeros(5, shoal.bfloat16)})
    whole = path.read_bytes()
    damaged = (b"", whole[:4], whole[:20], whole[:-1], whole.replace(b"[0,10]", b"[0,99]"), b"\xff" * 64)
    for text, error in [*((text, CheckpointError) for text in damaged), (whole.replace(b"BF16", b"BF17"), InputError)]:
        path.write_bytes(text)
        with pytest.raises(error, match="model.safetensors"):
            model.read(tmp_path)
    with pytest.raises(shoal.InputError, match=r"nowhere: has no model\*.safetensors"):
        model.read(tmp_path / "nowhere")


def shard(folder, tensors, count):
    """Hugging Face's files of a large model, and their index."""
    files = {}
    for number in range(count):
        name = f"model-{number + 1:05}-of-{count:05}.safetensors"
        part = {key: tensors[key] for key in sorted(tensors)[number::count]}
        write_file(folder / name, part)
        files |= dict.fromkeys(part, name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))


@pytest.fixture
def sharded(tmp_path):
    """A folder of two shards with the index, the model, its tensors, and others of its shapes."""
    model, tensors, *_ = load("mixtral")
    others = {name: array + 1 for name, array in tensors.items()}
    shard(tmp_path, others, 3)
    shard(tmp_path, tensors, 2)
    return tmp_path, model, tensors, others


def assert_reads(model, path, tensors):
    made = to_tensors(model.read(path), model.config)
    for name, expected in tensors.items():
        np.testing.assert_array_equal(made[name], expected, err_msg=name)


def test_files_are_those_of_the_index(sharded):
    """Shards of an earlier model lie beside them, and files of somebody's."""
    folder, model, tensors, others = sharded
    assert len(list(folder.glob("model-*-of-00003.safetensors"))) == 3
    for name in ("model.safetensors", "model_old.safetensors", "consolidated.safetensors"):
        write_file(folder / name, others)
    (folder / "consolidated.safetensors.index.json").write_text("{}")
    assert_reads(model, folder, tensors)
    assert_reads(model, folder / "model.safetensors.index.json", tensors)
    assert_reads(model, folder / "model.safetensors", others)


def test_a_shard_that_is_missing_is_named(sharded):
    folder, model, tensors, _ = sharded
    (folder / "model-00002-of-00002.safetensors").unlink()
    lost = sorted(tensors)[1]
    with pytest.raises(CheckpointError, match=rf"model-00002-of-00002.safetensors: is missing \({lost}, .* more\)"):
        model.read(folder)


def test_files_without_an_index_do_not_win_over_each_other(sharded):
    folder, model, tensors, _ = sharded
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(InputError, match="00001-of-00002.safetensors and model-00001-of-00003.safetensors both have"):
        model.read(folder)
    for path in folder.glob("model-*-of-00003.safetensors"):
        path.unlink()
    assert_reads(model, folder, tensors)


def test_what_is_written_is_what_is_read(sharded):
    """So nothing is written where an index names other files."""
    folder, model, tensors, others = sharded
    params = from_tensors(others, model.config)
    with pytest.raises(InputError, match=r"has model.safetensors.index.json, by which other files"):
        model.write(folder, params)
    (folder / "model.safetensors.index.json").unlink()
    for limit in (10**9, 20_000):
        with pytest.raises(InputError, match=r"has model-00001-of-0000.\.safetensors, which would be read"):
            model.write(folder, params, limit)
    shard(folder, tensors, 2)
    assert not (folder / "config.json").exists()
    assert_reads(model, folder, tensors)
    with pytest.raises(FileNotFoundError) as error:
        model.write(folder / "new", params)
    assert error.value.filename == str(folder / "new")
    (folder / "new").mkdir()
    model.write(folder / "new", params)
    assert_reads(model, folder / "new", others)


def test_angles():
    """Long waves of Llama 3 and YaRN are stretched by the factor, short ones are not."""
    base = {"max_position_embeddings": 64, "rope_theta": 10000.0}
    plain = np.array(rope_of(base, 64).frequencies)
    assert np.allclose(plain, 10000.0 ** (-np.arange(32) / 32))
    linear = rope_of({**base, "rope_scaling": {"type": "linear", "factor": 2.0}}, 64)
    assert np.allclose(linear.frequencies, plain / 2)
    for kind in ("llama3", "yarn"):
        scaling = {"rope_type": kind, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 4096}  # fmt: skip
        ratio = plain / np.array(rope_of({**base, "rope_scaling": scaling}, 64).frequencies)
        assert np.isclose(ratio[0], 1) and np.isclose(ratio[-1], 4) and (np.diff(ratio) > -1e-9).all()


LONGROPE = {"rope_type": "longrope", "short_factor": [1.0, 2.0], "long_factor": [3.0, 8.0]}


def test_longrope(tmp_path):
    """Of Phi-3: cos and sin times a factor, waves by another list where there are more places than before."""
    config = {"max_position_embeddings": 64, "original_max_position_embeddings": 8, "rope_theta": 100.0}
    rope = rope_of({**config, "rope_scaling": LONGROPE}, 4)
    x = np.random.default_rng(0).standard_normal((1, 9, 2, 4)).astype(np.float32)
    for length, factors in ((8, (1.0, 2.0)), (9, (3.0, 8.0))):
        part = x[:, :length]
        actual = evaluate(tmp_path, lambda x: shoal.models.rotate(x, rope), part)
        angles = np.arange(length)[:, None] / (np.array(factors) * [1.0, 10.0])
        turns = np.exp(1j * angles)[:, None] * np.sqrt(1 + np.log(64 / 8) / np.log(8))
        turned = (part[..., :2] + 1j * part[..., 2:]) * turns
        expected = np.concatenate([turned.real, turned.imag], -1).astype(np.float32)
        assert_same(f"{length} places", actual, expected, np.float32, 1e-6)
    given = {**LONGROPE, "attention_factor": 1.5, "original_max_position_embeddings": 16, "factor": 4.0}
    rope = rope_of({**config, "rope_parameters": given}, 4)
    assert (rope.factor, rope.original) == (1.5, 16)
    assert np.isclose(rope_of({**config, "rope_parameters": {**LONGROPE, "factor": 2.0}}, 4).factor, np.sqrt(4 / 3))
    with pytest.raises(shoal.InputError, match="short_factor has 2 factors; expected 3"):
        rope_of({**config, "rope_scaling": LONGROPE}, 6)
