// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an op's `localize` has at hand.

#ifndef SHOAL_TRANSFORMS_PARTITION_LOCALIZER_H
#define SHOAL_TRANSFORMS_PARTITION_LOCALIZER_H

#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Sharding/RowMap.h"
#include "shoal/Sharding/Sharding.h"
#include <optional>

namespace shoal {

/// Builds the local form of one global op. Every op built carries the global
/// op's location.
class Localizer {
public:
  Localizer(mlir::OpBuilder &builder, const Mesh &mesh,
            mlir::FlatSymbolRefAttr meshSymbol, mlir::Operation *op,
            mlir::ArrayRef<mlir::Value> operands,
            mlir::ArrayRef<Sharding> operandShardings,
            mlir::ArrayRef<Sharding> resultShardings)
      : builder(builder), mesh(mesh), meshSymbol(meshSymbol), op(op),
        operands(operands), operandShardings(operandShardings),
        resultShardings(resultShardings) {}

  mlir::OpBuilder &builder;
  const Mesh &mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  mlir::Operation *op;
  /// Local values.
  mlir::ArrayRef<mlir::Value> operands;
  mlir::ArrayRef<Sharding> operandShardings, resultShardings;

  mlir::Location getLoc() const { return op->getLoc(); }

  /// The type of result `index` on one device.
  mlir::RankedTensorType localResultType(unsigned index = 0) const;

  /// Why something is sent for the op, and what would do away with that, where
  /// the op says so.
  mlir::StringAttr reason(const llvm::Twine &why) const;

  /// The same op on local operands and result types.
  mlir::Operation *cloneLocally();

  /// tensor<i32>: the device's index over `axes`.
  mlir::Value axisIndex(mlir::ArrayRef<AxisId> axes);

  /// tensor<i32>: the first global row that the device holds of a dimension
  /// split over `axes` into shards of `rows` rows.
  mlir::Value firstRow(mlir::ArrayRef<AxisId> axes, int64_t rows);

  /// The local `value` of a tensor with the given global shape, rows past the
  /// end of `dims` replaced by `neutral`; the value itself where these
  /// dimensions divide evenly.
  mlir::Value maskPadding(mlir::Value value,
                          mlir::ArrayRef<int64_t> globalShape,
                          const Sharding &sharding,
                          mlir::ArrayRef<int64_t> dims,
                          mlir::TypedAttr neutral);
  /// The same with the value of a scalar tensor.
  mlir::Value maskPadding(mlir::Value value,
                          mlir::ArrayRef<int64_t> globalShape,
                          const Sharding &sharding,
                          mlir::ArrayRef<int64_t> dims, mlir::Value neutral);

  /// The local operand `index`, the padding of its dimensions that the factor
  /// rule reduces replaced by the identity of the reduction. Dimensions with
  /// windows are left as they are.
  mlir::Value maskReduced(unsigned index);

  /// The op's local form where its factor rule says it all: see
  /// LocalizeOpInterface. An error where the rule has windows, gathers or
  /// reductions of no kind or of several, or does not allow the shardings.
  mlir::LogicalResult
  localizeByRule(mlir::SmallVectorImpl<mlir::Value> &results);

  /// The rows of a window of dimension `dim`: `value` is a shard of a tensor
  /// with `size` rows there, split over `axes`. Where each device has its rows
  /// they are cut out, else a halo_exchange brings them. Rows that do not exist
  /// are `fill`, or unspecified without it.
  mlir::Value fetchRows(mlir::Value value, int64_t dim, int64_t size,
                        mlir::ArrayRef<AxisId> axes, const RowWindow &window,
                        std::optional<mlir::TypedAttr> fill = {});
  /// `fill` is a tensor of rank 0.
  mlir::Value fetchRows(mlir::Value value, int64_t dim, int64_t size,
                        mlir::ArrayRef<AxisId> axes, const RowWindow &window,
                        mlir::Value fill);
  mlir::Value fetchRows(mlir::Value value, int64_t dim, int64_t size,
                        mlir::ArrayRef<AxisId> axes, int64_t step,
                        int64_t offset, int64_t divisor, int64_t rows,
                        std::optional<mlir::TypedAttr> fill = {}) {
    return fetchRows(value, dim, size, axes,
                     RowWindow{step, offset, divisor, rows}, fill);
  }

  /// A constant splat of `type`, and a scalar spread over `type`'s shape.
  mlir::Value splat(mlir::RankedTensorType type, mlir::Attribute value);
  mlir::Value spread(mlir::Value scalar, mlir::RankedTensorType type);
};

/// The type of a shard of a tensor of `type`.
mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                 const Sharding &sharding, const Mesh &mesh);

/// An error, at no place, for each op of the loaded dialects that has a local
/// form of its own and no model that builds it.
mlir::LogicalResult verifyLocalizeModels(mlir::MLIRContext *context);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_PARTITION_LOCALIZER_H
