// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-store-bf16-as-i16.

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "shoal/Conversion/ToLLVM/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_STOREBF16ASI16
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
} // namespace shoal

namespace {

struct StoreBF16AsI16 : shoal::impl::StoreBF16AsI16Base<StoreBF16AsI16> {
  void runOnOperation() override {
    auto i16 = IntegerType::get(&getContext(), 16);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](BFloat16Type) -> Type { return i16; });
    replacer.addReplacement([&](FloatAttr attr) -> std::optional<Attribute> {
      if (!attr.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(i16, attr.getValue().bitcastToAPInt());
    });
    replacer.addReplacement(
        [&](DenseFPElementsAttr attr) -> std::optional<Attribute> {
          if (!attr.getElementType().isBF16())
            return std::nullopt;
          return attr.bitcast(i16);
        });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};

} // namespace
