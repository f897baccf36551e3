// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A product as one call of oneDNN.

#ifndef SHOAL_LIB_RUNTIME_CPU_ONEDNNKERNEL_H
#define SHOAL_LIB_RUNTIME_CPU_ONEDNNKERNEL_H

#include "../Program/Numeric.h"
#include "shoal/Products/GemmPlan.h"

#include <dnnl.hpp>

namespace shoal::rt::onednn {

using namespace products;

/// A matrix with the strides that a library reads.
struct Matrix {
  int64_t rows, columns;
  dnnl::memory::dims strides;

  Matrix(int64_t rows, int64_t columns, MatrixStrides given);
  bool isRowMajor() const { return strides[1] == 1; }
  void transpose();
};

/// c (+)= a b, a and b of one type, c dense along its rows, with loops inside
/// of the call.
struct Product {
  Matrix a, b, c;
  ElementType in, out;
  /// At most two, around the matrices.
  Loops<3> inside;
};

/// What oneDNN made for a product. Any thread may run it, also at the same time
/// as others: nothing in it changes.
class Kernel {
public:
  /// dnnl::error where oneDNN does not know such a product.
  Kernel(const Product &product, bool adds);

  /// Whether it is one of oneDNN's kernels for matrices, not the plain loops
  /// that it has for what those do not take.
  bool isFast() const;
  void run(const char *a, const char *b, char *c) const;

private:
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
};

} // namespace shoal::rt::onednn

#endif // SHOAL_LIB_RUNTIME_CPU_ONEDNNKERNEL_H
