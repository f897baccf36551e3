// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_BLAS_H
#define SHOAL_LIB_RUNTIME_CPU_BLAS_H

#include "shoal/Products/GemmPlan.h"
#include "shoal/Support/Result.h"

namespace shoal::rt {

using namespace products;

/// Has BLAS take its buffer, which it keeps, or says that there is no room for
/// one of each thread. OpenBLAS would take it in the first product, and where
/// the system refuses ask for ever without a word.
support::Status prepareLibrary();

/// The plan's products behind what is packed, with the loops of `batch` over
/// them, in f32 or f64. Threads share them.
void multiplyByBLAS(const GemmPlan &plan, const Loops<3> &batch,
                    ElementType compute, const void *a, const void *b, void *c);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_BLAS_H
