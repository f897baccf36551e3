// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Runtime/CustomCall.h"
#include "../Common/Descriptor.h"

#include <cstdarg>

using namespace shoal::rt;

/// The sizes stay where the descriptor has them.
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

extern "C" void shoal_rt_custom_call(const int64_t *desc,
                                     shoal_custom_function function, ...) {
  Descriptor reader(desc);
  int64_t numOperands = reader.number(), numResults = reader.number();
  std::vector<shoal_tensor> tensors;
  va_list arguments;
  va_start(arguments, function);
  for (int64_t i = 0; i < numOperands + numResults; ++i) {
    tensors.push_back(readTensor(reader));
    tensors.back().data = va_arg(arguments, void *);
  }
  va_end(arguments);
  std::string target = readText(reader), config = readText(reader);
  shoal_custom_call call{config.c_str(), numOperands, tensors.data(),
                         numResults, tensors.data() + numOperands};
  if (int status = function(&call))
    fatal("custom_call \"" + target + "\" returned " + std::to_string(status));
}
