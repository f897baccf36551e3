// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// oneDNN, which a program is linked with if one of its plans names it.

#ifndef SHOAL_LIB_RUNTIME_CPU_ONEDNN_H
#define SHOAL_LIB_RUNTIME_CPU_ONEDNN_H

#include "shoal/Products/GemmPlan.h"

/// The plan's products behind what is packed, with the loops of `batch` over
/// them: operands of f32 or bf16, a result of either. `parts` is memory for the
/// results of parts of the terms (shoal/Products/GemmPieces.h), null where
/// there is one. What is made for a plan at its first use is kept. Null without
/// oneDNN: `-Wl,-u,shoal_rt_onednn_gemm` has it linked.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void shoal_rt_onednn_gemm(const shoal::calls::GemmPlan &plan,
                                     const shoal::calls::Loops<3> &batch,
                                     shoal::support::ElementType in,
                                     shoal::support::ElementType out,
                                     const void *a, const void *b, void *c,
                                     void *parts) __attribute__((weak));

#endif // SHOAL_LIB_RUNTIME_CPU_ONEDNN_H
