// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Derivatives.h"
#include "shoal/Transforms/Autodiff/Differentiate.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace shoal;

std::optional<DerivativeMode> shoal::parseDerivativeMode(StringRef name) {
  return llvm::StringSwitch<std::optional<DerivativeMode>>(name)
      .Case("value-and-grad", DerivativeMode::ValueAndGrad)
      .Case("grad", DerivativeMode::Grad)
      .Case("vjp", DerivativeMode::Vjp)
      .Default(std::nullopt);
}

/// Each of `places` is one of the function's `types`, and floats.
static LogicalResult verifyPlaces(Operation *place, StringRef name,
                                  ArrayRef<int64_t> places, StringRef kind,
                                  func::FuncOp of, TypeRange types) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t i : places) {
    if (i < 0 || i >= static_cast<int64_t>(types.size()))
      return emitError(place->getLoc())
             << name << ": @" << of.getName() << " has no " << kind << ' ' << i
             << ": it has " << types.size();
    if (!seen.insert(i).second)
      return emitError(place->getLoc())
             << name << ": names " << kind << ' ' << i << " twice";
    if (isDifferentiable(types[i]))
      continue;
    InFlightDiagnostic error = emitError(place->getLoc())
                               << name << ": " << kind << ' ' << i << " of @"
                               << of.getName() << " is " << types[i]
                               << ": expected floats";
    error.attachNote(of.getLoc()) << "the function is here";
    return error;
  }
  return success();
}

LogicalResult shoal::verify(const Derivative &derivative, Operation *place) {
  func::FuncOp of = derivative.of;
  if (failed(verifyPlaces(place, "wrt", derivative.wrt, "argument", of,
                          of.getArgumentTypes())) ||
      failed(verifyPlaces(place, "outputs", derivative.outputs, "result", of,
                          of.getResultTypes())))
    return failure();
  if (derivative.mode == DerivativeMode::Vjp)
    return success();
  for (int64_t i : derivative.outputs) {
    auto type = cast<RankedTensorType>(of.getResultTypes()[i]);
    if (type.getRank() != 0) {
      InFlightDiagnostic error =
          emitError(place->getLoc())
          << "outputs: result " << i << " of @" << of.getName() << " is "
          << type
          << ": a gradient is that of a scalar, and mode "
             "vjp takes a cotangent";
      error.attachNote(of.getLoc()) << "the function is here";
      return error;
    }
  }
  return success();
}

FailureOr<Derivative> Derivative::read(func::FuncOp declaration,
                                       SymbolTable &symbols) {
  auto fail = [&]() {
    return emitError(declaration.getLoc()) << kDerivativeAttr << ": ";
  };
  auto dictionary =
      dyn_cast<DictionaryAttr>(declaration->getAttr(kDerivativeAttr));
  auto of = dictionary ? dictionary.getAs<FlatSymbolRefAttr>("of")
                       : FlatSymbolRefAttr();
  auto wrt = dictionary ? dictionary.getAs<DenseI64ArrayAttr>("wrt")
                        : DenseI64ArrayAttr();
  auto outputs = dictionary ? dictionary.getAs<DenseI64ArrayAttr>("outputs")
                            : DenseI64ArrayAttr();
  auto mode = dictionary ? dictionary.getAs<StringAttr>("mode") : StringAttr();
  if (!of || !wrt || !outputs || !mode)
    return fail() << "expected {of = @function, wrt = array<i64: ...>, outputs "
                     "= array<i64: ...>, mode = \"...\"}";
  std::optional<DerivativeMode> parsed = parseDerivativeMode(mode);
  if (!parsed)
    return fail() << "mode: expected value-and-grad, grad or vjp but got "
                  << mode;
  auto function = symbols.lookup<func::FuncOp>(of.getValue());
  if (!function)
    return fail() << "there is no function " << of;
  Derivative result{function, llvm::to_vector(wrt.asArrayRef()),
                    llvm::to_vector(outputs.asArrayRef()), *parsed};
  if (failed(verify(result, declaration)))
    return failure();
  if (!declaration.isDeclaration())
    return fail() << "the function has a body already";
  if (declaration.getFunctionType() != result.getType())
    return fail() << "expected the type " << result.getType() << " but got "
                  << declaration.getFunctionType();
  return result;
}

FunctionType Derivative::getType() const {
  func::FuncOp function = of;
  FunctionType type = function.getFunctionType();
  SmallVector<Type> arguments(type.getInputs()), results;
  if (mode == DerivativeMode::Vjp)
    for (int64_t i : outputs)
      arguments.push_back(type.getResult(i));
  if (mode != DerivativeMode::Grad)
    llvm::append_range(results, type.getResults());
  for (int64_t i : wrt)
    results.push_back(type.getInput(i));
  return FunctionType::get(type.getContext(), arguments, results);
}
