# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that cross nodes once: the results of one exchange, and what is sent between nodes."""

import math

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal.frontend.pytrees import flatten
from moe_layouts import assert_drops, statistics
from shoal.frontend.tracing import trace_program
from shoal_testing import BIN, mpirun, needs_emulation, run, save_inputs
from shoal.moe import Layout, MoeConfig, init_params, moe, param_shapes, plan_dispatch, total_loss
from shoal.moe.dispatching import dispatch
from shoal.moe.limiting import limit
from shoal.moe.reach import expected_places, mean_places
from shoal.moe.routing import route

FLEX = {"moe_token_dispatcher_type": "flex"}
GROUPS = {"moe_router_num_groups": 4, "moe_router_group_topk": 2, "group_best_of": 2, "moe_router_topk": 4}

# Layouts of nodes, devices of each, and what differs from the layer of all.
CASES = {
    "2 x 2": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {}),
    "2 x 4": (Layout.folded({"dp": 8}, {"ep": 8}, node=4), {"moe_router_topk": 4}),
    "4 x 2": (Layout.folded({"dp": 8}, {"ep": 8}, node=2), {"moe_router_topk": 3}),
    "4 x 2, groups": (Layout.folded({"dp": 8}, {"ep": 8}, node=2), GROUPS),
    "2 x 2, groups": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), GROUPS),
    "4 x 2, more choices than nodes": (Layout.folded({"dp": 8}, {"ep": 8}, node=2), {"moe_router_topk": 6}),
    "weights before": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"is_postscore": False}),
    "room": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"moe_expert_rank_capacity_factor": 4.0}),
    "dropped": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"moe_expert_capacity_factor": 0.5}),
    "uneven experts": (Layout.folded({"dp": 4}, {"ep": 4}, node=2), {"num_experts": 6}),
    "uneven tokens": (Layout.folded({"dp": 6}, {"ep": 6}, node=3), {"num_experts": 12}),
    "ETP": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 4}, node=4), {}),
    "ETP, gathered": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 4}, node=4), {"moe_expert_rank_capacity_factor": 4.0}),
    "EDP": (Layout.folded({"dp": 8}, {"ep": 4, "edp": 2}, node=2), {}),
    "one node": (Layout.folded({"dp": 8}, {"ep": 4, "edp": 2}, node=4), {}),
    "a device a node": (Layout.folded({"dp": 4}, {"ep": 4}, node=1), {}),
}  # fmt: skip


def config_of(fields):
    base = {"num_experts": 8, "moe_ffn_hidden_size": 8, "moe_group_size": 8, "gated_linear_unit": True,
            "hidden_act": "silu", "add_bias_linear": True, "moe_aux_loss_coeff": 0.1}  # fmt: skip
    return MoeConfig.flat(**{**base, **FLEX, **fields})


def arrays(config, rows=16, seed=1):
    rng = np.random.default_rng(seed)
    x, mask = rng.standard_normal((4, rows, 6)).astype(np.float32), rng.random((4, rows)) < 0.8
    params = init_params(config, 6)
    params["bi"] += 1
    return x, params, mask


def step(config, layout):
    def made(x, params, mask):
        def loss(x, params):
            out = moe(x, params, config, layout, mask=mask)
            return shoal.sum(out.y**2) + total_loss(out.losses, config), out

        return shoal.value_and_grad(loss, (0, 1), has_aux=True)(x, params)

    return made


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_one_device(tmp_path, name):
    """y, losses, metrics and all gradients, with masked tokens."""
    layout, fields = CASES[name]
    config = config_of(fields)
    given = arrays(config)
    one = evaluate(tmp_path, step(config, Layout()), *given)
    many = evaluate(tmp_path, step(config, layout), *given, mesh=layout.mesh, devices=layout.mesh.size)
    for expected, actual in zip(flatten(one)[0], flatten(many)[0], strict=True):
        assert_same(name, actual, expected, np.float32, 1e-5)


# Nodes, devices of each, choices, and the factor of rooms.
TIGHT = {"2 x 2": (2, 2, 2, 0.75), "2 x 4": (2, 4, 3, 0.8), "4 x 2": (4, 2, 4, 0.6)}


def kept_by_nodes(experts, nodes, local, factor):
    """Which choices [W, n, k] of E = 16 experts find room: of a device's tokens those for the first nodes; of those for a node
    its first senders'; of what came there the first experts', and of these at each device, too."""
    count, k = experts.shape[1:]
    of_node, mean = 16 // nodes, expected_places(16, nodes, k, 1, 1)
    rows, choices = math.ceil(factor * mean * count), math.ceil(factor * k * count)
    kept = np.zeros(experts.shape, bool)
    sent = {
        (w, node, t) for w in range(nodes * local)
        for node, t in sorted({(x // of_node, t) for t in range(count) for x in experts[w, t]})[:rows]
    }  # fmt: skip
    for node in range(nodes):
        passed = []  # (expert, sender within the node, choice)
        for inner in range(local):
            senders = [a * local + inner for a in range(nodes)]
            there = [(w, t) for w in senders for t in range(count) if (w, node, t) in sent][:rows]
            own = [(experts[w, t, j], inner, (w, t, j)) for w, t in there for j in range(k) if experts[w, t, j] // of_node == node]
            passed += sorted(own, key=lambda row: row[0])[:choices]
        for device in range(local):
            mine = [row for row in passed if row[0] // (of_node // local) == node * local + device]
            for _, _, choice in sorted(mine, key=lambda row: row[:2])[:choices]:
                kept[choice] = True
    return kept


@pytest.mark.parametrize("name", TIGHT)
def test_what_finds_no_room_is_dropped(tmp_path, name):
    """y, gradients and metrics are those of the other choices."""
    nodes, local, k, factor = TIGHT[name]
    layout, count = Layout.folded({"dp": nodes * local}, {"ep": nodes * local}, node=local), 12
    fields = {"moe_router_topk": k, "num_experts": 16, "moe_aux_loss_coeff": 0.0, "moe_group_size": None}
    config = config_of({**fields, "moe_expert_rank_capacity_factor": factor})
    x = np.random.default_rng(2).standard_normal((nodes * local, count, 6)).astype(np.float32)
    params = init_params(config, 6)
    experts = np.argsort(-(x @ params["router"]), -1, kind="stable")[..., :k]
    kept = kept_by_nodes(experts, nodes, local, factor)
    assert 0.4 * kept.size < kept.sum() < kept.size

    plain = config_of({**fields, "moe_token_dispatcher_type": "sort"})
    assert_drops(tmp_path, name, config, plain, layout, x, params, kept)


@pytest.mark.parametrize("name", ["2 x 2", "4 x 2, groups"])
def test_bfloat16_is_rounded_as_one_exchange_is(tmp_path, name):
    """As far from float32 as the plain exchange is, but for one further rounding of a row."""
    layout, fields = CASES[name]
    exact = evaluate(tmp_path, forward(config_of(fields), Layout()), *arrays(config_of(fields)))
    off = {}
    for how in ("alltoall", "flex"):
        config = config_of({**fields, "moe_token_dispatcher_type": how})
        x, params, mask = arrays(config)
        narrow = {key: leaf if key == "router" else leaf.astype(shoal.bfloat16) for key, leaf in params.items()}
        given = x.astype(shoal.bfloat16), narrow, mask
        made = np.float32(evaluate(tmp_path, forward(config, layout), *given, mesh=layout.mesh, devices=layout.mesh.size))
        # A choice of another expert is no rounding.
        off[how] = np.median(np.abs(made - exact))
    assert 0 < off["flex"] <= 1.5 * off["alltoall"]


def forward(config, layout):
    return lambda x, params, mask: moe(x, params, config, layout, mask=mask).y


@pytest.mark.parametrize("name", ["2 x 4", "4 x 2, groups", "ETP, gathered", "a device a node"])
def test_on_eight_ranks(name):
    """Compiled, with all gradients, under mpirun."""
    layout, fields = CASES[name]
    config = config_of(fields)
    given = arrays(config)
    one = shoal.jit(step(config, Layout()))(*given)
    many = shoal.jit(step(config, layout), mesh=layout.mesh)(*given)
    for expected, actual in zip(flatten(one)[0], flatten(many)[0], strict=True):
        assert_same(name, np.asarray(actual), np.asarray(expected), np.float32, 1e-5)


def test_a_token_crosses_once_for_a_node():
    """Bytes of rows between nodes are of tokens and nodes, within one of choices; numbers and weights beside them."""
    layout = Layout.folded({"dp": 8}, {"ep": 8}, node=2)
    config = config_of({**GROUPS, "moe_expert_rank_capacity_factor": 1.0, "add_bias_linear": False, "moe_group_size": None})
    x = shoal.TensorSpec((8, 32, 16), "float32", layout.P("outside"))
    params = {name: shoal.TensorSpec(shape, "float32") for name, shape in param_shapes(config, 16).items()}
    text = shoal.trace(lambda x, p: moe(x, p, config, layout).y, (x, params), layout.mesh)
    sent, kinds = statistics(text)
    # 4 choices in 2 groups of 2 experts are all of these: a token goes to 2 of the 4 nodes.
    assert mean_places(config, 4, 4, 2) == 2
    row, numbers = 16 * 4, 4 * 4
    between = 2 * 32 * (2 * row + 2 * numbers) * 3 // 4
    within = 4 * 32 * 2 * row // 2
    assert kinds["ragged_all_to_all"] == 6 and sent["ragged_all_to_all"] == between + within
    said = plan_dispatch((8, 32, 16), 4, config, layout)
    assert said.name == "flex" and said.bytes_sent["flex"] == between + within - 2 * 32 * 2 * numbers * 3 // 4


def test_rows_are_counted_that_travel(tmp_path):
    """Where there is room for all that could come: the mean of all devices that lists of what they send say, of choices exactly."""
    layout, devices = CASES["2 x 4"][0], 8
    config = config_of({"num_experts": 16, "moe_router_topk": 4, "moe_group_size": None, "add_bias_linear": False})
    x, params = np.random.default_rng(0).standard_normal((8, 64, 6)).astype(np.float32), init_params(config, 6)

    def rows(x, params):
        source = dispatch(x, limit(route(x, params, config), config), config, layout).source
        return source.between[1][:, 1], source.lists[:, 1]

    between, within = (made.sum() / devices for made in evaluate(tmp_path, rows, x, params, mesh=layout.mesh, devices=devices))
    tokens, row, numbers = math.ceil(64 * mean_places(config, 4, 2, 8)), 6 * 4, 4 * 4
    assert within == 64 * 4 and abs(between / tokens - 1) < 0.05

    def backward(x, params):
        return shoal.grad(lambda x, p: shoal.sum(moe(x, p, config, layout).y ** 2), (0, 1))(x, params)

    sent, kinds = statistics(shoal.trace(backward, (x, params), layout.mesh))
    # Rows and their cotangents there and back, experts' numbers, weights and their cotangents.
    assert kinds["ragged_all_to_all"] == 6 + 5
    assert sent["ragged_all_to_all"] == tokens * (4 * row + 3 * numbers) // 2 + 4 * 64 * 4 * row * 3 // 4


def test_where_nodes_have_no_meaning():
    """The plain exchange, with the reason."""
    config = config_of({})
    one = plan_dispatch((8, 8, 6), 4, config, CASES["one node"][0])
    assert one.name == "alltoall" and one.reason.startswith("experts lie in one node")
    assert plan_dispatch((8, 8, 6), 4, config, Layout.folded({"dp": 4}, {"ep": 4})).name == "alltoall"
    assert plan_dispatch((8, 8, 6), 4, config).name == "sort"
    nodes, drops = CASES["2 x 2"][0], {"moe_expert_capacity_factor": 1.0}
    assert plan_dispatch((8, 8, 6), 4, config_of(drops), nodes).name == "flex"
    for field, value in (("moe_pad_expert_input_to_capacity", True), ("a2a_ffn_overlap_degree", 2)):
        slots = plan_dispatch((8, 8, 6), 4, config_of({**drops, field: value}), nodes)
        assert slots.name == "alltoall" and slots.reason.startswith("buffers are ")
    with pytest.raises(shoal.TraceError, match="nodes of 3 devices do not divide 8"):
        Layout.folded({"dp": 8}, {"ep": 8}, node=3)


def drawn_places(experts, places, k, groups, chosen, rng, draws=4000):
    """The mean number of places that k experts of `chosen` groups have, by drawing."""
    size, total = experts // groups, 0
    for _ in range(draws):
        some = rng.choice(groups, chosen, replace=False)
        listed = np.concatenate([np.arange(size) + g * size for g in some])
        total += len({int(x) // (experts // places) for x in rng.choice(listed, k, replace=False)})
    return total / draws


@pytest.mark.parametrize("sizes", [(256, 8, 8, 1, 1), (256, 8, 8, 8, 4), (256, 2, 8, 8, 4), (256, 16, 8, 8, 4), (16, 4, 2, 4, 2)])
def test_nodes_that_a_token_needs(sizes):
    experts, places, k, groups, chosen = sizes
    found = expected_places(*sizes)
    drawn = drawn_places(*sizes, np.random.default_rng(0))
    assert abs(found - drawn) < 0.05 and found <= min(places, k)


@needs_emulation
@pytest.mark.parametrize("name", ["2 x 2", "a device a node"])
def test_for_gpus(tmp_path, name):
    """The GPUs' program, on the emulated device: results and gradients are those of one device."""
    layout, fields = CASES[name]
    config = config_of(fields)
    given = arrays(config)
    one = evaluate(tmp_path, step(config, Layout()), *given)
    made = trace_program(step(config, layout), given, layout.mesh)
    source, binary, out = (tmp_path / part for part in ("layer.mlir", "layer", "gpu"))
    source.write_text(made.text)
    run(BIN / "shoalc", source, "-o", binary, "--target=cuda", "--cuda-arch=emulated").expect_success()
    inputs = save_inputs(tmp_path, dict(zip(made.inputs, flatten(given)[0])))
    mpirun(layout.mesh.size, binary, *inputs, "--output-dir", out).expect_success()
    for result, expected in zip(made.outputs, flatten(one)[0], strict=True):
        assert_same(name, np.load(out / f"{result}.npy"), np.asarray(expected), np.float32, 1e-5)
