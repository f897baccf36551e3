// RUN: shoal-opt %s | shoal-opt | FileCheck %s

// CHECK: shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
