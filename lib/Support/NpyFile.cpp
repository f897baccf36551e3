// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "File.h"
#include "FileWindows.h"
#include "shoal/Support/Npy.h"
#include "shoal/Support/SmallFloat.h"

#include <sys/stat.h>

namespace shoal::support {

Block wholeBlock(std::span<const int64_t> shape) {
  return {std::vector<int64_t>(shape.size(), 0), {shape.begin(), shape.end()}};
}

namespace {
/// How the elements of a file become those of a buffer.
enum class Decoding { Copy, RoundedF32, Bool, None };
} // namespace

static Decoding decodingFor(std::string_view descr, ElementType type) {
  switch (type) {
  case ElementType::BF16:
    if (descr == "<f4")
      return Decoding::RoundedF32;
    return descr == "<V2" || descr == "|V2" || descr == "<u2" ? Decoding::Copy
                                                              : Decoding::None;
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
    if (descr == "<f4")
      return Decoding::RoundedF32;
    // ml_dtypes calls e5m2 '<f1', which NumPy itself does not read.
    return descr == "|V1" || descr == "<V1" || descr == "|u1" ||
                   descr == "<u1" ||
                   (descr == "<f1" && type == ElementType::F8E5M2)
               ? Decoding::Copy
               : Decoding::None;
  case ElementType::I8: // Those of ml_dtypes that are codes have '<V1'.
    return descr == "|i1" || descr == "<i1" || descr == "|V1" || descr == "<V1"
               ? Decoding::Copy
               : Decoding::None;
  case ElementType::I1:
    return descr == "|b1" || descr == "<b1" ? Decoding::Bool : Decoding::None;
  default:
    char kind = isFloat(type) ? 'f' : 'i';
    bool same = descr.size() == 3 && descr[0] == '<' && descr[1] == kind &&
                descr[2] == static_cast<char>('0' + elementSize(type));
    return same ? Decoding::Copy : Decoding::None;
  }
}

/// A header of complex numbers as that of their halves.
static NpyHeader withHalves(NpyHeader header) {
  bool isSingle = header.descr == "<c8";
  if (isSingle || header.descr == "<c16") {
    header.descr = isSingle ? "<f4" : "<f8";
    header.shape.push_back(2);
  }
  return header;
}

static Result<NpyHeader> readHeader(const File &file) {
  std::string bytes(4096, '\0');
  while (true) {
    int64_t count =
        file.readAt(bytes.data(), static_cast<int64_t>(bytes.size()), 0);
    if (count < 0)
      return file.systemError("cannot read");
    Result<NpyHeader> header =
        parseNpyHeader(std::string_view(bytes).substr(0, count));
    if (header)
      return withHalves(*header);
    // A header may be long; one that still does not end is not a header.
    bool more = count == static_cast<int64_t>(bytes.size());
    if (!more || bytes.size() > (1u << 20) ||
        !header.error().message.starts_with("truncated"))
      return file.error(header.error().message);
    bytes.resize(bytes.size() * 4);
  }
}

static Result<Decoding> checkHeader(const File &file, const NpyHeader &header,
                                    ElementType type,
                                    std::span<const int64_t> shape) {
  Decoding decoding = decodingFor(header.descr, type);
  if (decoding == Decoding::None)
    return file.error("element type is '" + header.descr + "', expected " +
                      std::string(elementTypeName(type)));
  if (header.fortranOrder)
    return file.error("array is in Fortran order, expected C order "
                      "(numpy.ascontiguousarray)");
  if (!std::equal(shape.begin(), shape.end(), header.shape.begin(),
                  header.shape.end()))
    return file.error("shape is " + formatShape(header.shape) + ", expected " +
                      formatShape(shape));
  struct stat status;
  if (fstat(file.handle(), &status) != 0)
    return file.systemError("cannot read");
  int64_t bytes = decoding == Decoding::RoundedF32
                      ? 4
                      : static_cast<int64_t>(elementSize(type));
  int64_t found = status.st_size - header.dataOffset;
  int64_t expected = numElements(shape) * bytes;
  if (found < expected)
    return file.error("truncated: " + std::to_string(found) +
                      " bytes of data, expected " + std::to_string(expected));
  return decoding;
}

/// `to` rounds to T.
template <typename T, T (*to)(float), typename Source>
static bool readRounded(Source &file, int64_t count, int64_t offset,
                        char *bytes) {
  T *target = reinterpret_cast<T *>(bytes);
  constexpr int64_t chunk = 1 << 16;
  std::vector<float> wide(std::min(count, chunk));
  for (int64_t done = 0; done < count;) {
    int64_t step = std::min(chunk, count - done);
    if (file.readAt(wide.data(), step * 4, offset + done * 4) != step * 4)
      return false;
    for (int64_t i = 0; i < step; ++i)
      target[done + i] = to(wide[i]);
    done += step;
  }
  return true;
}

template <typename Source>
static bool readRounded(Source &file, ElementType type, int64_t count,
                        int64_t offset, char *target) {
  switch (type) {
  case ElementType::F8E4M3FN:
    return readRounded<Float8E4M3FN, toFloat8E4M3FN>(file, count, offset,
                                                     target);
  case ElementType::F8E5M2:
    return readRounded<Float8E5M2, toFloat8E5M2>(file, count, offset, target);
  default:
    return readRounded<BFloat16, toBFloat16>(file, count, offset, target);
  }
}

/// `file`: a File or its windows.
template <typename Source>
static bool readRun(Source &file, Decoding decoding, ElementType type,
                    int64_t dataOffset, int64_t globalIndex, char *target,
                    int64_t count) {
  if (decoding == Decoding::RoundedF32)
    return readRounded(file, type, count, dataOffset + globalIndex * 4, target);
  auto elementBytes = static_cast<int64_t>(elementSize(type));
  int64_t bytes = count * elementBytes;
  if (file.readAt(target, bytes, dataOffset + globalIndex * elementBytes) !=
      bytes)
    return false;
  if (decoding == Decoding::Bool)
    for (int64_t i = 0; i < count; ++i)
      target[i] = target[i] != 0;
  return true;
}

/// Whether blocks of this shape have many short runs in the array, close to
/// each other: each device's has, whatever its block lacks of the shape.
static bool areShortRuns(std::span<const int64_t> shape,
                         std::span<const int64_t> blockShape,
                         int64_t elementBytes) {
  constexpr int64_t kShort = 1 << 12, kClose = FileWindow::kBytes / 16;
  int64_t run = elementBytes, row = elementBytes;
  for (size_t d = shape.size(); d-- > 0 && run == row;) {
    run *= blockShape[d];
    row *= shape[d];
  }
  return run < kShort && run < row && row <= kClose;
}

/// Reads each run of the block.
template <typename Source>
static bool readRuns(Source &file, Decoding decoding, ElementType type,
                     int64_t dataOffset, std::span<const int64_t> shape,
                     const Block &block, std::span<const int64_t> bufferShape,
                     char *buffer) {
  auto bytes = static_cast<int64_t>(elementSize(type));
  bool complete = true;
  forEachRun(shape, block, bufferShape,
             [&](int64_t global, int64_t local, int64_t count) {
               complete =
                   complete && readRun(file, decoding, type, dataOffset, global,
                                       buffer + local * bytes, count);
             });
  return complete;
}

Status readNpyBlock(const std::string &path, ElementType type,
                    std::span<const int64_t> shape, const Block &block,
                    std::span<const int64_t> bufferShape, void *buffer) {
  File file(path, O_RDONLY);
  if (!file.isOpen())
    return file.systemError("cannot open");
  Result<NpyHeader> header = readHeader(file);
  if (!header)
    return header.error();
  Result<Decoding> decoding = checkHeader(file, *header, type, shape);
  if (!decoding)
    return decoding.error();
  auto read = [&](auto &source) {
    return readRuns(source, *decoding, type, header->dataOffset, shape, block,
                    bufferShape, static_cast<char *>(buffer));
  };
  errno = 0;
  bool complete;
  if (areShortRuns(shape, bufferShape, elementSize(type))) {
    ReadWindows windows(file);
    complete = read(windows);
  } else {
    complete = read(file);
  }
  if (!complete)
    return file.systemError("cannot read");
  return std::nullopt;
}

Status readNpy(const std::string &path, ElementType type,
               std::span<const int64_t> shape, void *buffer) {
  return readNpyBlock(path, type, shape, wholeBlock(shape), shape, buffer);
}

Status createNpy(const std::string &path, ElementType type,
                 std::span<const int64_t> shape, bool isComplex) {
  File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.isOpen())
    return file.systemError("cannot create");
  std::string header = makeNpyHeader(type, shape, isComplex);
  auto length = static_cast<int64_t>(header.size());
  int64_t data = numElements(shape) * static_cast<int64_t>(elementSize(type));
  if (file.writeAt(header.data(), length, 0) != length ||
      ftruncate(file.handle(), length + data) != 0 || !file.finish())
    return file.systemError("cannot write");
  return std::nullopt;
}

/// Writes each run of the block.
template <typename Target>
static bool writeRuns(Target &file, int64_t elementBytes, int64_t dataOffset,
                      std::span<const int64_t> shape, const Block &block,
                      std::span<const int64_t> bufferShape,
                      const char *buffer) {
  bool complete = true;
  forEachRun(shape, block, bufferShape,
             [&](int64_t global, int64_t local, int64_t count) {
               int64_t bytes = count * elementBytes;
               complete =
                   complete &&
                   file.writeAt(buffer + local * elementBytes, bytes,
                                dataOffset + global * elementBytes) == bytes;
             });
  return complete;
}

Status writeNpyBlock(const std::string &path, ElementType type,
                     std::span<const int64_t> shape, const Block &block,
                     std::span<const int64_t> bufferShape, const void *buffer,
                     bool isComplex) {
  File file(path, O_RDWR);
  if (!file.isOpen())
    return file.systemError("cannot open");
  auto dataOffset =
      static_cast<int64_t>(makeNpyHeader(type, shape, isComplex).size());
  auto bytes = static_cast<int64_t>(elementSize(type));
  auto write = [&](auto &target) {
    return writeRuns(target, bytes, dataOffset, shape, block, bufferShape,
                     static_cast<const char *>(buffer));
  };
  bool complete;
  if (areShortRuns(shape, bufferShape, bytes)) {
    WriteWindows windows(file);
    complete = write(windows) && windows.finish();
  } else {
    complete = write(file);
  }
  if (!complete || !file.finish())
    return file.systemError("cannot write");
  return std::nullopt;
}

Status writeNpy(const std::string &path, ElementType type,
                std::span<const int64_t> shape, const void *buffer,
                bool isComplex) {
  if (Status failed = createNpy(path, type, shape, isComplex))
    return failed;
  return writeNpyBlock(path, type, shape, wholeBlock(shape), shape, buffer,
                       isComplex);
}

} // namespace shoal::support
