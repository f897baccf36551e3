// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_COMMON_CUSTOMCALLSPEC_H
#define SHOAL_LIB_RUNTIME_COMMON_CUSTOMCALLSPEC_H

#include "Descriptor.h"
#include "shoal/Runtime/CustomCall.h"

namespace shoal::rt {

/// A custom_call as its descriptor gives it, see CustomCall.h. The tensors'
/// data are the caller's to set.
struct CustomCallSpec {
  explicit CustomCallSpec(const int64_t *desc) {
    Descriptor reader(desc);
    numOperands = reader.number();
    numResults = reader.number();
    for (int64_t i = 0; i < numOperands + numResults; ++i)
      tensors.push_back(readTensor(reader));
    target = readText(reader);
    config = readText(reader);
  }

  /// Ends the program by an error if the function reports one.
  void call(shoal_custom_function function) const {
    shoal_custom_call call{config.c_str(), numOperands, tensors.data(),
                           numResults, tensors.data() + numOperands};
    if (int status = function(&call))
      fatal("custom_call \"" + target + "\" returned " +
            std::to_string(status));
  }

  int64_t numOperands;
  int64_t numResults;
  /// Operands, then results. Shapes stay where the descriptor has them.
  std::vector<shoal_tensor> tensors;
  std::string target;
  std::string config;

private:
  static shoal_tensor readTensor(Descriptor &reader) {
    shoal_tensor tensor{};
    tensor.type = reader.number();
    tensor.rank = reader.number();
    tensor.shape = reader.position();
    for (int64_t d = 0; d < tensor.rank; ++d)
      reader.number();
    return tensor;
  }

  static std::string readText(Descriptor &reader) {
    std::string text(reader.number(), '\0');
    for (char &c : text)
      c = static_cast<char>(reader.number());
    return text;
  }
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_CUSTOMCALLSPEC_H
