// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gradients.h"
#include "Runs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Transforms/Autodiff/Differentiate.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;
using namespace shoal::reference;

//===----------------------------------------------------------------------===//
// The derivative
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kEntry = "main", kDerivative = "main_vjp";

DerivativePlaces DerivativePlaces::of(func::FuncOp entry) {
  DerivativePlaces places;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (isDifferentiable(type))
      places.wrt.push_back(i);
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    if (isDifferentiable(type))
      places.outputs.push_back(i);
  return places;
}

void shoal::fuzz::buildDerivative(OpPassManager &passes,
                                  const DerivativePlaces &places) {
  DifferentiateOptions options;
  options.function = kEntry;
  options.wrt = places.wrt;
  options.outputs = places.outputs;
  options.mode = "vjp";
  options.name = kDerivative;
  passes.addPass(createDifferentiate(options));
}

void shoal::fuzz::enterDerivative(Program &program,
                                  const DerivativePlaces &places) {
  Bounds unknown{0, 0, std::numeric_limits<double>::infinity()};
  for (int64_t i : places.outputs)
    program.arguments.push_back(
        inputBounds(getElementTypeOrSelf(program.entry.getResultTypes()[i])));
  program.results.append(places.wrt.size(), unknown);
  program.entry.erase();
  program.entry = program.module->lookupSymbol<func::FuncOp>(kDerivative);
  program.entry.setName(kEntry);
}

//===----------------------------------------------------------------------===//
// f64
//===----------------------------------------------------------------------===//

/// The same numbers of f64.
static TypedAttr widened(TypedAttr attr, Type wide) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return FloatAttr::get(wide, number.getValueAsDouble());
  auto elements = dyn_cast<DenseFPElementsAttr>(attr);
  if (!elements)
    return attr;
  return cast<TypedAttr>(
      Attribute(elements.mapValues(wide, [&](const APFloat &number) {
        APFloat copy = number;
        bool losesInfo;
        copy.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
        return copy.bitcastToAPInt();
      })));
}

OwningOpRef<ModuleOp> shoal::fuzz::widenFloats(ModuleOp module) {
  OwningOpRef<ModuleOp> result = module.clone();
  Type wide = Float64Type::get(module.getContext());
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FloatType) { return wide; });
  replacer.recursivelyReplaceElementsIn(*result, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  result->walk([&](Operation *op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      constant.setValueAttr(widened(constant.getValue(), wide));
    } else if (auto function = dyn_cast<func::FuncOp>(op)) {
      function.setFunctionType(
          cast<FunctionType>(replacer.replace(function.getFunctionType())));
    } else if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    }
  });
  return result;
}

SmallVector<Tensor> shoal::fuzz::widen(ArrayRef<Tensor> tensors) {
  SmallVector<Tensor> result;
  for (const Tensor &tensor : tensors) {
    reference::TensorType type = tensor.getType();
    if (!isFloat(type.element)) {
      result.push_back(tensor);
      continue;
    }
    type.element = ElementType::F64;
    Tensor wide(type);
    llvm::copy(tensor.getElements(), wide.getMutableElements().begin());
    result.push_back(wide);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// The distance of 1 to the next number; of f64, which is not measured beside a
/// wider type, what a program may lose.
static double stepOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return std::ldexp(1, -40);
  case ElementType::F32:
    return std::ldexp(1, -23);
  case ElementType::F16:
    return std::ldexp(1, -10);
  case ElementType::BF16:
    return std::ldexp(1, -7);
  default:
    return std::ldexp(1, -2);
  }
}

void shoal::fuzz::measureErrors(ArrayRef<Tensor> results, ArrayRef<Tensor> wide,
                                size_t first, MutableArrayRef<Bounds> ranges) {
  // Another order of the same operations is off as far, a few times at most;
  // one that ends in small numbers by chance is off by what it summed.
  constexpr double margin = 8;
  for (size_t r = first; r < results.size(); ++r) {
    double bound = 1, error = 0;
    for (int64_t i = 0; i < results[r].getNumElements(); ++i) {
      double value = results[r][i].f, difference = value - wide[r][i].f;
      if (!std::isfinite(difference))
        difference = std::numeric_limits<double>::infinity();
      bound = std::max(bound, std::abs(value));
      error = std::max(error, std::abs(difference));
    }
    if (error > 0.02 * bound)
      error = std::numeric_limits<double>::infinity();
    ranges[r].bound = bound;
    ranges[r].error =
        margin * (error + bound * stepOf(results[r].getElementType()));
  }
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

/// In [-1, 1], of the seed and two numbers.
static double draw(uint64_t seed, uint64_t tensor, uint64_t element) {
  uint64_t bits = mix(mix(seed + tensor * 0x9e3779b97f4a7c15) + element + 1);
  return std::ldexp(static_cast<double>(bits >> 11), -52) - 1;
}

static Tensor drawTensor(const Tensor &like, double bound, uint64_t seed,
                         uint64_t number) {
  Tensor tensor(like.getType());
  for (auto [i, element] : llvm::enumerate(tensor.getMutableElements()))
    element.f = bound * draw(seed, number, i);
  return tensor;
}

namespace {

/// A function along a line through its arguments.
class Line {
public:
  Line(func::FuncOp function, func::FuncOp derivative,
       const DerivativePlaces &places, ArrayRef<Tensor> inputs, uint64_t seed)
      : function(function), derivative(derivative), places(places),
        inputs(inputs) {
    for (int64_t i : places.wrt) {
      this->inputs[i] = drawTensor(inputs[i], 3, seed, 3 * i);
      // Some directions along some arguments alone, so that a large gradient
      // does not hide others.
      bool isAlong = draw(seed, 3 * i + 1, 0) > -0.2;
      directions.push_back(
          drawTensor(inputs[i], isAlong ? 1 : 0, seed, 3 * i + 2));
    }
  }

  /// Weighs the results so that each counts alike; those with infinities not.
  LogicalResult weigh(uint64_t seed);
  /// Of the weighted sum, by the derivative; and the sum of the addends'
  /// magnitudes, at least 1.
  FailureOr<std::pair<double, double>> slope();
  /// The same by the difference of the results at both sides.
  FailureOr<double> difference(double step);

private:
  FailureOr<Tensors> at(double step);

  func::FuncOp function, derivative;
  const DerivativePlaces &places;
  SmallVector<Tensor> inputs, directions, weights;
};

} // namespace

FailureOr<Tensors> Line::at(double step) {
  SmallVector<Tensor> moved(inputs);
  for (auto [i, direction] : llvm::zip_equal(places.wrt, directions))
    for (auto [x, d] : llvm::zip_equal(moved[i].getMutableElements(),
                                       direction.getElements()))
      x.f += step * d.f;
  return interpretProgram(function, moved);
}

LogicalResult Line::weigh(uint64_t seed) {
  FailureOr<Tensors> results = at(0);
  if (failed(results))
    return failure();
  for (int64_t i : places.outputs) {
    double bound = 1;
    for (Scalar element : (*results)[i].getElements())
      bound = std::isfinite(element.f)
                  ? std::max(bound, std::abs(element.f))
                  : std::numeric_limits<double>::infinity();
    weights.push_back(
        drawTensor((*results)[i], 1 / bound, mix(seed), 1000 + i));
  }
  return success();
}

FailureOr<std::pair<double, double>> Line::slope() {
  SmallVector<Tensor> arguments(inputs);
  llvm::append_range(arguments, weights);
  FailureOr<Tensors> results = interpretProgram(derivative, arguments);
  if (failed(results))
    return failure();
  double sum = 0, magnitude = 1;
  auto gradients = ArrayRef(*results).take_back(directions.size());
  for (auto [gradient, direction] : llvm::zip_equal(gradients, directions))
    for (auto [g, d] :
         llvm::zip_equal(gradient.getElements(), direction.getElements())) {
      sum += g.f * d.f;
      magnitude += std::abs(g.f * d.f);
    }
  return std::pair(sum, magnitude);
}

FailureOr<double> Line::difference(double step) {
  FailureOr<Tensors> ahead = at(step), behind = at(-step);
  if (failed(ahead) || failed(behind))
    return failure();
  double sum = 0;
  for (auto [r, weight] : llvm::zip_equal(places.outputs, weights))
    for (auto [a, b, w] :
         llvm::zip_equal((*ahead)[r].getElements(), (*behind)[r].getElements(),
                         weight.getElements()))
      sum += w.f == 0 ? 0 : w.f * (a.f - b.f);
  return sum / (2 * step);
}

LogicalResult shoal::fuzz::checkDifferences(func::FuncOp function,
                                            func::FuncOp derivative,
                                            const DerivativePlaces &places,
                                            ArrayRef<Tensor> inputs,
                                            uint64_t seed,
                                            std::string &message) {
  Line line(function, derivative, places, inputs, seed);
  if (failed(line.weigh(seed)))
    return failure();
  FailureOr<std::pair<double, double>> made = line.slope();
  if (failed(made))
    return failure();
  auto [slope, magnitude] = *made;
  unsigned wrong = 0;
  // Richardson's extrapolation of two central differences. A bend or a jump in
  // between shows in how far they are apart; what is wrong is so at two steps.
  for (int exponent : {-12, -16, -20}) {
    double step = std::ldexp(1, exponent);
    FailureOr<double> wide = line.difference(step);
    FailureOr<double> narrow = line.difference(step / 2);
    if (failed(wide) || failed(narrow))
      return failure();
    double expected = (4 * *narrow - *wide) / 3;
    double apart = std::abs(*wide - *narrow);
    if (!std::isfinite(expected) || !(apart < 1e-3 * (magnitude + 1)))
      continue;
    if (std::abs(slope - expected) <= 1e-6 * magnitude + 10 * apart) {
      message.clear();
      return success();
    }
    message = llvm::formatv("the slope is {0:E9}, differences say {1:E9}, "
                            "within {2:E3}; addends of {3:E3}",
                            slope, expected, 10 * apart, magnitude);
    if (++wrong == 2)
      return failure();
  }
  message.clear();
  return success();
}
