// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceLines.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace shoal;

/// More of a line, and larger files, are not for a reader.
static constexpr size_t kMaxLineBytes = 300;
static constexpr uint64_t kMaxFileBytes = 64 << 20;

std::string shoal::toUTF8(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

llvm::json::Value SourceLines::add(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return nullptr;
  files[place.getFilename()][place.getLine()];
  int64_t file = files.find(place.getFilename()) - files.begin();
  return llvm::json::Array{file, place.getLine(), place.getColumn()};
}

/// The file's text. Only of a regular file: others can block, or never end.
static std::unique_ptr<llvm::MemoryBuffer> read(StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) ||
      !llvm::sys::fs::is_regular_file(status) ||
      status.getSize() > kMaxFileBytes)
    return nullptr;
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  return buffer ? std::move(*buffer) : nullptr;
}

/// Fills in the text of the lines; those that the file has not stay empty.
static void readLines(StringRef path, std::map<int64_t, std::string> &lines) {
  std::unique_ptr<llvm::MemoryBuffer> buffer = read(path);
  if (!buffer)
    return;
  llvm::line_iterator line(*buffer, /*SkipBlanks=*/false);
  for (auto &[number, text] : lines) {
    while (!line.is_at_end() && line.line_number() < number)
      ++line;
    if (!line.is_at_end() && line.line_number() == number)
      text = toUTF8(line->trim().take_front(kMaxLineBytes));
  }
}

llvm::json::Array SourceLines::takeFiles() {
  llvm::json::Array list;
  for (auto &[name, lines] : files) {
    readLines(name.getValue(), lines);
    llvm::json::Object texts;
    for (auto &[number, text] : lines)
      if (!text.empty())
        texts[std::to_string(number)] = text;
    list.push_back(llvm::json::Object{{"name", toUTF8(name.getValue())},
                                      {"lines", std::move(texts)}});
  }
  return list;
}
