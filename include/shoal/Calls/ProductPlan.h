// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a product of two tensors is computed: what the compiler plans
// (shoal/Products/PlanEinsum.h), what `rt.einsum` says and what the runtime
// reads. Sizes and strides count elements.

#ifndef SHOAL_CALLS_PRODUCTPLAN_H
#define SHOAL_CALLS_PRODUCTPLAN_H

#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

namespace shoal::calls {

using support::ElementType;

/// A loop over N tensors and how far it is from one step to the next in each;
/// a stride of 0 repeats the tensor.
template <size_t N>
struct Loop {
  static constexpr const char *name = N == 2 ? "copy loop" : "product loop";

  int64_t size = 0;
  std::array<int64_t, N> strides = {};

  bool operator==(const Loop &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("size", &Loop::size, "steps"),
                      field("strides", &Loop::strides,
                            N == 2
                                ? "in the tensor that is read, and in the other"
                                : "in both operands and the result")};
  }
};

/// A nest, the last loop fastest.
template <size_t N>
using Loops = std::vector<Loop<N>>;

/// result[r] = sum over `summed` of a * b, by loops: what products without a
/// sum, integers and odd small contractions come to. `outer` walks the result,
/// which is dense, once. Small floats are multiplied and summed in f32.
struct LoopProduct {
  static constexpr const char *name = "loop product";

  Loops<3> outer, summed;

  bool operator==(const LoopProduct &) const = default;
  static constexpr auto fields() {
    using Plan = LoopProduct;
    return std::tuple{field("outer", &Plan::outer, "over the result"),
                      field("summed", &Plan::summed, "over the terms")};
  }
};

/// A matrix by the strides of its loops; at least one is dense.
struct MatrixStrides {
  static constexpr const char *name = "matrix";

  int64_t row = 0, column = 0;

  bool operator==(const MatrixStrides &) const = default;
  static constexpr auto fields() {
    using Plan = MatrixStrides;
    return std::tuple{
        field("row", &Plan::row, "from one row to the next"),
        field("column", &Plan::column, "from one column to the next")};
  }
};

/// Which library multiplies matrices: the machine's BLAS, of which a device's
/// is cuBLASLt, or on a CPU oneDNN. That takes bf16 as it is, sums in f32, and
/// does all batches and outer loops in one call.
enum class ProductLibrary : int64_t { BLAS, OneDNN };

/// c[m, n] += a[m, k] b[k, n] by a library's matrix products, in loops.
struct GemmPlan {
  static constexpr const char *name = "matrix products";

  ProductLibrary library = ProductLibrary::BLAS;
  /// Over the tensors themselves.
  Loops<3> batch;
  /// How both operands and the result are copied to or from a dense scratch,
  /// for one batch index: the tensor, then the scratch. None where the product
  /// takes them as they lie.
  std::array<std::optional<Loops<2>>, 3> packing;
  /// Around the products, over what packing leaves: rows and columns, then the
  /// summed loops, of which all but the first iteration add to the result.
  Loops<3> outer, summed;
  int64_t m = 1, n = 1, k = 1;
  MatrixStrides a, b, c;

  bool operator==(const GemmPlan &) const = default;
  static constexpr auto fields() {
    using Plan = GemmPlan;
    return std::tuple{
        field("library", &Plan::library, "which multiplies"),
        field("batch", &Plan::batch, "over the tensors"),
        field("packing", &Plan::packing,
              "of both operands and the result, for one batch index: tensor "
              "and dense scratch"),
        field("outer", &Plan::outer, "over what packing leaves"),
        field("summed", &Plan::summed,
              "the same; all but the first iteration add to the result"),
        field("m", &Plan::m, "rows of one product"),
        field("n", &Plan::n, "its columns"),
        field("k", &Plan::k, "its terms"),
        field("a", &Plan::a, "operand 0, m x k"),
        field("b", &Plan::b, "operand 1, k x n"),
        field("c", &Plan::c, "the result, m x n")};
  }
};

/// The elements of a product's tensors: equal types, or small floats into f32,
/// or two floats of 8 bits into any float, or else types of which both are
/// floats or both integers.
struct ProductTypes {
  static constexpr const char *name = "product types";

  std::array<ElementType, 2> in = {};
  ElementType out{};

  bool operator==(const ProductTypes &) const = default;
  static constexpr auto fields() {
    using Types = ProductTypes;
    return std::tuple{field("in", &Types::in, "of both operands"),
                      field("out", &Types::out, "of the result")};
  }
};

/// A product of two tensors, step by step. Without matrix products and loops
/// the result is zero: there is nothing to sum.
struct ProductPlan {
  static constexpr const char *name = "product plan";

  /// Made for a device: its library takes narrow floats, and all batches and
  /// outer loops in one call.
  bool isDevice = false;
  /// Whole operands are converted to the type that is computed in, and the
  /// result from there, for the mixtures of types that no kernel takes.
  bool converts = false;
  /// Sums over the letters that one operand has alone, or its conversion: into
  /// a dense tensor of the type that is computed in, which takes the operand's
  /// place. As loops over the operand, a one and the new tensor.
  std::array<std::optional<LoopProduct>, 2> prepared;
  /// At most one of the two.
  std::optional<GemmPlan> gemm;
  std::optional<LoopProduct> loops;

  bool operator==(const ProductPlan &) const = default;
  static constexpr auto fields() {
    using Plan = ProductPlan;
    return std::tuple{
        field("is_device", &Plan::isDevice, "whether made for a device"),
        field("converts", &Plan::converts,
              "whether whole tensors are converted to and from the type that "
              "is computed in"),
        field("prepared", &Plan::prepared,
              "of each operand, what is summed or converted first: operand, a "
              "one and a dense tensor of the type that is computed in"),
        field("gemm", &Plan::gemm, "products of a library"),
        field("loops", &Plan::loops,
              "without a library; neither: the result is zero")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_PRODUCTPLAN_H
