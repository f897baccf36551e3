// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// #rt.product_plan: how a plan is spelt. Parts that have nothing are left out.

#include "mlir/IR/DialectImplementation.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Products/VerifyPlan.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::rt;
using shoal::calls::GemmPlan;
using shoal::calls::Loop;
using shoal::calls::LoopProduct;
using shoal::calls::MatrixStrides;
using shoal::calls::ProductLibrary;
using shoal::calls::ProductPlan;

llvm::hash_code shoal::calls::hash_value(const ProductPlan &plan) {
  std::vector<int64_t> words = encode(plan);
  return llvm::hash_combine_range(words.begin(), words.end());
}

static constexpr const char *packWords[] = {"pack lhs", "pack rhs",
                                            "unpack output"};
static constexpr const char *prepareWords[] = {"prepare lhs", "prepare rhs"};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// ` [8 : 512, 0, 128]` for each loop.
template <size_t N>
static void printLoops(AsmPrinter &printer, const calls::Loops<N> &loops) {
  for (const Loop<N> &loop : loops) {
    printer << " [" << loop.size << " : ";
    llvm::interleaveComma(loop.strides, printer);
    printer << "]";
  }
}

static void printLoops(AsmPrinter &printer, StringRef word,
                       const calls::Loops<3> &loops) {
  if (loops.empty())
    return;
  printer << " " << word;
  printLoops(printer, loops);
}

static void print(AsmPrinter &printer, StringRef word,
                  const LoopProduct &product) {
  printer << " " << word;
  printLoops(printer, product.outer);
  printLoops(printer, "over", product.summed);
}

static void print(AsmPrinter &printer, StringRef name, MatrixStrides strides) {
  printer << " " << name << " [" << strides.row << ", " << strides.column
          << "]";
}

static void print(AsmPrinter &printer, const GemmPlan &gemm) {
  for (auto [word, copy] : llvm::zip_equal(packWords, gemm.packing))
    if (copy) {
      printer << " " << word;
      printLoops(printer, *copy);
    }
  printer << (gemm.library == ProductLibrary::OneDNN ? " gemm onednn "
                                                     : " gemm ");
  printer.printDimensionList({gemm.m, gemm.n, gemm.k});
  print(printer, "a", gemm.a);
  print(printer, "b", gemm.b);
  print(printer, "c", gemm.c);
  printLoops(printer, "batch", gemm.batch);
  printLoops(printer, "outer", gemm.outer);
  printLoops(printer, "summed", gemm.summed);
}

static void printSteps(AsmPrinter &printer, const ProductPlan &plan) {
  for (auto [word, sum] : llvm::zip_equal(prepareWords, plan.prepared))
    if (sum)
      print(printer, word, *sum);
  if (plan.gemm)
    print(printer, *plan.gemm);
  else if (plan.loops)
    print(printer, "loops", *plan.loops);
  else
    printer << " zero";
}

void ProductPlanAttr::print(AsmPrinter &printer) const {
  const ProductPlan &plan = getPlan();
  printer << "<" << (plan.isDevice ? "gpu" : "cpu");
  if (plan.converts)
    printer << " convert";
  printSteps(printer, plan);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static bool takeWord(AsmParser &parser, StringRef word) {
  return succeeded(parser.parseOptionalKeyword(word));
}

/// `512, 0, 128`
template <size_t N>
static ParseResult parseNumbers(AsmParser &parser,
                                std::array<int64_t, N> &numbers) {
  for (size_t i = 0; i < N; ++i)
    if ((i > 0 && parser.parseComma()) || parser.parseInteger(numbers[i]))
      return failure();
  return success();
}

/// `[8 : 512, 0, 128]`, any number of them.
template <size_t N>
static ParseResult parseLoops(AsmParser &parser, calls::Loops<N> &loops) {
  while (succeeded(parser.parseOptionalLSquare())) {
    Loop<N> &loop = loops.emplace_back();
    if (parser.parseInteger(loop.size) || parser.parseColon() ||
        parseNumbers(parser, loop.strides) || parser.parseRSquare())
      return failure();
  }
  return success();
}

/// The same behind the word, if that is there.
static ParseResult parseLoops(AsmParser &parser, StringRef word,
                              calls::Loops<3> &loops) {
  return takeWord(parser, word) ? parseLoops(parser, loops) : success();
}

static ParseResult parse(AsmParser &parser, LoopProduct &product) {
  return failure(parseLoops(parser, product.outer) ||
                 parseLoops(parser, "over", product.summed));
}

static ParseResult parse(AsmParser &parser, StringRef name,
                         MatrixStrides &strides) {
  std::array<int64_t, 2> numbers = {};
  if (parser.parseKeyword(name) || parser.parseLSquare() ||
      parseNumbers(parser, numbers) || parser.parseRSquare())
    return failure();
  strides = {numbers[0], numbers[1]};
  return success();
}

/// `64x96x128`
static ParseResult parseSizes(AsmParser &parser, GemmPlan &gemm) {
  SmallVector<int64_t> sizes;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  if (sizes.size() != 3)
    return parser.emitError(at, "expected rows x columns x terms but got ")
           << sizes.size() << " sizes";
  gemm.m = sizes[0];
  gemm.n = sizes[1];
  gemm.k = sizes[2];
  return success();
}

/// Behind `gemm`.
static ParseResult parse(AsmParser &parser, GemmPlan &gemm) {
  if (takeWord(parser, "onednn"))
    gemm.library = ProductLibrary::OneDNN;
  return failure(parseSizes(parser, gemm) || parse(parser, "a", gemm.a) ||
                 parse(parser, "b", gemm.b) || parse(parser, "c", gemm.c) ||
                 parseLoops(parser, "batch", gemm.batch) ||
                 parseLoops(parser, "outer", gemm.outer) ||
                 parseLoops(parser, "summed", gemm.summed));
}

/// Two words as they are printed, the first of which is gone.
static FailureOr<size_t> parseTensor(AsmParser &parser) {
  if (takeWord(parser, "lhs"))
    return 0;
  if (succeeded(parser.parseKeyword("rhs", " or lhs")))
    return 1;
  return failure();
}

static ParseResult parsePrepared(AsmParser &parser, ProductPlan &plan) {
  while (takeWord(parser, "prepare")) {
    FailureOr<size_t> which = parseTensor(parser);
    if (failed(which) || parse(parser, plan.prepared[*which].emplace()))
      return failure();
  }
  return success();
}

static ParseResult parsePacking(AsmParser &parser, GemmPlan &gemm,
                                bool &isPacked) {
  auto parseCopy = [&](size_t which) {
    isPacked = true;
    return parseLoops(parser, gemm.packing[which].emplace());
  };
  while (takeWord(parser, "pack")) {
    FailureOr<size_t> which = parseTensor(parser);
    if (failed(which) || parseCopy(*which))
      return failure();
  }
  if (takeWord(parser, "unpack"))
    return failure(parser.parseKeyword("output") || parseCopy(2));
  return success();
}

static ParseResult parseSteps(AsmParser &parser, ProductPlan &plan) {
  if (parsePrepared(parser, plan))
    return failure();
  if (takeWord(parser, "zero"))
    return success();
  if (takeWord(parser, "loops"))
    return parse(parser, plan.loops.emplace());
  GemmPlan gemm;
  bool isPacked = false;
  if (parsePacking(parser, gemm, isPacked) ||
      parser.parseKeyword("gemm", isPacked ? "" : ", loops or zero") ||
      parse(parser, gemm))
    return failure();
  plan.gemm = std::move(gemm);
  return success();
}

Attribute ProductPlanAttr::parse(AsmParser &parser, Type) {
  ProductPlan plan;
  if (parser.parseLess())
    return {};
  plan.isDevice = takeWord(parser, "gpu");
  if (!plan.isDevice && parser.parseKeyword("cpu", " or gpu"))
    return {};
  plan.converts = takeWord(parser, "convert");
  if (parseSteps(parser, plan) || parser.parseGreater())
    return {};
  return parser.getChecked<ProductPlanAttr>(parser.getContext(),
                                            std::move(plan));
}

// As it is declared for the attribute.
LogicalResult
ProductPlanAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                        // NOLINTNEXTLINE(performance-unnecessary-value-param)
                        ProductPlan plan) {
  if (auto fault = products::verifyPlan(plan))
    return emitError() << "plan: " << fault->message;
  return success();
}
