// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_PRODUCTS_RAGGEDPLAN_H
#define SHOAL_LIB_RUNTIME_PRODUCTS_RAGGEDPLAN_H

#include "../Program/Calls.h"
#include "../Program/Numeric.h"
#include "shoal/Products/RaggedProduct.h"

#include <unordered_map>

namespace shoal::rt {

/// A ragged einsum, and a product for each group once the bounds are known:
/// these are planned here, by the compiler's planner, as nothing else knows how
/// many rows a group has.
class RaggedPlan : public products::RaggedProduct {
public:
  struct Group {
    /// Of its part in each tensor, in elements.
    std::array<int64_t, numTensors> offsets;
    int64_t begin, count;
  };

  RaggedPlan(const RaggedEinsumCall &call, const ProductModel &model);

  /// Those with rows, in the order of the bounds, which lie in host memory.
  std::vector<Group> listGroups(const void *begins, const void *ends) const;
  /// Whether no element of the result belongs to two groups; false where
  /// finding out would cost more than adding.
  bool areDisjoint(const std::vector<Group> &groups) const;
  /// The product of a group of so many rows.
  const GroupPlan &productOf(int64_t rows);
  /// Whether that is planned already and still known.
  bool knows(int64_t rows) const { return products.contains(rows); }

  int64_t resultElements = 1;

private:
  int64_t boundAt(const void *bounds, int64_t place) const;

  /// By the number of rows.
  std::unordered_map<int64_t, GroupPlan> products;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PRODUCTS_RAGGEDPLAN_H
