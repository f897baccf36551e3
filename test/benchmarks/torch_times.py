# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds of a forward pass and of a training step with AdamW on one core: torch as it is, torch.compile, and Shoal.

    taskset -c 0 .venv/bin/python test/benchmarks/torch_times.py [--prepare] [--ways eager compile shoal] [--repeat N] [--] [NAME ...]
    taskset -c 0 .venv/bin/python test/benchmarks/torch_times.py --compile [NAME ...]

Thirteen models, of two layers of width 256 and 256 tokens; the three take turns, and the least of each counts. --prepare compiles
all without measuring; both compilers keep what they have made, so that the next call begins to measure at once. --compile measures
what comes before LLVM, of forward passes on four devices by the model's plan: torch.export, the import, the compiler.
Needs torch and transformers.
"""

import argparse
import copy
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("build/release/python", "python", "test/python/support", "test/python/torch/data")]
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT / ".cache/inductor"))

import torch  # noqa: E402
import torch_models  # noqa: E402
import transformers  # noqa: E402
from make import GShard  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal.executable import compile_text  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402
from shoal.torch.shardings import of_state  # noqa: E402

WIDE = {"vocab_size": 1024, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32}
EXPERTS = {"moe_intermediate_size": 256, "shared_expert_intermediate_size": 256}
OWN = {
    "GPT2": {"vocab_size": 1024, "n_embd": 256, "n_head": 8},
    "DeepseekV3": {
        "q_lora_rank": 64, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32, "v_head_dim": 32, "num_key_value_heads": 8,
    },
}  # fmt: skip


def decoder(name, experts):
    shared = {} if name == "GPT2" else WIDE
    fields = {key: value for key, value in {**shared, **EXPERTS, **OWN.get(name, {})}.items() if key in torch_models.DECODERS[name]}
    return torch_models.decoder(name, "eager" if name == "GptOss" else "sdpa", experts, **fields)


def other(name):
    """Encoders of the decoders' width, a network of pictures, GShard's layer; with the arguments of a call."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8}
    ids, pictures = torch.randint(0, 1024, (4, 64)), torch.randn(4, 3, 64, 64)
    if name == "BERT":
        return transformers.BertModel(transformers.BertConfig(vocab_size=1024, **sizes)), {"input_ids": ids}
    if name == "T5":
        config = transformers.T5Config(vocab_size=1024, d_model=256, d_ff=512, d_kv=32, num_layers=2, num_heads=8, use_cache=False)
        return transformers.T5ForConditionalGeneration(config), {"input_ids": ids, "decoder_input_ids": ids[:, :32]}
    if name == "ViT":
        return transformers.ViTModel(transformers.ViTConfig(image_size=64, patch_size=8, **sizes)), {"pixel_values": pictures}
    if name == "ResNet":
        config = transformers.ResNetConfig(embedding_size=32, hidden_sizes=[64, 128], depths=[2, 2], layer_type="basic")
        return transformers.ResNetModel(config), {"pixel_values": pictures}
    return GShard(8, 128, 256, 40), {"x": torch.randn(2, 128, 128)}


def made(name):
    """The modules for torch and for Shoal, with the same numbers, and a call's arguments."""
    if name not in torch_models.DECODERS:
        module, kwargs = other(name)
        return module.eval(), copy.deepcopy(module).eval(), kwargs
    kinds = ("grouped_mm", "shoal") if name in torch_models.SPARSE else (None, None)
    theirs, ours = (decoder(name, kind) for kind in kinds)
    return theirs, ours, {"input_ids": torch.randint(0, 1024, (4, 64), generator=torch.Generator().manual_seed(1))}


def first_of(result):
    return result.logits if hasattr(result, "logits") else torch.utils._pytree.tree_leaves(result)[0]


def loss_of(module, batch):
    if "ForCausalLM" in type(module).__name__ or "LMHead" in type(module).__name__:
        return module(**batch, labels=batch["input_ids"]).loss
    return first_of(module(**batch)).square().mean()


def forwards(theirs, ours, kwargs):
    """name to a call that waits for its result."""
    compiled, run = torch.compile(theirs, fullgraph=True), st.jit(ours)

    def shoals():
        st.to_torch(first_of(run(**kwargs)))

    def torchs(module):
        with torch.no_grad():
            first_of(module(**kwargs)).sum().item()

    return {"eager": lambda: torchs(theirs), "compile": lambda: torchs(compiled), "shoal": shoals}


def steps(theirs, ours, kwargs):
    step = st.train_step(ours, loss_of, torch.optim.AdamW(ours.parameters(), lr=1e-4), kwargs)
    compiled = torch.compile(loss_of)

    def torchs(module, loss, optimizer):
        optimizer.zero_grad()
        value = loss(module, kwargs)
        value.backward()
        optimizer.step()
        value.item()

    modules = {"eager": (theirs, loss_of), "compile": (copy.deepcopy(theirs), compiled)}
    calls = {
        kind: lambda m=module, f=loss, o=torch.optim.AdamW(module.parameters(), lr=1e-4): torchs(m, f, o)
        for kind, (module, loss) in modules.items()
    }
    return {**calls, "shoal": lambda: step(kwargs)}


def least(calls, repeat):
    """Seconds of each, in turns, behind two calls that compile and warm."""
    for call in calls.values():
        call()
        call()
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def compile_seconds(name):
    """Of torch.export, of the import, and of the compiler without LLVM and links."""
    from torch_bars import plan_of

    theirs, _, kwargs = made(name)
    begin = time.perf_counter()
    program = st.export(theirs, (), kwargs)
    exported = time.perf_counter()
    graph = st.from_fx(program)
    text = write_program(graph, shoal.Mesh(expert=2, model=2), shardings=of_state(graph, plan_of(theirs))).text
    imported = time.perf_counter()
    stages = compile_text(text, "cpu", source=name, cache=False, opt_level=0).stats["compile_seconds"]
    ours = sum(stages[stage] for stage in ("parse", "partition", "rematerialize", "lower", "translate"))
    return exported - begin, imported - exported, ours


NAMES = [*torch_models.DECODERS, "BERT", "T5", "ViT", "ResNet", "GShard"]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", default=NAMES)
    options.add_argument("--prepare", action="store_true")
    options.add_argument("--compile", action="store_true")
    options.add_argument("--ways", nargs="+", default=["eager", "compile", "shoal"])
    options.add_argument("--repeat", type=int, default=10)
    options = options.parse_args()
    torch.set_num_threads(1)
    st.register_experts()
    for name in options.names if options.compile else ():
        export, imported, compiled = compile_seconds(name)
        whole = f"{(export + imported + compiled) / export:.2f} of export's in all"
        print(f"{name}: torch.export {export:.2f} s, import {imported:.2f} s, compiler without LLVM {compiled:.2f} s; {whole}", flush=True)
    for name in () if options.compile else options.names:
        for kind, make in (("forward", forwards), ("step", steps)):
            torch._dynamo.reset()
            try:
                calls = make(*made(name))
                best = least({way: calls[way] for way in options.ways}, 0 if options.prepare else options.repeat)
            except Exception as error:
                print(f"{name} {kind}: {type(error).__name__}: {(str(error) or '-').splitlines()[0]}", flush=True)
                continue
            if options.prepare:
                print(f"{name} {kind}: prepared", flush=True)
                continue
            shares = ", ".join(f"{best['shoal'] / best[way]:.2f} of {way}" for way in options.ways if way != "shoal")
            print(f"{name} {kind}: " + ", ".join(f"{way} {1e3 * t:.2f} ms" for way, t in best.items()) + f"; shoal {shares}", flush=True)


if __name__ == "__main__":
    main()
