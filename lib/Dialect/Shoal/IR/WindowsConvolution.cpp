// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The dimension numbers and the verifier of convolution.

#include "WindowUtils.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Spec
//===----------------------------------------------------------------------===//

/// Reads a term of the spec: `letters` are the names of its first two
/// dimensions.
static bool readTerm(StringRef term, StringRef letters,
                     ConvolutionDims::Tensor &dims, std::string &error) {
  if (term.size() < 3 || term.size() > 5) {
    error = llvm::formatv("expected 3 to 5 dimensions in \"{0}\"", term);
    return false;
  }
  auto place = [&](char name) -> std::optional<unsigned> {
    if (term.count(name) != 1) {
      error = llvm::formatv("expected '{0}' once in \"{1}\"", name, term);
      return std::nullopt;
    }
    return term.find(name);
  };
  std::optional<unsigned> first = place(letters[0]), second = place(letters[1]);
  if (!first || !second)
    return false;
  dims.first = *first;
  dims.second = *second;
  for (size_t d = 0; d + 2 < term.size(); ++d) {
    std::optional<unsigned> spatial = place("012"[d]);
    if (!spatial)
      return false;
    dims.spatial.push_back(*spatial);
  }
  return true;
}

std::optional<ConvolutionDims> ConvolutionDims::parse(StringRef spec,
                                                      std::string &error) {
  auto [operands, result] = spec.split("->");
  auto [input, kernel] = operands.split(',');
  if (!spec.contains("->") || !operands.contains(',') || kernel.contains(',')) {
    error = "expected the form \"input,kernel->result\"";
    return std::nullopt;
  }
  ConvolutionDims dims;
  if (!readTerm(input, "bf", dims.input, error) ||
      !readTerm(kernel, "io", dims.kernel, error) ||
      !readTerm(result, "bf", dims.result, error))
    return std::nullopt;
  if (input.size() != kernel.size() || input.size() != result.size()) {
    error = "expected equally many dimensions in all tensors";
    return std::nullopt;
  }
  return dims;
}

//===----------------------------------------------------------------------===//
// Window
//===----------------------------------------------------------------------===//

ConvolutionDims ConvolutionOp::getDims() {
  std::string error;
  return *ConvolutionDims::parse(getSpec(), error);
}

SmallVector<WindowDim> ConvolutionOp::getWindow() {
  ConvolutionDims dims = getDims();
  SmallVector<WindowDim> window;
  auto at = [](const auto &list, size_t dim, int64_t otherwise) -> int64_t {
    return list ? (*list)[dim] : otherwise;
  };
  for (auto [d, place] : llvm::enumerate(dims.kernel.spatial))
    window.push_back(
        {tensorTypeOf(getKernel()).getDimSize(place), at(getStrides(), d, 1),
         at(getLow(), d, 0), at(getHigh(), d, 0), at(getBaseDilation(), d, 1),
         at(getWindowDilation(), d, 1), at(getReversal(), d, false) != 0});
  return window;
}

bool ConvolutionOp::contractsSpatial(unsigned dim) {
  ConvolutionDims dims = getDims();
  return tensorTypeOf(getKernel()).getDimSize(dims.kernel.spatial[dim]) >
         getType().getDimSize(dims.result.spatial[dim]);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// (C3)
static LogicalResult verifyNumbers(ConvolutionOp op,
                                   const ConvolutionDims &dims) {
  const WindowList lists[] = {{"strides", op.getStrides(), 1},
                              {"low", op.getLow(), -kLargestWindowNumber},
                              {"high", op.getHigh(), -kLargestWindowNumber},
                              {"base_dilation", op.getBaseDilation(), 1},
                              {"window_dilation", op.getWindowDilation(), 1}};
  int64_t rank = dims.numSpatial();
  if (failed(verifyWindowLists(op, lists, rank)))
    return failure();
  if (auto reversal = op.getReversal())
    if (failed(verifyEntryCount(op, "reversal", reversal->size(), rank)))
      return failure();
  for (unsigned place : dims.kernel.spatial) {
    int64_t size = tensorTypeOf(op.getKernel()).getDimSize(place);
    if (size < 1 || size > kLargestWindowNumber)
      return op.emitOpError()
             << "operand 1 dim " << place << ": expected 1 to "
             << kLargestWindowNumber << " rows but got " << size;
  }
  std::pair<StringRef, int64_t> counts[] = {
      {"feature_group_count", op.getFeatureGroupCount()},
      {"batch_group_count", op.getBatchGroupCount()}};
  for (auto [name, count] : counts)
    if (count < 1 || count > kLargestWindowNumber)
      return op.emitOpError() << name << ": expected 1 to "
                              << kLargestWindowNumber << " but got " << count;
  return success();
}

/// (C4), (C5)
static LogicalResult verifyGroups(ConvolutionOp op,
                                  const ConvolutionDims &dims) {
  RankedTensorType input = tensorTypeOf(op.getInput());
  RankedTensorType kernel = tensorTypeOf(op.getKernel());
  int64_t features = op.getFeatureGroupCount();
  int64_t batches = op.getBatchGroupCount();
  int64_t given = input.getDimSize(dims.input.second);
  int64_t perGroup = kernel.getDimSize(dims.kernel.first);
  // No product, which might overflow.
  if (given % features != 0 || given / features != perGroup)
    return op.emitOpError()
           << "operand 0 dim " << dims.input.second << ": expected " << perGroup
           << " features, as operand 1 dim " << dims.kernel.first
           << " has, for each of " << features << " groups but got " << given;
  auto verifyDivides = [&](StringRef name, int64_t count, unsigned operand,
                           unsigned dim) -> LogicalResult {
    int64_t size = tensorTypeOf(op->getOperand(operand)).getDimSize(dim);
    if (size % count == 0)
      return success();
    return op.emitOpError()
           << "operand " << operand << " dim " << dim << ": size " << size
           << " is not divisible by " << name << " = " << count;
  };
  if (failed(verifyDivides("feature_group_count", features, 1,
                           dims.kernel.second)) ||
      failed(
          verifyDivides("batch_group_count", batches, 0, dims.input.first)) ||
      failed(
          verifyDivides("batch_group_count", batches, 1, dims.kernel.second)))
    return failure();
  if (features != 1 && batches != 1)
    return op.emitOpError()
           << "feature_group_count = " << features << " and batch_group_count"
           << " = " << batches << ": expected one of them to be 1";
  return success();
}

/// (C6)
static LogicalResult verifyShapeOfResult(ConvolutionOp op,
                                         const ConvolutionDims &dims) {
  RankedTensorType input = tensorTypeOf(op.getInput());
  SmallVector<int64_t> shape(dims.result.rank());
  shape[dims.result.first] =
      input.getDimSize(dims.input.first) / op.getBatchGroupCount();
  shape[dims.result.second] =
      tensorTypeOf(op.getKernel()).getDimSize(dims.kernel.second);
  for (auto [d, window] : llvm::enumerate(op.getWindow())) {
    unsigned place = dims.input.spatial[d];
    std::optional<int64_t> count = window.countWindows(input.getDimSize(place));
    if (!count)
      return op.emitOpError()
             << "operand 0 dim " << place << ": its padded size is beyond 2^56";
    shape[dims.result.spatial[d]] = *count;
  }
  return verifyShape(op, "result 0", op.getResult(), shape);
}

/// (C7)
static LogicalResult verifyTypes(ConvolutionOp op) {
  Type element = tensorTypeOf(op.getInput()).getElementType();
  if (failed(verifyElementType(op, "operand 1", op.getKernel(), element)))
    return failure();
  if (element.isInteger(1))
    return op.emitOpError() << "operand 0: expected numbers but got i1";
  Type result = op.getType().getElementType();
  bool isWider =
      isa<FloatType>(element) == isa<FloatType>(result) &&
      result.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth();
  if (isWider || (result == element && !isFloat8(element)))
    return success();
  return op.emitOpError() << "result 0: expected elements of type " << element
                          << " or a wider one of its kind but got " << result;
}

LogicalResult ConvolutionOp::verify() {
  std::string error;
  std::optional<ConvolutionDims> dims =
      ConvolutionDims::parse(getSpec(), error);
  if (!dims) // (C1)
    return emitOpError() << "spec \"" << getSpec() << "\": " << error;
  std::pair<std::string, Value> tensors[] = {{"operand 0", getInput()},
                                             {"operand 1", getKernel()},
                                             {"result 0", getResult()}};
  for (auto &[what, value] : tensors) // (C2)
    if (static_cast<size_t>(tensorTypeOf(value).getRank()) !=
        dims->input.rank())
      return emitOpError() << what << ": rank " << tensorTypeOf(value).getRank()
                           << " but " << dims->input.rank()
                           << " dimensions in \"" << getSpec() << "\"";
  if (failed(verifyNumbers(*this, *dims)) ||
      failed(verifyGroups(*this, *dims)) ||
      failed(verifyShapeOfResult(*this, *dims)))
    return failure();
  return verifyTypes(*this);
}
