// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls of functions that bring a derivative of their own; all others are
// inlined before.

#include "Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "shoal/Transforms/Autodiff/Differentiate.h"

using namespace mlir;
using namespace shoal;

static SmallVector<Type> floatsOf(TypeRange types) {
  return llvm::filter_to_vector(types, isDifferentiable);
}

namespace {

struct Call : DifferentiableOpInterface::ExternalModel<Call, func::CallOp> {
  static StringRef getDomain() {
    return "functions with a derivative of their own; others are inlined first";
  }
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto call = cast<func::CallOp>(operation);
    Operation *callee =
        SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr());
    if (!callee || !callee->hasAttr(kVjpForwardAttr))
      return vjp.refuse("calls a function without a body");
    auto forward = lookup(callee, kVjpForwardAttr);
    auto backward = lookup(callee, kVjpBackwardAttr);
    if (!forward || !backward)
      return callee->emitError() << "expected " << kVjpForwardAttr << " and "
                                 << kVjpBackwardAttr << " to name functions";
    unsigned count = call.getNumResults();
    FunctionType type = forward.getFunctionType();
    if (type.getInputs() != call.getOperandTypes() ||
        type.getNumResults() < count ||
        type.getResults().take_front(count) != call.getResultTypes())
      return forward.emitError()
             << "expected the arguments and results of " << call.getCalleeAttr()
             << ", then residuals, but got " << type;
    SmallVector<Type> given(type.getResults().drop_front(count));
    llvm::append_range(given, floatsOf(call.getResultTypes()));
    auto expected = FunctionType::get(call.getContext(), given,
                                      floatsOf(call.getOperandTypes()));
    if (backward.getFunctionType() != expected)
      return backward.emitError()
             << "expected the type " << expected
             << ", from residuals and cotangents of results to cotangents of "
                "arguments, but got "
             << backward.getFunctionType();
    build(call, forward, backward, vjp);
    return success();
  }

private:
  static func::FuncOp lookup(Operation *callee, StringRef name) {
    auto symbol = callee->getAttrOfType<FlatSymbolRefAttr>(name);
    return symbol ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(callee,
                                                                       symbol)
                  : func::FuncOp();
  }

  static void build(func::CallOp call, func::FuncOp forward,
                    func::FuncOp backward, Vjp &vjp) {
    unsigned count = call.getNumResults();
    OpBuilder at(call);
    auto made =
        func::CallOp::create(at, call.getLoc(), forward, call.getOperands());
    SmallVector<Value> operands(made.getResults().drop_front(count));
    for (unsigned i = 0; i < count; ++i)
      if (isDifferentiable(call.getResult(i).getType()))
        operands.push_back(vjp.cotangentOrZero(i));
    auto pulled = func::CallOp::create(vjp.b, backward, operands);
    unsigned number = 0;
    for (unsigned i = 0; i < call.getNumOperands(); ++i)
      if (isDifferentiable(call.getOperand(i).getType()))
        vjp.add(i, pulled.getResult(number++));
    vjp.replaceForward(made.getResults().take_front(count));
  }
};

} // namespace

void shoal::registerControlFlowCallDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, func::FuncDialect *) {
    func::CallOp::attachInterface<Call>(*context);
  });
}
