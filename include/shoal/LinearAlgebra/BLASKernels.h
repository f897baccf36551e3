// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which of its kernels OpenBLAS uses: the same in the interpreter and in
// programs, so that LAPACK's results are the same bits.

#ifndef SHOAL_LINEARALGEBRA_BLASKERNELS_H
#define SHOAL_LINEARALGEBRA_BLASKERNELS_H

namespace shoal::lapack {

/// openblas_set_num_threads, openblas_get_corename, gotoblas_dynamic_init and
/// gotoblas_dynamic_quit of OpenBLAS; null in another BLAS, and the last two in
/// builds for one CPU.
struct BLASControls {
  void (*setNumThreads)(int) = nullptr;
  char *(*getCoreName)() = nullptr;
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
};

/// Has BLAS use kernels for what this CPU can do, and one thread: threads of
/// ours call it, as its own cut of a product depends on their number. Before
/// anything is multiplied, and before there are threads.
///
/// OpenBLAS chooses its kernels by the CPU's model, and takes those of SSE3
/// where it does not know it, as 0.3.21, Debian 12's, does of every Xeon after
/// Sapphire Rapids: a fifth of the rate of those of AVX-512. OPENBLAS_CORETYPE
/// in the environment holds.
void prepareBLAS(const BLASControls &controls);

} // namespace shoal::lapack

#endif // SHOAL_LINEARALGEBRA_BLASKERNELS_H
