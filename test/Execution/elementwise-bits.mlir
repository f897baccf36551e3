// RUN: shoal-run %s --random-inputs=3 --compare | FileCheck %s

// Bits of elements on split dimensions: uneven, with shards without rows, and
// where the dimension that makes one element was split.
// CHECK-NOT: too far apart
// CHECK: result3: {{.*}}: ok

shoal.mesh @mesh = <["x" = 4, "y" = 2]>

func.func @main(%a: tensor<9x6xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
                %b: tensor<7x4xi8> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
                %c: tensor<5x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y", "x"}, {}]>},
                %d: tensor<6x5xi64> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<9x6x2xi16> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}, {}]>},
        tensor<7xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
        tensor<5xi64> {shoal.sharding = #shoal.sharding<@mesh, [{"y", "x"}]>},
        tensor<6x5x8xi8> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %0 = shoal.bitcast_convert %a : tensor<9x6xi32> -> tensor<9x6x2xi16>
  %1 = shoal.bitcast_convert %b : tensor<7x4xi8> -> tensor<7xi32>
  %2 = shoal.bitcast_convert %c : tensor<5x2xi32> -> tensor<5xi64>
  %3 = shoal.bitcast_convert %d : tensor<6x5xi64> -> tensor<6x5x8xi8>
  return %0, %1, %2, %3 : tensor<9x6x2xi16>, tensor<7xi32>, tensor<5xi64>, tensor<6x5x8xi8>
}
