// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Lapack.h"
#include "Models.h"
#include "shoal/Reference/CustomCalls.h"

#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"
#include "shoal/LinearAlgebra/Lapack.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace shoal::reference {

LogicalResult CustomCallLibraries::load(StringRef path, std::string &message) {
  // Without a folder the system would look everywhere but here.
  llvm::SmallString<128> place(path);
  if (llvm::sys::fs::exists(place))
    if (std::error_code error = llvm::sys::fs::make_absolute(place)) {
      message = error.message();
      return failure();
    }
  auto library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(place.c_str(), &message);
  if (!library.isValid())
    return failure();
  libraries.push_back(library);
  return success();
}

shoal_custom_function CustomCallLibraries::find(StringRef target) const {
  for (llvm::sys::DynamicLibrary library : libraries)
    if (void *address = library.getAddressOfSymbol(target.str().c_str()))
      return reinterpret_cast<shoal_custom_function>(address);
  return nullptr;
}

static shoal_tensor describe(const TensorType &type, std::vector<char> &bytes) {
  return {static_cast<int64_t>(type.element), type.rank(), type.shape.data(),
          bytes.data()};
}

int callCustomFunction(
    llvm::function_ref<int(const shoal_custom_call *)> function,
    StringRef config, ArrayRef<Tensor> operands, ArrayRef<TensorType> types,
    Tensors &results) {
  // Results begin as what no one may read.
  std::vector<std::vector<char>> bytes;
  for (const Tensor &operand : operands)
    bytes.push_back(operand.toBytes());
  for (const TensorType &type : types)
    bytes.push_back(Tensor::unspecified(type).toBytes());
  std::vector<shoal_tensor> tensors;
  for (auto [i, own] : llvm::enumerate(bytes))
    tensors.push_back(describe(i < operands.size() ? operands[i].getType()
                                                   : types[i - operands.size()],
                               own));
  std::string text = config.str();
  shoal_custom_call call{text.c_str(), static_cast<int64_t>(operands.size()),
                         tensors.data(), static_cast<int64_t>(types.size()),
                         tensors.data() + operands.size()};
  if (int status = function(&call))
    return status;
  for (auto [i, type] : llvm::enumerate(types))
    results.push_back(Tensor::fromBytes(type, bytes[operands.size() + i]));
  return 0;
}

/// The function that the op names: of LAPACK, or of a library of the user's.
static FailureOr<std::function<int(const shoal_custom_call *)>>
findFunction(CustomCallOp op) {
  StringRef target = op.getTarget();
  if (lapack::isFunction(target)) {
    std::string message;
    if (!findLapack(message))
      return op.emitOpError() << "LAPACK cannot be opened: " << message;
    return std::function([target](const shoal_custom_call *call) {
      return callLapack(target, *call);
    });
  }
  auto *libraries =
      op->getDialect()->getRegisteredInterface<CustomCallLibraries>();
  shoal_custom_function function = libraries->find(target);
  if (!function)
    return op.emitOpError() << "no library has a function \"" << target
                            << "\": shoal-run --custom-calls names libraries";
  return std::function<int(const shoal_custom_call *)>(function);
}

static FailureOr<Tensors> evaluateCustomCall(CustomCallOp op,
                                             ArrayRef<Tensor> operands) {
  if (op.isIdentity())
    return Tensors(operands);
  FailureOr<std::function<int(const shoal_custom_call *)>> function =
      findFunction(op);
  if (failed(function))
    return failure();
  SmallVector<TensorType> types;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    types.push_back(resultType(op, i));
  Tensors results;
  if (int status = callCustomFunction(*function, op.getConfig().value_or(""),
                                      operands, types, results))
    return op.emitOpError()
           << "\"" << op.getTarget() << "\" returned " << status;
  return results;
}

void registerCustomCallModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *dialect) {
    dialect->addInterface<CustomCallLibraries>();
    attach<CustomCallOp, evaluateCustomCall>(context);
  });
}

} // namespace shoal::reference
