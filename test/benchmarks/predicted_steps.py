#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulated steps beside measured ones: twelve programs and three training steps, on the machine that this runs on.

Usage: predicted_steps.py [--ranks N] [--machine FILE] [--rounds N] [--only TEXT...] [--tasks]

Measures the machine by shoal-bench with as many ranks, or takes the file; compiles each program for it, which simulates
it, and runs all programs in turn, several rounds. The machine file has seen none of them.

Columns: the step as simulated; as measured, of all ranks from the first one's begin to the last one's end over as many
steps in a row as take 20 ms, the least; "quiet", the sum of the least that each piece of a step took in any step (pieces end where a
product or a collective begins or ends), which one disturbance of a busy machine does not spoil; simulated / measured and
simulated / quiet; the rank correlation of tasks, products and collectives, as simulated and as measured. Bars are of quiet
steps where each rank has a core, else of measured ones: ranks that take turns have pieces that no whole step is made of.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "test/python/support")]

from layer_program import Layer  # noqa: E402

STEPS = 40  # of a round
TURNS = 20e3  # microseconds in which each rank of a shared core has had several turns
EXPECTED = {"all": (0.20, 10, 0.35), "training": 0.25, "correlation": 0.9}
TRACED = {
    "einsum": "einsum", "ragged_einsum": "einsum", "all_gather": "all_gather", "all_reduce": "all_reduce",
    "reduce_scatter": "reduce_scatter", "all_to_all": "all_to_all", "ragged_all_to_all": "ragged_all_to_all",
    "collective_permute": "collective_permute", "exchange": "exchange", "halo_exchange": "exchange",
}  # fmt: skip


# --- Programs. ---------------------------------------------------------------


def layers(ranks):
    """MoE layers by the sizes of their groups, tokens, model, experts, capacity and hidden rows."""
    shapes = {
        "small": (4, 128, 128, 4, 64, 256),
        "wide": (4, 128, 256, 4, 64, 1024),
        "narrow": (4, 256, 64, 4, 128, 256),
        "many experts": (4, 256, 128, 32, 16, 256),
        "few experts": (4, 256, 256, 4, 128, 512),
        "many groups": (16, 64, 128, 8, 16, 512),
        "long groups": (4, 512, 128, 8, 128, 256),
        "no slack": (4, 256, 256, 8, 32, 1024),
    }
    return {f"MoE, {name}": Layer(*sizes, devices=ranks).text() for name, sizes in shapes.items()}


def _product(ranks, spec, types, split, constraint=""):
    """A product whose operands are split as `split` says, and what is asked of its result."""
    left, right, result = (f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in types)
    first, second = (f"{{shoal.sharding = #shoal.sharding<@mesh, [{dims}]>}}" for dims in split)
    given = f"{{shoal.sharding = #shoal.sharding<@mesh, [{constraint}]>}}"
    return f"""shoal.mesh @mesh = <["d" = {ranks}]>
func.func @main(%x: {left} {first}, %w: {right} {second}) -> ({result} {given}) {{
  %y = shoal.einsum "{spec}" %x, %w : ({left}, {right}) -> {result}
  return %y : {result}
}}
"""


def others(ranks):
    whole, rows, columns = "{}, {}", '{"d"}, {}', '{}, {"d"}'
    sizes = ((512, 1024), (1024, 512), (512, 512))
    attention = "tensor<4x256x64xf32>"
    scores = "tensor<4x256x256xf32>"
    split = '{shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}, {}]>}'
    return {
        "product, all_reduce": _product(ranks, "ab,bc->ac", sizes, (columns, rows), whole),
        "product, reduce_scatter": _product(ranks, "ab,bc->ac", sizes, (columns, rows), rows),
        "all_gather, product": _product(ranks, "ab,bc->ac", sizes, (rows, rows), rows),
        "attention": f"""shoal.mesh @mesh = <["d" = {ranks}]>
func.func @main(%q: {attention} {split}, %k: {attention} {split}, %v: {attention} {split}) -> ({attention} {split}) {{
  %s = shoal.einsum "bqd,bkd->bqk" %q, %k : ({attention}, {attention}) -> {scores}
  %p = shoal.softmax %s {{axis = 2}} : {scores}
  %y = shoal.einsum "bqk,bkd->bqd" %p, %v : ({scores}, {attention}) -> {attention}
  return %y : {attention}
}}
""",
    }


def _trained(family, ranks, **fields):
    """A step of AdamW of a model of the family, experts over all ranks."""
    import shoal
    from shoal.moe import Layout

    config = json.loads((ROOT / f"test/python/models/expected/{family}.json").read_text())["config"]
    layout = Layout.folded({"dp": ranks}, {"ep": ranks})
    model = shoal.models.from_config(config, layout, **fields)
    optimizer = shoal.optim.adamw(1e-3)
    state = shoal.train.init(model.init(0), optimizer)
    step = shoal.jit(
        shoal.train.step(model.loss, optimizer, has_aux=True),
        mesh=layout.mesh, donate_argnums=0, in_shardings=(shoal.train.shardings(state, model.shardings()), None),
    )  # fmt: skip
    tokens = np.random.default_rng(0).integers(0, model.config.vocab_size, (2 * ranks, 65), np.int32)
    return step.lower(state, tokens).as_text(), shoal.frontend.pytrees.flatten((state, tokens))[0]


def _imported(ranks):
    """A step of optax of a MoE Transformer in JAX."""
    import jax
    import moe_twin as twin
    from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

    import shoal.jax

    config = twin.Config(sentences=8, length=32, model=128, heads=4, experts=4, hidden=256, capacity=20, layers=2)
    mesh = AbstractMesh((1, ranks), ("data", "expert"))

    def at(spec):
        return NamedSharding(mesh, spec)

    def place(path, _):
        is_expert = jax.tree_util.keystr(path[-1:]) in ("['wi']", "['wo']")
        return at(PartitionSpec(None, "expert") if is_expert else PartitionSpec())

    init, step = twin.jax_step(config, 1000, lambda x, spec: jax.lax.with_sharding_constraint(x, at(spec)))
    state = init(twin.initial_parameters(config))
    places = jax.tree_util.tree_map_with_path(place, state)
    (tokens,) = twin.batches_of(config, 1)
    shardings = {"in_shardings": (places, at(twin.EVERYWHERE)), "out_shardings": (places, at(PartitionSpec()))}
    jitted = shoal.jax.jit(step, **shardings, donate_argnums=0)
    state = jax.tree.map(jax.numpy.asarray, state)
    return jitted.lower(state, tokens).as_text(), jax.tree.leaves((state, tokens))


def training(ranks):
    """Texts with the arrays that they begin with: of random ones exponentials would leave what is fast."""
    small = {"hidden_size": 128, "num_hidden_layers": 2, "vocab_size": 512, "intermediate_size": 256}
    latent = {
        "moe_intermediate_size": 64, "q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16, "v_head_dim": 32,
    }  # fmt: skip
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}
    return {
        "training, Mixtral": _trained("mixtral", ranks, **small, **heads),
        "training, DeepSeek-V3": _trained("deepseek_v3", ranks, **small, **latent),
        "training, JAX": _imported(ranks),
    }


# --- Runs. -------------------------------------------------------------------


@dataclass
class Case:
    """A program that is compiled. pieces: of each rank, what each piece of a step took at least."""

    executable: Path
    predicted: dict
    inputs: list
    rounds: list = field(default_factory=list)
    pieces: dict = field(default_factory=dict)
    names: list = field(default_factory=list)

    def quiet(self):
        return max(float(np.sum(least)) for least in self.pieces.values())

    def measured(self):
        return min(self.rounds)

    def tasks(self):
        """(simulated, measured) seconds of products and collectives; nothing where loops repeat some."""
        simulated = [(TRACED[t["name"]], t["seconds"]) for t in self.predicted["tasks"] if t["name"] in TRACED]
        if [name for name, _ in simulated] != self.names:
            return []
        least = np.min(list(self.pieces.values()), axis=0)[1::2]
        return list(zip([seconds for _, seconds in simulated], least, strict=True))


def mpirun(ranks, *command):
    command = ["mpirun", "-n", str(ranks), *map(str, command)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")


def input_flags(executable, arrays, folder):
    """The arrays as the executable's inputs, in their order."""
    described = subprocess.run([executable, "--describe"], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = re.findall(r"^  ([^:\n]+): tensor ", described.split("results:")[0].split("outputs:")[0], re.MULTILINE)
    flags = []
    for number, (name, array) in enumerate(zip(names, arrays, strict=True)):
        file = folder / f"{executable.name}-{number}.npy"
        np.save(file, np.asarray(array))
        flags.append(f"--input={name}={file}")
    return flags


def compile_program(program, name, machine, folder):
    text, arrays = program if isinstance(program, tuple) else (program, None)
    executable = folder / "".join(c if c.isalnum() else "_" for c in name)
    source, stats = executable.with_suffix(".mlir"), executable.with_suffix(".json")
    source.write_text(text)
    options = [f"--simulate={machine}", f"--stats={stats}"]
    subprocess.run([BUILD / "bin/shoalc", source, "-o", executable, *options], check=True, stdout=subprocess.DEVNULL)
    inputs = ["--random-inputs=1"] if arrays is None else input_flags(executable, arrays, folder)
    return Case(executable, json.loads(stats.read_text())["predicted"], inputs)


def pieces_of(events, rank):
    """(names of tasks, durations of the pieces) of each step; a step's event ends behind those within it."""
    steps, inside = [], []
    for event in events:
        if event.get("ph") != "X" or event["tid"] != rank:
            continue
        if event["name"] != "step":
            inside.append(event)
            continue
        ends = [event["ts"]]
        for task in inside:
            ends += [task["ts"], task["ts"] + task["dur"]]
        ends.append(event["ts"] + event["dur"])
        steps.append(([TRACED[task["name"]] for task in inside], 1e-6 * np.diff(ends)))
        inside = []
    return steps


def measure(case, ranks):
    trace = case.executable.with_suffix(".trace")
    mpirun(ranks, case.executable, *case.inputs, "--warmup=2", f"--repeat={STEPS}", f"--trace={trace}")
    events = json.loads(trace.read_text())["traceEvents"]
    for rank in range(ranks):
        for names, pieces in pieces_of(events, rank):
            case.names = names
            case.pieces[rank] = np.minimum(case.pieces.get(rank, np.inf), pieces)
    case.rounds.append(1e-6 * mean_step(events))


def mean_step(events):
    """Microseconds of a step of all ranks, from the first one's begin to the last one's end, over as many as take TURNS."""
    ranks = {}
    for event in events:
        if event.get("name") == "step":
            ranks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    begins, ends = np.swapaxes(list(ranks.values()), 0, 2)
    return least_mean(begins.T.min(0), ends.T.max(0))


def least_mean(begins, ends):
    """The least mean of as many steps in a row as take TURNS. Ranks that share a core and no collective run in turns."""
    steps = len(begins)
    row = int(min(np.ceil(TURNS * steps / (ends[-1] - begins[0])), steps))
    return float((ends[row - 1 :] - begins[: steps - row + 1]).min() / row)


def correlation(tasks):
    """Spearman's; of fewer than three tasks, nothing."""
    if len(tasks) < 3:
        return None
    ranks = [np.unique(np.array(column), return_inverse=True)[1] for column in zip(*tasks, strict=True)]
    return float(np.corrcoef(ranks)[0, 1]) if all(r.max() > 0 for r in ranks) else None


# --- The table. --------------------------------------------------------------


def print_table(cases):
    print("| program | simulated ms | measured ms | quiet ms | simulated / measured | / quiet | tasks | rank correlation |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, case in cases.items():
        simulated, tasks = case.predicted["step_seconds"], case.tasks()
        found = correlation(tasks)
        print(
            f"| {name} | {1e3 * simulated:.2f} | {1e3 * case.measured():.2f} | {1e3 * case.quiet():.2f} | "
            f"{simulated / case.measured():.2f} | {simulated / case.quiet():.2f} | {len(tasks) or ''} | {'' if found is None else f'{found:.2f}'} |"
        )


def print_bars(cases, ranks):
    has_cores = ranks <= len(os.sched_getaffinity(0))

    def within(names, share):
        steps = [cases[name].quiet() if has_cores else cases[name].measured() for name in names]
        ratios = [cases[name].predicted["step_seconds"] / step for name, step in zip(names, steps, strict=True)]
        return sum(abs(ratio - 1) <= share for ratio in ratios), len(ratios)

    steps = [name for name in cases if name.startswith("training")]
    programs = [name for name in cases if name not in steps]
    close, _, far = EXPECTED["all"]
    print(f"\nwithin {close:.0%}: {'%d of %d' % within(programs, close)} programs; within {far:.0%}:"
          f" {'%d of %d' % within(programs, far)}")  # fmt: skip
    share = EXPECTED["training"]
    print(f"within {share:.0%}: {'%d of %d' % within(steps, share)} training steps")
    tasks = [task for name in programs for task in cases[name].tasks()]
    found = correlation(tasks)
    if found is not None:
        print(f"rank correlation of the {len(tasks)} tasks of all programs: {found:.3f}")


def print_tasks(cases):
    for name, case in cases.items():
        print(f"\n{name}: rest {1e3 * sum(np.max(list(case.pieces.values()), axis=0)[0::2]):.3f} ms, simulated by kind:")
        print("  ", {kind: f"{1e3 * seconds:.3f}" for kind, seconds in case.predicted["seconds_by_kind"].items()})
        for kind, (simulated, measured) in zip(case.names, case.tasks(), strict=False):
            print(f"  {kind:20}{1e6 * simulated:12.1f}{1e6 * measured:12.1f} us{simulated / measured:8.2f}")


def argument_parser(doc, rounds):
    """What all benchmarks take that run programs on a machine of which there is a file."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--machine", type=Path, help="a file that shoal-bench has written")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of programs' names")
    return parser


def machine_for(options, folder):
    """The file that is given, or one that shoal-bench writes for as many ranks."""
    if options.machine:
        return options.machine
    mpirun(options.ranks, BUILD / "bin/shoal-bench", "-o", folder / "box.toml")
    return folder / "box.toml"


def main():
    parser = argument_parser(__doc__, rounds=3)
    parser.add_argument("--tasks", action="store_true", help="print each product and collective")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        machine = machine_for(options, folder)
        texts = layers(options.ranks) | others(options.ranks) | training(options.ranks)
        cases = {
            name: compile_program(text, name, machine, folder)
            for name, text in texts.items()
            if any(part in name for part in options.only)
        }
        for _ in range(options.rounds):
            for case in cases.values():
                measure(case, options.ranks)
    print_table(cases)
    print_bars(cases, options.ranks)
    if options.tasks:
        print_tasks(cases)


if __name__ == "__main__":
    main()
