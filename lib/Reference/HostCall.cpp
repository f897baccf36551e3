// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"

#include "shoal/Dialect/Shoal/IR/HostCallOps.h"
#include "shoal/Support/PrintFormat.h"

using namespace mlir;

namespace shoal::reference {

/// Whether this device takes part; the flag is the last operand.
static bool speaks(bool hasFlag, ArrayRef<Tensor> operands) {
  return !hasFlag || operands.back()[0].i != 0;
}

static FailureOr<Tensors> evaluatePrint(PrintOp op, ArrayRef<Tensor> operands) {
  if (!speaks(bool(op.getWhen()), operands))
    return Tensors();
  ArrayRef<int64_t> isUnsigned =
      op.getUnsignedInputs().value_or(ArrayRef<int64_t>());
  std::vector<std::vector<char>> bytes;
  for (const Tensor &operand : operands)
    bytes.push_back(operand.toBytes());
  std::vector<support::PrintOperand> values;
  for (auto [number, operand] : llvm::enumerate(operands))
    values.push_back({operand.getElementType(),
                      llvm::is_contained(isUnsigned, int64_t(number)),
                      {operand.getShape().data(), operand.getShape().size()},
                      bytes[number].data()});
  // The verifier has read it.
  llvm::outs() << support::printText(*support::parseFormat(op.getFormat()),
                                     values)
               << '\n';
  llvm::outs().flush();
  return Tensors();
}

static FailureOr<Tensors> evaluateHostCall(HostCallOp op, ArrayRef<Tensor>) {
  return op.emitOpError() << "\"" << op.getCallee()
                          << "\" is a function of the process that compiled "
                             "the program: the interpreter has none";
}

void registerHostCallModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<PrintOp, evaluatePrint>(context);
    attach<HostCallOp, evaluateHostCall>(context);
  });
}

} // namespace shoal::reference
