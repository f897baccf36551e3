// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpirun, when a job fails: that of Open MPI 4.1 with PMIx 4 may be a deadlock
// in its own end (PMIx_server_finalize; seen once in about a hundred jobs
// whose rank left early), and then stays for ever.

#ifndef SHOAL_LIB_RUNTIME_JOB_LAUNCHER_H
#define SHOAL_LIB_RUNTIME_JOB_LAUNCHER_H

namespace shoal::rt {

/// For a process that ends in an error, just before it does: if the launcher
/// that started it is still there some seconds later, it and its processes on
/// this node are killed. By a child, which needs nothing of this process.
/// Nothing where no mpirun of Open MPI is an ancestor; other launchers end.
void makeSureLauncherEnds();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_LAUNCHER_H
