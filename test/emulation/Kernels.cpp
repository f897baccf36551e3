// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images of kernels, which are shared objects of the host, and launches.

#include "Block.h"
#include "Error.h"
#include "Faults.h"
#include "Graphs.h"
#include "Isolation.h"

#include <cstring>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <elf.h>
#include <list>
#include <sys/mman.h>
#include <unistd.h>

using namespace shoal::emulation;

namespace {

struct Kernel {
  std::string name;
  shoal_emulated_kernel function;
  /// By cudaKernelSetAttributeForDevice.
  size_t maxDynamicBytes = maxStaticSharedBytes;
};

/// Never unloaded, as operations are known by their kernels' names.
struct Library {
  void *handle;
  std::list<Kernel> kernels;
};

std::list<Library> &libraries() {
  static std::list<Library> loaded;
  return loaded;
}

Library *find(cudaLibrary_t library) {
  for (Library &loaded : libraries())
    if (reinterpret_cast<cudaLibrary_t>(&loaded) == library)
      return &loaded;
  return nullptr;
}

Kernel *find(const void *kernel) {
  for (Library &loaded : libraries())
    for (Kernel &known : loaded.kernels)
      if (&known == kernel)
        return &known;
  return nullptr;
}

/// The size of an ELF file in memory, which ends with its last section,
/// segment or table; 0 if it is none for this machine.
size_t imageBytes(const char *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    return 0;
  size_t end = std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                        header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * sizeof(section),
                sizeof(section));
    if (section.sh_type != SHT_NOBITS)
      end = std::max(end, section.sh_offset + section.sh_size);
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image + header.e_phoff + i * sizeof(segment),
                sizeof(segment));
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

/// This library. Kernels take shoal_emu_* from it; it may have been loaded
/// without making its symbols visible.
void *exportOwnSymbols() {
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void *>(&shoal_emu_barrier), &self))
    return nullptr;
  return dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/// Whether the image is one for GPUs. Only the runtime's kernels come so, and
/// this library holds them as well.
bool isFatbin(const char *image) {
  uint32_t magic;
  std::memcpy(&magic, image, sizeof(magic));
  return magic == 0xba55ed50;
}

void *load(const char *image, size_t bytes) {
  exportOwnSymbols();
  // The descriptor stays open: a path that comes again would be taken for the
  // library that is loaded from it already.
  int file = memfd_create("shoal-emulated-kernels", MFD_CLOEXEC);
  if (file < 0)
    return nullptr;
  for (size_t done = 0; done < bytes;) {
    ssize_t written = write(file, image + done, bytes - done);
    if (written <= 0)
      return nullptr;
    done += static_cast<size_t>(written);
  }
  std::string path = text("/proc/self/fd/", file);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    explain(text("cudaLibraryLoadData: ", dlerror()));
  return handle;
}

/// Arguments of a launch that a graph keeps.
struct Argument {
  std::vector<char> bytes;
};
using Arguments = std::vector<Argument>;

Arguments copyArguments(const Kernel &kernel, const Stream &stream,
                        void *const *arguments) {
  if (stream.argumentBytes.empty())
    fail(text("cudaLaunchKernel of ", kernel.name, ": it is captured, but ",
              "shoalObserveArguments has not said what its arguments are"));
  Arguments kept;
  for (size_t i = 0; i < stream.argumentBytes.size(); ++i) {
    const char *begin = static_cast<const char *>(arguments[i]);
    kept.push_back({{begin, begin + stream.argumentBytes[i]}});
  }
  return kept;
}

void run(const Kernel &kernel, dim3 grid, dim3 block, void *const *arguments,
         size_t dynamicBytes, const std::vector<Range> &ranges) {
  auto size = [](unsigned value) { return static_cast<int32_t>(value); };
  Launch launch = {kernel.name.c_str(),
                   kernel.function,
                   arguments,
                   {size(grid.x), size(grid.y), size(grid.z)},
                   {size(block.x), size(block.y), size(block.z)},
                   dynamicBytes};
  Isolation isolation(kernel.name, ranges);
  Multiprocessor::get().run(launch);
}

cudaError_t checkShape(const Kernel &kernel, dim3 grid, dim3 block,
                       size_t dynamicBytes) {
  bool blockFits = block.x >= 1 && block.y >= 1 && block.z >= 1 &&
                   block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
                   size_t(block.x) * block.y * block.z <= maxThreadsPerBlock;
  bool gridFits = grid.x >= 1 && grid.y >= 1 && grid.z >= 1 &&
                  grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535;
  if (!blockFits || !gridFits)
    return cudaErrorInvalidConfiguration;
  return dynamicBytes <= kernel.maxDynamicBytes ? cudaSuccess
                                                : cudaErrorInvalidValue;
}

} // namespace

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                cudaJitOption *, void **,
                                unsigned numJitOptions, cudaLibraryOption *,
                                void **, unsigned numLibraryOptions) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (!library || !code || numJitOptions != 0 || numLibraryOptions != 0)
    return cudaErrorInvalidValue;
  const char *image = static_cast<const char *>(code);
  size_t bytes = imageBytes(image);
  if (bytes == 0 && !isFatbin(image))
    return cudaErrorInvalidKernelImage;
  void *handle = bytes == 0 ? exportOwnSymbols() : load(image, bytes);
  if (!handle)
    return cudaErrorInvalidKernelImage;
  libraries().push_back({handle, {}});
  *library = reinterpret_cast<cudaLibrary_t>(&libraries().back());
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                 const char *name) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Library *found = find(library);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (!kernel || !name)
    return cudaErrorInvalidValue;
  void *function = dlsym(found->handle, name);
  if (!function)
    return cudaErrorSymbolNotFound;
  for (Kernel &known : found->kernels)
    if (known.name == name) {
      *kernel = reinterpret_cast<cudaKernel_t>(&known);
      return cudaSuccess;
    }
  found->kernels.push_back(
      {name, reinterpret_cast<shoal_emulated_kernel>(function)});
  *kernel = reinterpret_cast<cudaKernel_t>(&found->kernels.back());
  return cudaSuccess;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                            cudaFuncAttribute attribute,
                                            int value, int device) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Kernel *found = find(static_cast<const void *>(kernel));
  if (!found)
    return cudaErrorInvalidDeviceFunction;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<size_t>(value) > maxSharedBytes)
    return cudaErrorInvalidValue;
  found->maxDynamicBytes = static_cast<size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                             void **arguments, size_t dynamicBytes,
                             cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Kernel *kernel = find(function);
  if (!kernel)
    return cudaErrorInvalidDeviceFunction;
  Stream *found = Streams::get().find(stream);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (cudaError_t wrong = checkShape(*kernel, grid, block, dynamicBytes))
    return wrong;
  Arguments kept;
  if (found->graph)
    kept = copyArguments(*kernel, *found, arguments);
  found->argumentBytes.clear();
  submit(*found, kernel->name.c_str(), {}, /*concurrent=*/false,
         [=](Stream &, const std::vector<Range> &ranges) {
           std::vector<void *> pointers;
           for (const auto &[bytes] : kept)
             pointers.push_back(const_cast<char *>(bytes.data()));
           run(*kernel, grid, block, kept.empty() ? arguments : pointers.data(),
               dynamicBytes, ranges);
         });
  return cudaSuccess;
}
} // extern "C"
