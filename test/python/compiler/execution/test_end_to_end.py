# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MoE layer from annotated text to numbers, against NumPy.

Each case compiles one program, runs it in the interpreter (one device, and all
devices in one process) and as an executable under mpirun.
"""

import numpy as np
import pytest
from moe_program import RESULTS, Layer, Layout, program_text
from shoal_testing import TARGET, load_json, load_results, mpirun, relative_difference
from shoal_testing import save_inputs, shoal_run, shoalc

TOLERANCE = 1e-5


def expert_parallel(devices):
    """GShard's own annotations: groups, then experts, then groups."""
    annotations = {
        "x": ("split", 0, devices),
        "wg": ("replicate",),
        "dispatched": ("split", 0, devices),
        "outputs": ("split", 0, devices),
    }
    return Layout(f"ep{devices}", {"expert": devices}, annotations)


DATA = ("data", "expert")

EP_DP = Layout(
    "ep4-dp2",
    {"data": 2, "expert": 4},
    {
        "x": ("axes", (DATA, (), ())),
        "wi": ("axes", (("expert",), (), ())),
        "wo": ("axes", (("expert",), (), ())),
        "dispatched": ("axes", (("expert",), ("data",), (), ())),
        "outputs": ("axes", (DATA, (), (), ())),
    },
)

EP_DP_TP = Layout(
    "ep2-dp2-tp2",
    {"data": 2, "expert": 2, "tensor": 2},
    {
        "x": ("axes", (DATA, (), ())),
        "wi": ("axes", (("expert",), (), ("tensor",))),
        "wo": ("axes", (("expert",), ("tensor",), ())),
        "dispatched": ("axes", (("expert",), ("data",), (), ())),
        "y": ("axes", (DATA, (), ())),
    },
)

ALL_GATHER_EP = Layout(
    "all-gather-ep4",
    {"expert": 4},
    {
        "x": ("split", 0, 4),
        "gates": ("replicate",),
        "dispatched": ("split", 0, 4),
        "y": ("split", 0, 4),
    },
)

SEQUENCE = Layout(
    "sequence2-model2-tokens",
    {"sequence": 2, "model": 2},
    {"x": ("axes", ((), ("sequence",), ("model",)))},
)

LAYOUTS = (
    *(expert_parallel(devices) for devices in (1, 2, 4, 8)),
    EP_DP,
    EP_DP_TP,
)

SIZES = {
    "even": Layer(),
    "groups6": Layer(groups=6),
    "experts6": Layer(experts=6),
    "primes": Layer(groups=5, tokens=13, model=7, experts=3, hidden=11, capacity=5),
}

VARIANTS = {
    "k1": Layer(k=1),
    "k3": Layer(k=3, capacity=4),
    "capacity-factor": Layer(tokens=20, capacity=None, capacity_factor=1.25),
    "random-routing": Layer(random_routing=True),
    "one-token-groups": Layer(groups=7, tokens=1),
}


def check_results(directory, expected, what):
    """Numbers within the tolerance, and every token at the same place."""
    results = load_results(directory, RESULTS)
    same = np.array_equal(results["dispatch"], expected["dispatch"])
    assert same, f"{what}: the routing differs"
    for name in ("y", "aux", "combine"):
        difference = relative_difference(results[name], expected[name])
        assert difference <= TOLERANCE, f"{what}: {name} differs by {difference:.1e}"


def check_everywhere(layer, layout, directory):
    """One program: on one device, on all in one process, under mpirun."""
    source = directory / "layer.mlir"
    source.write_text(program_text(layer, layout))
    inputs = layer.inputs()
    expected = layer.reference(inputs)
    flags = save_inputs(directory, inputs)
    for devices in (0, layout.devices):
        output = directory / f"interpreted-{devices}"
        arguments = (f"--devices={devices}", *flags, "--output-dir", output)
        shoal_run(source, *arguments).expect_success()
        check_results(output, expected, f"shoal-run --devices={devices}")
    program, output = directory / "layer", directory / "executable"
    shoalc(source, program).expect_success()
    mpirun(layout.devices, program, *flags, "--output-dir", output).expect_success()
    check_results(output, expected, f"mpirun -n {layout.devices}")


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("size", SIZES)
def test_sizes_on_every_mesh(size, layout, tmp_path):
    check_everywhere(SIZES[size], layout, tmp_path)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gating_variants_on_four_devices(variant, tmp_path):
    check_everywhere(VARIANTS[variant], expert_parallel(4), tmp_path)


@pytest.mark.parametrize("layout", (ALL_GATHER_EP, SEQUENCE), ids=lambda l: l.name)
@pytest.mark.parametrize("size", ("even", "primes"))
def test_other_layouts(size, layout, tmp_path):
    check_everywhere(SIZES[size], layout, tmp_path)


def test_no_annotation_at_all_runs_replicated_or_better(tmp_path):
    check_everywhere(Layer(), Layout("bare", {"expert": 4}), tmp_path)


def test_gshard_layer_needs_two_all_to_alls_and_a_scalar_all_reduce(tmp_path):
    layer = Layer(8, 512, 256, 8, 1024, capacity=128)
    source, stats = tmp_path / "layer.mlir", tmp_path / "stats.json"
    source.write_text(program_text(layer, expert_parallel(8)))
    shoalc(source, tmp_path / "layer", "--stats", stats).expect_success()
    static = load_json(stats)
    assert static["devices"] == 8
    assert static["collectives"] == {"all_to_all": 2, "all_reduce": 1}
    buffer = 8 * 8 * 128 * 256 * 4 // 8  # bytes of [E, G, C, M] on a device
    sent = static["bytes_sent_per_device"]
    assert sent["all_to_all"] == 2 * buffer * 7 // 8
    assert sent["all_reduce"] <= 2 * 4  # ring: 2 * 7/8 of one f32


def test_executable_reports_what_the_compiler_predicted(tmp_path):
    layer, layout = Layer(), expert_parallel(4)
    source, program = tmp_path / "layer.mlir", tmp_path / "layer"
    static, measured = tmp_path / "static.json", tmp_path / "measured.json"
    source.write_text(program_text(layer, layout))
    shoalc(source, program, "--stats", static).expect_success()
    flags = ("--random-inputs=1", "--repeat", 2, "--warmup", 1, "--stats", measured)
    mpirun(4, program, *flags).expect_success()
    static, measured = load_json(static), load_json(measured)
    assert measured["devices"] == 4
    assert measured["target"] == ("cpu" if TARGET == "cpu" else "cuda")
    assert measured["collectives"] == static["collectives"]
    assert measured["bytes_sent_per_device"] == static["bytes_sent_per_device"]
    assert measured["peak_bytes_per_device"] > 0
    step = measured["step_seconds"]
    assert 0 < step["min"] <= step["median"] <= step["max"]


def test_the_same_compilation_twice_gives_the_same_program(tmp_path):
    source = tmp_path / "layer.mlir"
    source.write_text(program_text(Layer(), EP_DP_TP))
    outputs = []
    for name in ("first", "second"):
        flags = ("--emit=spmd", "--flops-per-byte=1000")
        shoalc(source, tmp_path / name, *flags).expect_success()
        outputs.append((tmp_path / name).read_text())
    assert outputs[0] == outputs[1] and "spmd.all_to_all" in outputs[0]
