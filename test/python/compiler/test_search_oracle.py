# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardings beside those that an integer program finds to be the cheapest (support/search_ilp.py).

All programs, and what each part of the search is worth: test/conformance/search_oracle.py.
"""

import itertools
import json
import math
import os
import random
import re
import subprocess
import sys

import pytest
from paths import BUILD, ROOT
from search_ilp import SAME, Choice, Op, Problem, plan_cost, plan_held, pose, solve

sys.path.append(str(ROOT / "test/conformance"))
FEW = ("8x22B-G8T8, 32 H100", 0.75), ("Tutel base, 64 A100", 0.75)


def draw(random: random.Random) -> Problem:
    """Ops that read up to two values each, with costs and moves that have no reason."""
    layouts, number = range(4), 5
    ops, prices = [], []
    for op in range(number):
        operands = tuple(random.choice(range(op)) for _ in range(random.choice((1, 2)) if op else 0))
        results = (op,) if op < number - 1 else ()
        choices = tuple(
            Choice(
                random.choice((0, 1, 2, 5)),
                0 if operands else random.choice((0, 10, 20)),
                tuple(random.choice(layouts) for _ in operands),
                tuple(random.choice(layouts) for _ in results),
            )
            for _ in range(4)
        )
        ops.append(Op(choices, operands, results))
        moves = itertools.permutations(layouts, 2)
        prices.append({move: float(random.choice((0, 0, 1, 2, 3, 7, 9))) for move in moves if random.random() < 0.95})
    return Problem(tuple(ops), tuple(prices))


def best_of_all(problem: Problem, memory: float) -> float:
    plans = itertools.product(*(range(len(op.choices)) for op in problem.ops))
    return min((plan_cost(problem, plan) for plan in plans if plan_held(problem, plan) <= memory), default=math.inf)


@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_finds_the_best_of_all_plans_of_any_tables(seed):
    problem = draw(random.Random(seed))
    for memory in (100, 15):
        best = best_of_all(problem, memory)
        for known in (math.inf, best * 1.5 + 1):
            found = solve(problem, memory, known)
            assert (math.inf if found.cost is None else found.cost) == pytest.approx(best)
            assert found.bound <= best + 1e-4


def test_random_programs_cost_what_the_oracle_finds():
    """100 whose plans are all priced: the oracle's optimum is theirs, and nearly always the plan's, which costs what the tables say."""
    dearer = []
    for posed in pose("--random=100", "--enumerate"):
        cost, best = posed.said["cost"], posed.said["best_of_all"]
        assert plan_cost(posed.problem, posed.chosen) == pytest.approx(cost)
        assert solve(posed.problem, known=cost).cost == pytest.approx(best, rel=1e-5)
        dearer += [posed.said["name"]] if cost > best * (1 + SAME) else []
    assert len(dearer) <= 1, dearer


IMPORT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
folder, names = Path(sys.argv[2]), sys.argv[3:]
sys.argv = sys.argv[:1]
import certificates, moe_peaks
known = {program.name: program for program in moe_peaks.programs()} | certificates.load()
certificates.programs_of = lambda kind: (known[name] for name in names)
print(json.dumps([(name, str(path)) for name, path in certificates.imported("some", folder)]))
"""
# One axis and two, with and without annotations, gradients and loops; accumulated_gradients once cost 18.5 % more than it must.
WHOLE = (
    "ep8 none gradients",
    "ep8 min step",
    "dp2 ep4 full forward",
    "moe_layer_over_data_and_experts",
    "gradient_of_moe_layer",
    "switch_layer",
    "expert_choice",
    "accumulated_gradients",
    "float8_matmul_scaled",
    "value_and_gradient",
    "complex_of_128_bits",
)
# What a bound suggests is not taken for less.
NO_GAIN = 0.001
IN_PARTS = ("dp2 ep4 min forward",)


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> dict[str, str]:
    """Programs of the conformance run as files, by name."""
    folder = tmp_path_factory.mktemp("programs")
    command = [sys.executable, "-c", IMPORT, ROOT / "test/conformance", folder, *WHOLE, *IN_PARTS]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


@pytest.mark.parametrize("name", WHOLE)
def test_no_shardings_of_a_program_are_cheaper(imported, name):
    for posed in pose(imported[name]):
        cost = plan_cost(posed.problem, posed.chosen)
        assert cost == pytest.approx(posed.said["cost"], rel=1e-9)
        cheapest = solve(posed.problem, known=cost).cost
        assert cost * (1 - NO_GAIN) <= cheapest <= cost * (1 + SAME)


@pytest.mark.parametrize("name", IN_PARTS)
def test_no_other_shardings_of_neighbouring_ops_are_cheaper(imported, name):
    from search_oracle import gap_of_windows

    (posed,) = pose(imported[name])
    assert gap_of_windows(posed, size=40, seconds=60) <= SAME


@pytest.mark.long
@pytest.mark.skipif("SHOAL_LONG" not in os.environ, reason="SHOAL_LONG=1 asks for all layers")
def test_all_layers_within_a_memory(tmp_path):
    from search_oracle import memory

    assert memory(0.03, tmp_path)


@pytest.mark.parametrize(("name", "share"), FEW)
def test_a_layer_within_a_memory_is_planned_as_cheap_as_can_be(tmp_path, name, share):
    """What the search finds, and what `--plan` prints of it, is the optimum within the certificate."""
    from search_oracle import layer, within_memory

    posed, found = within_memory(name, share, tmp_path)
    said = posed.said
    assert said["held"] <= said["memory"] < said["free_held"]
    assert said["bound"] * (1 - SAME) <= found.cost <= said["cost"] * (1 + SAME)
    assert said["cost"] <= found.cost * 1.001
    path, machine, devices = layer(name, tmp_path)
    limit = f"--memory-limit={math.floor(said['memory'])}"
    command = [BUILD / "bin/shoalc", path, "--plan", f"--machine={machine}", f"--devices={devices}", f"--fix-mesh={devices}", limit]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    line = re.search(r"^ 1 .*? ([\d.]+) ms ", text, re.MULTILINE)
    assert float(line[1]) == pytest.approx(found.cost * 1e-6, rel=0.002)
