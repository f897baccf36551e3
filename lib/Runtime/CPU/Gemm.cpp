// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gemm.h"
#include "BLAS.h"
#include "OneDNN.h"
#include "StridedCopy.h"
#include "shoal/Products/OneDNN.h"

namespace shoal::rt {

namespace {

/// A tensor as the library sees it: itself, or packed for one batch index.
struct Operand {
  ElementType type;
  char *data;
  bool isPacked;

  char *at(int64_t offset) const {
    return isPacked
               ? data
               : data +
                     offset * static_cast<int64_t>(support::elementSize(type));
  }
};

const char *elementAt(const void *tensor, ElementType type, int64_t offset) {
  return static_cast<const char *>(tensor) +
         offset * static_cast<int64_t>(support::elementSize(type));
}

/// The steps of a plan around its library's products.
class PackedProducts {
public:
  PackedProducts(const GemmPlan &plan, ElementType compute,
                 const GemmTensors &tensors, const ProductMemory &memory)
      : plan(plan), compute(compute), tensors(tensors), parts(memory.parts) {
    bool areKept =
        isNarrowProduct(plan.library, {tensors.typeA, tensors.typeB});
    auto describe = [&](size_t i, const void *tensor, ElementType type) {
      bool isPacked = plan.packing[i].has_value();
      ElementType packed = areKept && i < 2 ? type : compute;
      return Operand{isPacked ? packed : type,
                     static_cast<char *>(isPacked ? memory.packed[i]
                                                  : const_cast<void *>(tensor)),
                     isPacked};
    };
    a = describe(0, tensors.a, tensors.typeA);
    b = describe(1, tensors.b, tensors.typeB);
    c = describe(2, tensors.c, tensors.typeC);
  }

  void run() {
    bool packs = a.isPacked || b.isPacked || c.isPacked;
    if (!packs)
      return multiply(plan.batch, {});
    forEach<3>(plan.batch, [&](const Offsets<3> &at) {
      if (a.isPacked)
        copyStrided(*plan.packing[0], tensors.typeA,
                    elementAt(tensors.a, tensors.typeA, at[0]), a.type, a.data);
      if (b.isPacked)
        copyStrided(*plan.packing[1], tensors.typeB,
                    elementAt(tensors.b, tensors.typeB, at[1]), b.type, b.data);
      multiply({}, at);
      if (c.isPacked)
        unpack(at[2]);
    });
  }

private:
  /// With the loops of `batch` over the plan's.
  void multiply(const Loops<3> &batch, const Offsets<3> &at) const {
    if (plan.library == ProductLibrary::OneDNN)
      shoal_rt_onednn_gemm(plan, batch, a.type, c.type, a.at(at[0]),
                           b.at(at[1]), c.at(at[2]), parts);
    else
      shoal_rt_blas_gemm(plan, batch, compute, a.at(at[0]), b.at(at[1]),
                         c.at(at[2]));
  }

  void unpack(int64_t offset) const {
    Loops<2> back = *plan.packing[2];
    for (Loop<2> &loop : back)
      std::swap(loop.strides[0], loop.strides[1]);
    copyStrided(
        std::move(back), c.type, c.data, tensors.typeC,
        const_cast<char *>(elementAt(tensors.c, tensors.typeC, offset)));
  }

  const GemmPlan &plan;
  ElementType compute;
  const GemmTensors &tensors;
  void *parts;
  Operand a, b, c;
};

} // namespace

void runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors, const ProductMemory &memory) {
  bool isOneDNN = plan.library == ProductLibrary::OneDNN;
  if (isOneDNN ? !shoal_rt_onednn_gemm : !shoal_rt_blas_gemm)
    fatal(std::string("a product is planned for ") +
          (isOneDNN ? "oneDNN" : "BLAS") +
          ", which the program is not linked with");
  PackedProducts(plan, compute, tensors, memory).run();
}

} // namespace shoal::rt
