# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of transformers, imported: values, names, places, gradients. Skipped where torch or transformers is not installed."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import numpy as np  # noqa: E402
from torch_comparing import array_of  # noqa: E402
from torch_import_testing import agrees, run  # noqa: E402
from torch_models import DECODERS, SPARSE, decoder, others, tokens  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal.errors import TraceError  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402

# Attention and experts in turn; gpt-oss has no sdpa.
VARIANTS = [
    (name, "eager" if name == "GptOss" or number % 2 else "sdpa", experts)
    for number, (name, experts) in enumerate(
        (name, experts) for name in DECODERS for experts in (("grouped_mm", "batched_mm") if name in SPARSE else (None,))
    )
]


def imported(model, kwargs, devices=0, **sharding):
    """The first result of a model as the interpreter has it, torch's, and the graph."""
    graph = st.from_fx(st.export(model, (), kwargs))
    program = write_program(graph, **sharding)
    inputs = {given.name: array_of(graph.state[given.name]) for given in graph.inputs if given.kind != "user"}
    users = [given.name for given in graph.inputs if given.kind == "user" and given.type is not None]
    inputs |= dict(zip(users, map(array_of, kwargs.values()), strict=True))
    name = next(output.name for output in graph.outputs if output.kind == "user")
    with torch.no_grad():
        expected = array_of(model(**kwargs).to_tuple()[0])
    return run(program.text, inputs, {name: program.outputs[name]}, devices)[name], expected, graph


@pytest.mark.parametrize("name, attention, experts", VARIANTS)
def test_decoders(name, attention, experts):
    model = decoder(name, attention, experts)
    actual, expected, graph = imported(model, {"input_ids": tokens()})
    assert np.abs(actual - expected).max() <= 1e-6
    assert {given.name for given in graph.inputs if given.kind == "parameter"} <= set(model.state_dict())
    assert all("transformers" in node.place.file and node.place.line for node in graph.nodes)


@pytest.mark.parametrize("name", ["BERT", "T5", "ViT", "ResNet"])
def test_others(name):
    model, kwargs = others()[name]
    actual, expected, _ = imported(model.eval(), kwargs)
    assert agrees(actual, expected)


def test_places_are_the_models_lines_and_modules():
    graph = st.from_fx(st.export(decoder("Mixtral", experts="grouped_mm"), (), {"input_ids": tokens()}))
    modules = {node.place.module for node in graph.nodes}
    assert {"model.embed_tokens", "model.layers.1.mlp.gate", "model.layers.0.mlp.experts", "lm_head"} <= modules
    product = next(node for node in graph.nodes if "grouped_mm" in node.target)
    assert product.place.module == "model.layers.0.mlp.experts"


def test_ops_of_experts_are_products_of_groups():
    """By the groups' sizes, of which the graph has the sums."""
    graph = st.from_fx(st.export(decoder("Qwen3Moe", experts="grouped_mm"), (), {"input_ids": tokens()}))
    # Two layers, of two products each.
    assert write_program(graph).text.count('"shoal.ragged_dot"') == 4


def test_eager_experts_are_refused_with_what_to_do():
    with pytest.raises(TraceError, match=r'modeling_mixtral.py:\d+: torch.export does .* call set_experts_implementation\("grouped_mm"\)'):
        st.export(decoder("Mixtral", experts="eager"), (), {"input_ids": tokens()})


GROWING = """
import shoal.torch as st
from torch_models import decoder, tokens
st.export(decoder("Llama", num_hidden_layers=1), (), {"input_ids": tokens(), "use_cache": True})
"""


def test_caches_that_grow_are_refused_with_what_to_do():
    """In a process of its own: behind a use of transformers' exporters, as st.generator's, caches are trees to torch, and results."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, env=environment)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("shoal.errors.TraceError") and "a cache that grows: give use_cache=False, or a static cache: " in last


@pytest.mark.parametrize("name", ["Mixtral", "DeepseekV3"])
def test_saved_weights_are_read_by_transformers(name, tmp_path):
    model = decoder(name, experts="grouped_mm")
    model.config.save_pretrained(tmp_path)
    st.save_safetensors(tmp_path / "model.safetensors", model.state_dict())
    read = type(model).from_pretrained(tmp_path, attn_implementation="sdpa").eval()
    read.set_experts_implementation("grouped_mm")
    with torch.no_grad():
        assert torch.equal(read(tokens()).logits, model(tokens()).logits)


@pytest.mark.parametrize("name, experts", [("Llama", None), ("Mixtral", "grouped_mm"), ("DeepseekV3", "grouped_mm")])
def test_gradients(name, experts):
    """Of all parameters, by a step of SGD with rate 1: what they lose is their gradient."""
    model = decoder(name, "sdpa", experts)
    batch = {"input_ids": tokens(), "labels": tokens()}
    step = st.train_step(model, lambda m, b: m(**b).loss, torch.optim.SGD(model.parameters(), lr=1.0), batch)
    metrics = step(batch)
    loss = model(**batch).loss
    loss.backward()
    assert abs(metrics["loss"] - loss.item()) <= 1e-6
    after = step.state_dict()
    for key, parameter in model.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        difference = (parameter.detach() - after[key] - expected).abs().max().item()
        # Two numbers of the parameter's size were subtracted.
        assert difference <= 1e-5 * expected.abs().max().item() + 3e-7, (key, difference, expected.abs().max().item())


def test_a_decoder_on_four_devices():
    model = decoder("Llama")
    mesh, P = shoal.Mesh(data=2, model=2), shoal.P
    plan = {"*.{q,k,v,gate,up}_proj.weight": P("model"), "*.{o,down}_proj.weight": P(None, "model")}
    graph = st.from_fx(st.export(model, (), {"input_ids": tokens()}))
    from shoal.torch.shardings import of_arguments, of_state

    shardings = of_state(graph, plan) | of_arguments(graph, P("data"))
    actual, expected, _ = imported(model, {"input_ids": tokens()}, devices=4, mesh=mesh, shardings=shardings)
    assert np.abs(actual - expected).max() <= 1e-6


@pytest.mark.parametrize("name", SPARSE)
def test_plans_of_transformers(name):
    """Experts by the model's ep_plan, attention by its tp_plan, on four devices."""
    model = decoder(name, "eager" if name == "GptOss" else "sdpa", "grouped_mm")
    plan = st.tp_plan(model, "model") | st.ep_plan(model, "expert")
    experts = [spec for key, spec in plan.items() if ".mlp.experts." in key]
    assert experts and all(spec.dims[0] == "expert" for spec in experts)
    from shoal.torch.shardings import of_state

    graph = st.from_fx(st.export(model, (), {"input_ids": tokens()}))
    mesh = shoal.Mesh(expert=2, model=2)
    actual, expected, _ = imported(model, {"input_ids": tokens()}, devices=4, mesh=mesh, shardings=of_state(graph, plan))
    assert np.abs(actual - expected).max() <= 1e-6


def test_a_decoder_on_devices_that_stay():
    """Results nest as the model's, with arrays that stay."""
    model = decoder("Llama", num_hidden_layers=1)
    run_on_devices = st.jit(model, mesh=shoal.Mesh(model=2), params=st.tp_plan(model))
    output = run_on_devices(input_ids=tokens())
    assert type(output).__name__ == "CausalLMOutputWithPast" and isinstance(output.logits, shoal.Array)
    with torch.no_grad():
        torch.testing.assert_close(st.to_torch(output.logits), model(input_ids=tokens()).logits, atol=1e-6, rtol=0)
