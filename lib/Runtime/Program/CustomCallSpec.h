// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_CUSTOMCALLSPEC_H
#define SHOAL_LIB_RUNTIME_PROGRAM_CUSTOMCALLSPEC_H

#include "Calls.h"
#include "Numeric.h"
#include "shoal/Runtime/CustomCall.h"

namespace shoal::rt {

static_assert(static_cast<int64_t>(ElementType::F32) == SHOAL_RT_F32 &&
                  static_cast<int64_t>(ElementType::F64) == SHOAL_RT_F64 &&
                  static_cast<int64_t>(ElementType::BF16) == SHOAL_RT_BF16 &&
                  static_cast<int64_t>(ElementType::F16) == SHOAL_RT_F16 &&
                  static_cast<int64_t>(ElementType::I64) == SHOAL_RT_I64 &&
                  static_cast<int64_t>(ElementType::I32) == SHOAL_RT_I32 &&
                  static_cast<int64_t>(ElementType::I16) == SHOAL_RT_I16 &&
                  static_cast<int64_t>(ElementType::I8) == SHOAL_RT_I8 &&
                  static_cast<int64_t>(ElementType::I1) == SHOAL_RT_I1 &&
                  static_cast<int64_t>(ElementType::F8E4M3FN) ==
                      SHOAL_RT_F8E4M3FN &&
                  static_cast<int64_t>(ElementType::F8E5M2) == SHOAL_RT_F8E5M2,
              "what functions of users are told");

/// A custom_call as its function gets it, see CustomCall.h. The tensors' data
/// are the caller's to set.
struct CustomCallSpec {
  explicit CustomCallSpec(const int64_t *desc)
      : described(lookUp<CustomCall>(desc)) {
    for (const auto *list : {&described.operands, &described.results})
      for (const TensorShape &tensor : *list)
        tensors.push_back({static_cast<int64_t>(tensor.type),
                           static_cast<int64_t>(tensor.shape.size()),
                           tensor.shape.data(), /*data=*/nullptr});
  }

  /// Ends the program by an error if the function reports one.
  void call(shoal_custom_function function) const {
    shoal_custom_call call{described.config.c_str(), numOperands(),
                           tensors.data(),
                           static_cast<int64_t>(described.results.size()),
                           tensors.data() + numOperands()};
    if (int status = function(&call))
      fatal("custom_call \"" + described.target + "\" returned " +
            std::to_string(status));
  }

  int64_t numOperands() const {
    return static_cast<int64_t>(described.operands.size());
  }

  const CustomCall &described;
  /// Operands, then results.
  std::vector<shoal_tensor> tensors;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_CUSTOMCALLSPEC_H
