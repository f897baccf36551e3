// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_RAGGEDEINSUM_H
#define SHOAL_LIB_RUNTIME_CUDA_RAGGEDEINSUM_H

#include <cstdint>

namespace shoal::rt {

/// How a ragged einsum is computed.
enum class RaggedWay {
  /// A thread an element of the result: integers, and products of odd shapes.
  Loops,
  /// A kernel of tiles that reads the bounds on the device.
  Grouped,
  /// The host waits for the bounds, then calls cuBLASLt for each group: for
  /// long products, not in CUDA graphs.
  Calls
};

struct RaggedTensors {
  const void *in0, *in1, *begins, *ends;
  void *out, *scratch;
};

/// The cheapest way for the descriptor that the device allows.
RaggedWay chooseRaggedWay(const int64_t *desc);

/// False if the einsum cannot be computed so; then nothing was done.
bool runRagged(const int64_t *desc, const RaggedTensors &tensors,
               RaggedWay way);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_RAGGEDEINSUM_H
