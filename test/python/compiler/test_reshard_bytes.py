# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the assignment counts for a reshard is what the plan's collectives count
in the per-device program, and what the busiest rank counts when it runs.
"""

import re
from random import Random

import pytest
from shoal_testing import BIN, load_json, mpirun, run, shoalc

# Axes as they are cut into pieces, for each mesh.
MESHES = {
    "2x2": ('["x" = 2, "y" = 2]', ['"x"', '"y"'], 4),
    "4": ('["x" = 4]', ['"x":(1)2', '"x":(2)2'], 4),
    "6": ('["x" = 3, "y" = 2]', ['"x"', '"y"'], 6),
}
RESHARDS = 14
ASSIGN = ["--shoal-import", "--shoal-propagate", "--shoal-assign"]


def sharding(random: Random, mesh: str, axes: list[str]) -> str:
    dims = [[], []]
    for axis in random.sample(axes, len(axes)):
        place = random.randrange(3)
        if place < 2:
            dims[place].append(axis)
    # Two pieces of one axis in order are that axis.
    lists = [", ".join(dim).replace('"x":(1)2, "x":(2)2', '"x"') for dim in dims]
    return f"<@{mesh}, [{{{lists[0]}}}, {{{lists[1]}}}]>"


def program(random: Random, mesh: str) -> str:
    """A matrix product whose factors are split along the contracted dimension,
    and its way through random shardings over two orders of the devices."""
    axes_text, axes, devices = MESHES[mesh]
    rows, columns, inner = random.choice([8, 15, 7, 3, 1]), random.choice([12, 6, 14, 5]), 6 * devices
    kind = f"tensor<{rows}x{columns}xf32>"
    order = ", ".join(map(str, random.sample(range(devices), devices)))
    summed = random.sample(axes, random.randrange(1, len(axes) + 1))
    left = f"#shoal.sharding<@mesh, [{{}}, {{{', '.join(sorted(summed))}}}]>"
    right = f"#shoal.sharding<@mesh, [{{{', '.join(sorted(summed))}}}, {{}}]>"
    lines, value = [], "%p"
    for i in range(RESHARDS):
        # Mostly in one order: under another one nothing is in place.
        over = "turned" if random.randrange(4) == 0 else "mesh"
        spec = sharding(random, over, axes)
        lines.append(f"  %y{i} = shoal.sharding_constraint {value} {spec} : {kind}")
        value = f"%y{i}"
    results = ", ".join(f'{kind} {{shoal.name = "y{i}"}}' for i in range(RESHARDS))
    values = ", ".join(f"%y{i}" for i in range(RESHARDS))
    body = "\n".join(lines)
    return f"""shoal.mesh @mesh = <{axes_text}>
shoal.mesh @turned = <{axes_text}, device_ids = [{order}]>
func.func @main(%a: tensor<{rows}x{inner}xf32> {{shoal.name = "a", shoal.sharding = {left}}},
                %b: tensor<{inner}x{columns}xf32> {{shoal.name = "b", shoal.sharding = {right}}}) -> ({results}) {{
  %p = shoal.einsum "ik,kj->ij" %a, %b : (tensor<{rows}x{inner}xf32>, tensor<{inner}x{columns}xf32>) -> {kind}
{body}
  return {values} : {", ".join([kind] * RESHARDS)}
}}
"""


def bytes_of_plan(source) -> int:
    """As the assignment counts them."""
    text = run(BIN / "shoal-opt", source, *ASSIGN, "--shoal-explain", "-o", "/dev/null").expect_success().stderr
    return int(re.findall(r"reshards send (\d+) bytes per device", text)[-1])


def bytes_of_collectives(source, *passes) -> int:
    flags = [*passes, "--shoal-print-collectives", "-o", "/dev/null"]
    text = run(BIN / "shoal-opt", source, *flags).expect_success().stderr
    return int(re.findall(r"in all (\d+) bytes", text)[-1])


def bytes_of_run(source, devices: int, folder) -> int:
    """For each collective those of the rank that counts most."""
    shoalc(source, folder / "program").expect_success()
    trace = folder / "trace.json"
    mpirun(devices, folder / "program", "--random-inputs=1", "--trace", trace).expect_success()
    most = {}
    for event in load_json(trace)["traceEvents"]:
        if "bytes" in event.get("args", {}):
            number, sent = event["args"]["id"], event["args"]["bytes"]
            most[number] = max(most.get(number, 0), sent)
    return sum(most.values())


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("seed", range(4))
def test_price_is_what_is_sent(mesh, seed, tmp_path):
    source = tmp_path / "reshards.mlir"
    source.write_text(program(Random(f"{mesh} {seed}"), mesh))
    planned = bytes_of_plan(source)
    assert planned > 0
    assert bytes_of_collectives(source, *ASSIGN, "--shoal-plan-reshards", "--shoal-localize") == planned
    # What the whole pipeline finds to merge goes down from there.
    sent = bytes_of_collectives(source, "--shoal-partition")
    assert sent <= planned
    assert bytes_of_run(source, MESHES[mesh][2], tmp_path) == sent
