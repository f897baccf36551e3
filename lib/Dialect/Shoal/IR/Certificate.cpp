// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Certificate.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

double Certificate::gap() const {
  constexpr double kRounding = 1e-8;
  double above = cost - lowerBound;
  if (above <= kRounding * cost)
    return 0;
  return lowerBound > 0 ? above / lowerBound
                        : std::numeric_limits<double>::infinity();
}

static std::string print(double cost, bool inTime) {
  return inTime ? llvm::formatv("{0:F3} us", cost * 1e-3).str()
                : llvm::formatv("{0:N} bytes", int64_t(cost)).str();
}

std::string Certificate::text() const {
  std::string own = print(cost, inTime);
  if (!inTime)
    own += " with operations";
  if (gap() == 0)
    return llvm::formatv("cost {0}, and none cost less", own);
  return llvm::formatv("cost {0}, and none cost less than {1}: {2:P2} more, at "
                       "most, than the cheapest",
                       own, print(lowerBound, inTime),
                       std::max(gap(), 0.0001)); // of which two places show
}

DictionaryAttr Certificate::toAttr(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList list;
  list.append("cost", builder.getF64FloatAttr(cost));
  list.append("lower_bound", builder.getF64FloatAttr(lowerBound));
  if (inTime)
    list.append("in_time", builder.getUnitAttr());
  return list.getDictionary(context);
}

std::optional<Certificate> Certificate::fromAttr(Attribute attr) {
  auto list = dyn_cast_if_present<DictionaryAttr>(attr);
  if (!list)
    return std::nullopt;
  auto cost = list.getAs<FloatAttr>("cost");
  auto bound = list.getAs<FloatAttr>("lower_bound");
  if (!cost || !bound)
    return std::nullopt;
  return Certificate{cost.getValueAsDouble(), bound.getValueAsDouble(),
                     list.contains("in_time")};
}
