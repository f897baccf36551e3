# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All decoders of the installed transformers, made small by one rule: which import, and how far logits on one and four devices are from torch's.

    .venv/bin/python test/benchmarks/torch_decoders.py values|gradients [NAME ...]

NAME: a model type, as "mixtral"; by default all that the rule makes a model of that torch itself runs. Weights, which torch begins with constants
in part, are moved at random, so that all of them count. Needs torch and transformers.
"""

import copy
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch_bars as bars  # noqa: E402
import transformers  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES  # noqa: E402

import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import ShoalError  # noqa: E402
from shoal.torch.derivatives import PREFIX, write_gradients  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402
from shoal.torch.settings import Settings  # noqa: E402
from shoal.torch.shardings import of_arguments, of_state  # noqa: E402
from shoal.torch.sources import state_of  # noqa: E402

# Each field that a configuration has.
SMALL = {
    **dict.fromkeys(("vocab_size",), 96), **dict.fromkeys(("hidden_size", "n_embd", "d_model"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "mamba_n_heads", "mamba_num_heads", "linear_num_value_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "linear_num_key_heads"), 2),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("intermediate_size", "intermediate_size_mlp", "dense_intermediate_size", "ffn_dim", "ffn_hidden_size", "d_ff"), 48),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size", "expert_ffn_hidden_size",
                     "moe_shared_expert_intermediate_size"), 24),
    **dict.fromkeys(("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"), 8),
    **dict.fromkeys(("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk", "top_k_experts"), 2),
    **dict.fromkeys(("num_shared_experts", "n_shared_experts", "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index",
                     "moe_layer_end_index", "topk_group", "mamba_n_groups", "n_groups", "bos_token_id"), 1),
    **dict.fromkeys(("n_group", "eos_token_id", "zero_expert_num", "mamba_expand", "expand"), 2), "num_nextn_predict_layers": 0, "pad_token_id": 0,
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "mamba_d_head", "mamba_head_dim"), 16),
    **dict.fromkeys(("head_dim", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "mamba_d_state", "mamba_chunk_size", "linear_key_head_dim",
                     "linear_value_head_dim", "index_head_dim", "attention_chunk_size", "state_size", "chunk_size", "ssm_state_size"), 8),
    # Scores of sparse attention are sums of relus over these: of few many are 0, and equal ones are chosen in any order.
    "index_n_heads": 32, "index_topk": 4, "sliding_window": 6, "conv_kernel": 4, "use_cache": False,
}  # fmt: skip
# Of configurations whose fields depend on each other otherwise.
MORE = {
    "codegen": {"rotary_dim": 8}, "gptj": {"rotary_dim": 8}, "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    **dict.fromkeys(("plbart", "whisper"), {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_layers": 2, "decoder_layers": 2}),
    "jamba": {"num_hidden_layers": 8},
}  # fmt: skip
TOKENS = torch.arange(4 * 12).reshape(4, 12) * 7 % 93 + 3


def config_of(kind):
    text = CONFIG_MAPPING[kind]().get_text_config()
    fields = {name: value for name, value in SMALL.items() if hasattr(text, name)} | MORE.get(kind, {})
    if "kv_lora_rank" in fields:
        fields["num_key_value_heads"] = fields["num_attention_heads"]
        fields.pop("head_dim", None)
    for name in ("layer_types", "mlp_layer_types"):
        kinds = list(dict.fromkeys(getattr(text, name, None) or ()))[:4]
        if name == "layer_types" and kinds:
            fields |= {"layer_types": kinds if len(kinds) > 1 else kinds * 2, "num_hidden_layers": max(2, len(kinds))}
        elif kinds:
            fields[name] = [kinds[min(i, len(kinds) - 1)] for i in range(fields["num_hidden_layers"])]
    while True:
        try:
            return type(text)(**fields)
        except AttributeError as error:  # a field that is only read
            found = re.search(r"property '(\w+)'", str(error))
            if found is None or fields.pop(found[1], None) is None:
                raise


def model_of(kind):
    """The model; an exception of any kind where the rule makes none."""
    torch.manual_seed(0)
    config, name = config_of(kind), CLASSES[kind]
    made = getattr(transformers, name if isinstance(name, str) else name[0])
    with torch.device("meta"):
        if sum(p.numel() for p in made(config).parameters()) > 5_000_000:
            raise ValueError("the rule makes it no smaller")
    model = made(config).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator).to(parameter.dtype) * 0.02)
        model(input_ids=TOKENS)
    if has_experts(model) and hasattr(model, "set_experts_implementation"):
        try:
            model.set_experts_implementation("grouped_mm")
        except ValueError:  # its experts are of one kind
            pass
    return model


def has_experts(model):
    return any("expert" in name for name, _ in model.named_modules())


def places_of(graph, model, devices):
    return of_state(graph, bars.plan_of(model)) | of_arguments(graph, P("expert")) if devices > 1 else {}


def values(model):
    with torch.no_grad():
        expected = bars.array_of(bars.first_of(model(input_ids=TOKENS)))
    graph = st.from_fx(st.export(model, (), {"input_ids": TOKENS}))
    inputs = state_of(graph) | bars.given_of(graph, {"input_ids": TOKENS})
    errors = []
    for devices in (1, 4):
        program = write_program(graph, bars.MESHES[devices], shardings=places_of(graph, model, devices))
        name = next(name for name in program.outputs if name not in inputs)
        actual = bars.run(program.text, inputs, program.outputs, devices if devices > 1 else 0)[name]
        errors.append(np.abs(actual - expected).max() / np.abs(expected).max())
    return ", ".join(f"{error:.1e}" for error in errors), max(errors) <= 1e-5


def gradients(model):
    batch = {"input_ids": TOKENS}
    graph = bars.graph_of_loss(model, bars.loss_of, batch)
    names = [given.name for given in graph.inputs if given.kind == "parameter"]
    expected = bars.expected_gradients(copy.deepcopy(model), batch)
    inputs, worst = state_of(graph) | bars.given_of(graph, batch), []
    for devices in (1, 4):
        told = Settings(None, is_differentiated=True)
        program = write_gradients(graph, names, bars.MESHES[devices], shardings=places_of(graph, model, devices), settings=told)
        results = bars.run(program.text, inputs, program.outputs, devices if devices > 1 else 0)
        worst.append(max((bars.apart(results[f"{PREFIX}{name}"], bars.array_of(expected[name])), name) for name in names))
    return f"{len(names)} leaves " + ", ".join(f"{error:.1e} of the bar ({name})" for error, name in worst), max(worst)[0] <= 1


def main(what, *names):
    transformers.logging.set_verbosity_error()
    counts = {}
    for kind in names or sorted(CLASSES):
        try:
            model = model_of(kind)
        except Exception as error:
            print(f"{kind}: no model: {type(error).__name__}: {str(error).strip().splitlines()[:1]}", flush=True)
            continue
        try:
            line, is_right = {"values": values, "gradients": gradients}[what](model)
            verdict = "right" if is_right else "WRONG"
        except ShoalError as error:
            line, verdict = str(error).splitlines()[0], "refused"
        except Exception as error:
            line, verdict = f"{type(error).__name__}: {error}".splitlines()[0], "FAILED"
        key = verdict, "with experts" if has_experts(model) else "without"
        counts[key] = counts.get(key, 0) + 1
        print(f"{kind}: {verdict}, {key[1]}: {line}", flush=True)
    print(", ".join(f"{count} {verdict} {experts}" for (verdict, experts), count in sorted(counts.items())))


if __name__ == "__main__":
    main(*sys.argv[1:])
