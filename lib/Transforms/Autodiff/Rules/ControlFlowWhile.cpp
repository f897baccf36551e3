// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradient of a loop is a loop that runs from the last step to the first.
// What its steps read of the forward ones is kept, a row for each step.

#include "../Expansion.h"
#include "../LoopReads.h"
#include "../SplitBlock.h"
#include "Rules.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

using namespace mlir;
using namespace shoal;

namespace {

class LoopReversal {
public:
  LoopReversal(WhileOp op, Vjp &vjp, int64_t trips)
      : op(op), vjp(vjp), trips(trips),
        numbers(RankedTensorType::get({}, vjp.b.getI32Type())) {}

  LogicalResult run();

private:
  void findActiveCarried();
  void findSumTypes();
  FailureOr<SplitBlock> differentiateBody();
  WhileOp buildForward(const SplitBlock &body);
  void buildBackward(const SplitBlock &body, WhileOp forward);
  void mapRow(TensorBuilder &b, const SplitBlock &body, WhileOp forward,
              Value row, IRMapping &mapping);

  Value number(TensorBuilder &b, int64_t n) { return b.splat(numbers, n); }
  /// The start of row `row` in a buffer for `value`.
  SmallVector<Value> startsOf(TensorBuilder &b, Value row, Value value);
  RankedTensorType rowType(Value value, int64_t rows);
  /// A loop over 0 ... trips - 1: the counter is its first value, `step` gives
  /// the others' next ones.
  WhileOp buildLoop(
      ValueRange inits,
      llvm::function_ref<SmallVector<Value>(TensorBuilder &, Value, ValueRange)>
          step);

  WhileOp op;
  Vjp &vjp;
  int64_t trips;
  RankedTensorType numbers;
  /// Carried values that have cotangents.
  SmallVector<unsigned> active;
  /// Values from around the loop that have.
  SmallVector<Value> captured;
  /// The types in which their cotangents are summed over the steps.
  SmallVector<Type> sumTypes;
  /// The loop whose body is differentiated; it goes in the end.
  WhileOp scratch;
  std::optional<LoopReads> reads;
  llvm::SetVector<Value> residuals;
};

} // namespace

static ValueRange yieldsOf(Region &region) {
  return region.front().getTerminator()->getOperands();
}

void LoopReversal::findActiveCarried() {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getBody(), used);
  for (Value value : used)
    if (vjp.wants(value))
      captured.push_back(value);
  Block &body = op.getBody().front();
  llvm::SmallDenseSet<unsigned> found;
  for (unsigned i = 0; i < op.getInits().size(); ++i)
    if (vjp.wants(i))
      found.insert(i);
  size_t before = 0;
  do {
    before = found.size();
    SmallVector<Value> wrt(captured);
    for (unsigned i : found)
      wrt.push_back(body.getArgument(i));
    llvm::DenseSet<Value> reached = findActive(body, wrt);
    for (auto [i, value] : llvm::enumerate(yieldsOf(op.getBody())))
      if (reached.contains(value))
        found.insert(i);
  } while (found.size() != before);
  active.assign(found.begin(), found.end());
  llvm::sort(active);
}

/// f32 where values are narrower: a sum of many steps in few bits stops
/// growing. Rows that one step alone reads are no sums.
void LoopReversal::findSumTypes() {
  for (Value value : captured) {
    RankedTensorType type = tensorTypeOf(value);
    auto element = dyn_cast<FloatType>(type.getElementType());
    bool isSum = trips > 1 && !reads->isReadByOwnRows(value);
    sumTypes.push_back(isSum && element && element.getWidth() < 32
                           ? type.clone(vjp.b.getF32Type())
                           : type);
  }
}

FailureOr<SplitBlock> LoopReversal::differentiateBody() {
  scratch = cast<WhileOp>(OpBuilder(op).clone(*op));
  reads.emplace(scratch, trips);
  findSumTypes();
  Block &body = scratch.getBody().front();
  Location loc = vjp.b.getLoc();
  SmallVector<Value> wrt;
  SmallVector<Seed> seeds;
  for (unsigned i : active) {
    Value yielded = yieldsOf(scratch.getBody())[i];
    wrt.push_back(body.getArgument(i));
    seeds.push_back({yielded, body.addArgument(yielded.getType(), loc)});
  }
  for (auto [value, type] : llvm::zip_equal(captured, sumTypes)) {
    wrt.push_back(value);
    seeds.push_back({value, body.addArgument(type, loc)});
  }
  FailureOr<SplitBlock> split = SplitBlock::differentiate(body, wrt, seeds);
  if (succeeded(split))
    for (auto [gradient, seed] : llvm::drop_begin(
             llvm::zip_equal(split->gradients, seeds), active.size()))
      reads->setOwnRow(gradient, seed.cotangent);
  return split;
}

RankedTensorType LoopReversal::rowType(Value value, int64_t rows) {
  RankedTensorType type = tensorTypeOf(value);
  SmallVector<int64_t> shape{rows};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

SmallVector<Value> LoopReversal::startsOf(TensorBuilder &b, Value row,
                                          Value value) {
  SmallVector<Value> starts(tensorTypeOf(value).getRank() + 1, number(b, 0));
  starts[0] = row;
  return starts;
}

/// The loop with a counter of its own and a buffer for each residual behind
/// what it carries.
WhileOp LoopReversal::buildForward(const SplitBlock &body) {
  OpBuilder at(op);
  TensorBuilder b(op.getLoc(), at);
  SmallVector<Value> inits(op.getInits());
  unsigned count = inits.size();
  inits.push_back(number(b, 0));
  for (Value value : residuals)
    inits.push_back(b.zeros(rowType(value, trips)));
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto forward = WhileOp::create(b, types, inits);

  IRMapping condition;
  op.getCond().cloneInto(&forward.getCond(), condition);
  SmallVector<Location> locations(types.size() - count, op.getLoc());
  forward.getCond().front().addArguments(ArrayRef(types).drop_front(count),
                                         locations);

  OpBuilder::InsertionGuard guard(b);
  locations.assign(types.size(), op.getLoc());
  Block *block = b.createBlock(&forward.getBody(), {}, types, locations);
  IRMapping mapping;
  mapping.map(scratch.getBody().getArguments().take_front(count),
              block->getArguments().take_front(count));
  body.cloneForward(b, mapping);
  SmallVector<Value> next;
  for (Value value : yieldsOf(scratch.getBody()))
    next.push_back(mapping.lookupOrDefault(value));
  Value row = block->getArgument(count);
  next.push_back(b.add(row, number(b, 1)));
  for (auto [i, value] : llvm::enumerate(residuals)) {
    Value buffer = block->getArgument(count + 1 + i);
    Value made =
        b.reshape(mapping.lookupOrDefault(value), rowType(value, 1).getShape());
    next.push_back(DynamicUpdateSliceOp::create(b, buffer.getType(), buffer,
                                                made, startsOf(b, row, value)));
  }
  YieldOp::create(b, next);
  return forward;
}

WhileOp LoopReversal::buildLoop(
    ValueRange inits,
    llvm::function_ref<SmallVector<Value>(TensorBuilder &, Value, ValueRange)>
        step) {
  TensorBuilder &b = vjp.b;
  SmallVector<Value> all{number(b, 0)};
  llvm::append_range(all, inits);
  SmallVector<Type> types(ValueRange(all).getTypes());
  SmallVector<Location> locations(types.size(), b.getLoc());
  auto loop = WhileOp::create(b, types, all);
  OpBuilder::InsertionGuard guard(b);
  Block *condition = b.createBlock(&loop.getCond(), {}, types, locations);
  YieldOp::create(b, b.compare(arith::CmpIPredicate::slt,
                               condition->getArgument(0), number(b, trips)));
  Block *body = b.createBlock(&loop.getBody(), {}, types, locations);
  Value counter = body->getArgument(0);
  SmallVector<Value> next{b.add(counter, number(b, 1))};
  llvm::append_range(next, step(b, counter, body->getArguments().drop_front()));
  YieldOp::create(b, next);
  return loop;
}

/// Maps what the backward ops of a step read of the forward ones: the
/// residuals' row, and counters by the number of the step.
void LoopReversal::mapRow(TensorBuilder &b, const SplitBlock &body,
                          WhileOp forward, Value row, IRMapping &mapping) {
  unsigned count = op.getInits().size();
  for (const LoopReads::Counter &counter : reads->getCounters()) {
    Value init = op.getInits()[counter.number];
    Value steps = row;
    if (init.getType() != row.getType()) {
      unsigned width = tensorTypeOf(init).getElementTypeBitWidth();
      steps = width > 32
                  ? arith::ExtSIOp::create(b, init.getType(), row).getResult()
                  : arith::TruncIOp::create(b, init.getType(), row);
    }
    Value passed = b.mul(steps, b.splat(init.getType(), counter.step));
    mapping.map(scratch.getBody().getArgument(counter.number),
                b.add(init, passed));
  }
  for (auto [i, value] : llvm::enumerate(residuals)) {
    Value slice = DynamicSliceOp::create(
        b, rowType(value, 1), forward.getResult(count + 1 + i),
        startsOf(b, row, value), rowType(value, 1).getShape());
    mapping.map(value, b.reshape(slice, tensorTypeOf(value).getShape()));
  }
}

void LoopReversal::buildBackward(const SplitBlock &body, WhileOp forward) {
  SmallVector<Value> inits;
  for (unsigned i : active)
    inits.push_back(vjp.cotangentOrZero(i));
  for (Type type : sumTypes)
    inits.push_back(vjp.b.zeros(type));
  WhileOp loop = buildLoop(
      inits, [&](TensorBuilder &b, Value counter, ValueRange carried) {
        Value row =
            arith::SubIOp::create(b, number(b, trips - 1), counter).getResult();
        IRMapping mapping;
        mapRow(b, body, forward, row, mapping);
        mapping.map(
            scratch.getBody().getArguments().drop_front(op.getInits().size()),
            carried);
        body.cloneBackward(b, mapping);
        SmallVector<Value> next;
        for (Value gradient : body.gradients)
          next.push_back(mapping.lookupOrDefault(gradient));
        return next;
      });
  unsigned result = 1;
  for (unsigned i : active)
    vjp.add(i, loop.getResult(result++));
  for (Value value : captured)
    vjp.add(value, loop.getResult(result++));
}

LogicalResult LoopReversal::run() {
  findActiveCarried();
  if (trips == 0) {
    for (unsigned i : active)
      vjp.add(i, vjp.cotangent(i));
    return success();
  }
  FailureOr<SplitBlock> body = differentiateBody();
  if (succeeded(body)) {
    residuals = body->findResiduals(op.getInits().size(), [&](Value value) {
      return reads->followsFromCounters(value) ||
             reads->isReadRepeatedly(value) ||
             (!isa<BlockArgument>(value) && isExpansion(value));
    });
    WhileOp forward = buildForward(*body);
    buildBackward(*body, forward);
    vjp.replaceForward(forward.getResults().take_front(op.getNumResults()));
  }
  scratch.erase();
  return failure(failed(body));
}

namespace {

struct While : DifferentiableOpInterface::ExternalModel<While, WhileOp> {
  static StringRef getDomain() { return "loops of a known number of steps"; }
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<WhileOp>(operation);
    std::optional<int64_t> trips = op.getTripCount();
    if (!trips)
      return vjp.refuse("runs as often as its values say, so that what a "
                        "gradient needs of its steps has no bound: use scan or "
                        "fori_loop with constant bounds");
    if (*trips > std::numeric_limits<int32_t>::max())
      return vjp.refuse("runs ")
             << *trips << " times: a gradient counts in i32";
    return LoopReversal(op, vjp, *trips).run();
  }
};

} // namespace

void shoal::registerControlFlowWhileDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    WhileOp::attachInterface<While>(*context);
  });
}
