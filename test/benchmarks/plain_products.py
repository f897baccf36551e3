# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one core does of plain matrix products: what no program can be above."""

import ctypes
import ctypes.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Product = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


def one_dnn() -> Product | None:
    """dnnl_sgemm in one thread, where oneDNN is installed."""
    try:
        gemm = ctypes.CDLL("libdnnl.so.2").dnnl_sgemm
        threads = ctypes.CDLL("libgomp.so.1").omp_set_num_threads
    except OSError:
        return None
    char, size, real, matrix = ctypes.c_char, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
    gemm.argtypes = [char, char, size, size, size, real, matrix, size, matrix, size, real, matrix, size]

    def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        (rows, terms), columns = a.shape, b.shape[1]
        threads(1)
        lies = a.ctypes.data, terms, b.ctypes.data, columns
        status = gemm(b"N", b"N", rows, columns, terms, 1, *lies, 0, c.ctypes.data, columns)
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
