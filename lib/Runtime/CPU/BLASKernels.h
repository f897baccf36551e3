// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_BLASKERNELS_H
#define SHOAL_LIB_RUNTIME_CPU_BLASKERNELS_H

namespace shoal::rt {

/// Has BLAS use kernels for what this CPU can do, and one thread. Before
/// anything is multiplied, and before there are threads.
///
/// OpenBLAS chooses its kernels by the CPU's model, and takes those of SSE3
/// where it does not know it, as 0.3.21, Debian 12's, does of every Xeon after
/// Sapphire Rapids: a fifth of the rate of those of AVX-512. OPENBLAS_CORETYPE
/// in the environment holds.
void prepareBLASKernels();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_BLASKERNELS_H
