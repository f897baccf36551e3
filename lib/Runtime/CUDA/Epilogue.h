// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is done to a product's result before it is stored: it is multiplied by
// scales, a bias is added, then an activation applied.

#ifndef SHOAL_LIB_RUNTIME_CUDA_EPILOGUE_H
#define SHOAL_LIB_RUNTIME_CUDA_EPILOGUE_H

#include "../Products/EinsumArguments.h"
#include "../Program/Numeric.h"
#include "Api.h"

#include <optional>

namespace shoal::rt {

struct Epilogue {
  Activation activation = Activation::None;
  /// In the result's type; null for none.
  const void *bias = nullptr;
  /// f32 scalars, the first of which is there if any is; null for none.
  std::array<const void *, 2> scales = {};
  /// Where sums of narrow floats are held in f32 until they are scaled.
  void *sums = nullptr;
  /// The result, which is dense, and the bias: by dimension of the result if
  /// there is one.
  Loops<2> loops;

  bool hasScales() const { return scales[0] != nullptr; }

  /// The bias' stride along a loop of `size` steps of `stride` elements of the
  /// result; none if it has no constant one.
  std::optional<int64_t> biasStride(int64_t size, int64_t stride) const;
};

/// What of an epilogue a product has done.
struct Applied {
  bool scales = false;
  /// The bias and the activation, too.
  bool all = false;
  /// Where the sums are, in f32 and the result's layout, if not in the result.
  const void *wide = nullptr;
};

/// What an einsum does behind its sums, which `sums` has room for in f32.
Epilogue makeEpilogue(const EinsumCall &call, const EinsumBuffers &buffers,
                      void *sums);

/// What the product has not done, of the result in elements of `type`.
void applyEpilogue(const Epilogue &epilogue, const Applied &applied,
                   ElementType type, void *result, cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_EPILOGUE_H
