# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`st.check`: others' expert parallelism beside ours. Skipped where torch is not installed."""

import re

import pytest

torch = pytest.importorskip("torch")

from expert_parallel_peers import Layer, batch, by_hand, loss  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import InputError, RunError  # noqa: E402
from shoal.torch.checking import Apart, Leaf, Report  # noqa: E402

MESH = shoal.Mesh(data=2, expert=2)
PLAN = {"up": P("expert"), "down": P("expert")}
ROWS = P(("data", "expert"))

# Situations of public threads: what one sees of each, and the first leaf that shows it.
THREADS = {
    "times_ep": ("up", "pytorch#160285, DeepSpeed#5259: experts' gradients are as many times too large as there are parts"),
    "dense_scale": ("up", "Megatron-LM#7165: experts are scaled by the dense parameters' group"),
    "wrong_group": ("up", "Megatron-LM#1628, #5916: experts are summed with others' of another group"),
    "detached_router": ("router", "Automodel#2995: probabilities are gathered without a gradient"),
    "local_router": ("router", "transformers#48687: the router hears of local experts alone"),
    "unreduced_inputs": ("router", "torchtitan#4054: gradients below the experts are summed over no axis that splits these"),
    "unwritten_rows": ("norm", "transformers#48205: rows of no group are left unwritten, also in gradients"),
    "norm_of_one_group": ("grad_norm", "Megatron-LM#5916, Automodel#3816: the norm has one group's experts"),
    "norm_counts_twice": ("grad_norm", "Automodel#3816: the norm counts replicas as often as there are"),
}


def test_steps_that_are_right():
    """By hand and by DTensors: both are as one device, and so is ours."""
    report = st.check(Layer(), loss, batch(), mesh=MESH, params=PLAN, inputs=ROWS, against=by_hand())
    assert report.first is None, str(report)
    assert [leaf.name for leaf in report.leaves] == ["loss", "router", "norm", "up", "down", "grad_norm"]
    assert max(leaf.ours.error for leaf in report.leaves) <= 1e-6
    assert str(report).endswith("all 6 leaves agree with one device within 1e-05")


def test_dtensors():
    report = st.check(Layer(), loss, batch(), mesh=MESH, params=PLAN, inputs=P("data"))
    assert report.first is None, str(report)


@pytest.mark.parametrize("fault", THREADS)
def test_the_first_leaf_that_differs_is_named(fault):
    name, _ = THREADS[fault]
    report = st.check(Layer(), loss, batch(), mesh=MESH, params=PLAN, inputs=ROWS, against=by_hand(fault))
    assert report.first is not None and report.first.name == name, str(report)
    assert max(leaf.ours.error for leaf in report.leaves) <= 1e-6
    last = str(report).splitlines()[-1]
    assert re.fullmatch(rf'the first of \d that differ: "{name}": theirs \S+ at \[[\d, ]*\] of process \d: \S+, expected \S+', last)


def test_experts_without_tokens():
    """Automodel#2995: where no token comes the gradient is none, and no zeros: moments and decay stop there."""
    report = st.check(Layer(unused=2), loss, batch(), mesh=MESH, params=PLAN, inputs=ROWS, against=by_hand("no_gradient"))
    assert report.first is not None and report.first.name == "up" and report.first.theirs.got is None
    assert str(report).splitlines()[-1].endswith('"up": theirs process 1 has none')
    assert max(leaf.ours.error for leaf in report.leaves) <= 1e-6


LAYOUTS = {
    "one axis": (shoal.Mesh(expert=4), PLAN, P("expert")),
    "data and experts": (MESH, PLAN, ROWS),
    "rows over data alone": (MESH, PLAN, P("data")),
    "hidden sizes, too": (shoal.Mesh(expert=2, model=2), {"up": P("expert", None, "model"), "down": P("expert", "model")}, P("expert")),
    "hidden sizes alone": (shoal.Mesh(data=2, model=2), {"up": P(None, None, "model"), "down": P(None, "model")}, P("data")),
    "fully sharded": (shoal.Mesh(data=4), {"up": P(None, "data"), "down": P(None, "data"), "router": P("data")}, P("data")),
    "folded": (shoal.Mesh(a=2, b=2), {"up": P(("a", "b")), "down": P(("a", "b"))}, P(("a", "b"))),
    "eight devices": (shoal.Mesh(data=2, expert=2, model=2), {"up": P("expert", None, "model"), "down": P("expert", "model")}, P(("data", "expert"))),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("unused", [0, 2])
def test_ours_is_as_one_device(name, unused):
    """What the threads are about, on several layouts; theirs is one device's here."""
    mesh, plan, rows = LAYOUTS[name]
    from shoal.torch import checking

    module = Layer(unused)
    graph = checking.graph_of_loss(module, loss, batch())
    names = [given.name for given in graph.inputs if given.kind == "parameter"]
    places = {**checking.of_state(graph, plan), **checking.of_arguments(graph, rows)}
    expected = checking._of_torch(module, loss, batch(), names)
    ours = checking._of_shoal(graph, names, batch(), mesh, places, None)
    assert set(ours) == set(expected) == {"loss", "grad_norm", *names}
    assert max(checking._apart(ours[key], expected[key], abs(expected[key]).max()).error for key in expected) <= 1e-6


def test_what_is_refused():
    arguments = {"mesh": MESH, "params": PLAN, "inputs": ROWS}
    with pytest.raises(InputError, match='expected "dtensor", "transformers", a DistributedConfig of transformers, or a function, got \'megatron\''):
        st.check(Layer(), loss, batch(), against="megatron", **arguments)
    with pytest.raises(InputError, match="check: against transformers: expected a model of transformers, got Layer"):
        st.check(Layer(), loss, batch(), against="transformers", **arguments)
    with pytest.raises(InputError, match="go to new processes: .*; define them at a module's top level"):
        st.check(Layer(), loss, batch(), against=lambda *given: None, **arguments)
    with pytest.raises(RunError, match=r"process 0 of theirs:\n(.|\n)*AttributeError"):
        st.check(Layer(), loss, batch(), against=wrong, **arguments)
    with pytest.raises(InputError, match=r'"up": process 0 has \[3, 8, 12\]; expected \[2, 8, 12\] by the plan, or \[4, 8, 12\]'):
        st.check(Layer(), loss, batch(), against=misshapen, **arguments)


def of_labels(module, ids):
    return module(input_ids=ids, labels=ids).loss


@pytest.mark.parametrize("name, sizes", [("Qwen3Moe", None), ("Mixtral", {"tp_size": 2, "ep_size": 2})])
def test_transformers(name, sizes):
    """Its own expert parallelism: rows of their own on each process, and beside tensor parallelism the same rows."""
    pytest.importorskip("accelerate")
    config = pytest.importorskip("transformers.distributed").DistributedConfig
    from torch_models import decoder, tokens

    model = decoder(name, experts="grouped_mm", num_hidden_layers=1).train()
    against, rows = ("transformers", P("expert")) if sizes is None else (config(**sizes), P())
    plan = st.ep_plan(model) if sizes is None else st.tp_plan(model, "expert") | st.ep_plan(model)
    report = st.check(model, of_labels, tokens(4, 8), mesh=shoal.Mesh(expert=2), params=plan, inputs=rows, against=against)
    assert report.first is None, str(report)
    assert {leaf.name for leaf in report.leaves} == {"loss", *dict(model.named_parameters())}


def wrong(module, loss, batch, mesh):
    return module.nothing, {}


def misshapen(module, loss, batch, mesh):
    return loss(module, batch), {"up": module.up[:3]}


def test_reports_say_where():
    near, far = Apart(0.0, (0,), 1.0, 1.0), Apart(0.5, (1, 2), 3.0, 2.0, 1)
    report = Report([Leaf("loss", (), near, near), Leaf("w", (2, 3), near, far)], 1e-5)
    assert str(report).splitlines() == [
        "loss []: ours 0.0e+00, theirs 0.0e+00",
        "w [2, 3]: ours 0.0e+00, theirs 5.0e-01",
        'the first of 1 that differ: "w": theirs 5.0e-01 at [1, 2] of process 1: 3, expected 2',
    ]
