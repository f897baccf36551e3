#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of GShard's MoE layer, forward or with gradients, whose masks [G, S, E, C] are
einsum operands: Shoal at sparse cost, Shoal with dense masks and JAX, in turn, on the same
cores. Prints each over the ceiling, and the memory beside arguments and results.

The ceiling is the time of the experts' products and nothing else, by BLAS or oneDNN: no layer
that computes them can be below it. It is measured as the layer is (experts_alone.py), in turn
with it, by as many processes as there are ranks, in as many steps, of the slowest rank. The
rate of one short product on one core would be another ceiling: that of a core that nobody
disturbs for some milliseconds and whose neighbour rests, while a layer needs all cores for all
of a step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
os.environ |= {"JAX_PLATFORMS": "cpu"}
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "python"), str(ROOT / "test/python/support")]

import numpy as np  # noqa: E402

# G, S, M, H, E; an expert has 2 S / E slots of a group.
ROWS = (
    (8, 512, 512, 2048, 8),
    (4, 1024, 512, 2048, 8),
    (2, 2048, 512, 2048, 8),
    (2, 2048, 512, 512, 32),
    (2, 4096, 512, 1024, 64),
)
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Case:
    """A layer, how it is split and what is asked of it."""

    G: int
    S: int
    M: int
    H: int
    E: int
    ranks: int = 1
    gradients: bool = False
    router: str = "top_k_gating"
    cores: int = 1

    @property
    def C(self) -> int:
        return 2 * self.S // self.E

    @property
    def threads(self) -> int:
        """Of a rank."""
        return max(1, self.cores // self.ranks)

    def arrays(self) -> dict[str, np.ndarray]:
        from one_hot_programs import Sizes, layer_arrays

        sizes = Sizes(self.G, self.S, self.E, self.C, self.M, self.H)
        made = {name: np.asarray(array) for name, array in layer_arrays(sizes).items()}
        if not self.gradients:
            del made["target"]
        return made

    def traced(self, mesh: Any) -> Any:
        """By JAX, groups and experts split over a mesh of the one axis "d"."""
        import jax
        from jax.sharding import NamedSharding
        from jax.sharding import PartitionSpec as P

        from one_hot_programs import Layout, layer, with_gradients
        from one_hot_routers import ROUTERS

        split = P("d")
        layout = Layout(mesh, x=split, masks=split, rows=split, outputs=split)
        forward = partial(layer, ROUTERS[self.router], self.C, layout=layout)
        if self.gradients:
            program = with_gradients(forward)
        else:
            def program(x, wg, wi, wo):
                return forward(x, wg, wi, wo)[0]
        arrays = self.arrays()
        shardings = [NamedSharding(mesh, P() if name == "wg" else split) for name in arrays]
        return jax.jit(program, in_shardings=shardings).trace(*arrays.values())


def timed(action: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def run_jax(case: Case, repeat: int) -> dict[str, float]:
    """In a process of its own that has so many devices: the least time, temporaries a device."""
    import jax

    mesh = jax.sharding.Mesh(np.array(jax.devices()[: case.ranks]), ("d",))
    compiled = case.traced(mesh).lower().compile()
    places = jax.tree.leaves(compiled.input_shardings[0])
    values = [jax.device_put(array, place) for array, place in zip(case.arrays().values(), places)]
    times = [timed(lambda: jax.block_until_ready(compiled(*values))) for _ in range(repeat + 1)]
    return {"seconds": min(times[1:]), "bytes": compiled.memory_analysis().temp_size_in_bytes}


class Runner:
    """The programs of a case, compiled in a folder, and how each is run."""

    def __init__(self, case: Case, folder: Path, repeat: int):
        self.case, self.folder, self.repeat = case, folder, repeat
        for name, array in case.arrays().items():
            np.save(folder / f"{name}.npy", array)

    @cached_property
    def source(self) -> Path:
        from jax.sharding import AbstractMesh

        from shoal.jax import import_stablehlo
        from shoal.jax.lowering import lower

        path = self.folder / "layer.mlir"
        traced = self.case.traced(AbstractMesh((self.case.ranks,), ("d",)))
        path.write_text(import_stablehlo(lower(traced)))
        return path

    def compile(self, name: str, *flags: str) -> Callable[[], dict[str, float]]:
        program, stats = self.folder / name, self.folder / "compiled.json"
        command = [BUILD / "bin/shoalc", self.source, "-o", program, "--stats", stats, *flags]
        subprocess.run(command, check=True)
        temporaries = json.loads(stats.read_text())["arena_bytes_per_device"]
        return partial(self._run_shoal, program, temporaries)

    def _run_shoal(self, program: Path, temporaries: int) -> dict[str, float]:
        stats = program.with_suffix(".json")
        inputs = [f"--input={p.stem}={p}" for p in self.folder.glob("*.npy")]
        flags = ["--warmup=1", f"--repeat={self.repeat}", f"--stats={stats}", *inputs]
        self._run(["mpirun", "-n", str(self.case.ranks), str(program), *flags])
        seconds = json.loads(stats.read_text())["step_seconds"]["min"]
        return {"seconds": seconds, "bytes": temporaries}

    def experts(self) -> dict[str, float]:
        case = self.case
        sizes = {"experts": case.E, "rows": case.G * case.C, "model": case.M, "hidden": case.H}
        sizes |= {"threads": case.threads, "repeat": self.repeat}
        flags = [f"--{name}={size}" for name, size in sizes.items()]
        flags += ["--gradients"] if case.gradients else []
        script = Path(__file__).with_name("experts_alone.py")
        command = ["mpirun", "-n", str(case.ranks), sys.executable, str(script), *flags]
        return {"seconds": float(self._run(command))}

    def jax(self) -> dict[str, float]:
        case = json.dumps(asdict(self.case))
        flags = ["--case", case, "--repeat", str(self.repeat)]
        return json.loads(self._run([sys.executable, __file__, *flags]).splitlines()[-1])

    def _run(self, command: list[str]) -> str:
        environment = os.environ | {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "SHOAL_NUM_THREADS": str(self.case.threads),
            # Of the products alone; a program's threads call it.
            "OPENBLAS_NUM_THREADS": str(self.case.threads),
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={self.case.ranks}",
        }
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[: self.case.cores]))
        command = ["taskset", "--cpu-list", cores, *command]
        return subprocess.run(
            command, check=True, env=environment, stdout=subprocess.PIPE, text=True
        ).stdout


def measure(case: Case, rounds: int, repeat: int, ways: list[str]) -> dict[str, Any]:
    """The least of the experts' products and of each way, taken in turn."""
    with tempfile.TemporaryDirectory() as name:
        runner = Runner(case, Path(name), repeat)
        all_ways = {
            "sparse": lambda: runner.compile("sparse"),
            "dense": lambda: runner.compile("dense", "--dense-one-hots"),
            "jax": lambda: runner.jax,
        }
        steps = {"experts": runner.experts} | {way: all_ways[way]() for way in ways}
        best: dict[str, dict[str, float]] = {}
        loads = []
        for _ in range(rounds):
            loads.append(os.getloadavg()[0])
            for way, step in steps.items():
                figures = step()
                if way not in best or figures["seconds"] < best[way]["seconds"]:
                    best[way] = figures
    ceiling = best.pop("experts")["seconds"]
    return {"case": asdict(case), "experts_seconds": ceiling, "load": loads, **best}


def cases(args: argparse.Namespace) -> Iterator[Case]:
    for row in args.rows:
        for ranks in args.ranks:
            for gradients in (False, True):
                cores = min(args.cores or ranks, CORES)
                case = Case(*ROWS[row], ranks, gradients, args.router, cores)
                # A group for each device, and twice the tokens of a group where asked for.
                case = replace(case, G=max(case.G, ranks))
                yield case
                if args.doubled:
                    yield replace(case, S=2 * case.S)


def line(result: dict[str, Any], ways: list[str]) -> str:
    case = result["case"]
    sizes = ", ".join(str(case[letter]) for letter in "GSMHE")
    cells = [sizes, str(case["ranks"]), "gradient" if case["gradients"] else "forward"]
    experts = result["experts_seconds"]
    cells.append(f"{1e3 * experts:.0f}")
    cells += [f"{result[way]['seconds'] / experts:.2f}" for way in ways]
    cells += [f"{result[way]['bytes'] / 2**20:.0f}" for way in ways]
    cells.append(f"{max(result['load']):.1f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=range(len(ROWS)),
                        metavar="N", help="of the five sizes, from 0 (default: all)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parser.add_argument("--cores", type=int, metavar="N",
                        help="for all ranks together, whose threads share them (default: one for each)")
    parser.add_argument("--ways", nargs="+", default=["sparse", "dense", "jax"],
                        choices=["sparse", "dense", "jax"])
    parser.add_argument("--router", default="top_k_gating", help="of test/python/support/one_hot_routers.py")
    parser.add_argument("--doubled", action="store_true", help="each row with 2 S tokens, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3, help="steps in a round")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        print(json.dumps(run_jax(Case(**json.loads(args.case)), args.repeat)))
        return

    titles = ["G, S, M, H, E", "ranks", "", "experts ms"]
    titles += [f"{way} / experts" for way in args.ways] + [f"{way} MiB" for way in args.ways]
    print("| " + " | ".join([*titles, "load"]) + " |")
    print("|" + "---|" * (len(titles) + 1))
    results = []
    for case in cases(args):
        results.append(measure(case, args.rounds, args.repeat, args.ways))
        print(line(results[-1], args.ways), flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
