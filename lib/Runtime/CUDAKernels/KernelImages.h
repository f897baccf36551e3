// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of the compiled kernels, which the build puts into this library.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_KERNELIMAGES_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_KERNELIMAGES_H

#include <span>

namespace shoal::rt {

struct KernelImage {
  /// The source file, without its ending.
  const char *name;
  const void *data;
};

/// Fatbins, one for each source.
std::span<const KernelImage> kernelImages();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_KERNELIMAGES_H
