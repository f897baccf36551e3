// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Outputs.h"
#include "Error.h"

#include "shoal/Support/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shoal::reference;

namespace shoal::run {

static LogicalResult writeTensor(const Port &port, const Tensor &tensor,
                                 StringRef directory) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, port.name + ".npy");
  support::Status failed = support::writeNpy(
      path.str().str(), tensor.getElementType(), tensor.getShape(),
      tensor.toBytes().data(), port.isComplex);
  return failed ? error("result \"" + port.name + "\": " + failed->message)
                : success();
}

LogicalResult writeResults(const Signature &signature, ArrayRef<Tensor> results,
                           const std::string &directory) {
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return error("--output-dir " + directory + ": " + code.message());
  for (auto [port, tensor] : llvm::zip_equal(signature.results, results))
    if (failed(writeTensor(port, tensor, directory)))
      return failure();
  return success();
}

void printResults(const Signature &signature, ArrayRef<Tensor> results,
                  int64_t limit) {
  for (auto [port, tensor] : llvm::zip_equal(signature.results, results))
    llvm::outs() << port.name << ": " << tensor.getType().str() << " = "
                 << tensor.str(limit) << "\n";
}

void printShards(const Signature &signature, ArrayRef<GridValue> results) {
  for (auto [port, shards] : llvm::zip_equal(signature.results, results))
    for (auto [device, tensor] : llvm::enumerate(shards))
      llvm::outs() << port.name << " on device " << device << ": "
                   << tensor.getType().str() << " = " << tensor.str() << "\n";
}

} // namespace shoal::run
