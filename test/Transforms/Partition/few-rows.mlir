// A slice that keeps fewer rows than there are devices moves these rows alone:
// of the 4096 each device has its part, of the rows kept one or none.
//
// RUN: shoal-opt %s --shoal-partition --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-run %s --entry=two_rows --random-inputs=1 --compare
// RUN: shoal-run %s --entry=seven_rows --random-inputs=1 --compare
// RUN: shoal-run %s --entry=read_by_others --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 8]>

// CHECK-LABEL: @two_rows
// CHECK-NEXT: halo_exchange {"x"} : tensor<512x64xf32> -> tensor<1x64xf32> 256 bytes
// CHECK-NEXT: all_gather {"x"} : tensor<1x64xf32> -> tensor<2x64xf32> 512 bytes
// CHECK-NEXT: in all 768 bytes
func.func @two_rows(%0: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.slice %0 starts = [0, 0] limits = [2, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}

// CHECK-LABEL: @seven_rows
// CHECK-NEXT: halo_exchange {"x"} : tensor<512x64xf32> -> tensor<1x64xf32> 256 bytes
// CHECK-NEXT: all_gather {"x"} : tensor<1x64xf32> -> tensor<7x64xf32> 1792 bytes
// CHECK-NEXT: in all 2048 bytes
func.func @seven_rows(%0: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.slice %0 starts = [1000, 0] limits = [1007, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<7x64xf32>
  return %y : tensor<7x64xf32>
}

// What reads them has no more rows than they are, so it is not split.
// CHECK-LABEL: @read_by_others
// CHECK: in all 768 bytes
func.func @read_by_others(%0: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %s = shoal.slice %0 starts = [0, 0] limits = [2, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<2x64xf32>
  %y = math.tanh %s : tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}
