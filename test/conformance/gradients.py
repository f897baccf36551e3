#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Differentiates the programs of the conformance run here, and compares with JAX.

    test/conformance/gradients.py --filter moe

Each program f with arguments and results of floats is imported and differentiated by
--shoal-differentiate: the vector-Jacobian product of all floats, with random cotangents. Its values
are to be those of jax.vjp on one device, its bytes at most those of the program that jax.vjp
makes of f, imported. The exit code is 1 where that does not hold; what JAX does not
differentiate either is skipped.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import examine  # noqa: E402
from conformance import BYTES_FIRST  # noqa: E402

sys.path[1:1] = [str(examine.BIN.parent / "python"), str(examine.ROOT / "python")]

ENTRY = "main_vjp"
# Programs whose derivative sends more than JAX's, and why.
MORE_BYTES = {
    "reductions/product": "of 16 elements the operand is gathered, 56 bytes, as what two running products"
    " send is counted twice, although it is sent once; JAX's tree of products sends 52. Of 64 elements"
    " they send 35 bytes, JAX's tree 196, of 4,096 35 and 12,292",
    "transformers/scanned_blocks": "of JAX's program all devices gather all weights, once for both loops, and"
    " compute the same, 7,168 bytes; here each loop gathers its layer's, and the plan is the one that either"
    " has where operations count for what they do on a CPU, 8,192",
}


class Skipped(Exception):
    """Why there is nothing to compare."""


@dataclasses.dataclass
class Outcome:
    """status: passed, failed or skipped; bytes that a device sends."""

    name: str
    status: str = "passed"
    why: str = ""
    difference: float = 0.0
    ours: int = 0
    jax: int = 0

    @property
    def sends_more(self) -> bool:
        return self.status == "passed" and self.ours > self.jax


def main(words: list[str] | None = None) -> int:
    arguments = _arguments(words)
    outcomes = run_all(arguments)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([dataclasses.asdict(o) for o in outcomes]))
    counts = {s: sum(o.status == s for o in outcomes) for s in ("passed", "failed", "skipped")}
    print(", ".join(f"{n} {status}" for status, n in counts.items()), end="; ")
    more = [o.name for o in outcomes if o.sends_more]
    print(f"more bytes than JAX's gradient: {', '.join(more) or 'none'}")
    missed = [name for name in more if name not in MORE_BYTES]
    return 1 if counts["failed"] or missed or not counts["passed"] else 0


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--filter", default="", help="a regular expression on FAMILY/NAME")
    parser.add_argument("--json", help="write what was measured to this file")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    return parser.parse_args(words)


def run_all(arguments: argparse.Namespace) -> list[Outcome]:
    """Outcomes by name, printed as they come."""
    folder = tempfile.mkdtemp(prefix="shoal-gradients-")
    context = multiprocessing.get_context("spawn")
    outcomes = []
    with context.Pool(arguments.jobs, initializer=examine.prepare) as pool:
        names = pool.apply(_names, (arguments.filter,))
        for outcome in pool.imap_unordered(_examine, [(name, folder) for name in names]):
            outcomes.append(outcome)
            _print(outcome)
    shutil.rmtree(folder)
    return sorted(outcomes, key=lambda o: o.name)


def _names(pattern: str) -> list[str]:
    import catalogue

    return sorted(name for name in catalogue.names() if re.search(pattern, name))


def _print(outcome: Outcome) -> None:
    bytes_sent = f"{outcome.ours} / {outcome.jax} bytes" + (" MORE" if outcome.sends_more else "")
    what = bytes_sent if outcome.status == "passed" else outcome.why.replace("\n", "\n    ")
    print(f"{outcome.status:8} {outcome.name}  {what}", flush=True)


def _examine(task: tuple[str, str]) -> Outcome:
    import catalogue

    name, folder = task
    place = Path(folder) / name
    place.mkdir(parents=True)
    outcome = Outcome(name)
    catalogue.load()
    program = catalogue.find(name.split("/")[1])
    try:
        with examine.jax_settings(program):
            _compare(program, place, outcome)
    except Skipped as reason:
        outcome.status, outcome.why = "skipped", str(reason)
    except Exception as error:
        outcome.status, outcome.why = "failed", f"{type(error).__name__}: {error}"[:1500]
    shutil.rmtree(place)
    return outcome


def _compare(program, folder: Path, outcome: Outcome) -> None:
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    wrt, outputs, pulled = _pulled_back(program)
    try:
        expected = examine._results(pulled.on_one_device(), pulled)
        traced = pulled.traced(pulled.mesh())
    except Exception as error:
        raise Skipped(f"JAX: {type(error).__name__}: {str(error).splitlines()[0]}") from None
    outcome.jax = _bytes(import_stablehlo(lower(traced)), folder / "jax", "main")
    forward = folder / "forward.mlir"
    forward.write_text(import_stablehlo(lower(program.traced(program.mesh()))))
    text = _differentiate(forward, wrt, outputs)
    outcome.ours = _bytes(text, folder / "ours", ENTRY)
    got = _run(text, folder / "ours", pulled.arrays())
    for i, (actual, wanted) in enumerate(zip(got, expected, strict=True)):
        actual = actual.view(wanted.dtype) if actual.dtype != wanted.dtype else actual
        if actual.shape != wanted.shape:
            raise examine.Failure(f"result {i} has shape {actual.shape}, JAX's {wanted.shape}")
        difference = examine._difference(actual, wanted)
        tolerance = program.gradient_tolerance or 2 * (
            program.tolerance or examine._TOLERANCES.get(wanted.dtype.name, 0)
        )
        if not difference <= tolerance:
            kind = "gradient" if i >= len(expected) - len(wrt) else "result"
            raise examine.Failure(f"{kind} {i} of {wanted.dtype}: off by {difference:.3g}")
        outcome.difference = max(outcome.difference, difference)


def _pulled_back(program):
    """Arguments and results of floats, and what jax.vjp makes of the program.

    Like the derivative here it takes cotangents behind the arguments and returns the
    gradients, which lie as the arguments do, behind the results.
    """
    import jax
    import jax.numpy as jnp
    from catalogue import UNSPECIFIED, Argument, PartitionSpec, _set_mesh

    _set_mesh(None)
    tree = jax.eval_shape(program._fresh(), *program._shapes())
    leaves = jax.tree.leaves(tree)
    kinds = [x.dtype for x in [*program.arguments, *leaves]]
    if any(jnp.issubdtype(kind, jnp.complexfloating) for kind in kinds):
        raise Skipped("complex numbers, of which JAX's cotangents are conjugates")
    is_float = lambda x: jnp.issubdtype(x.dtype, jnp.floating)  # noqa: E731
    wrt = [i for i, a in enumerate(program.arguments) if is_float(a)]
    outputs = [i for i, leaf in enumerate(leaves) if is_float(leaf)]
    if not wrt or not outputs:
        raise Skipped("no argument or no result of floats")

    def pull_back(*arguments):
        primals = list(arguments[: len(program.arguments)])
        cotangents = list(arguments[len(program.arguments) :])

        def floats(*given):
            for i, x in zip(wrt, given):
                primals[i] = x
            results = jax.tree.leaves(program.function(*primals))
            return [results[i] for i in outputs], results

        _, pull, results = jax.vjp(floats, *(primals[i] for i in wrt), has_aux=True)
        return *results, *pull(cotangents)

    is_spec = lambda x: isinstance(x, PartitionSpec)  # noqa: E731
    specs = [None] * len(leaves)
    if program.out is not UNSPECIFIED:
        whole = jax.tree.broadcast(program.out, tree, is_leaf=is_spec)
        specs = jax.tree.leaves(whole, is_leaf=is_spec)
    cotangents = tuple(
        Argument(leaves[i].shape, np.dtype(leaves[i].dtype), specs[i], "") for i in outputs
    )
    return (
        wrt,
        outputs,
        dataclasses.replace(
            program,
            name=f"gradient_of_{program.name}",
            function=pull_back,
            arguments=program.arguments + cotangents,
            out=(*specs, *(program.arguments[i].spec for i in wrt)),
        ),
    )


def _differentiate(source: Path, wrt: list[int], outputs: list[int]) -> str:
    """The module with the derivative, in generic form, with locations left out."""
    places = f"wrt={','.join(map(str, wrt))} outputs={','.join(map(str, outputs))}"
    option = f"--shoal-differentiate=function=main {places} mode=vjp name={ENTRY}"
    ended = subprocess.run(
        [examine.BIN / "shoal-opt", source, option, "--mlir-print-op-generic"],
        capture_output=True,
        text=True,
        timeout=examine.TIMEOUT,
    )
    if ended.returncode:
        raise examine.Failure(f"shoal-opt: {ended.stderr.strip()[-1200:]}")
    return ended.stdout


def _bytes(text: str, folder: Path, entry: str) -> int:
    folder.mkdir()
    (folder / "program.mlir").write_text(text)
    stats, flags = folder / "stats.json", [*BYTES_FIRST, f"--entry={entry}"]
    measured = examine.Outcome("", "", examine.DEVICES)
    examine.measure(folder / "program.mlir", flags, stats, measured)
    return measured.bytes_ours


def _run(text: str, folder: Path, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results of the derivative on all devices, in its order."""
    line = next(line for line in text.splitlines() if f'sym_name = "{ENTRY}"' in line)
    head, _, tail = line.partition("res_attrs = ")
    inputs, results = (re.findall(r'shoal\.name = "([^"]*)"', part) for part in (head, tail))
    flags = []
    for name, array in zip(inputs, arrays, strict=True):
        path = folder / f"{len(flags)}.npy"
        np.save(path, examine._signless(array))
        flags += ["--input", f"{name}={path}"]
    out = folder / "out"
    examine._run(
        "shoal-run",
        *(examine.BIN / "shoal-run", folder / "program.mlir", f"--entry={ENTRY}"),
        *(f"--devices={examine.DEVICES}", *BYTES_FIRST, *flags, "--output-dir", out),
    )
    return [np.load(out / f"{name}.npy") for name in results]


if __name__ == "__main__":
    sys.exit(main())
