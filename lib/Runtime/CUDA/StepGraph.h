// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step as a CUDA graph: its calls are captured once and launched together.

#ifndef SHOAL_LIB_RUNTIME_CUDA_STEPGRAPH_H
#define SHOAL_LIB_RUNTIME_CUDA_STEPGRAPH_H

#include "Api.h"

#include <functional>

namespace shoal::rt {

class StepGraph {
public:
  /// Why a step cannot be captured, which a step that ran has shown; empty if
  /// it can. A step that waits for the device chooses what it does by values.
  std::string obstacle() const;

  /// Captures what `step` enqueues on all streams.
  void capture(const std::function<void()> &step);

  bool isCaptured() const { return executable != nullptr; }

  /// On the compute stream.
  void launch();

private:
  cudaGraphExec_t executable = nullptr;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_STEPGRAPH_H
