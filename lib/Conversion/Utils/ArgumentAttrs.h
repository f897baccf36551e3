// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attributes of a function's arguments, changed all at once: to change those of
// one takes as long as there are arguments.

#ifndef SHOAL_LIB_CONVERSION_UTILS_ARGUMENTATTRS_H
#define SHOAL_LIB_CONVERSION_UTILS_ARGUMENTATTRS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace shoal {

/// Calls change(number, attributes) for every argument of `function`, with a
/// NamedAttrList that becomes its attributes.
template <typename Change>
void changeArgAttrs(mlir::FunctionOpInterface function, Change &&change) {
  llvm::SmallVector<mlir::DictionaryAttr> all;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    mlir::NamedAttrList attrs(
        mlir::function_interface_impl::getArgAttrDict(function, i));
    change(i, attrs);
    all.push_back(attrs.getDictionary(function->getContext()));
  }
  function.setAllArgAttrs(all);
}

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_UTILS_ARGUMENTATTRS_H
