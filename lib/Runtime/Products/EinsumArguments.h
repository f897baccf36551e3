// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What shoal_rt_einsum gets.

#ifndef SHOAL_LIB_RUNTIME_PRODUCTS_EINSUMARGUMENTS_H
#define SHOAL_LIB_RUNTIME_PRODUCTS_EINSUMARGUMENTS_H

#include "../Program/Calls.h"
#include "ProductMemory.h"

#include <cstdarg>

namespace shoal::rt {

/// A call, and the pieces of its scratch.
struct PlannedEinsum {
  EinsumCall call;
  products::EinsumScratch scratch;
};

/// What `desc` describes, read once. Ends the process by an error where its
/// plan is for the other kind of machine.
const PlannedEinsum &lookUpEinsum(const int64_t *desc, bool isDevice);

/// The arguments of a call behind its descriptor; null for those that it has
/// not.
struct EinsumBuffers {
  std::array<const void *, 2> operands = {}, scales = {};
  const void *bias = nullptr;
  void *out = nullptr;
  void *scratch = nullptr;
};
EinsumBuffers takeBuffers(const EinsumCall &call, va_list arguments);

/// Whether something is done behind the sums.
bool hasEpilogue(const EinsumCall &call);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PRODUCTS_EINSUMARGUMENTS_H
