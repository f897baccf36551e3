# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in the forms that published files have: of few bits, of all experts in one tensor, with layers that are left
out; and what is written for others to read.

Encoders and decoders here go element by element, by the formats' definitions.
"""

import dataclasses
import json
import math

import ml_dtypes
import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal import InputError, WeightsWarning, optim
from shoal.frontend.pytrees import flatten
from shoal.models import from_config, write_file
from shoal.models.weights import from_tensors, to_tensors

COMMON = {
    "vocab_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu",
    "num_experts_per_tok": 2, "max_position_embeddings": 64, "tie_word_embeddings": False, "rms_norm_eps": 1e-5,
}  # fmt: skip
GPT_OSS = {
    **COMMON, "model_type": "gpt_oss", "hidden_size": 64, "head_dim": 8, "intermediate_size": 32,
    "num_local_experts": 4, "sliding_window": 8, "rope_theta": 150000, "attention_bias": True, "swiglu_limit": 7.0,
}  # fmt: skip
V3 = {
    **COMMON, "model_type": "deepseek_v3", "num_key_value_heads": 4, "hidden_size": 160, "intermediate_size": 136,
    "n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 132, "n_group": 2, "topk_group": 1,
    "norm_topk_prob": True, "routed_scaling_factor": 2.5, "first_k_dense_replace": 1, "kv_lora_rank": 6,
    "q_lora_rank": 6, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 5, "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
}  # fmt: skip
MIXTRAL = {**COMMON, "model_type": "mixtral", "hidden_size": 16, "intermediate_size": 12, "num_local_experts": 4}
QWEN3 = {**COMMON, "model_type": "qwen3_moe", "hidden_size": 16, "intermediate_size": 12, "moe_intermediate_size": 10,
         "num_experts": 4, "norm_topk_prob": True, "head_dim": 4}  # fmt: skip
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
TOKENS = np.random.default_rng(3).integers(0, 24, (2, 12)).astype(np.int32)


def drawn(config, seed=0):
    """A model, and its tensors, large enough that each matters."""
    model = from_config(config)
    rng = np.random.default_rng(seed)
    tensors = to_tensors(model.init(seed), model.config)
    for name, array in tensors.items():
        noise = rng.standard_normal(array.shape) * (0.3 if array.ndim == 1 else array.shape[-1] ** -0.5)
        tensors[name] = (array * (array.ndim == 1) + noise).astype(np.float32)
    return model, tensors


def read(tmp_path, config, tensors, dtype=None):
    write_file(tmp_path / "model.safetensors", tensors)
    return from_config(config).read(tmp_path, dtype)


def assert_equal(params, expected):
    for (actual, wanted) in zip(flatten(params)[0], flatten(expected)[0], strict=True):
        assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape)
        assert actual.tobytes() == wanted.tobytes()


def logits_apart(tmp_path, config, exact, *others):
    """How far the logits of others are from the first's, in roots of mean squares. All experts are chosen, so that no
    rounding chooses others."""
    experts = config.get("num_local_experts") or config["n_routed_experts"]
    groups = {"topk_group": config["n_group"]} if "n_group" in config else {}
    model = from_config({**config, "num_experts_per_tok": experts, **groups})

    def run(tokens, *trees):
        return [model.logits(tree, tokens) for tree in trees]

    first, *rest = evaluate(tmp_path, run, TOKENS, exact, *others)
    return [float(np.sqrt(np.mean((logits - first) ** 2) / np.mean(first**2))) for logits in rest]


def off_by_as_much(meant, tensors):
    """The tensors with errors of the sizes that the format has, of random signs."""
    rng = np.random.default_rng(1)
    return {
        name: (array + rng.choice([-1, 1], array.shape) * (array - meant[name].astype(np.float64))).astype(np.float32)
        for name, array in tensors.items()
    }


# --- Four bits: E2M1 in blocks of 32, E8M0 scales ---------------------------------------------------

SIZES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]  # of the eight patterns without a sign


def nibble(x):
    """The nearest, of two the even one."""
    code = min(range(8), key=lambda c: (abs(abs(x) - SIZES[c]), c % 2))
    return code + (8 if math.copysign(1, x) < 0 else 0)


def to_mxfp4(matrices):
    """blocks [E, out, in / 32, 16] and scales [E, out, in / 32] of [E, in, out]."""
    rows = matrices.swapaxes(1, 2)
    experts, out, size = rows.shape
    blocks = np.zeros((experts, out, size // 32, 16), np.uint8)
    scales = np.zeros(blocks.shape[:3], np.uint8)
    for place in np.ndindex(scales.shape):
        part = rows[place[:2]][32 * place[2] :][:32]
        exponent = math.frexp(float(np.abs(part).max()))[1] - 3  # so that the largest is from 4 to 8
        scales[place] = exponent + 127
        codes = [nibble(float(x) / 2.0**exponent) for x in part]
        blocks[place] = [low | high << 4 for low, high in zip(codes[::2], codes[1::2])]
    return blocks, scales


def of_mxfp4(blocks, scales):
    """[E, in, out], float64."""
    *outer, count, _ = blocks.shape
    made = np.zeros((*outer, 32 * count))
    for place in np.ndindex(blocks.shape):
        for half in range(2):
            code = int(blocks[place]) >> 4 * half & 15
            size = SIZES[code & 7] * (-1 if code > 7 else 1)
            made[place[:2]][32 * place[2] + 2 * place[3] + half] = size * 2.0 ** (int(scales[place[:3]]) - 127)
    return made.swapaxes(1, 2)


def packed_mxfp4(tensors):
    """The published form, and what it says, in float64."""
    packed, meant = {}, {}
    for name, array in tensors.items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            blocks, scales = to_mxfp4(array)
            packed |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
            meant[name] = of_mxfp4(blocks, scales)
        else:
            packed[name] = array.astype(ml_dtypes.bfloat16)
            meant[name] = packed[name]
    return packed, meant


def test_gpt_oss_of_four_bits(tmp_path):
    """To the bit what the format says, in bfloat16 and float32; logits as far off as errors of its size make them."""
    model, tensors = drawn(GPT_OSS)
    packed, meant = packed_mxfp4(tensors)
    config = {**GPT_OSS, "quantization_config": MXFP4}
    for dtype in (None, "float32"):
        kind = np.dtype(dtype or ml_dtypes.bfloat16)
        expected = from_tensors({name: array.astype(kind) for name, array in meant.items()}, model.config)
        assert_equal(read(tmp_path, config, packed, dtype), expected)
        # The files say it, whatever the configuration does.
        assert_equal(read(tmp_path, GPT_OSS, packed, dtype), expected)
    swapped = {name: array >> 4 | array << 4 if name.endswith("_blocks") else array for name, array in packed.items()}
    trees = [from_tensors(part, model.config) for part in (tensors, off_by_as_much(meant, tensors))]
    trees += [read(tmp_path, config, files, "float32") for files in (packed, swapped)]
    expected, right, wrong = logits_apart(tmp_path, GPT_OSS, *trees)
    assert expected / 2 < right < 2 * expected and wrong > 4 * right


def test_all_bytes_and_scales_of_four_bits(tmp_path):
    model, tensors = drawn(GPT_OSS)
    packed, _ = packed_mxfp4(tensors)
    name = "model.layers.0.mlp.experts.down_proj"
    blocks, scales = packed[f"{name}_blocks"], packed[f"{name}_scales"]
    blocks[...] = np.arange(blocks.size).reshape(blocks.shape) % 256
    scales[...] = np.arange(scales.size).reshape(scales.shape) % 255
    with np.errstate(over="ignore"):
        expected = of_mxfp4(blocks, scales).astype(np.float32)
        made = read(tmp_path, GPT_OSS, packed, "float32")["layers"][0]["moe"]["wo"]
    assert made.tobytes() == np.ascontiguousarray(expected).tobytes()


# --- Eight bits: a scale for each block -------------------------------------------------------------


def to_blocks(array, rows=128, columns=128):
    """float8_e4m3fn [..., R, C] and factors [..., ceil(R / rows), ceil(C / columns)]."""
    *outer, height, width = array.shape
    made = np.zeros(array.shape, ml_dtypes.float8_e4m3fn)
    scales = np.zeros((*outer, -(-height // rows), -(-width // columns)), np.float32)
    for place in np.ndindex(scales.shape):
        row, column = place[-2] * rows, place[-1] * columns
        part = (*place[:-2], slice(row, row + rows), slice(column, column + columns))
        scales[place] = max(np.abs(array[part]).max(), 1e-30) / 448
        made[part] = (array[part] / scales[place]).astype(made.dtype)
    return made, scales


def of_blocks(elements, scales, rows=128, columns=128):
    """One float32 product for each element, block by block."""
    made = np.zeros(elements.shape, np.float32)
    for place in np.ndindex(scales.shape):
        row, column = place[-2] * rows, place[-1] * columns
        part = (*place[:-2], slice(row, row + rows), slice(column, column + columns))
        made[part] = elements[part].astype(np.float32) * np.float32(scales[place])
    return made


def packed_fp8(tensors, suffix="_scale_inv", kind=np.float32, **sizes):
    packed, meant = {}, {}
    for name, array in tensors.items():
        if "proj" in name and array.ndim > 1:
            elements, scales = to_blocks(array, **sizes)
            packed |= {name: elements, name + suffix: scales.astype(kind)}
            meant[name] = of_blocks(elements, scales.astype(kind), **sizes)
        else:
            packed[name] = meant[name] = array
    return packed, meant


def test_deepseek_v3_of_eight_bits(tmp_path):
    """To the bit; of blocks of which the last are smaller. Logits as far off as errors of its size make them."""
    model, tensors = drawn(V3)
    packed, meant = packed_fp8(tensors)
    config = {**V3, "quantization_config": FP8}
    params = read(tmp_path, config, packed)
    assert_equal(params, from_tensors(meant, model.config))
    # The files say that they have scales, whether the configuration does or not.
    assert_equal(read(tmp_path, V3, packed), params)
    narrow = read(tmp_path, config, {n: a if n in meant and "proj" in n else a.astype(ml_dtypes.bfloat16)
                                     if "scale" not in n else a for n, a in packed.items()})  # fmt: skip
    assert narrow["layers"][1]["moe"].pop("expert_bias").dtype == np.float32
    assert {str(leaf.dtype) for leaf in flatten(narrow)[0]} == {"bfloat16"}
    wq = params["layers"][0]["attention"]["wq"]
    np.testing.assert_array_equal(narrow["layers"][0]["attention"]["wq"], wq.astype(ml_dtypes.bfloat16))
    trees = [from_tensors(part, model.config) for part in (tensors, off_by_as_much(meant, tensors))]
    expected, right = logits_apart(tmp_path, V3, *trees, params)
    assert expected / 2 < right < 2 * expected


def test_other_blocks(tmp_path):
    """Of other sizes, with scales of bfloat16 and other names; one scale for all, or one for each row."""
    model, tensors = drawn(QWEN3)
    for suffix in ("_scale_inv", "_scales_inv", "_scale"):
        packed, meant = packed_fp8(tensors, suffix, ml_dtypes.bfloat16, rows=8, columns=4)
        config = {**QWEN3, "quantization_config": {**FP8, "weight_block_size": [8, 4]}}
        assert_equal(read(tmp_path, config, packed), from_tensors(meant, model.config))
    for rows in (10**9, 1):
        packed, meant = packed_fp8(tensors, "_scale", rows=rows, columns=10**9)
        if rows > 1:
            packed = {n: a.reshape(()) if n.endswith("_scale") else a for n, a in packed.items()}
        config = {**QWEN3, "quantization_config": {"quant_method": "fp8"}}
        assert_equal(read(tmp_path, config, packed), from_tensors(meant, model.config))


def test_scales_of_activations_are_left_out(tmp_path):
    model, tensors = drawn(QWEN3)
    packed, meant = packed_fp8(tensors, "_scale")
    names = [name for name in packed if "_scale" in name]
    extra = {name.replace("weight_scale", "input_scale"): np.ones((), np.float32) for name in names}
    with pytest.warns(WeightsWarning, match=r"32 tensors are left out, first 'model.layers.0.mlp.experts.0.down_proj"):
        params = read(tmp_path, QWEN3, {**packed, **extra})
    assert_equal(params, from_tensors(meant, model.config))


# --- All experts in one tensor ----------------------------------------------------------------------


def fused(tensors, config):
    """As transformers 5 has a model: gate and up one behind the other, [E, 2 H, M] and [E, M, H]."""
    names = ("w1", "w3", "w2") if config["model_type"] == "mixtral" else ("gate_proj", "up_proj", "down_proj")
    rest, made = dict(tensors), {}
    for layer in range(config["num_hidden_layers"]):
        own = f"model.layers.{layer}."
        of_experts = [name for name in tensors if name.startswith(own) and ".experts." in name]
        if not of_experts:
            continue
        count, stem = max(int(name.split(".")[-3]) for name in of_experts) + 1, of_experts[0].split(".experts.")[0]
        gate, up, down = (
            np.stack([rest.pop(f"{stem}.experts.{e}.{part}.weight") for e in range(count)]) for part in names
        )
        made[f"{own}mlp.experts.gate_up_proj"] = np.concatenate([gate, up], 1)
        made[f"{own}mlp.experts.down_proj"] = down
        made[f"{own}mlp.gate.weight"] = rest.pop(f"{stem}.gate.weight")
    return {**rest, **made}


@pytest.mark.parametrize("config", [MIXTRAL, QWEN3, V3], ids=lambda config: config["model_type"])
def test_experts_in_one_tensor(tmp_path, config):
    """As they are, and of eight bits with a scale for each expert's blocks."""
    model, tensors = drawn(config)
    together = fused(tensors, config)
    assert_equal(read(tmp_path, config, together), from_tensors(tensors, model.config))
    packed, meant = packed_fp8(together)
    packed = {name.replace("_proj_scale_inv", "_proj_scales_inv"): array for name, array in packed.items()}
    assert_equal(read(tmp_path, config, packed), from_tensors(meant, model.config))


# --- What is left out, refused, or made another type ------------------------------------------------


def test_layers_that_predict_several_tokens_are_left_out_by_name(tmp_path):
    model, tensors = drawn(V3)
    layer = {name.replace("layers.1.", "layers.2."): array for name, array in tensors.items() if "layers.1." in name}
    further = {**layer, "model.layers.2.eh_proj.weight": np.zeros((160, 320), np.float32)}
    packed, meant = packed_fp8({**tensors, **further})
    config = {**V3, "num_nextn_predict_layers": 1, "quantization_config": FP8}
    with pytest.warns(WeightsWarning, match=rf"{len(further)} tensors are left out, first 'model.layers.2.eh_proj"):
        params = read(tmp_path, config, packed)
    assert_equal(params, from_tensors({name: meant[name] for name in tensors}, model.config))
    with pytest.raises(InputError, match=rf"{len(further)} tensors that nothing reads, first 'model.layers.2.eh_proj"):
        read(tmp_path, V3, packed)
    with pytest.raises(InputError, match=r"no tensor 'model.layers.1.self_attn.o_proj.weight'"):
        read(tmp_path, config, {key: array for key, array in packed.items() if "layers.1.self_attn.o_proj" not in key})


def wrong_files():
    """(configuration, tensors, what is said behind the file's name)."""
    name = "model.layers.0.mlp.experts.0.down_proj.weight"
    packed, _ = packed_fp8(drawn(QWEN3)[1])
    scale = f"{name}_scale_inv"
    without = {key: array for key, array in packed.items() if key != scale}
    yield QWEN3, without, rf"{name}: elements of float8_e4m3fn without scales \(there is no {scale}\)"
    e5m2 = {**without, name: packed[name].astype(ml_dtypes.float8_e5m2)}
    yield QWEN3, e5m2, f"{name}: elements of float8_e5m2 without scales"
    yield QWEN3, {**without, name: np.zeros((16, 10), np.int8)}, f"{name}: elements of int8 without scales"
    yield QWEN3, {**packed, name: np.zeros((16, 10), np.int8)}, f"{name}: elements of int8 with scales"
    yield QWEN3, {**packed, scale: np.ones((3, 1), np.float32)}, r"scales \[3, 1\]: dimension 0 of blocks of 128 has 1"
    yield QWEN3, {**packed, scale: np.ones((1, 1, 2), np.float32)}, r"elements \[16, 10\] with scales \[1, 1, 2\]"
    yield QWEN3, {**packed, scale: np.full((1, 1), np.nan, np.float32)}, f"{name}: a scale that is no finite number"
    name = "model.layers.1.mlp.experts.gate_up_proj"
    packed, _ = packed_mxfp4(drawn(GPT_OSS)[1])
    blocks, scales = packed[f"{name}_blocks"], packed[f"{name}_scales"]
    without = {key: array for key, array in packed.items() if key != f"{name}_scales"}
    yield GPT_OSS, without, f"{name}: {name}_blocks comes without {name}_scales"
    yield GPT_OSS, {**packed, name: blocks}, f"{name}: {name}_blocks is there, too"
    yield GPT_OSS, {**packed, f"{name}_scales": scales[:, :, :1]}, r"blocks \[4, 64, 2, 16\] and scales \[4, 64, 1\]"
    yield GPT_OSS, {**packed, f"{name}_scales": scales.astype(np.float32)}, "scales of float32; expected uint8"
    yield GPT_OSS, {**packed, f"{name}_scales": scales | 255}, f"{name}: a scale of 255, which is no number"
    half = {f"{name}_blocks": blocks[:, :32], f"{name}_scales": scales[:, :32]}
    yield GPT_OSS, {**packed, **half}, r"\[4, 64, 16\] instead"


def test_files_of_few_bits_that_are_wrong(tmp_path):
    for config, tensors, message in wrong_files():
        with pytest.raises(InputError, match=rf"model.safetensors: .*{message}"):
            read(tmp_path, config, tensors)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32"])
def test_masters_of_fewer_bits(tmp_path, kind):
    """dtype=, and a cast of what was read, which needs no program; the experts' bias stays wide."""
    model, tensors = drawn(V3)
    kind = np.dtype(getattr(ml_dtypes, kind, kind))
    files = {name: array if "e_score" in name else array.astype(kind) for name, array in tensors.items()}
    params = read(tmp_path, V3, files)
    wide = {name: array.astype(np.float32) for name, array in files.items()}
    expected = from_tensors(wide, model.config)
    for masters in (read(tmp_path, V3, files, "float32"), optim.cast(params, "float32")):
        assert_equal(masters, expected)
    narrow = read(tmp_path, V3, wide, "bfloat16")
    bias = narrow["layers"][1]["moe"].pop("expert_bias")
    assert bias.dtype == np.float32 and {str(leaf.dtype) for leaf in flatten(narrow)[0]} == {"bfloat16"}
    for wrong in ("int32", shoal.frontend.dtypes.float8_e5m2):
        with pytest.raises(InputError, match="expected floats of 16 bits or more"):
            read(tmp_path, V3, files, wrong)


STRAY_FILES = {
    "shards of an older save, which had more": [f"model-{i:05}-of-00003.safetensors" for i in (1, 2, 3)],
    "one file of all, from before it was cut": ["model.safetensors"],
    "a file of another run": ["model_old.safetensors", "adapter_model.safetensors"],
}


@pytest.mark.parametrize("files", STRAY_FILES.values(), ids=STRAY_FILES)
def test_files_that_no_index_names_are_not_read(tmp_path, files):
    """All of them have all names, with other values."""
    model = from_config(MIXTRAL)
    params, others = model.init(1), to_tensors(model.init(2), model.config)
    for file in files:
        write_file(tmp_path / file, others)
    tensors = to_tensors(params, model.config)
    shards = {f"model-{i + 1:05}-of-00002.safetensors": sorted(tensors)[i::2] for i in range(2)}
    for file, names in shards.items():
        write_file(tmp_path / file, {name: tensors[name] for name in names})
    index = {"weight_map": {name: file for file, names in shards.items() for name in names}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert_equal(model.read(tmp_path), params)
    with shoal.checkpoints.open(tmp_path) as source:
        for name, array in tensors.items():
            np.testing.assert_array_equal(source.read(name), array)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(shoal.CheckpointError, match="model-00002-of-00002.safetensors: is missing"):
        model.read(tmp_path)


# --- What is written --------------------------------------------------------------------------------


def test_a_folder_for_others(tmp_path):
    """config.json and files of few bytes, of a model that was of eight bits and had layers that are left out."""
    model, tensors = drawn(V3)
    published = {**V3, "num_nextn_predict_layers": 1, "quantization_config": FP8, "torch_dtype": "bfloat16",
                 "eos_token_id": 7}  # fmt: skip
    model, params = from_config(published), from_tensors(tensors, model.config)
    model.write(tmp_path, params, max_shard_bytes=300_000)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    files = sorted(set(index["weight_map"].values()))
    count = len(files)
    assert count > 3 and files == [f"model-{i + 1:05}-of-{count:05}.safetensors" for i in range(count)]
    assert index["metadata"]["total_size"] == sum(array.nbytes for array in tensors.values())
    for file in files:
        names = [name for name, other in index["weight_map"].items() if other == file]
        size = sum(tensors[name].nbytes for name in names)
        assert size <= 300_000 or len(names) == 1
        with shoal.checkpoints.open(tmp_path / file) as source:
            assert sorted(source.arrays) == sorted(names)
            assert source.metadata == {"format": "pt"}
    said = json.loads((tmp_path / "config.json").read_text())
    expected = {**V3, "num_nextn_predict_layers": 0, "torch_dtype": "float32", "eos_token_id": 7}
    assert said == {**expected, "architectures": ["DeepseekV3ForCausalLM"]}
    assert_equal(from_config(said).read(tmp_path), params)


def test_a_tensor_of_more_bytes_is_a_file(tmp_path):
    model, _ = drawn(MIXTRAL)
    params = model.init(0)
    model.write(tmp_path, params, 1)
    assert len(list(tmp_path.glob("model-*.safetensors"))) == len(to_tensors(params, model.config))
    assert_equal(model.read(tmp_path), params)
    with pytest.raises(InputError, match="max_shard_bytes: expected an integer from 1"):
        model.write(tmp_path, params, 0)


@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_types_are_said(tmp_path, kind):
    model, _ = drawn(QWEN3)
    params = optim.cast(model.init(0), kind)
    model.over(shoal.moe.Layout.folded({"dp": 2}, {"ep": 2})).write(tmp_path, params)
    said = json.loads((tmp_path / "config.json").read_text())
    assert (said["dtype"], said["architectures"]) == (kind, ["Qwen3MoeForCausalLM"])
    assert_equal(from_config(said).read(tmp_path), params)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_a_configuration_that_was_changed_is_not_written(tmp_path):
    model, _ = drawn(MIXTRAL)
    changed = dataclasses.replace(model, config=dataclasses.replace(model.config, rms_norm_eps=1e-3))
    with pytest.raises(InputError, match="configuration is not that of its config.json"):
        changed.write(tmp_path, model.init(0))
    own = shoal.models.Model(changed.config)
    own.write(tmp_path, model.init(0))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    unreadable = from_config({**MIXTRAL, "task_specific_params": object()})
    with pytest.raises(InputError, match="config.json: Object of type object"):
        unreadable.write(tmp_path, model.init(0))


def test_a_cast_of_arrays_needs_no_program():
    tree = {"a": np.float32([1.5, 2]), "b": np.int32([1]), "c": 0.25, "d": [True]}
    made = optim.cast(tree, "bfloat16")
    assert [str(made[key].dtype) for key in "abc"] == ["bfloat16", "int32", "bfloat16"] and made["d"][0].dtype == bool
    assert float(made["c"]) == 0.25
    chosen = optim.cast(tree, "bfloat16", mask={"a": False, "b": True, "c": True, "d": True})
    assert [str(chosen[key].dtype) for key in "abc"] == ["float32", "int32", "bfloat16"]
    y = shoal.jit(lambda x: optim.cast({"x": x, "y": np.float32([2])}, "bfloat16"))(np.float32([1 / 3]))
    assert_same("of a device's", optim.cast(y, "float32")["x"], np.float32([1 / 3]), np.float32, 2**-8)
    with pytest.raises(shoal.TraceTypeError, match="cast: expected"):
        optim.cast({"a": "text"}, "float32")
