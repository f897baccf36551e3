// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Device.h"
#include "../Program/Fatal.h"

namespace shoal::rt {

Device &Device::get() {
  static Device device;
  return device;
}

MPI_Comm Device::group(int64_t mesh, const Axes &axes) {
  Key key = {mesh};
  for (const SubAxis &axis : axes)
    key.insert(key.end(), {axis.axis, axis.pre, axis.size});
  auto [entry, fresh] = groups.emplace(std::move(key), MPI_COMM_NULL);
  if (!fresh)
    return entry->second;
  int64_t base = this->mesh(mesh).groupBase(position(mesh), axes);
  check(MPI_Comm_split(worldCommunicator(), static_cast<int>(base),
                       static_cast<int>(indexOver(mesh, axes)), &entry->second),
        "MPI_Comm_split");
  MPI_Comm_set_errhandler(entry->second, MPI_ERRORS_RETURN);
  return entry->second;
}

void Device::freeGroups() {
  for (auto &[key, group] : groups)
    MPI_Comm_free(&group);
  groups.clear();
}

void check(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fatal(std::string(what) + " failed: " + std::string(text, length));
}

} // namespace shoal::rt
