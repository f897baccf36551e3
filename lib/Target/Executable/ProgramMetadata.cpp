// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/ProgramMetadata.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace shoal;
using llvm::StringRef;

template <typename T>
static std::optional<T> take(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

/// The bytes of a symbol, where its section has them in the file.
static std::optional<StringRef>
bytesOf(const llvm::object::ELFSymbolRef &symbol) {
  auto section = take(symbol.getSection());
  auto address = take(symbol.getAddress());
  if (!section || !address || *section == symbol.getObject()->section_end())
    return std::nullopt;
  std::optional<StringRef> contents = take((*section)->getContents());
  uint64_t begin = *address - (*section)->getAddress();
  if (!contents || begin + symbol.getSize() > contents->size())
    return std::nullopt;
  return contents->substr(begin, symbol.getSize());
}

/// With what stands behind the text, which is room.
static std::optional<StringRef> findMetadata(StringRef file) {
  auto object = take(llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(file, "program")));
  if (!object)
    return std::nullopt;
  auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(object->get());
  for (llvm::object::ELFSymbolRef symbol : elf->symbols())
    if (take(symbol.getName()) == StringRef("shoal_program_metadata"))
      return bytesOf(symbol);
  for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators())
    if (take(symbol.getName()) == StringRef("shoal_program_metadata"))
      return bytesOf(symbol);
  return std::nullopt;
}

std::optional<StringRef> shoal::readMetadata(StringRef file) {
  std::optional<StringRef> bytes = findMetadata(file);
  return bytes ? std::optional(bytes->take_until([](char c) { return !c; }))
               : std::nullopt;
}

bool shoal::replaceMetadata(std::string &file, StringRef text) {
  std::optional<StringRef> bytes = findMetadata(file);
  if (!bytes || text.size() >= bytes->size())
    return false;
  auto begin = file.begin() + (bytes->data() - file.data());
  auto end = llvm::copy(text, begin);
  std::fill(end, begin + bytes->size(), '\0');
  return true;
}
