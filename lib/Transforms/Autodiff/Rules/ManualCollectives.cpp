// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives in regions for one device. Each maps what all devices hold to
// what all hold behind it; its gradient is the transpose of that map. So a sum
// over devices is its own: every device's addend is in every device's result.

#include "../PullBack.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

static Value allReduce(TensorBuilder &b, ReduceKind kind,
                       FlatSymbolRefAttr mesh, AxesAttr axes, Value x) {
  return AllReduceOp::create(b, x.getType(),
                             ReduceKindAttr::get(b.getContext(), kind), mesh,
                             axes, x, StringAttr());
}

/// How many parts `axes` cut a dimension into.
static int64_t partsOf(Operation *op, FlatSymbolRefAttr mesh, AxesAttr axes) {
  return sizeOf(axes.getAxes(), lookupMesh(op, mesh).getMesh());
}

/// Zeros behind, up to `shape`.
static Value padTo(TensorBuilder &b, Value x, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> none(shape.size(), 0), high;
  for (auto [size, wanted] : llvm::zip_equal(tensorTypeOf(x).getShape(), shape))
    high.push_back(wanted - size);
  return llvm::all_of(high, [](int64_t n) { return n == 0; })
             ? x
             : b.pad(x, none, high, none);
}

/// The first rows.
static Value cutTo(TensorBuilder &b, Value x, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  return tensorTypeOf(x).getShape() == shape
             ? x
             : b.slice(x, starts, shape, strides);
}

/// `shape` with each dimension as often as `axes` cut it.
template <typename Op>
static SmallVector<int64_t> gathered(Op op, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> whole(shape);
  for (auto [size, axes] :
       llvm::zip_equal(whole, op.getAxes().template getAsRange<AxesAttr>()))
    size *= partsOf(op, op.getMeshAttr(), axes);
  return whole;
}

namespace {

struct AllReduce
    : DifferentiableOpInterface::ExternalModel<AllReduce, AllReduceOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<AllReduceOp>(operation);
    TensorBuilder &b = vjp.b;
    Type element = getElementTypeOrSelf(op.getInput());
    Type wide = b.sumElement(element);
    auto sum = [&](Value x) {
      return allReduce(b, ReduceKind::Sum, op.getMeshAttr(), op.getAxesAttr(),
                       x);
    };
    Value g = sum(b.convert(vjp.cotangent(), wide));
    if (op.getKind() == ReduceKind::Sum) {
      vjp.add(0, b.convert(g, element));
    } else if (op.getKind() == ReduceKind::Prod) {
      vjp.add(0, b.convert(ofProduct(op, g, sum, b), element));
    } else {
      // Equal shares for all devices that have the extremum.
      Value mask =
          b.compare(arith::CmpFPredicate::OEQ, op.getInput(), op.getResult());
      Value wins = b.convert(mask, wide);
      vjp.add(0, b.convert(b.mul(b.div(g, sum(wins)), wins), element));
    }
    return success();
  }

private:
  /// The product of all others: of N, that of all that are not 0, an element
  /// has N / x where none is 0, and the only 0 has N.
  static Value ofProduct(AllReduceOp op, Value g,
                         function_ref<Value(Value)> sum, TensorBuilder &b) {
    Expr x(b, b.convert(op.getInput(), getElementTypeOrSelf(g)));
    Expr isZero = x == 0;
    Expr rest = isZero.choose(x.number(1), x);
    Expr all = x.with(allReduce(b, ReduceKind::Prod, op.getMeshAttr(),
                                op.getAxesAttr(), rest.get()));
    Expr zeros = x.with(sum(b.convert(isZero.get(), getElementTypeOrSelf(g))));
    Expr none = x.number(0);
    Expr others = isZero.choose((zeros == 1).choose(all, none),
                                (zeros == 0).choose(all / rest, none));
    return (x.with(g) * others).get();
  }
};

/// Each device's rows are those that all devices read of it.
struct AllGather
    : DifferentiableOpInterface::ExternalModel<AllGather, AllGatherOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<AllGatherOp>(operation);
    TensorBuilder &b = vjp.b;
    RankedTensorType type = tensorTypeOf(op.getInput());
    Type element = type.getElementType(), wide = b.sumElement(element);
    Value g = padTo(b, b.convert(vjp.cotangent(), wide),
                    gathered(op, type.getShape()));
    Value mine = ReduceScatterOp::create(
        b, type.clone(wide),
        ReduceKindAttr::get(b.getContext(), ReduceKind::Sum), op.getMeshAttr(),
        op.getAxesAttr(), g, StringAttr());
    vjp.add(0, b.convert(mine, element));
    return success();
  }
};

/// Sums: what each device has is of all. Others are an all_reduce and a slice.
struct ReduceScatter
    : DifferentiableOpInterface::ExternalModel<ReduceScatter, ReduceScatterOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ReduceScatterOp>(operation);
    if (op.getKind() == ReduceKind::Sum) {
      vjp.add(0, AllGatherOp::create(vjp.b, op.getInput().getType(),
                                     op.getMeshAttr(), op.getAxesAttr(),
                                     vjp.cotangent(), StringAttr()));
      return success();
    }
    SmallVector<AxisRefAttr> axes;
    for (auto dim : op.getAxes().getAsRange<AxesAttr>())
      llvm::append_range(axes, dim.getAxes());
    return pullBack(vjp, vjp.cotangent(), [&](TensorBuilder &b) {
      Value whole =
          allReduce(b, op.getKind(), op.getMeshAttr(),
                    AxesAttr::get(b.getContext(), axes), op.getInput());
      return SmallVector<Value>{
          AllSliceOp::create(b, op.getType(), op.getMeshAttr(),
                             op.getAxesAttr(), whole, StringAttr())};
    });
  }
};

/// Back in its place, zeros around it.
struct AllSlice
    : DifferentiableOpInterface::ExternalModel<AllSlice, AllSliceOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<AllSliceOp>(operation);
    TensorBuilder &b = vjp.b;
    RankedTensorType part = tensorTypeOf(op.getResult());
    auto scalar = RankedTensorType::get({}, b.getI32Type());
    SmallVector<Value> starts;
    for (auto [rows, axes] : llvm::zip_equal(
             part.getShape(), op.getAxes().getAsRange<AxesAttr>())) {
      Value index = b.zeros(scalar);
      if (partsOf(op, op.getMeshAttr(), axes) > 1)
        index = arith::MulIOp::create(
            b, AxisIndexOp::create(b, scalar, op.getMeshAttr(), axes),
            b.splat(scalar, rows));
      starts.push_back(index);
    }
    Value zeros = b.zeros(part.clone(gathered(op, part.getShape())));
    Value placed = DynamicUpdateSliceOp::create(b, zeros.getType(), zeros,
                                                vjp.cotangent(), starts);
    vjp.add(0, cutTo(b, placed, tensorTypeOf(op.getInput()).getShape()));
    return success();
  }
};

/// The axes go back. A row that was past the end gets zeros.
struct AllToAll
    : DifferentiableOpInterface::ExternalModel<AllToAll, AllToAllOp> {
  static StringRef getDomain() {
    return "moves after which shards are even where a dimension both loses and "
           "gets axes";
  }
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<AllToAllOp>(operation);
    TensorBuilder &b = vjp.b;
    RankedTensorType type = tensorTypeOf(op.getInput());
    SmallVector<int64_t> left(type.getRank(), 1), came(left);
    SmallVector<Attribute> back;
    for (auto move : op.getMoves().getAsRange<MoveAttr>()) {
      int64_t parts = partsOf(op, op.getMeshAttr(), move.getAxes());
      left[move.getSourceDim()] *= parts;
      came[move.getTargetDim()] *= parts;
      back.push_back(MoveAttr::get(b.getContext(), move.getAxes(),
                                   move.getTargetDim(), move.getSourceDim()));
    }
    SmallVector<int64_t> shape(tensorTypeOf(op.getResult()).getShape());
    for (auto [size, rows, out, in] :
         llvm::zip_equal(shape, type.getShape(), left, came)) {
      if (in == 1)
        size = rows * out;
      else if (out != 1 && size * in != rows * out)
        return vjp.refuse("moves axes from and to one dimension whose shards "
                          "are not even");
    }
    vjp.add(0,
            AllToAllOp::create(b, type, op.getMeshAttr(), b.getArrayAttr(back),
                               padTo(b, vjp.cotangent(), shape), StringAttr()));
    return success();
  }
};

/// Rows go back by the same way: what came from a device goes to it, to where
/// it took it from.
struct RaggedAllToAll
    : DifferentiableOpInterface::ExternalModel<RaggedAllToAll,
                                               RaggedAllToAllOp> {
  static StringRef getDomain() {
    return "slices of a device that do not share rows of its input";
  }
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<RaggedAllToAllOp>(operation);
    TensorBuilder &b = vjp.b;
    Value g = vjp.cotangent();
    // Where in this device's output the others' rows are.
    Value came = swapped(b, op, op.getOutputOffsets());
    if (vjp.wants(0))
      vjp.add(0,
              RaggedAllToAllOp::create(
                  b, op.getInput().getType(), op.getMeshAttr(),
                  op.getAxesAttr(), g, b.zeros(op.getInput().getType()), came,
                  op.getRecvSizes(), swapped(b, op, op.getInputOffsets()),
                  op.getSendSizes(), op.getMeanRowsAttr(), StringAttr()));
    if (vjp.wants(1))
      vjp.add(1, b.select(areSent(b, op, came), b.zeros(g.getType()), g));
    return success();
  }

private:
  /// Entry t of each device for the entry of device t: both sides see what the
  /// other one has.
  static Value swapped(TensorBuilder &b, RaggedAllToAllOp op, Value list) {
    auto type = tensorTypeOf(list);
    int64_t p = partsOf(op, op.getMeshAttr(), op.getAxesAttr());
    int64_t each = type.getDimSize(0) / p;
    MLIRContext *context = b.getContext();
    Attribute move = MoveAttr::get(context, op.getAxesAttr(), 0, 1);
    Value mine = b.reshape(list, {1, p, each});
    Value theirs =
        AllToAllOp::create(b, type.clone({p, 1, each}), op.getMeshAttr(),
                           ArrayAttr::get(context, move), mine, StringAttr());
    return b.reshape(theirs, type.getShape());
  }
  /// Whether each element of the output is in a row that came.
  static Value areSent(TensorBuilder &b, RaggedAllToAllOp op, Value offsets) {
    auto type = tensorTypeOf(offsets), result = tensorTypeOf(op.getResult());
    int64_t rows = result.getDimSize(0), slices = type.getDimSize(0);
    Value row = b.iota({rows, slices}, type.getElementType(), 0);
    Value begin = b.broadcast(offsets, {rows, slices}, {1});
    Value end =
        b.broadcast(b.add(offsets, op.getRecvSizes()), {rows, slices}, {1});
    Value isIn = arith::AndIOp::create(
        b, b.compare(arith::CmpIPredicate::sge, row, begin),
        b.compare(arith::CmpIPredicate::slt, row, end));
    return b.broadcast(b.reduce(ReduceKind::Or, isIn, {1}), result.getShape(),
                       {0});
  }
};

/// From the receiver to the sender.
struct CollectivePermute
    : DifferentiableOpInterface::ExternalModel<CollectivePermute,
                                               CollectivePermuteOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<CollectivePermuteOp>(operation);
    int64_t devices = partsOf(op, op.getMeshAttr(), op.getSourceAxes());
    int64_t shift = op.getShift();
    vjp.add(0, CollectivePermuteOp::create(
                   vjp.b, op.getType(), op.getTargetMeshAttr(),
                   op.getTargetAxesAttr(), op.getMeshAttr(),
                   op.getSourceAxesAttr(), vjp.cotangent(),
                   vjp.b.getI64IntegerAttr(shift == 0 ? 0 : devices - shift),
                   turned(op.getPairsAttr()), StringAttr()));
    return success();
  }

private:
  /// Each pair the other way round: who received sends.
  static DenseI64ArrayAttr turned(DenseI64ArrayAttr pairs) {
    if (!pairs)
      return {};
    SmallVector<int64_t> indices(pairs.asArrayRef());
    for (size_t i = 0; i < indices.size(); i += 2)
      std::swap(indices[i], indices[i + 1]);
    return DenseI64ArrayAttr::get(pairs.getContext(), indices);
  }
};

} // namespace

void shoal::registerManualCollectivesDerivativeRules(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SpmdDialect *) {
    AllReduceOp::attachInterface<AllReduce>(*context);
    AllGatherOp::attachInterface<AllGather>(*context);
    ReduceScatterOp::attachInterface<ReduceScatter>(*context);
    AllSliceOp::attachInterface<AllSlice>(*context);
    AllToAllOp::attachInterface<AllToAll>(*context);
    RaggedAllToAllOp::attachInterface<RaggedAllToAll>(*context);
    CollectivePermuteOp::attachInterface<CollectivePermute>(*context);
    noGradient<AxisIndexOp>(context, [] { return "it is a device's index"; });
    refuse<HaloExchangeOp, ExchangeOp>(context, [] {
      return "is what the partitioner writes, behind gradients: use "
             "all_gather, all_to_all or collective_permute";
    });
  });
}
