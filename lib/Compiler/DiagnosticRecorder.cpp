// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompileCache.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace shoal;

static llvm::json::Object record(Diagnostic &diagnostic) {
  std::string place;
  llvm::raw_string_ostream(place) << diagnostic.getLocation();
  llvm::json::Array notes;
  for (Diagnostic &note : diagnostic.getNotes())
    notes.push_back(record(note));
  return llvm::json::Object{
      {"severity", static_cast<int>(diagnostic.getSeverity())},
      {"location", place},
      {"text", diagnostic.str()},
      {"notes", std::move(notes)}};
}

DiagnosticRecorder::DiagnosticRecorder(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([this](Diagnostic &diagnostic) {
    messages.push_back(record(diagnostic));
    return failure(); // to those that show it
  });
}

/// The message's place; null where it has none.
static LocationAttr placeOf(const llvm::json::Object &message,
                            MLIRContext &context) {
  std::optional<StringRef> text = message.getString("location");
  if (!text)
    return {};
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  return dyn_cast_if_present<LocationAttr>(parseAttribute(*text, &context));
}

static bool replay(const llvm::json::Object &message, MLIRContext &context) {
  LocationAttr place = placeOf(message, context);
  std::optional<int64_t> severity = message.getInteger("severity");
  std::optional<StringRef> text = message.getString("text");
  const llvm::json::Array *notes = message.getArray("notes");
  if (!place || !severity || !text || !notes)
    return false;
  InFlightDiagnostic diagnostic = context.getDiagEngine().emit(
      place, static_cast<DiagnosticSeverity>(*severity));
  diagnostic << *text;
  for (const llvm::json::Value &note : *notes) {
    const llvm::json::Object *fields = note.getAsObject();
    LocationAttr notePlace = fields ? placeOf(*fields, context) : nullptr;
    if (notePlace)
      diagnostic.attachNote(notePlace)
          << fields->getString("text").value_or("");
  }
  return true;
}

bool shoal::replayDiagnostics(const llvm::json::Value &messages,
                              MLIRContext &context) {
  const llvm::json::Array *list = messages.getAsArray();
  return list && llvm::all_of(*list, [&](const llvm::json::Value &message) {
           const llvm::json::Object *fields = message.getAsObject();
           return fields && replay(*fields, context);
         });
}
