// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpirun's end. When a job fails that of Open MPI 4.1 with PMIx 4 may be a
// deadlock in itself (PMIx_server_finalize; seen once in about a hundred jobs
// whose rank left early), and then stays for ever.

#ifndef SHOAL_LIB_RUNTIME_JOB_LAUNCHER_H
#define SHOAL_LIB_RUNTIME_JOB_LAUNCHER_H

namespace shoal::rt {

/// For a process that ends in an error, just before it does: if the launcher
/// that started it is still there some seconds later, it and its processes on
/// this node are killed. By a child, which needs nothing of this process.
/// Nothing where no mpirun of Open MPI is an ancestor; other launchers end.
void makeSureLauncherEnds();

/// For a process that is about to become a launcher: when the other end of the
/// pipe is closed, as it is when who holds it is killed, the launcher is ended,
/// then by force all processes of its session, which is this process' own. By a
/// process that is nobody's child and ends with the launcher.
void endLauncherWith(int pipe);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_LAUNCHER_H
