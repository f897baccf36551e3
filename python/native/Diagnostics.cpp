// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shoal::python {

static std::string nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("a severity without a name");
}

static std::string placeOf(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                       file.getLine(), file.getColumn());
}

MessageCollector::MessageCollector(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([this](Diagnostic &diagnostic) {
    add(diagnostic);
    // What a note has said at a place it has said for all that lies there.
    llvm::StringSet<> said;
    for (const Diagnostic &note : diagnostic.getNotes())
      if (said.insert(placeOf(note.getLocation()) + '\n' + note.str()).second)
        add(note);
  });
}

void MessageCollector::add(const Diagnostic &diagnostic) {
  Location loc = diagnostic.getLocation();
  collected.push_back({nameOf(diagnostic.getSeverity()), placeOf(loc),
                       namePath(loc), diagnostic.str()});
}

} // namespace shoal::python
