// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_DESCRIBEPRODUCTS_H
#define SHOAL_LIB_RUNTIME_CUDA_DESCRIBEPRODUCTS_H

#include "../Program/Program.h"

namespace shoal::rt {

/// How each product of the program is computed, a line each, as the functions
/// that compute them decide; empty if there is none. No device is needed: it is
/// taken to be of the program's architectures, and to have an algorithm of
/// cuBLASLt for each product.
std::string describeProducts(const Program &program);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_DESCRIBEPRODUCTS_H
