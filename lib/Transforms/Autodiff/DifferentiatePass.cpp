// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Derivatives.h"
#include "SharedForward.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Interfaces/DifferentiableInterface.h"
#include "shoal/Transforms/Autodiff/Differentiate.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Decompose.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "shoal/Transforms/Autodiff/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-differentiate"

using namespace mlir;
using namespace shoal;

static PassCounter numDerivatives(DEBUG_TYPE, "Derivatives written");

namespace {

/// Writes the derivatives of a module, those that others call first.
class DerivativeWriter {
public:
  explicit DerivativeWriter(ModuleOp module) : symbols(module) {}

  LogicalResult write(func::FuncOp declaration);
  /// Functions that call derivatives, behind all that is written.
  void shareForwards(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      shareForward(function, functions);
  }

private:
  /// The derivatives that `function` calls, or what it calls does.
  LogicalResult writeCallees(func::FuncOp function);
  void inlineCalls(func::FuncOp function);

  SymbolTable symbols;
  FunctionsOfDerivatives functions;
  /// Functions whose calls are being followed.
  llvm::SmallPtrSet<Operation *, 8> open, done;
};

} // namespace

LogicalResult DerivativeWriter::writeCallees(func::FuncOp function) {
  if (!open.insert(function).second || done.contains(function))
    return success();
  WalkResult walked = function.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee)
      return WalkResult::advance();
    LogicalResult made =
        callee->hasAttr(kDerivativeAttr) ? write(callee) : writeCallees(callee);
    return failed(made) ? WalkResult::interrupt() : WalkResult::advance();
  });
  open.erase(function);
  done.insert(function);
  return failure(walked.wasInterrupted());
}

/// Calls are inlined for the assignment of shardings in any case. Here a value
/// that an inner function makes is at hand for the backward pass. Functions
/// with a derivative of their own are called.
void DerivativeWriter::inlineCalls(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  while (!calls.empty()) {
    func::CallOp call = calls.pop_back_val();
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isDeclaration() || !callee.getBody().hasOneBlock() ||
        callee->hasAttr(kVjpForwardAttr))
      continue;
    IRMapping mapping;
    mapping.map(callee.getArguments(), call.getOperands());
    OpBuilder builder(call);
    Block &body = callee.getBody().front();
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping)->walk([&](func::CallOp inner) {
        calls.push_back(inner);
      });
    for (auto [result, value] : llvm::zip_equal(
             call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }
}

/// What a loop carries unchanged, as JAX's do what their steps share, becomes a
/// value from outside: of such a value rows are read again and not kept, and
/// gradients begin with zeros.
static void captureInvariants(func::FuncOp function) {
  PatternRewriter rewriter(function.getContext());
  function.walk([&](WhileOp loop) {
    rewriter.setInsertionPoint(loop);
    (void)WhileOp::canonicalize(loop, rewriter);
  });
}

/// Behind the body: the backward pass, and a return of what the mode says.
static LogicalResult appendGradients(func::FuncOp function,
                                     const Derivative &derivative) {
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  OpBuilder builder(end);
  TensorBuilder b(end->getLoc(), builder);
  SmallVector<Seed> seeds;
  for (int64_t i : derivative.outputs) {
    Value output = end->getOperand(i);
    Value cotangent = derivative.mode == DerivativeMode::Vjp
                          ? body.addArgument(output.getType(), output.getLoc())
                          : b.splat(output.getType(), 1.0);
    seeds.push_back({output, cotangent});
  }
  SmallVector<Value> wrt;
  for (int64_t i : derivative.wrt)
    wrt.push_back(body.getArgument(i));
  auto gradients = buildGradients(body, wrt, seeds);
  if (failed(gradients))
    return failure();
  SmallVector<Value> results;
  if (derivative.mode != DerivativeMode::Grad)
    llvm::append_range(results, end->getOperands());
  llvm::append_range(results, *gradients);
  end->setOperands(results);
  return success();
}

LogicalResult DerivativeWriter::write(func::FuncOp declaration) {
  if (open.contains(declaration))
    return emitError(declaration.getLoc())
           << '@' << declaration.getName()
           << " is a derivative of a function that calls it";
  FailureOr<Derivative> derivative = Derivative::read(declaration, symbols);
  if (failed(derivative))
    return failure();
  open.insert(declaration);
  func::FuncOp of = derivative->of;
  if (of->hasAttr(kDerivativeAttr) && failed(write(of)))
    return failure();
  if (failed(writeCallees(of)))
    return failure();
  if (of.isDeclaration() || !of.getBody().hasOneBlock())
    return declaration.emitOpError() << "is a derivative of @" << of.getName()
                                     << ", which has no body of one block";
  LDBG() << "writes @" << declaration.getName() << ", a derivative of @"
         << of.getName();
  ++numDerivatives;
  IRMapping mapping;
  of.getBody().cloneInto(&declaration.getBody(), mapping);
  shareForward(declaration, functions);
  inlineCalls(declaration);
  decomposeComposites(declaration, [](Operation *op) {
    return isa<DifferentiableOpInterface>(op);
  });
  captureInvariants(declaration);
  declaration->removeAttr(kDerivativeAttr);
  open.erase(declaration);
  if (derivative->mode != DerivativeMode::Grad)
    functions[declaration.getName()] = of;
  return appendGradients(declaration, *derivative);
}

namespace {

struct Differentiate : shoal::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!function.empty() && failed(declare(module)))
      return signalPassFailure();
    SmallVector<func::FuncOp> declarations;
    for (auto each : module.getOps<func::FuncOp>())
      if (each->hasAttr(kDerivativeAttr))
        declarations.push_back(each);
    if (declarations.empty())
      return markAllAnalysesPreserved();
    // Calls that have no end have no derivative; a part for one device has one
    // as a region.
    OpPassManager before(ModuleOp::getOperationName());
    before.addPass(createVerifyProgram());
    before.addPass(createFormManualRegions());
    if (failed(runPipeline(before, module)))
      return signalPassFailure();
    DerivativeWriter writer(module);
    for (func::FuncOp declaration : declarations)
      if (declaration->hasAttr(kDerivativeAttr) &&
          failed(writer.write(declaration)))
        return signalPassFailure();
    writer.shareForwards(module);
    if (asked)
      asked.setPublic();
  }

private:
  /// A declaration of the derivative that the options name.
  LogicalResult declare(ModuleOp module);
  /// Names and shardings of its arguments and results.
  static void describe(func::FuncOp made, const Derivative &derivative);

  /// The derivative that the options name.
  func::FuncOp asked;
};

} // namespace

LogicalResult Differentiate::declare(ModuleOp module) {
  SymbolTable symbols(module);
  auto of = symbols.lookup<func::FuncOp>(function);
  if (!of)
    return emitError(module.getLoc()) << "function: there is no @" << function;
  std::optional<DerivativeMode> parsed = parseDerivativeMode(mode);
  if (!parsed)
    return emitError(module.getLoc())
           << "mode: expected value-and-grad, grad or vjp but got " << mode;
  Derivative derivative{of, llvm::to_vector(ArrayRef<int64_t>(wrt)),
                        llvm::to_vector(ArrayRef<int64_t>(outputs)), *parsed};
  if (derivative.wrt.empty())
    for (auto [i, type] : llvm::enumerate(of.getArgumentTypes()))
      if (isDifferentiable(type))
        derivative.wrt.push_back(i);
  if (derivative.outputs.empty())
    derivative.outputs.push_back(0);
  if (failed(verify(derivative, of)))
    return failure();
  std::string title = name;
  if (title.empty())
    title = function + (*parsed == DerivativeMode::Vjp ? "_vjp" : "_grad");
  if (symbols.lookup(title))
    return emitError(module.getLoc())
           << "name: there is a @" << title << " already";
  OpBuilder builder(module.getContext());
  auto made =
      func::FuncOp::create(builder, of.getLoc(), title, derivative.getType());
  made->setAttr(
      kDerivativeAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("of", FlatSymbolRefAttr::get(of)),
           builder.getNamedAttr("wrt",
                                builder.getDenseI64ArrayAttr(derivative.wrt)),
           builder.getNamedAttr(
               "outputs", builder.getDenseI64ArrayAttr(derivative.outputs)),
           builder.getNamedAttr("mode", builder.getStringAttr(mode))}));
  made.setPrivate();
  symbols.insert(made, std::next(of->getIterator()));
  describe(made, derivative);
  asked = made;
  return success();
}

void Differentiate::describe(func::FuncOp made, const Derivative &derivative) {
  func::FuncOp of = derivative.of;
  auto nameOf = [](DictionaryAttr attrs, StringRef kind, unsigned i) {
    auto given = attrs ? attrs.getAs<StringAttr>(kNameAttr) : StringAttr();
    return given ? given.str() : (kind + Twine(i)).str();
  };
  auto prefixed = [&](StringRef prefix, DictionaryAttr attrs, StringRef kind,
                      unsigned i) {
    NamedAttrList list(attrs);
    list.erase(kDonatedAttr);
    list.set(kNameAttr,
             StringAttr::get(of.getContext(), prefix + nameOf(attrs, kind, i)));
    return list.getDictionary(of.getContext());
  };
  for (unsigned i = 0; i < of.getNumArguments(); ++i)
    made.setArgAttrs(i, of.getArgAttrDict(i));
  unsigned argument = of.getNumArguments(), result = 0;
  if (derivative.mode == DerivativeMode::Vjp)
    for (int64_t i : derivative.outputs)
      made.setArgAttrs(
          argument++,
          prefixed("cotangent.", of.getResultAttrDict(i), "result", i));
  if (derivative.mode != DerivativeMode::Grad)
    for (; result < of.getNumResults(); ++result)
      made.setResultAttrs(result, of.getResultAttrDict(result));
  for (int64_t i : derivative.wrt)
    made.setResultAttrs(result++,
                        prefixed("grad.", of.getArgAttrDict(i), "arg", i));
}
