// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "VerifyAddends.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "shoal/Dialect/Shoal/IR/AllOps.h"
#include "shoal/Dialect/Shoal/IR/CodedArrays.h"
#include "shoal/Dialect/Shoal/IR/ComplexArrays.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/WrittenShardings.h"

#include "shoal/Dialect/Shoal/IR/Roles.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"

using namespace mlir;
using namespace shoal;

#include "shoal/Dialect/Shoal/IR/ShoalDialect.cpp.inc"
#include "shoal/Dialect/Shoal/IR/ShoalEnums.cpp.inc"

namespace {
/// Calls are the user's structure; every op may move into its caller.
struct ShoalInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void ShoalDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "shoal/Dialect/Shoal/IR/AllOps.cpp.inc"
      >();
  addInterfaces<ShoalInliner>();
}

Operation *ShoalDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

/// A name stands in `--input NAME=FILE` and in a file's name.
static bool isUsableName(StringRef name) {
  return !name.empty() &&
         name.find_first_of(StringRef("=/ \t\n\r\0", 7)) == StringRef::npos;
}

/// `shoal.name` of value `index`, whose like have the dictionaries `all`.
static LogicalResult verifyName(Operation *op, StringRef kind, unsigned index,
                                Attribute value, ArrayAttr all) {
  auto fail = [&]() { return op->emitError() << kind << ' ' << index << ": "; };
  auto name = dyn_cast<StringAttr>(value);
  if (!name)
    return fail() << "expected " << kNameAttr << " to be a string";
  if (!isUsableName(name))
    return fail() << kNameAttr << ' ' << name
                  << ": expected a name that is not empty and has no '=', '/' "
                     "or white space";
  if (!all)
    return success();
  for (unsigned other = 0; other < index; ++other)
    if (cast<DictionaryAttr>(all[other]).get(kNameAttr) == value)
      return fail() << kNameAttr << ' ' << name << " is that of " << kind << ' '
                    << other << " too";
  return success();
}

/// `shoal.global_type`: the type before it became that of a shard.
static bool isGlobalTypeOf(Attribute value, Type type) {
  auto attribute = dyn_cast<TypeAttr>(value);
  auto global =
      attribute ? dyn_cast<RankedTensorType>(attribute.getValue()) : nullptr;
  auto local = dyn_cast<RankedTensorType>(type);
  return global && local && global.getRank() == local.getRank() &&
         global.getElementType() == local.getElementType();
}

/// `shoal.complex` of value `index` of this type, whose like have the
/// dictionaries `all`.
static LogicalResult verifyComplex(Operation *op, Type type, StringRef kind,
                                   unsigned index, Attribute value,
                                   ArrayAttr all) {
  auto fail = [&]() { return op->emitError() << kind << ' ' << index << ": "; };
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool fits =
      tensor && tensor.getRank() > 0 && tensor.getShape().back() == 2 &&
      (tensor.getElementType().isF32() || tensor.getElementType().isF64());
  if (!isa<UnitAttr>(value) || !fits)
    return fail() << "expected " << kComplexAttr
                  << " to be a unit attribute, on f32 or f64 with a last "
                     "dimension of 2, but it is on "
                  << type;
  auto sharding =
      all ? cast<DictionaryAttr>(all[index]).getAs<ShardingAttr>(kShardingAttr)
          : ShardingAttr();
  if (sharding &&
      static_cast<int64_t>(sharding.getDims().size()) == tensor.getRank() &&
      !sharding.getDims().back().getAxes().empty())
    return fail() << "the halves of complex numbers, dim "
                  << tensor.getRank() - 1 << ", are split by " << sharding;
  return success();
}

/// What the bytes of programs may be codes of, as StableHLO calls it.
static bool isCoded(StringRef element) {
  return llvm::is_contained({"i2", "i4", "ui2", "ui4", "f4E2M1FN", "f6E2M3FN",
                             "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ",
                             "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E8M0FNU"},
                            element);
}

/// `shoal.codes` of value `index` of this type.
static LogicalResult verifyCodes(Operation *op, Type type, StringRef kind,
                                 unsigned index, Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  if (name && isCoded(name) && getElementTypeOrSelf(type).isInteger(8))
    return success();
  return op->emitError() << describePlace(op, kind, index) << ": expected "
                         << kCodesAttr
                         << " to name a type of 8 bits or fewer that programs "
                            "have no elements of, on i8, but it is "
                         << value << " on " << type;
}

/// `shoal.addends` of a value of this type.
static LogicalResult
verifyAddendsAttr(Type type, Attribute value,
                  function_ref<InFlightDiagnostic()> emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (isa<UnitAttr>(value) && tensor && tensor.getRank() > 0)
    return success();
  return emitError() << "expected " << kAddendsAttr
                     << " to be a unit attribute, on a tensor with a first "
                        "dimension of addends, but it is on "
                     << type;
}

/// An attribute of argument or result `index` of `op`, as `kind` says.
static LogicalResult verifyValueAttribute(Operation *op, Type type,
                                          StringRef kind, unsigned index,
                                          NamedAttribute attribute,
                                          ArrayAttr all) {
  auto fail = [&]() {
    return op->emitError() << describePlace(op, kind, index) << ": ";
  };
  if (attribute.getName() == kNameAttr)
    return verifyName(op, kind, index, attribute.getValue(), all);
  if (attribute.getName() == kGlobalTypeAttr) {
    if (isGlobalTypeOf(attribute.getValue(), type))
      return success();
    return fail() << "expected " << kGlobalTypeAttr
                  << " to be a tensor type with the rank and elements of "
                  << type;
  }
  if (attribute.getName() == kUnsignedAttr) {
    if (isa<UnitAttr>(attribute.getValue()) &&
        getElementTypeOrSelf(type).isInteger())
      return success();
    return fail() << "expected " << kUnsignedAttr
                  << " to be a unit attribute, on integers";
  }
  if (attribute.getName() == kCodesAttr)
    return verifyCodes(op, type, kind, index, attribute.getValue());
  if (attribute.getName() == kComplexAttr)
    return verifyComplex(op, type, kind, index, attribute.getValue(), all);
  if (attribute.getName() == kAddendsAttr)
    return verifyAddendsAttr(type, attribute.getValue(), fail);
  if (attribute.getName() == kDonatedAttr) {
    if (kind == "argument" && isa<UnitAttr>(attribute.getValue()))
      return success();
    return fail() << kDonatedAttr << " is a unit attribute of arguments";
  }
  if (attribute.getName() == kWrittenAttr) {
    if (isa<StringAttr>(attribute.getValue()))
      return success();
    return fail() << "expected " << kWrittenAttr << " to be a string";
  }
  // The lowering has marks of its own on buffers.
  if (attribute.getName() != kShardingAttr && !isa<TensorType>(type))
    return success();
  if (attribute.getName() != kShardingAttr)
    return fail() << "unknown attribute " << attribute.getName();
  auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
  if (!sharding)
    return fail() << "expected " << kShardingAttr << " to be a #shoal.sharding";
  if (failed(sharding.verifyFor(type, op, fail)))
    return failure();
  return verifyAddends(sharding, type, fail);
}

LogicalResult ShoalDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function
                  ? function.getArgumentTypes()[argIndex]
                  : op->getRegion(regionIndex).getArgument(argIndex).getType();
  return verifyValueAttribute(op, type, "argument", argIndex, attribute,
                              function ? function.getArgAttrsAttr()
                                       : ArrayAttr());
}

LogicalResult ShoalDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned resultIndex, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitError() << "result attributes are for functions";
  return verifyValueAttribute(op, function.getResultTypes()[resultIndex],
                              "result", resultIndex, attribute,
                              function.getResAttrsAttr());
}

LogicalResult ShoalDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == kRolesAttr)
    return verifyRoles(op, attribute.getValue());
  if (attribute.getName() != kShardingsAttr)
    return success();
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitOpError() << "expected " << kShardingsAttr
                             << " to list one sharding per result";
  for (auto [i, entry] : llvm::enumerate(shardings)) {
    auto sharding = dyn_cast<ShardingAttr>(entry);
    if (!sharding)
      return op->emitOpError()
             << "result " << i << ": expected a #shoal.sharding";
    if (failed(sharding.verifyFor(op->getResult(i).getType(), op, [&]() {
          return op->emitOpError() << "result " << i << ": ";
        })))
      return failure();
  }
  return success();
}
