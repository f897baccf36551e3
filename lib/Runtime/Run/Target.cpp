// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Target.h"

#include <cstring>

namespace shoal::rt {

Status Target::stepOn(const Program &program, void *const *inputs,
                      void *const *outputs) {
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (Status failed = upload(i, [&](void *shard) -> Status {
          std::memcpy(shard, inputs[i], program.inputs[i].localBytes());
          return std::nullopt;
        }))
      return failed;
  step();
  synchronize();
  for (size_t i = 0; i < program.outputs.size(); ++i)
    if (Status failed = download(i, [&](const void *shard) -> Status {
          std::memcpy(outputs[i], shard, program.outputs[i].localBytes());
          return std::nullopt;
        }))
      return failed;
  return std::nullopt;
}

/// What a step writes comes from the device's memory, after all inputs went
/// there: it may take their place.
Status Target::stepInPlace(const Program &program, void *const *inputs,
                           void *const *outputs, char *shared) {
  std::vector<void *> results(outputs, outputs + program.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &output = program.outputs[i];
    if (output.donor)
      results[i] = inputs[*output.donor];
    else if (output.offset)
      results[i] = shared + *output.offset;
  }
  return Target::stepOn(program, inputs, results.data());
}

} // namespace shoal::rt
