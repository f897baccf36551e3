#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of GShard's MoE layer under `mpirun -n RANKS`, beside the same layer in
JAX on as many host devices, each annotated as GShard annotates it; in turn, on
the same cores. Prints minima, their ratio, the share of matrix products in
Shoal's step, and their rate beside that of plain ones by BLAS or oneDNN; all of it
for each number of threads in a rank (docs/guide/Threads.md).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from layer_program import Layer
from plain_products import best_rate

def jax_worker(layer: Layer, inputs: str, repeat: int, ranks: int) -> None:
    """Runs in a process of its own: prints the step times as JSON."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()[:ranks]), ("expert",))

    def split(t):
        spec = P("expert", *[None] * (t.ndim - 1))
        return jax.lax.with_sharding_constraint(t, NamedSharding(mesh, spec))

    def gating(gates):
        G, S, E = gates.shape
        weights, chosen = jax.lax.top_k(gates, layer.k)
        weights /= weights.sum(-1, keepdims=True)
        counts = jnp.zeros((G, 1, E), jnp.int32)
        combine = dispatch = 0.0
        for j in range(layer.k):
            mask = jax.nn.one_hot(chosen[..., j], E, dtype=jnp.int32)
            position = jnp.cumsum(mask, 1) - mask + counts
            counts = counts + mask.sum(1, keepdims=True)
            place = (position * mask).sum(-1)
            kept = (mask * (place < layer.C)[..., None]).astype(gates.dtype)
            slot = jax.nn.one_hot(place, layer.C, dtype=gates.dtype)
            dispatch += jnp.einsum("GSE,GSC->GSEC", kept, slot)
            combine += jnp.einsum("GSE,GSC->GSEC", kept * weights[..., j, None], slot)
        first = jax.nn.one_hot(chosen[..., 0], E, dtype=gates.dtype).sum(1)
        aux = (first / S * gates.mean(1)).sum(-1).mean() / E
        return combine, dispatch, aux

    def step(x, wg, wi, wo):
        x = split(x)
        gates = jax.nn.softmax(jnp.einsum("GSM,ME->GSE", x, wg))
        combine, dispatch, aux = gating(gates)
        combine, dispatch = split(combine), split(dispatch)
        d = split(jnp.einsum("GSEC,GSM->EGCM", dispatch, x))
        h = jax.nn.relu(jnp.einsum("EGCM,EMH->EGCH", d, wi))
        e = split(jnp.einsum("EGCH,EHM->GECM", h, wo))
        return split(jnp.einsum("GSEC,GECM->GSM", combine, e)), aux

    arrays = []
    for name in ("x", "wg", "wi", "wo"):
        array = np.load(f"{inputs}/{name}.npy")
        spec = P() if name == "wg" else P("expert")
        arrays.append(jax.device_put(array, NamedSharding(mesh, spec)))
    compiled = jax.jit(step)
    y, _ = jax.block_until_ready(compiled(*arrays))
    np.save(f"{inputs}/jax_y.npy", np.asarray(y))
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arrays))
        times.append(time.perf_counter() - start)
    print(json.dumps(times))


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/release")
    parser.add_argument("--python", default=sys.executable, help="a Python with JAX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs=6, metavar=tuple("GSMECH"),
                        default=[2, 512, 256, 8, 128, 1024])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="in a rank, in turn")
    parser.add_argument("--jax-worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    layer = Layer(*args.sizes, devices=args.ranks)
    if args.jax_worker:
        jax_worker(layer, args.jax_worker, args.repeat, args.ranks)
        return

    environment = dict(
        os.environ,
        OPENBLAS_NUM_THREADS="1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_hwloc_base_binding_policy="none",
        XLA_FLAGS=f"--xla_force_host_platform_device_count={args.ranks}",
    )
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        random = np.random.default_rng(0)
        shapes = {"x": "GSM", "wg": "ME", "wi": "EMH", "wo": "EHM"}
        for name, letters in shapes.items():
            shape = [getattr(layer, c) for c in letters]
            array = random.standard_normal(shape, np.float32)
            if name != "x":
                array /= np.float32(np.sqrt(shape[-2]))
            np.save(f"{folder}/{name}.npy", array)
        source = pathlib.Path(folder) / "layer.mlir"
        source.write_text(layer.text())
        program = f"{folder}/layer"
        subprocess.run([args.build / "bin/shoalc", source, "-o", program], check=True)

        def shoal(threads: int) -> dict:
            stats = f"{folder}/stats.json"
            flags = [f"--input={n}={folder}/{n}.npy" for n in shapes]
            subprocess.run(
                ["mpirun", "-n", str(args.ranks), program, *flags, "--warmup=1",
                 f"--repeat={args.repeat}", f"--stats={stats}",
                 f"--output-dir={folder}/out", f"--threads={threads}"],
                check=True, env=environment, stdout=subprocess.DEVNULL)
            return json.loads(pathlib.Path(stats).read_text())

        def jax() -> list:
            command = [args.python, __file__, "--jax-worker", folder,
                       "--repeat", str(args.repeat), "--ranks", str(args.ranks), "--sizes", *map(str, args.sizes)]
            run = subprocess.run(command, check=True, env=environment,
                                 capture_output=True, text=True)
            return json.loads(run.stdout.splitlines()[-1])

        best_jax = float("inf")
        best: dict[int, dict] = {}
        for _ in range(args.rounds):
            for threads in args.threads:
                stats = shoal(threads)
                if threads not in best or seconds(stats) < seconds(best[threads]):
                    best[threads] = stats
            best_jax = min(best_jax, *jax())
        ours, theirs = np.load(f"{folder}/out/y.npy"), np.load(f"{folder}/jax_y.npy")
        difference = np.abs(ours - theirs).max() / np.abs(theirs).max()
    G, S, M, E, C, H = args.sizes
    print(f"layer G={G} S={S} M={M} E={E} C={C} H={H}, float32, {args.ranks} ranks")
    print(f"step, JAX on host devices  {best_jax * 1e3:9.2f} ms")
    plain = best_rate(layer.G * layer.C, layer.H, layer.M)
    for threads, stats in best.items():
        print(f"step, Shoal, {threads:3} threads    {seconds(stats) * 1e3:9.2f} ms")
        report(layer, args.ranks, stats, best_jax, plain * threads)
    print(f"largest relative difference of y {difference:.1e}")


def seconds(stats: dict) -> float:
    return stats["step_seconds"]["min"]


def report(layer: Layer, ranks: int, stats: dict, best_jax: float, plain: float) -> None:
    """What the step's time is beside others; `plain` is the rate of plain products on a rank's cores."""
    G, S, M, E, C, H = (getattr(layer, c) for c in "GSMECH")
    flops = 2 * (G * S * M * E + 2 * G * S * E * C * M + 2 * E * G * C * M * H) / ranks
    step, inside = seconds(stats), stats["seconds_in"]
    rate = flops / inside["einsum"] if inside["einsum"] else float("nan")
    print(f"  Shoal / JAX              {step / best_jax:9.2f}")
    print(f"  matrix products          {inside['einsum'] / step:9.1%} of Shoal's step")
    print(f"  collectives              {inside['collectives'] / step:9.1%} of Shoal's step")
    print(f"  matrix products' rate    {rate / plain:9.1%} of plain ones"
          f" ({rate / 1e9:.0f} of {plain / 1e9:.0f} GFLOP/s a rank)")


if __name__ == "__main__":
    main()
