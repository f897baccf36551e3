// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_BLAS_H
#define SHOAL_LIB_RUNTIME_CPU_BLAS_H

#include "shoal/Products/GemmPlan.h"
#include "shoal/Support/Result.h"

// BLAS, which a program is linked with if one of its plans names it: both are
// null otherwise. `-Wl,-u,shoal_rt_blas_gemm` has them linked.
// NOLINTBEGIN(readability-identifier-naming)

/// Has BLAS take its buffer, which it keeps, or says that there is no room for
/// one of each thread. OpenBLAS would take it in the first product, and where
/// the system refuses ask for ever without a word.
extern "C" void shoal_rt_blas_prepare(shoal::support::Status &status)
    __attribute__((weak));

/// The plan's products behind what is packed, with the loops of `batch` over
/// them, in f32 or f64. Threads share them.
extern "C" void shoal_rt_blas_gemm(const shoal::calls::GemmPlan &plan,
                                   const shoal::calls::Loops<3> &batch,
                                   shoal::support::ElementType compute,
                                   const void *a, const void *b, void *c)
    __attribute__((weak));
// NOLINTEND(readability-identifier-naming)

#endif // SHOAL_LIB_RUNTIME_CPU_BLAS_H
