// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Mutation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace shoal::fuzz;
using llvm::StringRef;

void Corpus::addText(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, "// -----");
  for (StringRef part : parts)
    if (!part.trim().empty())
      texts.push_back(part.str());
}

/// What stands in fences.
static void addBlocks(Corpus &corpus, StringRef text) {
  while (true) {
    auto [before, rest] = text.split("```mlir\n");
    if (rest.empty())
      return;
    auto [block, after] = rest.split("```");
    corpus.addText(block);
    text = after;
  }
}

bool Corpus::addPath(StringRef path) {
  if (llvm::sys::fs::is_directory(path)) {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(path, error), end;
         it != end && !error; it.increment(error))
      names.push_back(it->path());
    llvm::sort(names);
    // Other files of the folder are no programs.
    for (const std::string &name : names)
      addPath(name);
    return !error;
  }
  StringRef extension = llvm::sys::path::extension(path);
  if (extension != ".mlir" && extension != ".md")
    return false;
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return false;
  if (extension == ".mlir")
    addText((*file)->getBuffer());
  else
    addBlocks(*this, (*file)->getBuffer());
  return true;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static bool isWordPart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
}

static size_t lengthOfToken(StringRef text) {
  if (text.starts_with("//"))
    return text.find('\n') == StringRef::npos ? text.size() : text.find('\n');
  if (text[0] == '"') {
    size_t end = text.find_first_of("\"\n", 1);
    return end == StringRef::npos ? text.size() : end + 1;
  }
  if (text.starts_with("->"))
    return 2;
  size_t begin = StringRef("%@#!^-").contains(text[0]) ? 1 : 0;
  size_t end = begin;
  while (end < text.size() && isWordPart(text[end]))
    ++end;
  return std::max<size_t>(end, 1);
}

std::vector<std::string> shoal::fuzz::tokenize(StringRef text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    size_t blank = text.find_first_not_of(" \t\n\r");
    if (blank == StringRef::npos)
      blank = text.size();
    size_t length = blank;
    if (blank < text.size())
      length += lengthOfToken(text.drop_front(blank));
    tokens.push_back(text.take_front(length).str());
    text = text.drop_front(length);
  }
  return tokens;
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

using Tokens = std::vector<std::string>;

static StringRef wordOf(const std::string &token) {
  return StringRef(token).ltrim(" \t\n\r");
}

/// Tokens that may stand at the same places.
static char kindOf(const std::string &token) {
  StringRef word = wordOf(token);
  if (word.empty())
    return ' ';
  if (llvm::isDigit(word[0]))
    return '0';
  if (llvm::isAlpha(word[0]))
    return word.contains('.') ? '.' : 'a';
  return word[0];
}

static void setWord(std::string &token, StringRef word) {
  token = token.substr(0, token.size() - wordOf(token).size()) + word.str();
}

/// Replaces one of the numbers in a token, such as a size in `8x16xf32`.
static void changeNumber(std::string &token, Choices &choices) {
  static constexpr const char *numbers[] = {"0",
                                            "1",
                                            "-1",
                                            "2",
                                            "3",
                                            "7",
                                            "16",
                                            "1000",
                                            "2147483647",
                                            "2147483648",
                                            "4294967296",
                                            "9223372036854775807",
                                            "99999999999999999999",
                                            "?",
                                            "1.5",
                                            "100000"};
  std::vector<size_t> places;
  for (size_t i = 0; i < token.size(); ++i)
    if (llvm::isDigit(token[i]) && (i == 0 || !llvm::isDigit(token[i - 1])))
      places.push_back(i);
  if (places.empty())
    return;
  size_t begin = choices.pick(places), end = begin;
  while (end < token.size() && llvm::isDigit(token[end]))
    ++end;
  token.replace(begin, end - begin, choices.pick(numbers));
}

static void replaceByKin(std::string &token, const Tokens &others,
                         Choices &choices) {
  std::vector<const std::string *> kin;
  for (const std::string &other : others)
    if (kindOf(other) == kindOf(token) && wordOf(other) != wordOf(token))
      kin.push_back(&other);
  if (!kin.empty())
    setWord(token, wordOf(*choices.pick(kin)));
}

/// The tokens of the line that `place` is in.
static std::pair<size_t, size_t> lineAround(const Tokens &tokens,
                                            size_t place) {
  auto beginsLine = [&](size_t i) {
    return StringRef(tokens[i]).contains('\n');
  };
  size_t begin = place, end = place + 1;
  while (begin > 0 && !beginsLine(begin))
    --begin;
  while (end < tokens.size() && !beginsLine(end))
    ++end;
  return {begin, end};
}

static void change(Tokens &tokens, const Tokens &foreign, Choices &choices) {
  if (tokens.empty())
    return;
  size_t place = choices.below(tokens.size());
  auto at = tokens.begin() + place;
  auto [begin, end] = lineAround(tokens, place);
  switch (choices.below(12)) {
  case 0:
    tokens.erase(at);
    return;
  case 1:
    tokens.insert(at, std::string(*at));
    return;
  case 2:
    std::swap(tokens[place], tokens[choices.below(tokens.size())]);
    return;
  case 3:
    setWord(*at, wordOf(tokens[choices.below(tokens.size())]));
    return;
  case 4:
    tokens.erase(tokens.begin() + begin, tokens.begin() + end);
    return;
  case 5: {
    Tokens line(tokens.begin() + begin, tokens.begin() + end);
    tokens.insert(tokens.begin() + end, line.begin(), line.end());
    return;
  }
  case 6:
  case 7:
    replaceByKin(*at, tokens, choices);
    return;
  case 8:
    replaceByKin(*at, foreign, choices);
    return;
  default:
    // Numbers stand in few tokens: the next one that has some.
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string &token = tokens[(place + i) % tokens.size()];
      if (!llvm::any_of(token, llvm::isDigit) || kindOf(token) == '%')
        continue;
      changeNumber(token, choices);
      return;
    }
  }
}

std::string Corpus::mutate(Choices &choices) const {
  Tokens tokens = tokenize(texts[choices.below(texts.size())]);
  Tokens foreign = tokenize(texts[choices.below(texts.size())]);
  for (unsigned changes = 1 + choices.below(4); changes > 0; --changes)
    change(tokens, foreign, choices);
  return llvm::join(tokens, "");
}
