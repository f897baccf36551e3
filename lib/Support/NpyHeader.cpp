// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/Npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace shoal::support {

static constexpr std::string_view magic = "\x93NUMPY";

/// What is written for each element type, in the order of the enum.
static constexpr std::array<std::string_view, numElementTypes> descrs = {
    "<f4", "<f8", "<V2", "<f2", "<i8", "<i4",
    "<i2", "|i1", "|b1", "|V1", "|V1"};

namespace {
/// A reader of the Python dictionary that makes up a header:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (8, 512), }
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  /// True if the whole text is such a dictionary with all three keys.
  bool parse(NpyHeader &header) {
    if (!accept("{"))
      return false;
    while (!accept("}")) {
      std::string key;
      if (!parseString(key) || !accept(":") || !parseValue(key, header))
        return false;
      accept(",");
    }
    return seen == 3;
  }

private:
  bool parseValue(std::string_view key, NpyHeader &header) {
    ++seen;
    if (key == "descr")
      return parseString(header.descr);
    if (key == "fortran_order") {
      header.fortranOrder = accept("True");
      return header.fortranOrder || accept("False");
    }
    return key == "shape" && parseTuple(header.shape);
  }

  bool parseString(std::string &value) {
    skipSpace();
    if (text.empty() || (text[0] != '\'' && text[0] != '"'))
      return false;
    size_t end = text.find(text[0], 1);
    if (end == std::string_view::npos)
      return false;
    value = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }

  bool parseTuple(std::vector<int64_t> &values) {
    if (!accept("("))
      return false;
    while (!accept(")")) {
      skipSpace();
      int64_t value;
      auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || value < 0)
        return false;
      text.remove_prefix(end - text.data());
      values.push_back(value);
      accept(",");
    }
    return true;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (!text.starts_with(token))
      return false;
    text.remove_prefix(token.size());
    return true;
  }

  void skipSpace() {
    text.remove_prefix(std::min(text.find_first_not_of(" \n\t"), text.size()));
  }

  std::string_view text;
  int seen = 0;
};
} // namespace

Result<NpyHeader> parseNpyHeader(std::string_view bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < 10)
    return Error{"not a .npy file"};
  auto byteAt = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(bytes[i]));
  };
  size_t major = byteAt(6);
  if (major < 1 || major > 3)
    return Error{"unknown .npy format version " + std::to_string(major)};
  size_t begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin)
    return Error{"truncated .npy header"};
  size_t length = byteAt(8) | byteAt(9) << 8;
  if (major > 1)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (bytes.size() < begin + length)
    return Error{"truncated .npy header"};
  NpyHeader header;
  if (!HeaderParser(bytes.substr(begin, length)).parse(header))
    return Error{"malformed .npy header"};
  header.dataOffset = static_cast<int64_t>(begin + length);
  return header;
}

std::string makeNpyHeader(ElementType type, std::span<const int64_t> shape,
                          bool isComplex) {
  if (isComplex) // a number is a pair of floats
    shape = shape.first(shape.size() - 1);
  std::string tuple;
  for (int64_t size : shape)
    tuple += std::to_string(size) + ", ";
  if (!shape.empty())
    tuple.erase(tuple.size() - (shape.size() == 1 ? 1 : 2));
  std::string dict = "{'descr': '";
  if (isComplex)
    dict += type == ElementType::F64 ? "<c16" : "<c8";
  else
    dict += descrs[static_cast<size_t>(type)];
  dict += "', 'fortran_order': False, 'shape': (" + tuple + "), }";
  size_t padded = (10 + dict.size() + 1 + 63) / 64 * 64;
  dict.resize(padded - 10 - 1, ' ');
  dict += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff),
             static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

} // namespace shoal::support
