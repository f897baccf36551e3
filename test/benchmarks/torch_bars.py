# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thirteen models of PyTorch beside torch: values on one, four and eight devices, gradients of all parameters, losses of fifty steps.

    .venv/bin/python test/benchmarks/torch_bars.py values|gradients|steps [NAME ...]

Experts as "grouped_mm", "batched_mm" and "shoal", attention as "eager" and "sdpa". Numbers are differences over the largest that is expected.
Needs torch and transformers.
"""

import copy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("build/release/python", "python", "test/python/support", "test/python/torch/data")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from make import GShard  # noqa: E402
from torch_comparing import array_of  # noqa: E402
from torch_import_testing import run  # noqa: E402
from torch_models import DECODERS, SPARSE, decoder, others, tokens  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import TraceError  # noqa: E402
from shoal.moe import Layout  # noqa: E402
from shoal.torch.derivatives import PREFIX, write_gradients  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402
from shoal.torch.settings import Settings  # noqa: E402
from shoal.torch.shardings import of_arguments, of_state  # noqa: E402
from shoal.torch.train import graph_of_loss  # noqa: E402

# Experts and attention by axes of their own; rows lie over the first.
MESHES = {1: None, 4: shoal.Mesh(expert=2, model=2), 8: shoal.Mesh(expert=4, model=2)}


def variants():
    """name to (a function that makes the module, the arguments of a call)."""
    made = {}
    for name in DECODERS:
        for experts in ("grouped_mm", "batched_mm", "shoal") if name in SPARSE else (None,):
            for attention in ("eager",) if name == "GptOss" else ("eager", "sdpa"):
                label = "/".join(filter(None, (name, attention, experts)))
                made[label] = (lambda n=name, a=attention, e=experts: decoder(n, a, e), {"input_ids": tokens(4, 12)})
    for name, (_, kwargs) in others().items():
        for attention in ("sdpa",) if name == "ResNet" else ("eager", "sdpa"):
            label = name if name == "ResNet" else f"{name}/{attention}"
            made[label] = (lambda n=name, a=attention: others(a)[n][0].eval(), kwargs)
    made["GShard"] = (gshard, {"x": torch.randn(8, 16, 32, generator=torch.Generator().manual_seed(1))})
    return made


def gshard():
    torch.manual_seed(0)
    return GShard(8, 32, 48, 8)


def plan_of(module):
    """By the model's own plans; of one that has none GShard's, or nothing."""
    plan = {"wi": P("expert"), "wo": P("expert")} if isinstance(module, GShard) else {}
    for made, axis in ((st.tp_plan, "model"), (st.ep_plan, "expert")):
        try:
            plan |= made(module, axis)
        except (TraceError, AttributeError):
            continue
    return plan


def settings_of(label, devices, **given):
    layout = Layout(MESHES[devices], {"dp": ("expert",), "ep": ("expert",)}) if label.endswith("shoal") and devices > 1 else None
    return Settings(layout, **given)


def first_of(result):
    return torch.utils._pytree.tree_leaves(result)[0] if not hasattr(result, "logits") else result.logits


def values(label, make, kwargs):
    module = make()
    with torch.no_grad():
        expected = array_of(first_of(module(**kwargs)))
    graph = st.from_fx(st.export(module, (), kwargs))
    inputs = {given.name: array_of(graph.state[given.name]) for given in graph.inputs if given.kind != "user"} | given_of(graph, kwargs)
    errors = []
    for devices, mesh in MESHES.items():
        places = of_state(graph, plan_of(module)) | of_arguments(graph, P("expert")) if mesh else {}
        program = write_program(graph, mesh, shardings=places, settings=settings_of(label, devices))
        name = next(n for n in program.outputs if n not in inputs)
        actual = run(program.text, inputs, program.outputs, 0 if mesh is None else devices)[name]
        errors.append(np.abs(actual - expected).max() / np.abs(expected).max())
    return f"on {', '.join(map(str, MESHES))} devices " + ", ".join(f"{error:.1e}" for error in errors), max(errors) <= 1e-5


def given_of(graph, tree):
    users = [given.name for given in graph.inputs if given.kind == "user" and given.type is not None]
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    return dict(zip(users, map(array_of, leaves), strict=True))


def loss_of(module, batch):
    """A language model's own; of others how far results are from a ramp. (The mean square of a norm's would be constant.)"""
    if "ForCausalLM" in type(module).__name__ or "LMHead" in type(module).__name__:
        return module(**batch, labels=batch["input_ids"]).loss
    result = first_of(module(**batch))
    return (result - torch.linspace(-1, 1, result.shape[-1])).square().mean()


def expected_gradients(module, batch):
    loss = loss_of(module, batch)
    loss.backward()
    return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in module.named_parameters()}


def gradients(label, make, kwargs):
    module = make()
    graph = graph_of_loss(module, loss_of, kwargs)
    names = [given.name for given in graph.inputs if given.kind == "parameter"]
    expected = expected_gradients(copy.deepcopy(module), kwargs)
    inputs = {given.name: array_of(graph.state[given.name]) for given in graph.inputs if given.kind != "user"} | given_of(graph, kwargs)
    worst = []
    for devices in (1, 4):
        places = of_state(graph, plan_of(module)) | of_arguments(graph, P("expert")) if devices > 1 else {}
        program = write_gradients(graph, names, MESHES[devices], shardings=places, settings=settings_of(label, devices, is_differentiated=True))
        results = run(program.text, inputs, program.outputs, 0 if devices == 1 else devices)
        worst.append(max((apart(results[f"{PREFIX}{name}"], array_of(expected[name])), name) for name in names))
    return f"{len(names)} leaves on 1, 4 devices " + ", ".join(f"{error:.1e} of the bar ({name})" for error, name in worst), max(worst)[0] <= 1


def apart(actual, expected):
    """The difference over what may be: 1e-5 of the leaf's largest, 1e-7 of one that is 0 in exact arithmetic."""
    return np.abs(actual - expected).max() / max(1e-5 * np.abs(expected).max(), 1e-7)


def steps(label, make, kwargs, count=50):
    ours, twin = make(), make()
    optimizers = [torch.optim.AdamW(module.parameters(), lr=1e-3) for module in (ours, twin)]
    step = st.train_step(ours, loss_of, optimizers[0], kwargs)
    errors = []
    for _ in range(count):
        value = step(kwargs)["loss"]
        optimizers[1].zero_grad()
        expected = loss_of(twin, kwargs)
        expected.backward()
        optimizers[1].step()
        errors.append(abs(value - expected.item()) / abs(expected.item()))
    return f"losses of {count} steps within {max(errors):.1e}, to {expected.item():.4f}", max(errors) <= 1e-5


BARS = {"values": values, "gradients": gradients, "steps": steps}


def main(bar, names):
    st.register_experts()
    made, missed = variants(), 0
    chosen = [label for label in made if not names or any(label.startswith(name) for name in names)]
    for label in chosen:
        try:
            line, is_kept = BARS[bar](label, *made[label])
        except Exception as error:
            line, is_kept = f"failed: {type(error).__name__}: {(str(error) or '-').splitlines()[0]}", False
        missed += not is_kept
        print(f"{label}: {line}{'' if is_kept else '  MISSED'}", flush=True)
    print(f"{bar}: {len(chosen) - missed} of {len(chosen)} kept")
    return missed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], sys.argv[2:])))
