// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product whose rows belong to groups known at run time: what of it is known
// before, and how the product of one group is computed once its rows are
// counted.

#ifndef SHOAL_PRODUCTS_RAGGEDPRODUCT_H
#define SHOAL_PRODUCTS_RAGGEDPRODUCT_H

#include "shoal/Products/ProductScratch.h"

namespace shoal::products {

using calls::RaggedEinsumCall;

class RaggedProduct {
public:
  enum Tensor { In0, In1, Bounds, Out, numTensors };

  struct GroupPlan {
    ProductPlan plan;
    /// In no more than productBytes().
    ProductScratch scratch;
  };

  RaggedProduct(const RaggedEinsumCall &call, const ProductModel &model);

  /// Whether there is nothing to multiply.
  bool isEmpty() const { return contains(sizes, 0); }
  /// The product of a group of so many rows, from 1 to all.
  GroupPlan planGroup(int64_t rows) const { return planWithin(rows, limit); }
  /// The loops over a group's part of the result, by dense strides and those of
  /// the result.
  Loops<2> partLoops(int64_t rows) const;
  /// Whether the part is a dense piece of the result.
  bool isDensePart(int64_t rows) const;

  bool isInBounds(int64_t letter) const {
    return contains(terms[Bounds], letter);
  }

  /// Bytes of a group's part of the result, on a CPU, which adds it there
  /// where groups may overlap or are not dense; 0 where they cannot.
  int64_t partBytes() const;
  /// Bytes for the pieces of any group's product: those of all rows. What must
  /// be packed or prepared of fewer rows is less; what is packed by choice may
  /// be more, so that groups are planned within this.
  int64_t productBytes() const { return limit; }

  /// The product of one group; the sizes of its rows are set for each.
  EinsumSpec part;
  ElementType boundType;
  std::vector<int64_t> sizes;
  int64_t rowLetter;
  std::array<Letters, numTensors> terms;
  std::array<std::vector<int64_t>, numTensors> strides;

private:
  /// Without library products where those need more bytes.
  GroupPlan planWithin(int64_t rows, int64_t bytes) const;

  ProductModel model;
  int64_t limit = 0;
};

} // namespace shoal::products

namespace shoal::calls {

int64_t scratchBytes(const RaggedEinsumCall &call, bool onDevice);

} // namespace shoal::calls

#endif // SHOAL_PRODUCTS_RAGGEDPRODUCT_H
