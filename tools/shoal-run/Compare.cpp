// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compare.h"
#include "Error.h"

#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace shoal::reference;

namespace shoal::run {

static double defaultTolerance(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 1e-5;
  case ElementType::F64:
    return 1e-12;
  case ElementType::F16:
    return 5e-3;
  case ElementType::BF16:
    return 4e-2;
  case ElementType::F8E4M3FN:
    return 0.13;
  case ElementType::F8E5M2:
    return 0.26;
  default:
    return 0;
  }
}

static double valueOf(ElementType type, Scalar element) {
  return isFloat(type) ? element.f : static_cast<double>(element.i);
}

namespace {
struct Difference {
  double absolute = 0, relative = 0;
};
} // namespace

/// The sum of what stands one behind the other along the first dimension.
static Tensor sumOfAddends(const Tensor &addends) {
  reference::TensorType type = addends.getType();
  type.shape.erase(type.shape.begin());
  Tensor sum(type);
  MutableArrayRef<Scalar> elements = sum.getMutableElements();
  bool isOfFloats = isFloat(type.element);
  for (auto [i, addend] : llvm::enumerate(addends.getElements())) {
    Scalar &element = elements[i % elements.size()];
    if (isOfFloats)
      element.f += addend.f;
    else
      element.i += addend.i;
  }
  if (!isOfFloats)
    for (Scalar &element : elements)
      element.i = wrapTo(type.element, element.i);
  return sum;
}

static Difference differenceOf(const Tensor &expected, const Tensor &actual) {
  ElementType type = expected.getElementType();
  double largest = 0, absolute = 0;
  for (auto [a, b] :
       llvm::zip_equal(expected.getElements(), actual.getElements())) {
    double reference = valueOf(type, a);
    if (std::isfinite(reference))
      largest = std::max(largest, std::abs(reference));
    if (isSame(type, a, b))
      continue;
    double difference = std::abs(reference - valueOf(type, b));
    // One of the two is NaN, or they are unlike infinities.
    if (!std::isfinite(difference))
      difference = std::numeric_limits<double>::infinity();
    absolute = std::max(absolute, difference);
  }
  return {absolute, absolute / (largest > 0 ? largest : 1)};
}

LogicalResult compareResults(const Signature &signature,
                             ArrayRef<Tensor> global,
                             ArrayRef<Tensor> partitioned,
                             std::optional<double> tolerance) {
  bool allAgree = true;
  for (auto [port, expected, actual] :
       llvm::zip_equal(signature.results, global, partitioned)) {
    // Which addends a sum has is up to each program.
    Difference difference =
        port.isAddends
            ? differenceOf(sumOfAddends(expected), sumOfAddends(actual))
            : differenceOf(expected, actual);
    double limit =
        tolerance.value_or(defaultTolerance(expected.getElementType()));
    bool agrees = difference.relative <= limit;
    allAgree &= agrees;
    llvm::outs() << port.name << ": " << expected.getType().str()
                 << llvm::format(" largest difference %.3g absolute, %.3g "
                                 "relative, tolerance %.3g: ",
                                 difference.absolute, difference.relative,
                                 limit)
                 << (agrees ? "ok" : "too far apart") << "\n";
  }
  llvm::outs().flush();
  return allAgree
             ? success()
             : error("the partitioned program differs from the global one");
}

} // namespace shoal::run
