// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --describe says of products on all machines.

#ifndef SHOAL_LIB_RUNTIME_PRODUCTS_DESCRIBEPRODUCTS_H
#define SHOAL_LIB_RUNTIME_PRODUCTS_DESCRIBEPRODUCTS_H

#include "../Program/Program.h"
#include "shoal/Calls/ProductPlan.h"

namespace shoal::rt {

/// "a, b and c"
std::string joinWords(const std::vector<std::string> &words);

/// "  f.mlir:3:8: " and the text, as a line.
std::string productLine(const ProductInfo &product, const std::string &text);

/// "4 times [256, 64] x [64, 512]"
std::string describeSizes(const calls::GemmPlan &gemm, int64_t times);

/// What is copied around the product, each behind "; ".
std::string describeCopies(const calls::ProductPlan &plan);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PRODUCTS_DESCRIBEPRODUCTS_H
