# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one core does of plain matrix products: what no program can be above.

`python plain_products.py` holds small and odd products of a program against loops in C, compiled
for their sizes: `[m, k] x [k, k]`, each of the last one's result, nanoseconds of one.
"""

import argparse
import ctypes
import ctypes.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

Product = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


def one_dnn(count: int = 1) -> Product | None:
    """dnnl_sgemm in so many threads, where oneDNN is installed: of matrices that lie dense, or
    whose transposed do."""
    try:
        gemm = ctypes.CDLL("libdnnl.so.2").dnnl_sgemm
        threads = ctypes.CDLL("libgomp.so.1").omp_set_num_threads
    except OSError:
        return None
    char, size, real, matrix = ctypes.c_char, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
    gemm.argtypes = [char, char, size, size, size, real, matrix, size, matrix, size, real, matrix, size]

    def lie(a: np.ndarray) -> tuple[bytes, int]:
        if a.flags.c_contiguous:
            return b"N", a.shape[1]
        assert a.flags.f_contiguous, a.strides
        return b"T", a.shape[0]

    def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        (rows, terms), columns = a.shape, b.shape[1]
        (a_order, a_step), (b_order, b_step) = lie(a), lie(b)
        threads(count)
        lies = a.ctypes.data, a_step, b.ctypes.data, b_step
        status = gemm(a_order, b_order, rows, columns, terms, 1, *lies, 0, c.ctypes.data, columns)
        assert status == 0, status

    return multiply


def best_rate(rows: int, columns: int, terms: int, repeat: int = 10) -> float:
    """Operations a second of one core in such a product of float32, by NumPy's BLAS, whose threads
    the caller has limited, or by oneDNN, whichever is faster."""
    a, b = np.ones((rows, terms), np.float32), np.ones((terms, columns), np.float32)
    c = np.empty((rows, columns), np.float32)
    ways: list[Product] = [lambda a, b, c: np.matmul(a, b, out=c)]
    if other := one_dnn():
        ways.append(other)
    least = float("inf")
    for _ in range(repeat):
        for multiply in ways:
            begin = time.perf_counter()
            multiply(a, b, c)
            least = min(least, time.perf_counter() - begin)
    return 2 * rows * columns * terms / least


CHAIN = 64
LOOPS = """
static void multiply(const float *restrict a, const float *restrict b, float *restrict c) {
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < K; ++j)
      c[i * K + j] = 0;
    for (int l = 0; l < K; ++l)
      for (int j = 0; j < K; ++j)
        c[i * K + j] += a[i * K + l] * b[l * K + j];
  }
}
void chain(float *x, const float *w, float *y, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    multiply(x, w, y);
    multiply(y, w, x);
  }
}
"""


def loop_nest(rows: int, size: int, folder: Path) -> Callable[[int], float]:
    """The least seconds of CHAIN products by loops, over so many turns."""
    library = folder / f"loops_{rows}_{size}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-DM={rows}", f"-DK={size}"]
    command = ["cc", *flags, "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=LOOPS, text=True, check=True)
    chain = ctypes.CDLL(str(library)).chain
    w = np.full((size, size), 1 / size, np.float32)
    y = np.empty((rows, size), np.float32)

    def way(repeat: int) -> float:
        least = float("inf")
        for _ in range(repeat):
            x = np.ones((rows, size), np.float32)
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, w, y)]
            begin = time.perf_counter()
            chain(*pointers, CHAIN // 2)
            least = min(least, time.perf_counter() - begin)
        return least

    return way


def chain_program(rows: int, size: int) -> str:
    """CHAIN products, each of the last one's result."""
    x, w = f"tensor<{rows}x{size}xf32>", f"tensor<{size}x{size}xf32>"
    lines = [
        f'%{i + 1} = shoal.einsum "mk,kn->mn" %{i}, %w : ({x}, {w}) -> {x}' for i in range(CHAIN)
    ]
    text = "\n  ".join(lines).replace("%0,", "%x,")
    return f"""shoal.mesh @mesh = <["d" = 1]>
func.func @main(%x: {x}, %w: {w}) -> {x} {{
  {text}
  return %{CHAIN} : {x}
}}
"""


@contextmanager
def chains() -> Iterator[Callable[[int, int], Callable[[int], float]]]:
    """A way to make a program's products into something that is timed as loop_nest is."""
    build = Path(os.environ.get("SHOAL_BUILD", Path(__file__).parents[2] / "build/release"))
    sys.path.insert(0, str(build / "python"))
    import shoal

    with shoal.launch(1) as pool:

        def make(rows: int, size: int) -> Callable[[int], float]:
            loaded = pool.load(shoal.compile_text(chain_program(rows, size)))
            arrays = [np.ones((rows, size), np.float32), np.full((size, size), 1 / size, np.float32)]
            values = [pool.put(array, place) for array, place in zip(arrays, loaded.inputs)]

            def way(repeat: int) -> float:
                least = float("inf")
                for _ in range(repeat):
                    loaded.run(values)
                    least = min(least, loaded.seconds)
                return least

            return way

        yield make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 3, 8, 17, 33, 64])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 3, 5, 8, 13, 16, 17, 31, 33, 64])
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way")
    parser.add_argument("--repeat", type=int, default=200, help="chains in a turn")
    args = parser.parse_args()
    os.environ["SHOAL_NUM_THREADS"] = "1"
    print("| m x k x k | Shoal ns | loops ns | ratio |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder, chains() as make:
        for rows in args.rows:
            for size in args.sizes:
                ways = make(rows, size), loop_nest(rows, size, Path(folder))
                turns = [[way(args.repeat) for way in ways] for _ in range(args.rounds)]
                ours, loops = (min(turn[i] for turn in turns) / CHAIN * 1e9 for i in (0, 1))
                figures = f"{ours:.0f} | {loops:.0f} | {ours / loops:.2f}"
                print(f"| {rows} x {size} x {size} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
