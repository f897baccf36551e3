// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The page around the data; CMake makes it of the files in page/.

#ifndef SHOAL_LIB_REPORT_PAGE_H
#define SHOAL_LIB_REPORT_PAGE_H

namespace shoal {

extern const char kPageHead[];
extern const char kPageTail[];

} // namespace shoal

#endif // SHOAL_LIB_REPORT_PAGE_H
