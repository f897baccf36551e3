// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes from a per-device program to LLVM's dialect, phase by phase.

#ifndef SHOAL_CONVERSION_PASSES_H
#define SHOAL_CONVERSION_PASSES_H

#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/Conversion/Checks/Passes.h"
#include "shoal/Conversion/Cleanup/Passes.h"
#include "shoal/Conversion/Device/Passes.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/Conversion/Scalars/Passes.h"
#include "shoal/Conversion/ShoalToLinalg/Passes.h"
#include "shoal/Conversion/ToLLVM/Passes.h"

namespace shoal {

inline void registerShoalConversionPasses() {
  registerCleanupPasses();
  registerChecksPasses();
  registerShoalToLinalgPasses();
  registerFusionPasses();
  registerBuffersPasses();
  registerDevicePasses();
  registerMemoryPasses();
  registerKernelsPasses();
  registerScalarsPasses();
  registerToLLVMPasses();
}

} // namespace shoal

#endif // SHOAL_CONVERSION_PASSES_H
