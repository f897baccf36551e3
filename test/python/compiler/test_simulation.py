# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `shoalc --simulate` says of programs that also run, and of many devices."""

import resource

import pytest

from shoal_testing import BIN, ROOT, TARGET_FLAGS, load_json, mpirun, run

MACHINE = ROOT / "machines" / "dgx-h100.toml"
EXECUTION = ROOT / "test" / "Execution"

# A row of experts of one device: as many tokens for each, whatever their number.
LAYER = """
shoal.mesh @mesh = <["ep" = {n}]>
func.func @main(%x: tensor<{n}x64x32xf32>, %w: tensor<{n}x32x64xf32>) -> tensor<{n}x64x64xf32> {{
  %xs = shoal.split %x {{dim = 0, num_partitions = {n}}} : tensor<{n}x64x32xf32>
  %y = shoal.einsum "ETM,EMH->ETH" %xs, %w : (tensor<{n}x64x32xf32>, tensor<{n}x32x64xf32>) -> tensor<{n}x64x64xf32>
  %loss = shoal.reduce sum %y dims = [0] : tensor<{n}x64x64xf32> -> tensor<64x64xf32>
  %all = shoal.broadcast_in_dim %loss dims = [1, 2] : tensor<64x64xf32> -> tensor<{n}x64x64xf32>
  %z = arith.mulf %y, %all : tensor<{n}x64x64xf32>
  return %z : tensor<{n}x64x64xf32>
}}
"""

POD = """
name = "pod"
[chip]
memory = 80e9
memory_bw = 3e12
flops = {{ f32 = 6e13 }}
gemm = {{ max = 0.8 }}
[[level]]
name = "switch"
kind = "switch"
size = {inner}
bw = 4e11
[[level]]
name = "rails"
kind = "rails"
size = {outer}
bw = 5e10
"""


# Programs that also run, with what else they need: many kinds of op, and few devices.
PROGRAMS = [
    ROOT / "examples" / "moe_layer" / "moe_layer.mlir",
    *(
        EXECUTION / f"{name}.mlir"
        for name in (
            "contraction-ragged", "indexing", "manual-dispatch", "nn-gating", "one-hots",
            "ragged-all-to-all", "uneven-ops", "windows",
        )
    ),
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_predicted_memory_is_what_a_run_holds(path, tmp_path):
    """Arena, inputs and outputs, to the byte."""
    program, stats, measured = (tmp_path / name for name in ("program", "stats", "measured"))
    command = (path, f"--simulate={MACHINE}", "-o", program, "--stats", stats, *TARGET_FLAGS)
    run(BIN / "shoalc", *command).expect_success()
    said = load_json(stats)
    mpirun(said["devices"], program, "--random-inputs=1", "--stats", measured).expect_success()
    held = load_json(measured)["peak_bytes_per_device"]
    assert said["predicted"]["peak_bytes"] == said["peak_bytes_per_device"] == held > 0


def forecast(devices, folder):
    """The page and the object of LAYER on so many devices, and seconds of the compiler's time."""
    program, machine, stats = (folder / f"{devices}{end}" for end in (".mlir", ".toml", ".json"))
    program.write_text(LAYER.format(n=devices))
    machine.write_text(POD.format(inner=min(devices, 8), outer=max(devices // 8, 1)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = run(BIN / "shoalc", program, f"--simulate={machine}", "--stats", stats).expect_success()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended.stdout, load_json(stats)["predicted"], seconds


def test_many_devices_take_as_long_as_few(tmp_path):
    """All devices do the same, so that a forecast reads one: it is as long and takes as long."""
    few, many = forecast(2, tmp_path), forecast(4096, tmp_path)
    assert many[1]["devices"] == 4096
    assert many[1]["product_flops"] == few[1]["product_flops"] > 0
    lines = [len(page.splitlines()) for page, _, _ in (few, many)]
    # One level more is a line more.
    assert abs(lines[0] - lines[1]) <= 2, lines
    assert len(many[0]) == pytest.approx(len(few[0]), rel=0.1)
    # Of several the least: other processes only make it more.
    seconds = [min(forecast(n, tmp_path)[2] for _ in range(4)) for n in (2, 4096)]
    print(f"2 devices {seconds[0]:.3f} s, 4,096 {seconds[1]:.3f} s")
    assert seconds[1] <= 1.25 * seconds[0], seconds


def test_a_timeline_opens_beside_a_measured_one(tmp_path):
    """Both have slices of the same names, in one unit, and processes of their own."""
    path = PROGRAMS[0]
    program, simulated, measured = (tmp_path / name for name in ("program", "s.json", "m.json"))
    command = (path, f"--simulate={MACHINE}", f"--simulate-trace={simulated}", "-o", program)
    run(BIN / "shoalc", *command, *TARGET_FLAGS).expect_success()
    mpirun(4, program, "--random-inputs=1", "--trace", measured).expect_success()
    traces = [load_json(trace)["traceEvents"] for trace in (simulated, measured)]
    processes = [{event["pid"] for event in events} for events in traces]
    assert not processes[0] & processes[1], processes

    def collectives(events):
        found = [event for event in events if "id" in event.get("args", {})]
        return {e["args"]["id"]: (e["name"], e["args"]["axes"], e["args"]["loc"]) for e in found}

    assert collectives(traces[0]) == collectives(traces[1]) != {}
    for events in traces:
        assert any(event["name"] == "step" for event in events)
