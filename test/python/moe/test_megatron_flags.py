# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every flag of Megatron-LM is read, refused or said to have no effect; published command lines are read."""

import random
import re
import warnings

import pytest

from frontend_testing import shoal
from shoal.moe import Layout, MoeConfig
from shoal.moe.megatron import LAYER_FLAGS, LAYOUT_FLAGS
from shoal.moe.megatron_flags import REFUSED_LAYERS, REFUSED_LAYOUTS, WITHOUT_EFFECT

KNOWN = {*LAYER_FLAGS, *LAYOUT_FLAGS, *REFUSED_LAYERS, *REFUSED_LAYOUTS, *WITHOUT_EFFECT}
BASE = "--num-experts 8 --moe-router-topk 2 --ffn-hidden-size 64"


def layer(words):
    return MoeConfig.from_megatron(f"{BASE} {words}")


def layout(words):
    return Layout.from_megatron(words, 8)


def quietly(function, words):
    """What it makes, and what it warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return function(words), [str(warning.message) for warning in said]


def test_each_flag_is_in_one_table():
    tables = {"layer": LAYER_FLAGS, "layout": LAYOUT_FLAGS, "refused layer": REFUSED_LAYERS,
              "refused layout": REFUSED_LAYOUTS, "idle": WITHOUT_EFFECT}  # fmt: skip
    found = {}
    for table, flags in tables.items():
        for name in flags:
            assert re.fullmatch(r"[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*", name), name
            found.setdefault(name, []).append(table)
    several = {name: where for name, where in found.items() if len(where) > 1}
    assert several == {"num-layers": ["layer", "layout"], "yaml-cfg": ["refused layer", "refused layout"]}
    assert len(KNOWN) > 900


# Of each flag that a layer or a layout is made of, words beside it and words with it.
LAYERS = {
    "num-experts": ("", "--num-experts 4"),
    "moe-router-topk": ("", "--moe-router-topk 3"),
    "moe-ffn-hidden-size": ("", "--moe-ffn-hidden-size 32"),
    "moe-router-num-groups": ("--moe-router-group-topk 2 --moe-router-num-groups 4",
                              "--moe-router-group-topk 2 --moe-router-num-groups 2"),
    "moe-router-group-topk": ("--moe-router-group-topk 2 --moe-router-num-groups 4",
                              "--moe-router-group-topk 1 --moe-router-num-groups 4"),
    "moe-router-topk-scaling-factor": ("", "--moe-router-topk-scaling-factor 2.5"),
    "moe-router-bias-update-rate": ("--moe-router-enable-expert-bias", "--moe-router-bias-update-rate 0.1"),
    "moe-expert-rank-capacity-factor": ("--moe-token-dispatcher-type alltoall",
                                        "--moe-token-dispatcher-type alltoall --moe-expert-rank-capacity-factor 1.5"),
    "moe-z-loss-coeff": ("", "--moe-z-loss-coeff 1e-3"),
    "moe-input-jitter-eps": ("", "--moe-input-jitter-eps 0.1"),
    "moe-shared-expert-intermediate-size": ("", "--moe-shared-expert-intermediate-size 8"),
    "moe-router-score-function": ("", "--moe-router-score-function sigmoid"),
    "moe-router-dtype": ("", "--moe-router-dtype fp64"),
    "moe-token-drop-policy": ("--moe-expert-capacity-factor 1.0", "--moe-token-drop-policy position"),
    "moe-router-pre-softmax": ("", "--moe-router-pre-softmax"),
    "moe-router-enable-expert-bias": ("", "--moe-router-enable-expert-bias"),
    "moe-router-force-load-balancing": ("", "--moe-router-force-load-balancing"),
    "moe-shared-expert-gate": ("--moe-shared-expert-intermediate-size 8",
                               "--moe-shared-expert-intermediate-size 8 --moe-shared-expert-gate"),
    "moe-pad-expert-input-to-capacity": ("--moe-expert-capacity-factor 1",
                                         "--moe-expert-capacity-factor 1 --moe-pad-expert-input-to-capacity"),
    "activation-func-clamp-value": ("--quick-geglu --glu-linear-offset 1 --activation-func-clamp-value 7",
                                    "--quick-geglu --glu-linear-offset 1 --activation-func-clamp-value 6"),
    "glu-linear-offset": ("", "--quick-geglu --glu-linear-offset 1 --activation-func-clamp-value 7"),
    "quick-geglu": ("", "--quick-geglu --glu-linear-offset 1 --activation-func-clamp-value 7"),
    "disable-bias-linear": ("", "--disable-bias-linear"),
    "ffn-hidden-size": ("", "--ffn-hidden-size 32"),
    "moe-apply-probs-on-input": ("", "--moe-apply-probs-on-input"),
    "moe-aux-loss-coeff": ("", "--moe-aux-loss-coeff 0.1"),
    "moe-expert-capacity-factor": ("", "--moe-expert-capacity-factor 1.5"),
    "moe-layer-freq": ("", "--moe-layer-freq 2"),
    "moe-router-load-balancing-type": ("", "--moe-router-load-balancing-type sinkhorn"),
    "moe-router-topk-limited-devices": ("--expert-model-parallel-size 4",
                                        "--expert-model-parallel-size 4 --moe-router-topk-limited-devices 2"),
    "moe-token-dispatcher-type": ("", "--moe-token-dispatcher-type alltoall"),
    "swiglu": ("", "--swiglu"),
}  # fmt: skip
STAGES = "--pipeline-model-parallel-size 2 --num-layers 8"
LAYOUTS = {
    "context-parallel-size": ("", "--context-parallel-size 2"),
    "cp-comm-type": ("", "--cp-comm-type a2a"),
    "expert-model-parallel-size": ("", "--expert-model-parallel-size 4"),
    "expert-tensor-parallel-size": ("", "--expert-tensor-parallel-size 2"),
    "global-batch-size": (STAGES, f"{STAGES} --global-batch-size 16"),
    "micro-batch-size": (f"{STAGES} --global-batch-size 16", f"{STAGES} --global-batch-size 16 --micro-batch-size 2"),
    "nproc-per-node": ("--moe-token-dispatcher-type flex", "--moe-token-dispatcher-type flex --nproc-per-node 4"),
    "num-layers": (f"{STAGES} --num-layers-per-virtual-pipeline-stage 2",
                   f"{STAGES} --num-layers-per-virtual-pipeline-stage 2 --num-layers 16"),
    "num-layers-per-virtual-pipeline-stage": (STAGES, f"{STAGES} --num-layers-per-virtual-pipeline-stage 2"),
    "num-virtual-stages-per-pipeline-rank": (STAGES, f"{STAGES} --num-virtual-stages-per-pipeline-rank 2"),
    "pipeline-model-parallel-size": ("", "--pipeline-model-parallel-size 2"),
    "sequence-parallel": ("--tensor-model-parallel-size 2", "--tensor-model-parallel-size 2 --sequence-parallel"),
    "tensor-model-parallel-size": ("", "--tensor-model-parallel-size 2"),
    "use-tp-pp-dp-mapping": (STAGES, f"{STAGES} --use-tp-pp-dp-mapping"),
}  # fmt: skip


def test_every_flag_that_is_read_counts():
    """In one of its functions; the other makes what it made."""
    assert {*LAYERS, "hidden-size", "num-layers"} == set(LAYER_FLAGS) and set(LAYOUTS) == set(LAYOUT_FLAGS)
    for cases, function, other in ((LAYERS, layer, layout), (LAYOUTS, layout, layer)):
        for name, (without, words) in cases.items():
            assert f"--{name}" in words and quietly(function, words)[0] != quietly(function, without)[0], name
            if name != "num-layers":
                assert quietly(other, without)[0] == quietly(other, words)[0] or name in LAYER_FLAGS, name
    hidden = {size: MoeConfig.from_megatron(f"--num-experts 8 --hidden-size {size}") for size in (16, 32)}
    assert [made.moe_ffn_hidden_size for made in hidden.values()] == [64, 128]
    for number, message in ((4, "expected 4 of 0 and 1, got 3"), (2**62, f"{2**62} layers; expected at most")):
        with pytest.raises(shoal.TraceError, match=f"moe_layer_freq: {message}"):
            layer(f"--moe-layer-freq [1]*3 --num-layers {number}")


@pytest.mark.parametrize("function, refused", [(layer, REFUSED_LAYERS), (layout, REFUSED_LAYOUTS)])
def test_every_flag_that_is_refused(function, refused):
    """With its reason, and by the function whose it is alone."""
    for name, why in refused.items():
        with pytest.raises(shoal.UnsupportedError) as error:
            function(f"--{name} 1")
        assert str(error.value) == f"from_megatron: --{name}: {why}"
    for name in {*REFUSED_LAYERS, *REFUSED_LAYOUTS} - set(refused):
        assert function(f"--{name} 1") == function("")
    for why in refused.values():
        for flag in re.findall(r"--([a-z-]+)", why):
            assert flag in LAYER_FLAGS or flag in LAYOUT_FLAGS, f"{why}: which is not read"


@pytest.mark.parametrize("function", [layer, layout])
def test_flags_without_an_effect_are_said(function):
    """In a line for each reason, at the line of the caller."""
    made, said = quietly(function, " ".join(f"--{name} 1" for name in WITHOUT_EFFECT))
    assert made == function("")
    assert len(said) == len(set(WITHOUT_EFFECT.values()))
    for name, why in WITHOUT_EFFECT.items():
        assert any(re.search(rf"--{name}[ ,].* no effect: {re.escape(why)}$", line) for line in said), name
    with pytest.warns(UserWarning, match="^from_megatron: --fp8-format has no effect: types are those") as record:
        Layout.from_megatron("--fp8-format hybrid", 8)
    assert [warning.filename for warning in record] == [__file__]
    with pytest.warns(UserWarning, match="^from_megatron: --bf16, --fp8-format have no effect") as record:
        MoeConfig.from_megatron(f"{BASE} --bf16 --fp8-format hybrid")
    assert [warning.filename for warning in record] == [__file__]


def test_what_has_no_effect_beside_others():
    cases = {
        "--moe-router-pre-softmax --moe-router-score-function sigmoid": "--moe-router-pre-softmax has no effect: these",
        "--moe-router-load-balancing-type none --moe-aux-loss-coeff 0.1": "--moe-aux-loss-coeff has no effect: .* none has",
        "--moe-router-bias-update-rate 0.1": "--moe-router-bias-update-rate has no effect: experts have no bias",
        "--moe-token-drop-policy position": "--moe-token-drop-policy has no effect: nothing is dropped",
        "--moe-router-load-balancing-type sinkhorn --moe-aux-loss-coeff 0.1": "--moe-aux-loss-coeff has no effect",
    }
    for words, message in cases.items():
        with pytest.warns(UserWarning, match=f"^from_megatron: {message}") as record:
            MoeConfig.from_megatron(f"{BASE} {words}")
        assert [warning.filename for warning in record] == [__file__]
    with pytest.warns(UserWarning, match="--micro-batch-size, --global-batch-size have no effect: without stages"):
        Layout.from_megatron("--micro-batch-size 2 --global-batch-size 16", 8)


@pytest.mark.parametrize("function", [layer, layout])
def test_slips_are_named(function):
    """Of each flag that is known: a letter too few, too many, or two that changed places."""
    for name in sorted({*LAYER_FLAGS, *LAYOUT_FLAGS} - {"swiglu"}):
        middle = len(name) // 2
        for slip in (name[:middle] + name[middle + 1 :], name + "s", name[:2] + name[3:4] + name[2:3] + name[4:]):
            if slip not in KNOWN:
                with pytest.raises(shoal.UnsupportedError) as error:
                    function(f"--{slip} 2")
                assert str(error.value) == f"from_megatron: --{slip} is not known; nearest is --{name}"
    with pytest.raises(shoal.UnsupportedError, match="--zzzz is not known; no known name is like it"):
        function("--zzzz")


def misspelt(rng, name):
    """A slip of the fingers, a plural, or a word too few."""
    place = rng.randrange(1, len(name) - 1)
    slips = [name[:place] + name[place + 1 :], name[:place] + name[place] + name[place:], name + "s",
             name[:place] + rng.choice("aeiorst") + name[place + 1 :],
             name[:place] + name[place + 1] + name[place] + name[place + 2 :]]  # fmt: skip
    words = name.split("-")
    if len(words) > 2:
        words.pop(rng.randrange(len(words)))
        slips.append("-".join(words))
    return rng.choice([slip for slip in slips if slip not in KNOWN] or [name + "ss"])


def test_of_sixty_misspelt_flags_the_nearest_is_meant():
    rng, right = random.Random(0), 0
    for name in rng.sample(sorted(KNOWN), 60):
        slip = misspelt(rng, name)
        with pytest.raises(shoal.UnsupportedError, match=f"--{slip} is not known") as error:
            layout(f"--{slip} 1")
        right += str(error.value).endswith(f"; nearest is --{name}")
    assert right >= 55
    for short, meant in (("moe-topk", "moe-router-topk"), ("tensor-parallel", "tensor-model-parallel-size"),
                         ("seq-len", "seq-length"), ("num-moe-experts", "num-experts")):  # fmt: skip
        with pytest.raises(shoal.UnsupportedError, match=f"; nearest is --{meant}$"):
            layout(f"--{short} 2")


@pytest.mark.parametrize("words, message", [
    ("-swiglu", "'-swiglu' is neither a flag, which begins with --, nor a value"),
    ("--bf16 ${MOE_ARGS[@]}", "'${MOE_ARGS[@]}' is neither a flag"),
    ("--moe-router-load-balancing-type quantile_balancing", "--moe-router-load-balancing-type quantile_balancing; expected"),
    ("--moe-router-load-balancing-type none aux_loss", "--moe-router-load-balancing-type none aux_loss; expected some of"),
    ("--moe-token-dispatcher-type tree", "--moe-token-dispatcher-type tree; expected one of"),
    ("--disable-bias-linear yes", "--disable-bias-linear takes no value, got ['yes']"),
    ("--quick-geglu", "--quick-geglu: there is no such activation; gpt-oss's is"),
    ("--glu-linear-offset 1 --activation-func-clamp-value 7", "there is no such activation; gpt-oss's is"),
    ("--quick-geglu --glu-linear-offset 2 --activation-func-clamp-value 7", "there is no such activation"),
    ("--quick-geglu --glu-linear-offset 1 --activation-func-clamp-value 7 --swiglu", "there is no such activation"),
])  # fmt: skip
def test_words_that_say_nothing(words, message):
    with pytest.raises((shoal.TraceError, shoal.UnsupportedError), match=re.escape(f"{message}")):
        quietly(layer, words)
    with pytest.raises(shoal.TraceError, match="'num-experts' stands in front of the first flag"):
        MoeConfig.from_megatron("num-experts 8 --swiglu")


# What published scripts say of layers and layouts, with some of the rest, and what it is.
RECIPES = {
    "Mixtral 8x7B": (
        """torchrun --nproc_per_node 8 --nnodes 1 --node_rank 0 --master_addr localhost --master_port 29500 pretrain_gpt.py
        --use-mcore-models --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768 --num-layers 32
        --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --init-method-std 0.01 --attention-dropout 0.0
        --hidden-dropout 0.0 --normalization RMSNorm --position-embedding-type rope --swiglu --group-query-attention
        --untie-embeddings-and-output-weights --num-query-groups 8 --no-masked-softmax-fusion --no-position-embedding
        --rotary-base 1000000 --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss
        --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --overlap-param-gather
        --overlap-grad-reduce --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOKENIZER_MODEL} --data-path $DATA_PATH
        --split 99990,8,2 --micro-batch-size 1 --global-batch-size 256 --lr 1e-4 --train-iters 500000 --min-lr 1.0e-5
        --lr-decay-iters 320000 --lr-decay-style cosine --weight-decay 0.1 --lr-warmup-iters 500 --clip-grad 1.0 --bf16
        --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 --expert-model-parallel-size 8
        --use-distributed-optimizer --sequence-parallel --log-interval 1 --save-interval 10000 --eval-interval 1000
        --eval-iters 10 --save $CHECKPOINT_PATH --load $CHECKPOINT_PATH --no-load-optim --no-load-rng
        --tensorboard-dir "${CHECKPOINT_PATH}/tensorboard" --wandb-project ${WANDB_PROJECT:-"Mixtral"}""",
        {"num_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 14336, "hidden_act": "silu"}, 32, 64,
        {"ep": 8, "pp": 4, "dp": 16},
    ),
    "DeepSeek-V3": (
        """--tensor-model-parallel-size 1 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1
        --context-parallel-size 1 --use-flash-attn --disable-bias-linear --recompute-granularity selective
        --recompute-modules mlp moe mla_up_proj layernorm --transformer-impl transformer_engine --num-layers 61
        --hidden-size 7168 --ffn-hidden-size 18432 --kv-channels 128 --make-vocab-size-divisible-by 3232
        --normalization RMSNorm --norm-epsilon 1e-6 --swiglu --multi-latent-attention --qk-layernorm --num-experts 256
        --moe-layer-freq [0]*3+[1]*58 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048
        --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 8 --moe-token-dispatcher-type flex
        --moe-flex-dispatcher-backend hybridep --moe-router-pre-softmax --moe-grouped-gemm --moe-aux-loss-coeff 1e-4
        --moe-router-group-topk 4 --moe-router-num-groups 8 --moe-router-topk-scaling-factor 2.5
        --moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-bias-update-rate 1e-3
        --moe-router-dtype fp32 --moe-permute-fusion --moe-router-force-load-balancing --q-lora-rank 1536
        --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --rotary-scaling-factor 40
        --mscale 1.0 --mscale-all-dim 1.0 --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 --bf16 --enable-experimental
        --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --calculate-per-token-loss
        --init-model-with-meta-device --ckpt-format fsdp_dtensor --profile --profile-ranks 0""",
        {"num_experts": 256, "moe_router_topk": 8, "moe_router_score_function": "sigmoid",
         "moe_shared_expert_intermediate_size": 2048, "moe_router_load_balancing_type": ("seq_aux_loss",),
         "moe_router_force_load_balancing": True, "moe_router_enable_expert_bias": True}, 58, 8, {"ep": 8, "dp": 8},
    ),
    "GLM-4.7-Flash": (
        r"""--moe-layer-freq \"'([0]*1+[1]*46)'\" --num-layers 47 --num-experts 64 --moe-router-topk 4 --moe-grouped-gemm
        --moe-shared-expert-intermediate-size 1536 --moe-ffn-hidden-size 1536 --moe-router-score-function sigmoid
        --moe-router-pre-softmax --moe-router-enable-expert-bias --moe-router-bias-update-rate 0
        --moe-router-load-balancing-type seq_aux_loss --moe-router-topk-scaling-factor 1.8 --moe-aux-loss-coeff 0
        --moe-router-dtype fp32 --swiglu --disable-bias-linear""",
        {"num_experts": 64, "moe_router_topk_scaling_factor": 1.8, "moe_router_bias_update_rate": 0.0}, 46, 4, {"dp": 4},
    ),
    "gpt-oss-20b": (
        """--bf16 --no-rope-fusion --num-layers 24 --hidden-size 2880 --ffn-hidden-size 2880 --num-experts 32
        --moe-ffn-hidden-size 2880 --moe-router-dtype fp32 --moe-router-topk 4 --moe-aux-loss-coeff 0.0
        --moe-token-dispatcher-type alltoall --moe-router-score-function softmax --sequence-parallel --quick-geglu
        --moe-router-load-balancing-type aux_loss --export-force-local-attention --no-bias-dropout-fusion
        --padded-vocab-size 201088 --glu-linear-offset 1.0 --softmax-type learnable --window-attn-skip-freq 2
        --enable-gpt-oss --activation-func-clamp-value 7.0 --window-size 127,0""",
        {"num_experts": 32, "swiglu_limit": 7.0, "gated_linear_unit": True, "add_bias_linear": True}, 24, 4, {"dp": 4},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECIPES)
def test_published_scripts(name):
    words, fields, experts, devices, sizes = RECIPES[name]
    words = words.replace(r"\"", '"')
    config, said = quietly(MoeConfig.from_megatron, words)
    assert {field: getattr(config, field) for field in fields} == fields
    layers = int(re.search(r"--num-layers (\d+)", words).group(1))
    assert sum(config.layers(layers)) == experts and said
    made, _ = quietly(lambda text: Layout.from_megatron(text, devices), words)
    assert {role: made.size(role) for role in sizes} == sizes
