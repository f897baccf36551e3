// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Roles.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shoal;

LogicalResult shoal::verifyRoles(Operation *op, Attribute roles) {
  auto mesh = dyn_cast<MeshOp>(op);
  auto table = dyn_cast<DictionaryAttr>(roles);
  if (!mesh || !table)
    return op->emitOpError()
           << "expected " << kRolesAttr << " to be a dictionary on a mesh";
  for (NamedAttribute role : table) {
    auto axes = dyn_cast<ArrayAttr>(role.getValue());
    if (!axes)
      return op->emitOpError()
             << "role " << role.getName() << ": expected a list of axes' names";
    for (Attribute axis : axes) {
      auto name = dyn_cast<StringAttr>(axis);
      if (!name || !mesh.getMesh().getAxisSize(name.getValue()))
        return op->emitOpError() << "role " << role.getName() << ": " << axis
                                 << " is not an axis of the mesh";
    }
  }
  return success();
}

std::string shoal::rolesOf(StringRef axis, MeshOp mesh) {
  auto table = mesh->getAttrOfType<DictionaryAttr>(kRolesAttr);
  SmallVector<StringRef> roles;
  for (NamedAttribute role :
       table ? table.getValue() : ArrayRef<NamedAttribute>())
    if (llvm::is_contained(cast<ArrayAttr>(role.getValue()),
                           StringAttr::get(mesh->getContext(), axis)))
      roles.push_back(role.getName());
  return llvm::join(roles, ", ");
}

std::string shoal::describeRoles(ArrayRef<AxisRefAttr> axes, MeshOp mesh) {
  auto table =
      mesh ? mesh->getAttrOfType<DictionaryAttr>(kRolesAttr) : DictionaryAttr();
  if (!table || axes.empty())
    return "";
  llvm::StringSet<> group;
  bool areWhole = true;
  for (AxisRefAttr axis : axes) {
    group.insert(axis.getName());
    areWhole &= axis.isWhole();
  }
  SmallVector<StringRef> same, within, around;
  for (NamedAttribute role : table) {
    auto listed = cast<ArrayAttr>(role.getValue());
    size_t common = llvm::count_if(listed, [&](Attribute axis) {
      return group.contains(cast<StringAttr>(axis).getValue());
    });
    bool holdsAll = common == group.size(), isInside = common == listed.size();
    if (common == 0)
      continue;
    if (holdsAll && isInside && areWhole)
      same.push_back(role.getName());
    else if (isInside && areWhole)
      within.push_back(role.getName());
    else if (holdsAll)
      around.push_back(role.getName());
  }
  if (!same.empty())
    return llvm::join(same, ", ");
  if (!within.empty())
    return llvm::join(within, " + ");
  return around.empty() ? "" : "part of " + llvm::join(around, ", ");
}
