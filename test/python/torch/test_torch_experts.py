# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts as one op, by layouts. Skipped where torch or transformers is not installed."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import numpy as np  # noqa: E402
from torch_comparing import array_of  # noqa: E402
from torch_import_testing import run  # noqa: E402
from torch_models import SPARSE, decoder, tokens  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import TraceError, UnsupportedError  # noqa: E402
from shoal.moe import Layout  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402
from shoal.torch.settings import Settings  # noqa: E402
from shoal.torch.shardings import of_arguments, of_state  # noqa: E402

st.register_experts()
MESH = shoal.Mesh(expert=4)
LAYOUT = Layout(MESH, {"dp": ("expert",), "ep": ("expert",)})


def small(name, experts):
    return decoder(name, "eager" if name == "GptOss" else "sdpa", experts, num_hidden_layers=1)


@pytest.mark.parametrize("name", SPARSE)
def test_values_on_four_devices(name):
    """One op for each layer; rows go to their experts' devices, with biases and gates of gpt-oss, too."""
    fields = {"first_k_dense_replace": 0} if name == "DeepseekV3" else {}
    attention = "eager" if name == "GptOss" else "sdpa"
    models = [decoder(name, attention, experts, num_hidden_layers=1, **fields) for experts in ("shoal", "grouped_mm")]
    ids = tokens(4, 8)
    with torch.no_grad():
        ours, theirs = (array_of(model(input_ids=ids).logits) for model in models)
    assert np.abs(ours - theirs).max() <= 1e-6
    graph = st.from_fx(st.export(models[0], (), {"input_ids": ids}))
    assert [node.target for node in graph.nodes].count("shoal.experts.default") == 1
    shardings = of_state(graph, st.ep_plan(models[0], "expert")) | of_arguments(graph, P("expert"))
    program = write_program(graph, MESH, shardings=shardings, settings=Settings(LAYOUT))
    inputs = {given.name: array_of(graph.state[given.name]) for given in graph.inputs if given.kind != "user"}
    actual = run(program.text, inputs | {"input_ids": ids.numpy()}, {"logits": program.outputs["logits"]}, devices=4)
    assert np.abs(actual["logits"] - theirs).max() <= 1e-6


def test_gradients_of_the_op():
    """Where torch runs it: those of grouped products."""
    batch = {"input_ids": tokens(), "labels": tokens()}
    gradients = []
    for experts in ("shoal", "grouped_mm"):
        model = small("GptOss", experts)
        model(**batch).loss.backward()
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, value in gradients[0].items():
        torch.testing.assert_close(value, gradients[1][name], atol=1e-6, rtol=1e-5, msg=name)


def test_a_step_of_training():
    batch = {"input_ids": tokens(4, 8), "labels": tokens(4, 8)}
    model, twin = small("Qwen3Moe", "shoal"), small("Qwen3Moe", "grouped_mm")
    step = st.train_step(
        model, lambda m, b: m(**b).loss, torch.optim.SGD(model.parameters(), lr=1.0), batch,
        params=st.ep_plan(model), inputs=P("expert"), layout=LAYOUT,
    )  # fmt: skip
    loss = twin(**batch).loss
    loss.backward()
    assert step(batch)["loss"] == pytest.approx(loss.item(), abs=1e-6)
    after = step.state_dict()
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(parameter.detach() - parameter.grad, after[name], atol=3e-7, rtol=1e-5, msg=name)


class Layer(torch.nn.Module):
    """Tokens that are routed by what they are called with: an op alone."""

    def __init__(self, experts=8, width=64, hidden=128):
        super().__init__()
        torch.manual_seed(0)
        self.up = torch.nn.Parameter(torch.randn(experts, 2 * hidden, width) * 0.1)
        self.down = torch.nn.Parameter(torch.randn(experts, width, hidden) * 0.1)

    def forward(self, x, index, weights):
        return torch.ops.shoal.experts(x, index, weights, self.up, self.down, None, None, "silu", True, False, False, None, 1.0)


def call():
    index = torch.stack([torch.randperm(8)[:2] for _ in range(512)])
    return torch.randn(512, 64), index, torch.rand(512, 2)


def test_rows_are_exchanged():
    """Two exchanges of rows, there and back; no device has all tokens."""
    layer, arguments = Layer(), call()
    exe = st.compile(layer, arguments, layout=LAYOUT, params={"up": P("expert"), "down": P("expert")}, inputs=P("expert"), outputs=P("expert"))
    rows = {kind: count for kind, count in exe.stats["collectives"].items() if "all_to_all" in kind}
    assert sum(rows.values()) >= 2
    whole = 512 * 64 * 4
    assert sum(exe.stats["bytes_sent_per_device"].values()) < 2 * 2 * whole / 4 + 2 * 8 * 512 * 4
    torch.testing.assert_close(exe(*arguments), layer(*arguments).detach(), atol=1e-5, rtol=1e-5)


def test_mixtral_by_its_plan_on_eight_devices():
    """Two exchanges of rows a layer; of tokens nothing is gathered, only how many rows come."""
    model, ids = decoder("Mixtral", experts="shoal", num_local_experts=8), tokens(8, 16)
    layout = Layout(shoal.Mesh(expert=8), {"dp": ("expert",), "ep": ("expert",)})
    plan = st.ep_plan(model) | {"{model.embed_tokens,lm_head}.weight": P(), "*.{self_attn,gate}.*": P(), "*norm*": P()}
    exe = st.compile(model, (), {"input_ids": ids}, layout=layout, params=plan, inputs=P("expert"), outputs=P("expert"), opt_level=0)
    assert exe.stats["collectives"] == {"ragged_all_to_all": 4, "all_gather": 2}
    gathered = [each["bytes"] for each in exe.stats["collective_list"] if each["kind"] == "all_gather"]
    assert gathered == [7 * 8 * 4] * 2  # of each of the other devices a number of rows for each expert


def test_a_capacity_drops_rows_and_only_when_it_is_asked_for():
    layer, (x, index, weights) = Layer(), call()
    index[:, 0], index[:, 1] = 0, 1  # all to two experts
    expected = layer(x, index, weights).detach()
    assert torch.allclose(st.compile(layer, (x, index, weights))(x, index, weights), expected, atol=1e-5)
    dropped = st.compile(layer, (x, index, weights), capacity_factor=1.0)(x, index, weights)
    assert (dropped == 0).all(1).float().mean() > 0.5


def test_a_layout_has_its_own_mesh():
    with pytest.raises(TraceError, match="layout: is of Mesh.expert=4., and mesh= is Mesh.x=2."):
        st.compile(Layer(), call(), layout=LAYOUT, mesh=shoal.Mesh(x=2))


def test_gates_of_others_are_refused():
    from transformers.models.mixtral.modeling_mixtral import MixtralExperts

    class OwnGate(MixtralExperts):
        def _apply_gate(self, gate_up):
            return gate_up

    model = small("Mixtral", "shoal")
    model.model.layers[0].mlp.experts.__class__ = OwnGate
    with pytest.raises(UnsupportedError, match='OwnGate: its own _apply_gate is not supported by "shoal"; take "grouped_mm"'):
        model(input_ids=tokens())
