// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/RematerializePolicy.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.cpp.inc"

/// What the verifiers of regions have in common: the region's terminator is a
/// yield of `types`. `what` names the region, as "body" or "branch 1".
static LogicalResult verifyYield(Operation *op, const Twine &what,
                                 Region &region, TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError() << what << ": expected to end in shoal.yield";
  TypeRange yielded = yield.getValues().getTypes();
  if (yielded.size() != types.size()) {
    InFlightDiagnostic error = op->emitOpError();
    error << what << ": expected to yield " << types.size()
          << " values but got " << yielded.size();
    error.attachNote(yield.getLoc()) << "the yield is here";
    return error;
  }
  for (auto [i, expected, actual] : llvm::enumerate(types, yielded)) {
    if (expected == actual)
      continue;
    InFlightDiagnostic error = op->emitOpError();
    error << what << ": expected to yield a value " << i << " of type "
          << expected << " but got " << actual;
    error.attachNote(yield.getLoc()) << "the yield is here";
    return error;
  }
  return success();
}

static YieldOp yieldOf(Region &region) {
  return cast<YieldOp>(region.front().getTerminator());
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

/// `(%i = %zero, %a = %x) : tensor<i32>, tensor<8xf32> attributes {} cond {...}
/// do {...}`
ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(inits.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne) ||
      (!arguments.empty() && parser.parseColonTypeList(types)) ||
      parser.resolveOperands(inits, types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  result.addTypes(types);
  Region *cond = result.addRegion(), *body = result.addRegion();
  return failure(
      parser.parseKeyword("cond") || parser.parseRegion(*cond, arguments) ||
      parser.parseKeyword("do") || parser.parseRegion(*body, arguments));
}

void WhileOp::print(OpAsmPrinter &printer) {
  Block::BlockArgListType arguments = getCond().getArguments();
  printer.shadowRegionArgs(getBody(), arguments);
  printer << " (";
  llvm::interleaveComma(llvm::zip_equal(arguments, getInits()), printer,
                        [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = ";
                          printer.printOperand(std::get<1>(pair));
                        });
  printer << ')';
  if (!arguments.empty()) {
    printer << " : ";
    llvm::interleaveComma(getInits().getTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult WhileOp::verifyRegions() {
  TypeRange types = getInits().getTypes();
  std::pair<StringRef, TypeRange> others[] = {
      {"results", getResultTypes()},
      {"arguments of the condition", getCond().getArgumentTypes()},
      {"arguments of the body", getBody().getArgumentTypes()}};
  for (auto [what, own] : others) // (W1)
    if (own != types)
      return emitOpError() << what << ": expected the types of the operands";
  auto i1 = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(verifyYield(*this, "condition", getCond(), i1))) // (W2)
    return failure();
  return verifyYield(*this, "body", getBody(), types);
}

SmallVector<Join> WhileOp::getJoins() {
  SmallVector<Join> joins;
  YieldOp next = yieldOf(getBody());
  for (unsigned i = 0; i < getNumOperands(); ++i)
    joins.push_back(
        {{&(*this)->getOpOperand(i), &next->getOpOperand(i)},
         {getResult(i), getCond().getArgument(i), getBody().getArgument(i)}});
  return joins;
}

/// What every trip yields as it came is used from outside and not carried.
LogicalResult WhileOp::canonicalize(WhileOp op, PatternRewriter &rewriter) {
  // Attributes of passes speak of each result.
  if (!op->getDiscardableAttrs().empty())
    return failure();
  Block *cond = &op.getCond().front(), *body = &op.getBody().front();
  YieldOp yield = yieldOf(op.getBody());
  BitVector invariant(op.getNumOperands());
  for (auto [i, yielded] : llvm::enumerate(yield.getValues()))
    invariant[i] = yielded == body->getArgument(i);
  if (invariant.none())
    return failure();

  for (unsigned i : invariant.set_bits()) {
    rewriter.replaceAllUsesWith(cond->getArgument(i), op.getInits()[i]);
    rewriter.replaceAllUsesWith(body->getArgument(i), op.getInits()[i]);
  }
  SmallVector<Value> inits, next;
  for (auto [i, init, yielded] :
       llvm::enumerate(op.getInits(), yield.getValues())) {
    if (!invariant[i]) {
      inits.push_back(init);
      next.push_back(yielded);
    }
  }
  auto loop = WhileOp::create(rewriter, op.getLoc(),
                              TypeRange(ValueRange(inits)), inits);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(next); });
  rewriter.modifyOpInPlace(op, [&] {
    cond->eraseArguments(invariant);
    body->eraseArguments(invariant);
  });
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), loop.getRegions()))
    rewriter.inlineRegionBefore(*from, *to, to->end());

  SmallVector<Value> results;
  ResultRange::iterator carried = loop.result_begin();
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    results.push_back(invariant[i] ? init : Value(*carried++));
  rewriter.replaceOp(op, results);
  return success();
}

SmallVector<OpOperand *> WhileOp::getWholeOperands() {
  return {&yieldOf(getCond())->getOpOperand(0)};
}

double WhileOp::getRegionWeight(unsigned region) {
  std::optional<int64_t> count = getTripCount();
  double runs = count ? double(*count) : kGuessedTripCount;
  return region == 0 ? runs + 1 : runs;
}

//===----------------------------------------------------------------------===//
// case
//===----------------------------------------------------------------------===//

static bool isBoolean(Value index) {
  return cast<ShapedType>(index.getType()).getElementType().isInteger(1);
}

LogicalResult CaseOp::verify() {
  size_t count = getBranches().size();
  if (count == 0) // (B1)
    return emitOpError("expected at least one branch");
  if (isBoolean(getIndex()) && count != 2)
    return emitOpError() << "expected 2 branches, for true and for false, but "
                            "got "
                         << count;
  return success();
}

LogicalResult CaseOp::verifyRegions() {
  for (auto [i, branch] : llvm::enumerate(getBranches())) { // (B2)
    std::string what = "branch " + std::to_string(i);
    if (branch.getNumArguments() != 0)
      return emitOpError() << what << ": expected no arguments but got "
                           << branch.getNumArguments();
    if (failed(verifyYield(*this, what, branch, getResultTypes())))
      return failure();
  }
  return success();
}

SmallVector<Join> CaseOp::getJoins() {
  SmallVector<Join> joins;
  for (OpResult result : getResults()) {
    Join &join = joins.emplace_back();
    join.values.push_back(result);
    for (Region &branch : getBranches())
      join.sources.push_back(
          &yieldOf(branch)->getOpOperand(result.getResultNumber()));
  }
  return joins;
}

SmallVector<OpOperand *> CaseOp::getWholeOperands() {
  return {&getIndexMutable()};
}

/// One of them runs, and a choice that is bad for it costs what it costs.
double CaseOp::getRegionWeight(unsigned) { return 1; }

namespace {

/// A branch that is known takes the op's place.
struct InlineKnownBranch : OpRewritePattern<CaseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CaseOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<unsigned> number = getKnownBranch(op);
    if (!number)
      return failure();
    Block &branch = op.getBranches()[*number].front();
    SmallVector<Value> results(branch.getTerminator()->getOperands());
    rewriter.eraseOp(branch.getTerminator());
    rewriter.inlineBlockBefore(&branch, op);
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static std::optional<unsigned> getKnownBranch(CaseOp op) {
    unsigned count = op.getBranches().size();
    if (count == 1)
      return 0;
    APInt index;
    if (!matchPattern(op.getIndex(), m_ConstantInt(&index)))
      return std::nullopt;
    if (isBoolean(op.getIndex()))
      return index.isZero() ? 1 : 0;
    int64_t number = index.getSExtValue();
    return number < 0 || number >= count ? count - 1 : number;
  }
};

} // namespace

void CaseOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<InlineKnownBranch>(context);
}

//===----------------------------------------------------------------------===//
// optimization_barrier, remat_boundary
//===----------------------------------------------------------------------===//

/// Of ops whose results are their operands.
static ParseResult parseForwarding(OpAsmParser &parser,
                                   OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(inputs) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types) ||
      parser.resolveOperands(inputs, types, loc, result.operands))
    return failure();
  result.addTypes(types);
  return success();
}

static void printForwarding(Operation *op, OpAsmPrinter &printer) {
  printer << ' ' << op->getOperands();
  printer.printOptionalAttrDict(op->getAttrs());
  printer << " : " << op->getOperandTypes();
}

/// (O1) and (K1)
static LogicalResult verifyForwarding(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("expected at least one operand");
  if (op->getOperandTypes() != op->getResultTypes())
    return op->emitOpError("results: expected the types of the operands");
  return success();
}

ParseResult OptimizationBarrierOp::parse(OpAsmParser &parser,
                                         OperationState &result) {
  return parseForwarding(parser, result);
}

void OptimizationBarrierOp::print(OpAsmPrinter &printer) {
  printForwarding(*this, printer);
}

LogicalResult OptimizationBarrierOp::verify() {
  return verifyForwarding(*this);
}

ParseResult RematBoundaryOp::parse(OpAsmParser &parser,
                                   OperationState &result) {
  return parseForwarding(parser, result);
}

void RematBoundaryOp::print(OpAsmPrinter &printer) {
  printForwarding(*this, printer);
}

LogicalResult RematBoundaryOp::verify() {
  if (getPolicy() && !RematerializePolicy::parse(*getPolicy())) // (K2)
    return emitOpError("policy: expected ")
           << RematerializePolicy::kExpected << ", but got \"" << *getPolicy()
           << '"';
  if (auto collectives = getCollectives()) { // (K3)
    if (!getPolicy())
      return emitOpError("collectives: expected a policy beside it");
    if (!RematerializePolicy::parseCollectives(*collectives))
      return emitOpError("collectives: expected ")
             << RematerializePolicy::kExpectedCollectives << ", but got \""
             << *collectives << '"';
  }
  return verifyForwarding(*this);
}
