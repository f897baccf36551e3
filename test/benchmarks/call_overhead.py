#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of a pool costs over the step itself, which the workers time.

Usage: call_overhead.py [--devices=4] [--calls=1000]

Prints, in microseconds, percentiles over so many calls: of a program with one
array that stays, of one that sums over the devices, of one with a new batch of
1 MB each time, and of one with 300 inputs and 200 results; of the last also what
this process' part takes.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

import shoal

PERCENTILES = (1, 50, 90, 99, 100)


def program(devices: int, inputs: int, outputs: int, rows: int) -> str:
    """The first results are the donated inputs plus 1, in their memory."""
    sharding = 'shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>'
    type = f"tensor<{rows}xf32>"
    arguments = [
        f"%x{i}: {type} {{{'shoal.donated, ' if i < outputs else ''}{sharding}}}"
        for i in range(inputs)
    ]
    results = ", ".join([f"{type} {{{sharding}}}"] * outputs)
    body = "\n".join(f"  %y{i} = arith.addf %x{i}, %one : {type}" for i in range(outputs))
    names = ", ".join(f"%y{i}" for i in range(outputs))
    return f"""
shoal.mesh @mesh = <["d" = {devices}]>
func.func @step({", ".join(arguments)}) -> ({results}) {{
  %one = arith.constant dense<1.0> : {type}
{body}
  return {names} : {", ".join([type] * outputs)}
}}
"""


def sum_program(devices: int) -> str:
    """The devices wait for each other."""
    return f"""
shoal.mesh @mesh = <["d" = {devices}]>
func.func @sum(%x: tensor<{devices}x64xf32>
    {{shoal.sharding = #shoal.sharding<@mesh, [{{"d"}}, {{}}]>}}) -> tensor<64xf32> {{
  %y = shoal.reduce sum %x dims = [0] : tensor<{devices}x64xf32> -> tensor<64xf32>
  return %y : tensor<64xf32>
}}
"""


def show(name: str, seconds: Sequence[float]) -> None:
    values = np.percentile(np.array(seconds) * 1e6, PERCENTILES)
    print(f"{name:<44}" + "".join(f"{value:>10.0f}" for value in values))


def measure(
    name: str, calls: int, step: Callable[[], object], loaded: shoal.devices.Loaded
) -> None:
    over, steps = [], []
    for _ in range(calls):
        begin = time.perf_counter()
        step()
        over.append(time.perf_counter() - begin - loaded.seconds)
        steps.append(loaded.seconds)
    show(f"{name}: over the step", over)
    show(f"{name}: the step", steps)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    print(f"{'us':<44}" + "".join(f"{f'{p} %':>10}" for p in PERCENTILES))
    with shoal.launch(options.devices) as pool:
        one = pool.load(shoal.compile_text(program(options.devices, 1, 1, 64)))
        state = one.run([np.zeros(64, np.float32)])

        def stay() -> None:
            state[:] = one.run(state)

        measure("an array that stays", options.calls, stay, one)

        total = pool.load(shoal.compile_text(sum_program(options.devices)))
        spread = pool.put(np.ones((options.devices, 64), np.float32), total.inputs[0])
        measure("a sum over the devices", options.calls, lambda: total.run([spread]), total)

        rows = 1 << 18
        fed = pool.load(shoal.compile_text(program(options.devices, 2, 1, rows)))
        batch = np.ones(rows, np.float32)
        kept = fed.run([batch, batch])

        def feed() -> None:
            kept[:] = fed.run([kept[0], batch])

        measure("a new batch of 1 MB", options.calls, feed, fed)

        many = pool.load(shoal.compile_text(program(options.devices, 300, 200, 64)))
        inputs = [pool.put(np.zeros(64, np.float32), place) for place in many.inputs]

        def turn() -> None:
            inputs[:200] = many.run(inputs)

        measure("300 inputs, 200 results", options.calls, turn, many)
        # The same up to the message, which nobody gets.
        def pack(places: list[int], timeout: float | None) -> float:
            many._format.pack(*many._head, *places)
            return 0.0

        many._step = pack
        measure("of that, this process", options.calls, turn, many)


if __name__ == "__main__":
    main()
