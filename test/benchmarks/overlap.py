#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of the experts' exchange is exposed where micro-batches run beside each other, and where buffers travel in chunks?

Nothing runs: programs of full size are compiled for GPUs and simulated. Prints the tables of docs/results/Overlap.md.

Usage: overlap.py [--layers 1 2 4] [--only halves|chunks]
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path

import shoal
from shoal import models, optim
from shoal.frontend.annotations import P
from shoal.frontend.naming import named_scope
from shoal.frontend.tracing import TensorSpec, trace_program
from shoal.models.layer import apply_layer, between
from shoal.models.rope import turned_by
from shoal.moe import Layout, MoeConfig, moe, param_shapes, param_shardings
from shoal.planning import programs
from shoal.planning.forecasts import layer_mapping
from shoal.planning.job import simulated
from shoal.planning.mapping import Mapping
from shoal.simulation.machines import Machine

# What is to be forecast is let be: a table that is gathered whole, work that is repeated.
FOUND = {"quick_search": True, "max_replicated_bytes": -1, "warn_repeated_work": 0.0, "cache": False}
SEQUENCE = 4096


@dataclasses.dataclass(frozen=True)
class Layers:
    """DeepSeek-V3's, with experts, of the published mapping on 1,024 H100 (arXiv 2603.07685, tables 11 and 20) but for tp."""

    count: int
    tp: int

    def program(self, micro_batches, overlap):
        """Loss and gradients, which each device leaves of its own tokens, of micro-batches of a sequence."""
        config = simulated(models.from_config("deepseek-v3").config)
        mapping = Mapping(devices=1024, tp=self.tp, pp=8, ep=64, etp=1, sequence=SEQUENCE, global_batch=8192)
        kind = next(kind for kind in programs.kinds_of(config) if kind.has_experts)
        setting = programs.Setting(config, layer_mapping(mapping))
        layout, (params, whole, parts) = setting.layout, programs.layer_parts(setting, kind)
        left = programs._left_in(setting, params, whole, parts)

        def loss(params, x, cos, sin):
            with turned_by(cos, sin), programs._kernels(setting.mapping):
                x = between(layout, x * params["first"])
                for number, layer in enumerate(params["layers"]):
                    with named_scope(f"layers.{number}"):
                        x = between(layout, apply_layer(x, layer, config, layout, kind.window).x)
                return shoal.sum(x.astype("float32") ** 2)

        def step(params, x, cos, sin):
            def of_rows(params, x):
                return loss(params, x, cos, sin)

            value, grads = optim.accumulate(of_rows, micro_batches, overlap=overlap)(params, x)
            return value, programs._measured(grads["layers"], [left] * self.count), shoal.sum(grads["first"])

        given = {"first": TensorSpec((config.hidden_size,), "bfloat16"), "layers": [params] * self.count}
        x = TensorSpec((micro_batches * layout.size("dp"), SEQUENCE, config.hidden_size), "bfloat16")
        turns = TensorSpec((SEQUENCE, 1, programs._turned(config) // 2), "float32")
        places = ({"first": P(), "layers": [whole] * self.count}, layout.P("dp", "sp", None), None, None)
        return trace_program(step, (given, x, turns, turns), layout.mesh, in_shardings=places, name="layers").text


def with_faster_exchange(name, times):
    """The machine file, in which an all-to-all between nodes is so many times as fast, and all else as it was."""
    head, rails = (Path(shoal.__file__).parent / "machines" / f"{name}.toml").read_text().split('name = "rails"')
    lines = []
    for line in rails.splitlines():
        key = line.split(" = ")[0]
        if key == "bw":
            line = f"bw = {times * 50.0e9}"
        if key == "bw_eff":
            kinds = {"all_to_all": 0.85, "all_gather": 0.82, "reduce_scatter": 0.82, "all_reduce": 0.82, "permute": 0.85}
            listed = (f"{kind} = {share if kind == 'all_to_all' else share / times}" for kind, share in kinds.items())
            line = "bw_eff = { " + ", ".join(listed) + " }"
        lines.append(line)
    path = Path(tempfile.mkdtemp()) / f"{name}.toml"
    path.write_text(head + 'name = "rails"' + "\n".join(lines) + "\n")
    return Machine.read(path)


def row(name, forecast, before):
    """Of a table. before: the seconds of as many tokens without."""
    share = f"{forecast.exposed * 1e3:.1f} | {forecast.exposed / forecast.seconds:.1%}"
    gain = f"{before / forecast.seconds:.2f}"
    print(f"| {name} | {forecast.seconds * 1e3:.1f} | {share} | {forecast.memory / 1e9:.1f} | {gain} |", flush=True)


def print_halves(counts):
    """Micro-batches beside each other, by what an exchange takes and by tp."""
    machines = {
        "exchange as the row's kernels": with_faster_exchange("dgx-h100", 2.0),
        "exchange pairwise, in bfloat16": Machine.read("dgx-h100"),
    }
    print("| DeepSeek-V3 on H100 | ms | exposed ms | of the step | GB | as fast |\n|---|--:|--:|--:|--:|--:|")
    for title, machine in machines.items():
        for tp in (1, 2):
            for count in counts:
                layers = Layers(count, tp)
                one = shoal.simulate(layers.program(1, 1), machine=machine, **FOUND)
                label = f"{title}, tp {tp}, {count} layers"
                row(f"{label}, one micro-batch", one, one.seconds)
                both = layers.program(2, 2)
                for memory in (0.3, 0.6, 1.0):
                    made = shoal.simulate(both, machine=machine, overlap_memory=memory, **FOUND)
                    row(f"{label}, two, `overlap_memory={memory}`", made, 2 * one.seconds)


def layer_program(gpus, tokens, model, hidden, chunks, gradient):
    """Tutel's layer of two experts a GPU and two choices, in float32."""
    layout = Layout.folded({"dp": gpus}, {"ep": gpus})
    config = MoeConfig.tutel(2 * gpus, hidden, moe_group_size=tokens, moe_token_dispatcher_type="sort", a2a_ffn_overlap_degree=chunks)
    stored, outside = param_shardings(config, layout), layout.P("outside")
    params = {name: TensorSpec(shape, "float32") for name, shape in param_shapes(config, model).items()}

    def layer(x, params):
        return moe(x, params, config, layout).y

    step = shoal.grad(lambda x, params: shoal.sum(layer(x, params) ** 2), (0, 1)) if gradient else layer
    x = TensorSpec((gpus, tokens, model), "float32")
    results = (outside, stored) if gradient else outside
    return trace_program(step, (x, params), layout.mesh, in_shardings=(outside, stored), out_shardings=results, name="layer").text


def print_chunks():
    """Each number of chunks, of two layers of the source, on 16 and on 2,048 A100."""
    machine = Machine.read("ndv4-a100")
    print("| layer | chunks | ms | exposed ms | of the step | GB | as fast |\n|---|---|--:|--:|--:|--:|--:|")
    for title, sizes in {"64K tokens, D = H = 4K": (65536, 4096, 4096), "16K tokens, D = H = 2K": (16384, 2048, 2048)}.items():
        for gpus in (16, 2048):
            for gradient in (False, True):
                name = f"{title}, {gpus} A100, " + ("with gradients" if gradient else "forward")
                made = {}
                for chunks in (1, 2, 4, 8):
                    text = layer_program(gpus, *sizes, chunks, gradient)
                    made[chunks] = shoal.simulate(text, machine=machine, overlap_memory=0.5, cache=False)
                    row(f"{name} | {chunks}", made[chunks], made[1].seconds)
                best = min(made, key=lambda chunks: made[chunks].seconds)
                print(f"| {name} | best: {best} | | | | | {made[1].seconds / made[best].seconds:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", choices=["halves", "chunks"])
    options = parser.parse_args()
    if options.only != "chunks":
        print_halves(options.layers)
    if options.only != "halves":
        print_chunks()


if __name__ == "__main__":
    main()
