// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Runs.h"
#include "shoal/Reference/Interpreter.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;
using namespace shoal::reference;

static Tensor makeInput(const reference::TensorType &type, Bounds range,
                        uint64_t seed) {
  Tensor tensor(type);
  auto bound = static_cast<int64_t>(range.bound);
  for (auto [i, element] : llvm::enumerate(tensor.getMutableElements())) {
    int64_t value =
        static_cast<int64_t>(mix(seed + (i + 1) * 0x9e3779b97f4a7c15) %
                             (2 * bound + 1)) -
        bound;
    element = makeScalar(type.element, value);
    if (type.element == ElementType::I1)
      element.i = value & 1;
  }
  return tensor;
}

SmallVector<Tensor> shoal::fuzz::makeInputs(const Signature &signature,
                                            ArrayRef<Bounds> ranges,
                                            uint64_t seed) {
  SmallVector<Tensor> inputs;
  for (auto [i, port] : llvm::enumerate(signature.arguments))
    inputs.push_back(makeInput(port.global, ranges[i], mix(seed * 31 + i + 1)));
  return inputs;
}

FailureOr<Tensors> shoal::fuzz::interpretProgram(func::FuncOp entry,
                                                 ArrayRef<Tensor> inputs) {
  FailureOr<Signature> signature = Signature::read(entry);
  if (failed(signature))
    return failure();
  GridValues arguments;
  for (auto [port, input] : llvm::zip_equal(signature->arguments, inputs))
    arguments.push_back(splitArgument(port, input));
  FailureOr<GridValues> shards =
      interpret(entry, arguments, signature->numDevices);
  if (failed(shards))
    return failure();
  Tensors results;
  for (auto [port, value] : llvm::zip_equal(signature->results, *shards)) {
    FailureOr<Tensor> whole = assembleResult(port, value, entry);
    if (failed(whole))
      return failure();
    results.push_back(*whole);
  }
  return results;
}

static double numberOf(ElementType type, Scalar element) {
  return isFloat(type) ? element.f : static_cast<double>(element.i);
}

std::optional<std::string>
shoal::fuzz::compareResults(ArrayRef<Tensor> expected, ArrayRef<Tensor> actual,
                            ArrayRef<Bounds> ranges) {
  for (size_t r = 0; r < expected.size(); ++r) {
    // Nothing is known of it.
    if (std::isinf(ranges[r].error))
      continue;
    ElementType type = expected[r].getElementType();
    int64_t wrong = 0, first = -1;
    for (int64_t i = 0; i < expected[r].getNumElements(); ++i) {
      Scalar a = expected[r][i], b = actual[r][i];
      // Both ways are off by the error at most.
      if (isSame(type, a, b) ||
          std::abs(numberOf(type, a) - numberOf(type, b)) <=
              2 * ranges[r].error)
        continue;
      if (wrong++ == 0)
        first = i;
    }
    if (wrong > 0)
      return llvm::formatv(
                 "result {0} of type {1}: {2} of {3} elements differ, the "
                 "first is element {4}: expected {5:E9} but got {6:E9}, "
                 "tolerance "
                 "{7:E3}",
                 r, expected[r].getType().str(), wrong,
                 expected[r].getNumElements(), first,
                 numberOf(type, expected[r][first]),
                 numberOf(type, actual[r][first]), 2 * ranges[r].error)
          .str();
  }
  return std::nullopt;
}
