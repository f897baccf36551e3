// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Descriptor.h"
#include "shoal/Runtime/ABI.h"

using namespace mlir;
using namespace shoal;

static int64_t getTypeCode(Type type) {
  if (type.isF32())
    return SHOAL_RT_F32;
  if (type.isF64())
    return SHOAL_RT_F64;
  if (type.isBF16())
    return SHOAL_RT_BF16;
  if (type.isF16())
    return SHOAL_RT_F16;
  if (isa<Float8E4M3FNType>(type))
    return SHOAL_RT_F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return SHOAL_RT_F8E5M2;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return SHOAL_RT_I64;
  case 32:
    return SHOAL_RT_I32;
  case 16:
    return SHOAL_RT_I16;
  case 8:
    return SHOAL_RT_I8;
  default:
    return SHOAL_RT_I1;
  }
}

static int64_t getKindCode(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return SHOAL_RT_SUM;
  case ReduceKind::Prod:
    return SHOAL_RT_PROD;
  case ReduceKind::Max:
    return SHOAL_RT_MAX;
  case ReduceKind::Min:
    return SHOAL_RT_MIN;
  case ReduceKind::And:
    return SHOAL_RT_AND;
  case ReduceKind::Or:
    return SHOAL_RT_OR;
  }
  llvm_unreachable("all kinds are listed");
}

Descriptor &Descriptor::add(int64_t value) {
  words.push_back(value);
  return *this;
}

Descriptor &Descriptor::add(ArrayRef<int64_t> list) {
  llvm::append_range(words, list);
  return *this;
}

Descriptor &Descriptor::addType(Type type) {
  return add(getTypeCode(getElementTypeOrSelf(type)));
}

Descriptor &Descriptor::addKind(ReduceKind kind) {
  return add(getKindCode(kind));
}

Descriptor &Descriptor::addShape(Type type) {
  return add(cast<ShapedType>(type).getShape());
}

Descriptor &Descriptor::addAxes(AxesAttr axes, MeshAttr mesh) {
  add(axes.getAxes().size());
  for (AxisRefAttr axis : axes.getAxes()) {
    const MeshAxisAttr *place =
        llvm::find_if(mesh.getAxes(), [&](MeshAxisAttr candidate) {
          return candidate.getName() == axis.getName();
        });
    add(place - mesh.getAxes().begin());
    add(axis.getPreSize());
    add(axis.getSizeIn(mesh));
  }
  return *this;
}

Descriptor &Descriptor::addAxesPerDim(ArrayAttr axes, MeshAttr mesh) {
  for (auto list : axes.getAsRange<AxesAttr>())
    addAxes(list, mesh);
  return *this;
}
