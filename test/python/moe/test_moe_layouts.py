# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of MoE layers: groups of devices, the same results everywhere, and what is sent."""

import math
import re

import numpy as np
import pytest

from checkpoint_cases import devices, same_bits
from frontend_testing import assert_same, evaluate, shoal
from moe_layouts import CASES, all_statistics, assert_drops, program, rank_generator, statistics
from shoal import checkpoints
from shoal.frontend.annotations import as_sharding
from shoal.frontend.pytrees import flatten
from shoal.moe import (
    Layout, MoeConfig, apply_experts, combine, dispatch, init_params, limit, metrics_of, moe, param_shapes,
    param_shardings, plan_dispatch, route, total_loss, upcycle,
)  # fmt: skip
from shoal.mesh_sharding import placement_of
from shoal.moe.tutel import Work, best_degree, degrees
from shoal_testing import BIN, run

# Both factorisations, and the groups that they must have.
LISTED = {
    "DeepSpeed's EP and DP": (
        {"tp": 2, "dp": 8}, {"ep": 4, "edp": 4},
        {"ep": [[0, 1, 2, 3], [4, 5, 6, 7]], "edp": [[0, 4, 8, 12]], "tp": [[0, 1]],
         "dp": [[0, 2, 4, 6, 8, 10, 12, 14]]},
    ),
    "DeepSpeed's EP, DP and TP": (
        {"tp": 2, "dp": 8}, {"etp": 2, "ep": 4, "edp": 2},
        {"ep": [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]],
         "edp": [[0, 8], [7, 15]]},
    ),
    "with stages": (
        {"tp": 2, "dp": 2, "pp": 4}, {"etp": 2, "ep": 2, "edp": 1, "pp": 4},
        {"ep": [[0, 2]], "edp": [[0], [15]], "pp": [[0, 4, 8, 12]]},
    ),
    "Ascend": (
        {"tp": 4, "dp": 4}, {"etp": 4, "ep": 4},
        {"tp": [[0, 1, 2, 3]], "etp": [[0, 1, 2, 3]], "ep": [[0, 4, 8, 12]], "dp": [[0, 4, 8, 12]]},
    ),
    "folding": (
        {"tp": 2, "cp": 2, "dp": 2}, {"etp": 1, "ep": 8},
        {"ep": [list(range(8))], "cp": [[0, 2]], "dp": [[0, 4]]},
    ),
    "CP 8 and EP 8 on 8": ({"cp": 8}, {"ep": 8}, {"cp": [list(range(8))], "ep": [list(range(8))]}),
    "Mixtral 8x7B": (
        {"tp": 1, "dp": 16, "pp": 4}, {"etp": 1, "ep": 8, "edp": 2, "pp": 4},
        {"ep": [list(range(8))], "edp": [[0, 8]], "pp": [[0, 16, 32, 48]]},
    ),
    "Mixtral 8x22B": (
        {"tp": 4, "dp": 4, "pp": 8}, {"etp": 4, "ep": 2, "edp": 2, "pp": 8},
        {"tp": [[0, 1, 2, 3]], "ep": [[0, 4]], "edp": [[0, 8]], "pp": [list(range(0, 128, 16))]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_groups_of_the_literature(name):
    attention, experts, groups = LISTED[name]
    layout = Layout.folded(attention, experts)
    for role, expected in groups.items():
        found = layout.groups(role)
        assert all(group in found for group in expected), (role, found)
        assert len(found) * len(found[0]) == layout.mesh.size


# What Megatron-Core asks its RankGenerator for, major to minor, of attention and of experts.
KINDS = {
    "attention": [("tp",), ("cp",), ("dp",), ("pp",), ("pp", "tp"), ("dp", "cp")],
    "experts": [("etp",), ("ep",), ("edp",)],
}


def test_groups_of_megatron_command_lines():
    """780 of random sizes, each with nine kinds of groups: 7,020 lists, ranks and groups in Megatron's order."""
    rng, count, refused = np.random.default_rng(0), 0, 0
    while count < 780:
        tp, cp, pp, ep, etp, dp = (int(rng.choice([1, 1, 2, 2, 3, 4, 6, 8])) for _ in range(6))
        devices = tp * cp * pp * dp
        if devices > 384 or devices % (etp * ep * pp):
            continue
        flags = f"""--tensor-model-parallel-size {tp} --context-parallel-size {cp}
            --pipeline-model-parallel-size {pp} --expert-model-parallel-size {ep}
            --expert-tensor-parallel-size {etp}"""
        attention = {"tp": tp, "cp": cp, "dp": dp, "pp": pp}
        experts = {"etp": etp, "ep": ep, "edp": devices // (etp * ep * pp), "pp": pp}
        if not refined(attention, experts):
            with pytest.raises(shoal.TraceError, match="no mesh refines"):
                Layout.from_megatron(flags, devices)
            refused += 1
            continue
        count += 1
        layout = Layout.from_megatron(flags, devices)
        for sizes, kinds in ((attention, KINDS["attention"]), (experts, KINDS["experts"])):
            for roles in kinds:
                assert layout.groups(*roles) == rank_generator(sizes, roles), (flags, devices, roles)
    assert refused > 50


def test_megatron_stages_in_front_of_data():
    """--use-tp-pp-dp-mapping: stages next to each other, replicas of the whole behind one another."""
    flags = """--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --expert-model-parallel-size 2
        --expert-tensor-parallel-size 1 --use-tp-pp-dp-mapping"""
    layout = Layout.from_megatron(flags, 8)
    attention, experts = {"tp": 2, "cp": 1, "pp": 2, "dp": 2}, {"etp": 1, "ep": 2, "pp": 2, "edp": 2}
    for sizes, kinds in ((attention, KINDS["attention"]), (experts, KINDS["experts"])):
        for roles in kinds:
            assert layout.groups(*roles) == rank_generator(sizes, roles), roles
    assert layout.groups("pp") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    with pytest.raises(shoal.TraceError, match='role "pp" lies over'):
        Layout.from_megatron(flags.replace("--expert-model-parallel-size 2", "--expert-model-parallel-size 4"), 8)


def refined(*factorisations):
    """Whether one mesh has the axes of both: of all products of first sizes, each divides the next."""
    cuts = sorted({int(cut) for sizes in factorisations for cut in np.cumprod(list(sizes.values()))})
    return all(high % low == 0 for low, high in zip(cuts, cuts[1:]))


def test_what_no_mesh_refines():
    with pytest.raises(shoal.TraceError, match=r"refines \{'tp': 2, 'dp': 3\} and .*: 2 does not divide 3"):
        Layout.folded({"tp": 2, "dp": 3}, {"etp": 3, "ep": 2})
    with pytest.raises(shoal.TraceError, match=r"\{'dp': 4\} is 4 and \{'ep': 8\} is 8"):
        Layout.folded({"dp": 4}, {"ep": 8})
    with pytest.raises(shoal.TraceError, match='role "xp" is not one of'):
        Layout(shoal.Mesh(a=2), {"xp": ("a",)})
    with pytest.raises(shoal.TraceError, match='role "ep": axis "b" is not one of'):
        Layout(shoal.Mesh(a=2), {"ep": ("b",)})


DROPS = {"moe_expert_capacity_factor": 0.75}
RAGGED = {"moe_token_dispatcher_type": "alltoall"}
LAYOUTS = {
    "EP, drops": (Layout.folded({"dp": 4}, {"ep": 4}), DROPS),
    "EDP, ETP": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2}), {}),
    "EDP, ETP, drops": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2}), DROPS),
    "einsum": (Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}), {**DROPS, "moe_token_dispatcher_type": "einsum"}),
    "sorted": (Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}), {"moe_token_dispatcher_type": "sort"}),
    "tokens equal along tp": (Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}, outside=("dp",)), DROPS),
    "one group": (Layout.folded({"dp": 4}, {"ep": 4}), {**DROPS, "moe_group_size": None}),
    "one group, dropless": (Layout.folded({"dp": 4}, {"ep": 2, "edp": 2}), {"moe_group_size": None}),
    "sixteen devices": (Layout.folded({"tp": 2, "dp": 8}, {"etp": 2, "ep": 4, "edp": 2}), DROPS),
    "sixteen devices, dropless": (Layout.folded({"tp": 2, "dp": 8}, {"etp": 2, "ep": 4, "edp": 2}), {}),
    "sixteen devices, ragged": (Layout.folded({"tp": 2, "dp": 8}, {"etp": 2, "ep": 4, "edp": 2}), RAGGED),
    "uneven experts": (Layout.folded({"dp": 4}, {"ep": 4}), {"num_experts": 6}),
    "ragged": (Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}), RAGGED),
    "ragged, EDP, ETP": (Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2}), RAGGED),
    "ragged, tokens equal along tp": (Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}, outside=("dp",)), RAGGED),
    "ragged, tokens on some devices": (Layout(shoal.Mesh(d=2, x=2), {"dp": ("d",), "ep": ("x",)}), RAGGED),
    "ragged, uneven experts and hidden units": (
        Layout.folded({"dp": 4}, {"etp": 2, "ep": 2}),
        {**RAGGED, "num_experts": 3, "moe_ffn_hidden_size": 7, "is_postscore": False},
    ),
    "gathered, EDP, ETP": (
        Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 2, "edp": 2}), {**RAGGED, "moe_expert_rank_capacity_factor": 2.0}
    ),
    "gathered, sixteen devices": (
        Layout.folded({"tp": 4, "dp": 4}, {"etp": 4, "ep": 4}), {**RAGGED, "moe_expert_rank_capacity_factor": 4.0}
    ),
    "gathered, uneven experts and hidden units": (
        Layout.folded({"dp": 4}, {"etp": 2, "ep": 2}),
        {**RAGGED, "num_experts": 3, "moe_ffn_hidden_size": 7, "is_postscore": False, "moe_expert_rank_capacity_factor": 2.0},
    ),
    "ragged, uneven tokens": (Layout.folded({"dp": 3}, {"ep": 3}), RAGGED),
    "ragged, r = 2": (Layout.tutel(2, 4, 2), {"num_experts": 2, **RAGGED}),
    "r = 0": (Layout.tutel(2, 4, 0), {"num_experts": 2, **DROPS}),
    "r = 2": (Layout.tutel(2, 4, 2), {"num_experts": 2, **DROPS}),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_results_do_not_depend_on_the_layout(tmp_path, name):
    """y, losses, metrics and all gradients, with masked tokens."""
    layout, fields = LAYOUTS[name]
    base = {"num_experts": 4, "moe_ffn_hidden_size": 8, "moe_group_size": 8, "gated_linear_unit": True,
            "hidden_act": "silu", "add_bias_linear": True, "moe_aux_loss_coeff": 0.1, "moe_z_loss_coeff": 0.1,
            "moe_router_load_balancing_type": ("aux_loss", "seq_aux_loss")}  # fmt: skip
    config = MoeConfig.flat(**{**base, **fields})
    rng = np.random.default_rng(1)
    x, mask = rng.standard_normal((4, 16, 6)).astype(np.float32), rng.random((4, 16)) < 0.8
    params = init_params(config, 6)
    params["bi"] += 1

    def step(layout, x, params, mask):
        def loss(x, params):
            out = moe(x, params, config, layout, mask=mask)
            return shoal.sum(out.y**2) + total_loss(out.losses, config), out

        return shoal.value_and_grad(loss, (0, 1), has_aux=True)(x, params)

    one = evaluate(tmp_path, lambda *args: step(Layout(), *args), x, params, mask)
    many = evaluate(
        tmp_path, lambda *args: step(layout, *args), x, params, mask, mesh=layout.mesh,
        devices=layout.mesh.size,
    )  # fmt: skip
    for expected, actual in zip(flatten(one)[0], flatten(many)[0]):
        assert_same(name, actual, expected, np.float32, 1e-5)


SPLIT = {
    "one": Layout(),
    "tp": Layout.folded({"tp": 2}, {"ep": 2}),
    "cp": Layout.folded({"cp": 2}, {"ep": 2}),
    "dp": Layout.folded({"dp": 2}, {"ep": 2}),
    "folded": Layout.folded({"tp": 2, "cp": 2, "dp": 2}, {"ep": 8}),
    "in parts": Layout.folded({"tp": 2, "dp": 2}, {"etp": 2, "ep": 2}),
}


@pytest.mark.parametrize("name", SPLIT)
def test_losses_and_the_router_in_float64(tmp_path, name):
    """In 1, 2 and 4 micro-batches on each layout: the strength of a loss depends on neither."""
    layout = SPLIT[name]
    config = MoeConfig.flat(
        8, 8, moe_router_dtype="fp64", moe_group_size=8, moe_z_loss_coeff=0.1, moe_aux_loss_coeff=0.1,
        moe_router_load_balancing_type=("aux_loss", "gshard"), moe_expert_capacity_factor=1.0,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    x, router = rng.standard_normal((8, 16, 6)), rng.standard_normal((6, 8))
    others = {key: np.float64(array) for key, array in init_params(config, 6).items() if key != "router"}

    def run(layout, counts, *args):
        def loss(router, x):
            return total_loss(moe(x, {"router": router, **args[2]}, config, layout).losses, config)

        return [shoal.optim.accumulate(loss, n)(args[0], args[1]) for n in counts]

    ((expected, gradient),) = evaluate(tmp_path, lambda *args: run(Layout(), (1,), *args), router, x, others)
    made = evaluate(
        tmp_path, lambda *args: run(layout, (1, 2, 4), *args), router, x, others, mesh=layout.mesh,
        devices=layout.mesh.size if layout.mesh else 0,
    )  # fmt: skip
    for loss, found in made:
        assert_same("loss", loss, expected, np.float64, 1e-12)
        assert_same("router", found, gradient, np.float64, 1e-12)


SENT = ("EP 4, EDP 2", "EP 2, EDP 2, ETP 2", "folding, TP 2 CP 2 DP 2, EP 8", "DeepSpeed, TP 2 DP 4, EP 4 EDP 2",
        "all-gather, EP 4, EDP 2", "all-gather, EP 2, EDP 2, ETP 2", "ragged, EP 4, EDP 2", "ragged, EP 2, EDP 2, ETP 2",
        "Tutel, r = 0", "Tutel, r = 1", "Tutel, r = 2", "Tutel, r = 4")  # fmt: skip


@pytest.mark.parametrize("name", SENT)
def test_what_is_sent_forward_is_the_formula(name):
    sent, kinds = statistics(program(CASES[name], gradient=False))
    # How many rows each expert has, beside the formula: a number of each from each other device of ep and etp.
    counts = 4 * 8 * (CASES[name].layout.size("ep", "etp") - 1) if name.startswith("all-gather") else 0
    assert sum(sent.values()) <= CASES[name].forward * 1.0005 + counts
    if name == "EP 4, EDP 2":
        assert kinds == {"all_to_all": 2}
    if name.startswith("all-gather"):  # tokens, numbers and weights, and in parts the counts; sums home
        assert kinds["all_gather"] == (4 if "ETP" in name else 3)
        # Of the devices that share an expert each may count its part.
        assert kinds.get("all_reduce", 0) <= ("ETP" in name)


@pytest.mark.parametrize(
    "name", ["EP 2, EDP 2, ETP 2", "Tutel, r = 1", "all-gather, EP 8", "all-gather, EP 2, EDP 2, ETP 2"]
)
def test_what_is_sent_backward_mirrors_it(name):
    sent, _ = statistics(program(CASES[name], gradient=True))
    wanted = CASES[name].forward + CASES[name].backward()
    assert sum(sent.values()) <= wanted * 1.05, (sent, wanted)


def test_which_dispatcher_is_taken():
    """The fewer bytes: with one device of each expert the gather is dearer until k f is e."""
    many = Layout.folded({"dp": 8}, {"ep": 8})
    few = Layout.folded({"dp": 8}, {"ep": 2, "edp": 4})

    def plan(layout, k, **fields):
        config = MoeConfig.flat(8, 16, k, moe_expert_capacity_factor=1.0, **fields)
        return plan_dispatch((8, 64, 32), 4, config, layout)

    assert plan(many, 2).name == "sort"
    assert plan(many, 2).reason == "the fewest bytes; a device sends 28672 by sort or 114688 by allgather bytes"
    assert plan(few, 2).name == "sort" and plan(few, 4).name == "allgather"
    assert plan(few, 4, moe_pad_expert_input_to_capacity=True).name == "sort"
    whole = "experts lie whole on every device; a device sends 0 by sort or 0 by allgather bytes"
    assert plan(Layout(), 4).reason == plan(Layout(), 2, moe_token_dispatcher_type="alltoall").reason == whole
    dropless = plan_dispatch((8, 64, 32), 4, MoeConfig.flat(8, 16), many)
    assert dropless.name == "alltoall" and dropless.bytes_sent["alltoall"] == 28672
    assert plan_dispatch((8, 64, 32), 4, MoeConfig.flat(8, 16, 8), few).name == "allgather"
    bounded = MoeConfig.flat(8, 16, 8, moe_expert_rank_capacity_factor=1.5)
    assert plan_dispatch((8, 64, 32), 4, bounded, few).name == "alltoall"
    parts = Layout.folded({"dp": 8}, {"ep": 4, "etp": 2})
    assert "in parts" in plan_dispatch((8, 64, 32), 4, MoeConfig.flat(8, 16), parts).reason
    assert plan(many, 2, moe_token_dispatcher_type="einsum").reason.startswith("named; a device sends 28672 by")


def test_tutels_degree():
    """The least of the row of the table in docs/results/Layouts.md, for 50 sizes; parameters lie the same for all."""
    rng, taken = np.random.default_rng(2), set()
    for _ in range(50):
        e, s = (int(2 ** rng.integers(0, 4)) for _ in range(2))
        rows, held = 10 ** rng.uniform(3, 9, 2)  # R and P
        row = {r: 2 * rows * ((e - 1) / e + r - 1) + held * (1 - r / s) / (e * r) for r in degrees(e, e * s) if r}
        row[0] = held * (e * s - 1) / (e * s)
        found = best_degree(Work(rows, held), e, e * s)
        assert row[found] == pytest.approx(min(row.values()))
        taken.add(found)
    assert {0, 1, 2, 4} <= taken
    assert degrees(2, 12) == [0, 1, 2, 3, 6]
    placed = {r: blocks(Layout.tutel(2, 8, r)) for r in degrees(2, 8)}
    assert all(place == placed[0] for place in placed.values())
    with pytest.raises(shoal.TraceError, match="r = 3 is neither 0 nor a divisor of 8 / 2 = 4"):
        Layout.tutel(2, 8, 3)
    with pytest.raises(shoal.TraceError, match="3 experts do not divide 8 devices"):
        Layout.tutel(3, 8, 1)


def of_degree(config, r):
    """(layout, the layer, where tokens and parameters lie) of one of Tutel's degrees."""
    layout = Layout.tutel(2, 8, r)
    return layout, lambda x, p: moe(x, p, config, layout).y, (layout.P("outside"), param_shardings(config, layout))


def of_degrees():
    """The layer, its tokens and its parameters."""
    config = MoeConfig.flat(2, 16, moe_group_size=8, moe_expert_capacity_factor=1.0, gated_linear_unit=True, hidden_act="silu")
    x = np.random.default_rng(4).standard_normal((8, 8, 6)).astype(np.float32)
    return config, x, init_params(config, 6)


def test_tutels_degrees_have_the_same_results(tmp_path):
    """Of every r, those of one device."""
    config, x, params = of_degrees()
    one = evaluate(tmp_path, lambda x, p: moe(x, p, config).y, x, params)
    for r in degrees(2, 8):
        layout, layer, places = of_degree(config, r)
        y = evaluate(tmp_path, layer, x, params, mesh=layout.mesh, devices=8, in_shardings=places)
        assert_same(f"r = {r}", y, one, np.float32, 1e-5)


def test_tutels_degrees_have_the_same_parameters(tmp_path):
    """Of every r a device holds an eighth of the experts' bytes, and the router."""
    config, x, params = of_degrees()
    sizes = {name: leaf.size // (1 if name == "router" else 8) for name, leaf in params.items()}
    for r in degrees(2, 8):
        layout, layer, places = of_degree(config, r)
        source = tmp_path / "program.mlir"
        source.write_text(shoal.trace(layer, (x, params), layout.mesh, in_shardings=places))
        local = run(BIN / "shoalc", source, "--emit=spmd", "-o", "-").expect_success().stdout
        held = re.findall(r'tensor<([\dx]+)xf32> \{shoal.global_type = \S+, shoal.name = "p\.(\w+)"', local)
        assert {name: math.prod(map(int, shape.split("x"))) for shape, name in held} == sizes, r


def blocks(layout):
    """Of each device, which experts and which hidden units it stores."""

    def number(device, axes):
        names, sizes = list(layout.mesh.axes), list(layout.mesh.axes.values())
        digits = dict(zip(names, np.unravel_index(device, sizes)))
        return int(np.ravel_multi_index([digits[a] for a in axes], [layout.mesh.axes[a] for a in axes]))

    roles = (("ep", "zero_ep"), ("etp", "zero"))
    counts = [math.prod(layout.mesh.axes[a] for a in layout.axes(*role)) for role in roles]
    return counts, [[number(d, layout.axes(*role)) for role in roles] for d in range(layout.mesh.size)]


# Of 8 experts: whole, in parts, unevenly, with copies, stored in more places than they are used in.
PLACES = {
    "EP 4": Layout.folded({"dp": 4}, {"ep": 4}),
    "EP 2, ETP 2": Layout.folded({"tp": 2, "dp": 2}, {"etp": 2, "ep": 2}),
    "EP 3": Layout.folded({"dp": 3}, {"ep": 3}),
    "EP 2, EDP 2": Layout.folded({"dp": 4}, {"ep": 2, "edp": 2}),
    "stored over all": Layout(shoal.Mesh(e=2, z=2), {"dp": ("e", "z"), "ep": ("e",), "edp": ("z",), "zero": ("z",)}),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_upcycled_experts_are_the_dense_network_anywhere(tmp_path, name):
    """Of granularity 1, 2 and 4, by slots, by exchanged rows and by gathered tokens."""
    layout, model, hidden = PLACES[name], 6, 16
    rng = np.random.default_rng(4)
    shapes = {"wi": (model, hidden), "wg": (model, hidden), "wo": (hidden, model)}
    dense = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    x = rng.standard_normal((4, 16, model)).astype(np.float32)
    fields = {"gated_linear_unit": True, "hidden_act": "silu", "moe_group_size": 8}
    configs = {(g, d): MoeConfig.flat(8, hidden // g, 4, **fields, moe_token_dispatcher_type=d)
               for g in (1, 2, 4) for d in ("sort", "alltoall", "allgather")}  # fmt: skip
    params = {str(g): upcycle(dense, configs[g, "sort"], seed=g, deviation=1.0) for g in (1, 2, 4)}
    places = {str(g): param_shardings(configs[g, "sort"], layout) for g in (1, 2, 4)}
    gate = x @ dense["wg"]
    expected = (gate / (1 + np.exp(-gate)) * (x @ dense["wi"])) @ dense["wo"]

    def run(x, params):
        return {f"{g} {d}": moe(x, params[str(g)], config, layout).y for (g, d), config in configs.items()}

    made = evaluate(tmp_path, run, x, params, mesh=layout.mesh, devices=layout.mesh.size, in_shardings=(None, places))
    for key, y in made.items():
        assert_same(key, y, expected, np.float32, 1e-5)


def test_experts_that_one_layout_saves_any_other_loads(tmp_path):
    """50 pairs of meshes, of 5 to 8 experts that lie over 2, 3 and 4 devices, bit by bit."""
    rng, uneven = np.random.default_rng(6), 0

    def placed(tree, shardings, layout):
        store = devices(layout.mesh.size)
        return {
            name: store.put(leaf, placement_of(as_sharding(shardings[name], leaf.shape, layout.mesh, name), layout.mesh,
                                               leaf.shape, leaf.dtype))
            for name, leaf in tree.items()
        }  # fmt: skip

    for number in range(50):
        config = MoeConfig.flat(int(rng.integers(5, 9)), int(rng.integers(6, 12)), gated_linear_unit=True)
        source, target = (list(PLACES.values())[i] for i in rng.permutation(len(PLACES))[:2])
        uneven += any(config.num_experts % layout.size("ep") for layout in (source, target))
        saved, other = (init_params(config, 6, seed=seed) for seed in (2 * number, 2 * number + 1))
        checkpoints.save(tmp_path / "c", placed(saved, param_shardings(config, source), source))
        loaded = checkpoints.load(tmp_path / "c", placed(other, param_shardings(config, target), target))
        for name, array in saved.items():
            same_bits(loaded[name], array)
    assert uneven > 20


def test_ragged_rows_that_all_go_to_one_device(tmp_path):
    """Others get no row at all; padding tokens go nowhere."""
    layout = Layout.folded({"dp": 4}, {"ep": 4})
    config = MoeConfig.flat(8, 8, 2, router_type="hash", moe_router_load_balancing_type=(), **RAGGED)
    rng = np.random.default_rng(1)
    x, mask = rng.standard_normal((4, 4, 6)).astype(np.float32), np.arange(16).reshape(4, 4) % 5 > 0
    ids, params = np.zeros((4, 4), np.int32), init_params(config, 6)

    def layer(layout, *args):
        return moe(args[0], args[1], config, layout, mask=args[2], token_ids=args[3])

    one = evaluate(tmp_path, lambda *args: layer(Layout(), *args), x, params, mask, ids)
    many = evaluate(
        tmp_path, lambda *args: layer(layout, *args), x, params, mask, ids, mesh=layout.mesh, devices=4
    )  # fmt: skip
    assert np.count_nonzero(one.metrics.counts) <= 2
    assert_same("y", many.y, one.y, np.float32, 1e-5)


# Groups of devices that exchange rows, whose copies of experts are in parts, and how many groups there are.
RANKS = {
    "EP 4": Layout.folded({"dp": 4}, {"ep": 4}),
    "EP 2, ETP 2": Layout.folded({"tp": 2, "dp": 2}, {"etp": 2, "ep": 2}),
    "EP 2, EDP 2": Layout.folded({"dp": 4}, {"ep": 2, "edp": 2}),
    "EP 3, uneven": Layout.folded({"dp": 3}, {"ep": 3}),
}  # fmt: skip


def first_rows(experts, layout, room):
    """Which choices [W, n, k] find room: of a group's, by the device of their expert, then it, then the sender. Of the
    devices that share an expert each has room for what comes from its own senders."""
    kept, e = np.zeros(experts.shape, bool), layout.size("ep")
    for group in layout.groups("ep"):
        for part in range(e):
            mine = [x for x in range(8) if x // -(-8 // e) == part]
            rows = [(w, t, j) for x in mine for w in group for t, j in np.argwhere(experts[w] == x)]
            for row in rows[:room]:
                kept[row] = True
    return kept


@pytest.mark.parametrize("name", RANKS)
def test_a_devices_room(tmp_path, name):
    """What does not fit into a device's buffer is dropped: y, gradients and metrics are those of the other choices."""
    layout, tokens, model = RANKS[name], 12, 6
    config = MoeConfig.flat(8, 8, **RAGGED, moe_expert_rank_capacity_factor=0.75)
    rng, count = np.random.default_rng(2), layout.mesh.size
    x, params = rng.standard_normal((count, tokens, model)).astype(np.float32), init_params(config, model)
    experts = np.argsort(-(x @ params["router"]), -1, kind="stable")[..., :2]
    kept = first_rows(experts, layout, math.ceil(0.75 * tokens * 2))
    assert 0.5 * kept.size < kept.sum() < kept.size

    plain = MoeConfig.flat(8, 8, moe_token_dispatcher_type="sort")
    assert_drops(tmp_path, name, config, plain, layout, x, params, kept)


def test_room_is_what_a_buffer_takes():
    """Of 4 devices a buffer for all that could come has 4 times the mean, and a factor of 1 the mean."""
    layout, held = PLACES["EP 4"], {}
    x = shoal.TensorSpec((64, 64, 32), "float32", layout.P("outside"))
    for factor in (None, 1.0):
        config = MoeConfig.flat(8, 128, **RAGGED, moe_expert_rank_capacity_factor=factor)
        params = {name: shoal.TensorSpec(shape, "float32") for name, shape in param_shapes(config, 32).items()}
        text = shoal.trace(lambda x, p, config=config: moe(x, p, config, layout).y, (x, params), layout.mesh)
        held[factor] = all_statistics(text)["peak_bytes_per_device"]
    rows = 64 * 64 * 2 // 4 * 128 * 4  # hidden units of as many rows as a device has choices
    assert held[None] - held[1.0] > 3 * rows


@pytest.mark.parametrize("dispatcher", ["einsum", "sort", "alltoall", "allgather"])
def test_an_expert_that_passes_rows_on(tmp_path, dispatcher):
    """Beside its products it reads rows themselves: each once, in whatever parts experts lie."""
    layout = Layout.folded({"dp": 4}, {"ep": 4})
    config = MoeConfig.flat(6, 8, moe_token_dispatcher_type=dispatcher)

    def expert(linear, rows, params, config):
        return rows + linear(shoal.gelu(linear(rows, params["wi"])), params["wo"])

    def gradient(config, layout, function):
        def loss(x, params):
            y = moe(x, params, config, layout, expert=function).y
            return shoal.sum(y * y), y

        return shoal.value_and_grad(loss, (0, 1), has_aux=True)

    def plain(x, params):  # weights are of sum 1
        def loss(x, params):
            y = x + moe(x, params, config).y
            return shoal.sum(y * y), y

        return shoal.value_and_grad(loss, (0, 1), has_aux=True)(x, params)

    x, params = np.random.default_rng(2).standard_normal((4, 8, 6)).astype(np.float32), init_params(config, 6)
    expected = evaluate(tmp_path, plain, x, params)
    actual = evaluate(tmp_path, gradient(config, layout, expert), x, params, mesh=layout.mesh, devices=4)
    for made, wanted in zip(flatten(actual)[0], flatten(expected)[0]):
        assert_same(dispatcher, np.asarray(made), np.asarray(wanted), np.float32, 1e-5)
    with pytest.raises(shoal.TraceError, match=r"apply_experts: the function made rows \[.*8\] of rows \[.*6\]"):
        hidden = lambda linear, rows, params, config: linear(rows, params["wi"])  # noqa: E731
        shoal.trace(lambda x, p: moe(x, p, config, layout, expert=hidden).y, (x, params), layout.mesh)


def test_ragged_rows_and_experts_in_parts():
    layout = Layout.folded({"dp": 4}, {"ep": 2, "etp": 2})
    config = MoeConfig.flat(4, 8, **RAGGED)

    def layer(x, params):
        expert = lambda linear, rows, params, config: linear(rows, params["wi"])  # noqa: E731
        return moe(x, params, config, layout, expert=expert).y

    with pytest.raises(shoal.TraceError, match='over 2 devices of "etp".*"allgather" takes it'):
        shoal.trace(layer, (np.ones((4, 4, 6), np.float32), init_params(config, 6)), layout.mesh)


def test_rows_with_room_cross_the_slow_links_once():
    """The devices that share an expert gather them from each other; as many bytes as where each gets its own copy."""
    layout = Layout.folded({"tp": 2, "dp": 4}, {"etp": 2, "ep": 4})
    config = MoeConfig.flat(8, 32, **RAGGED, moe_expert_rank_capacity_factor=1.0)
    x = shoal.TensorSpec((8, 32, 16), "float32", layout.P("outside"))
    params = {name: shoal.TensorSpec(shape, "float32") for name, shape in param_shapes(config, 16).items()}
    text = shoal.trace(lambda x, p: moe(x, p, config, layout).y, (x, params), layout.mesh)
    sent, kinds = statistics(text)
    rows = 8 * 32 * 2 // 8 * 16 * 4  # bytes of the choices of a device
    assert kinds["ragged_all_to_all"] == 2 and sent["ragged_all_to_all"] == 2 * rows * 3 / 4
    numbers = 4 * (3 * 8 + 2 * 2)  # rows of each expert of all senders, and where those of two experts begin and end
    assert sent["all_gather"] - numbers == sent["reduce_scatter"] == rows
    said = plan_dispatch((8, 32, 16), 4, config, layout)
    assert said.bytes_sent["alltoall"] == sent["ragged_all_to_all"] + 2 * rows
    roomy = plan_dispatch((8, 32, 16), 4, config.replace(moe_expert_rank_capacity_factor=1.5), layout)
    assert roomy.bytes_sent["alltoall"] == sent["ragged_all_to_all"] + 3 * rows


def test_an_expert_of_ones_own_has_rows_with_room(tmp_path):
    layout = Layout.folded({"dp": 4}, {"ep": 2, "etp": 2})
    config = MoeConfig.flat(4, 8, **RAGGED, moe_expert_rank_capacity_factor=2.0)

    def expert(linear, rows, params, config):
        return rows + linear(shoal.gelu(linear(rows, params["wi"])), params["wo"])

    def layer(layout, x, params):
        return moe(x, params, config, layout, expert=expert).y

    x, params = np.random.default_rng(2).standard_normal((4, 8, 6)).astype(np.float32), init_params(config, 6)
    one = evaluate(tmp_path, lambda *args: layer(Layout(), *args), x, params)
    many = evaluate(tmp_path, lambda *args: layer(layout, *args), x, params, mesh=layout.mesh, devices=4)
    assert_same("y", many, one, np.float32, 1e-5)
