// RUN: shoal-run %s --print | FileCheck %s

// Functions are computed in double and rounded to f32.
func.func @main() -> (
    tensor<2xf32> {shoal.name = "exp"},
    tensor<2xf32> {shoal.name = "exp2"},
    tensor<2xf32> {shoal.name = "expm1"},
    tensor<2xf32> {shoal.name = "log"},
    tensor<2xf32> {shoal.name = "log2"},
    tensor<2xf32> {shoal.name = "log10"},
    tensor<2xf32> {shoal.name = "log1p"},
    tensor<2xf32> {shoal.name = "sqrt"},
    tensor<2xf32> {shoal.name = "rsqrt"},
    tensor<2xf32> {shoal.name = "cbrt"},
    tensor<2xf32> {shoal.name = "sin"},
    tensor<2xf32> {shoal.name = "cos"},
    tensor<2xf32> {shoal.name = "tan"},
    tensor<2xf32> {shoal.name = "asin"},
    tensor<2xf32> {shoal.name = "acos"},
    tensor<2xf32> {shoal.name = "atan"},
    tensor<2xf32> {shoal.name = "sinh"},
    tensor<2xf32> {shoal.name = "cosh"},
    tensor<2xf32> {shoal.name = "tanh"},
    tensor<2xf32> {shoal.name = "asinh"},
    tensor<2xf32> {shoal.name = "acosh"},
    tensor<2xf32> {shoal.name = "atanh"},
    tensor<2xf32> {shoal.name = "erf"},
    tensor<2xf32> {shoal.name = "erfc"},
    tensor<2xf32> {shoal.name = "absf"},
    tensor<2xf32> {shoal.name = "floor"},
    tensor<2xf32> {shoal.name = "ceil"},
    tensor<2xf32> {shoal.name = "trunc"},
    tensor<2xf32> {shoal.name = "round"},
    tensor<2xf32> {shoal.name = "roundeven"},
    tensor<2xf32> {shoal.name = "powf"},
    tensor<2xf32> {shoal.name = "atan2"},
    tensor<2xf32> {shoal.name = "copysign"},
    tensor<2xf32> {shoal.name = "fma"},
    tensor<2xf32> {shoal.name = "clampf"},
    tensor<2xf32> {shoal.name = "fpowi"},
    tensor<2xi1> {shoal.name = "isnan"},
    tensor<2xi1> {shoal.name = "isinf"},
    tensor<2xi1> {shoal.name = "isfinite"},
    tensor<3xi8> {shoal.name = "absi"},
    tensor<3xi8> {shoal.name = "ctpop"},
    tensor<3xi8> {shoal.name = "ctlz"},
    tensor<3xi8> {shoal.name = "cttz"},
    tensor<3xi8> {shoal.name = "ipowi"}) {
  // CHECK: exp: tensor<2xf32> = [1, 2.71828]
  %exp_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %exp = math.exp %exp_in : tensor<2xf32>
  // CHECK: exp2: tensor<2xf32> = [8, 0.5]
  %exp2_in = arith.constant dense<[3.0, -1.0]> : tensor<2xf32>
  %exp2 = math.exp2 %exp2_in : tensor<2xf32>
  // CHECK: expm1: tensor<2xf32> = [0, 1.71828]
  %expm1_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %expm1 = math.expm1 %expm1_in : tensor<2xf32>
  // CHECK: log: tensor<2xf32> = [0, 1]
  %log_in = arith.constant dense<[1.0, 2.718281828459045]> : tensor<2xf32>
  %log = math.log %log_in : tensor<2xf32>
  // CHECK: log2: tensor<2xf32> = [3, -1]
  %log2_in = arith.constant dense<[8.0, 0.5]> : tensor<2xf32>
  %log2 = math.log2 %log2_in : tensor<2xf32>
  // CHECK: log10: tensor<2xf32> = [3, -1]
  %log10_in = arith.constant dense<[1000.0, 0.1]> : tensor<2xf32>
  %log10 = math.log10 %log10_in : tensor<2xf32>
  // CHECK: log1p: tensor<2xf32> = [0, 0.693147]
  %log1p_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %log1p = math.log1p %log1p_in : tensor<2xf32>
  // CHECK: sqrt: tensor<2xf32> = [2, 1.41421]
  %sqrt_in = arith.constant dense<[4.0, 2.0]> : tensor<2xf32>
  %sqrt = math.sqrt %sqrt_in : tensor<2xf32>
  // CHECK: rsqrt: tensor<2xf32> = [0.5, 2]
  %rsqrt_in = arith.constant dense<[4.0, 0.25]> : tensor<2xf32>
  %rsqrt = math.rsqrt %rsqrt_in : tensor<2xf32>
  // CHECK: cbrt: tensor<2xf32> = [3, -2]
  %cbrt_in = arith.constant dense<[27.0, -8.0]> : tensor<2xf32>
  %cbrt = math.cbrt %cbrt_in : tensor<2xf32>
  // CHECK: sin: tensor<2xf32> = [0, 0.479426]
  %sin_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %sin = math.sin %sin_in : tensor<2xf32>
  // CHECK: cos: tensor<2xf32> = [1, 0.877583]
  %cos_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %cos = math.cos %cos_in : tensor<2xf32>
  // CHECK: tan: tensor<2xf32> = [0, 0.546302]
  %tan_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %tan = math.tan %tan_in : tensor<2xf32>
  // CHECK: asin: tensor<2xf32> = [0, 1.5708]
  %asin_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %asin = math.asin %asin_in : tensor<2xf32>
  // CHECK: acos: tensor<2xf32> = [0, 1.5708]
  %acos_in = arith.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %acos = math.acos %acos_in : tensor<2xf32>
  // CHECK: atan: tensor<2xf32> = [0, 0.785398]
  %atan_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %atan = math.atan %atan_in : tensor<2xf32>
  // CHECK: sinh: tensor<2xf32> = [0, 1.1752]
  %sinh_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %sinh = math.sinh %sinh_in : tensor<2xf32>
  // CHECK: cosh: tensor<2xf32> = [1, 1.54308]
  %cosh_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %cosh = math.cosh %cosh_in : tensor<2xf32>
  // CHECK: tanh: tensor<2xf32> = [0, 0.462117]
  %tanh_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %tanh = math.tanh %tanh_in : tensor<2xf32>
  // CHECK: asinh: tensor<2xf32> = [0, 0.881374]
  %asinh_in = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %asinh = math.asinh %asinh_in : tensor<2xf32>
  // CHECK: acosh: tensor<2xf32> = [0, 1.31696]
  %acosh_in = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %acosh = math.acosh %acosh_in : tensor<2xf32>
  // CHECK: atanh: tensor<2xf32> = [0, 0.549306]
  %atanh_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %atanh = math.atanh %atanh_in : tensor<2xf32>
  // CHECK: erf: tensor<2xf32> = [0, 0.5205]
  %erf_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %erf = math.erf %erf_in : tensor<2xf32>
  // CHECK: erfc: tensor<2xf32> = [1, 0.4795]
  %erfc_in = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %erfc = math.erfc %erfc_in : tensor<2xf32>
  // CHECK: absf: tensor<2xf32> = [2.5, 2.5]
  %absf_in = arith.constant dense<[-2.5, 2.5]> : tensor<2xf32>
  %absf = math.absf %absf_in : tensor<2xf32>
  // CHECK: floor: tensor<2xf32> = [2, -3]
  %floor_in = arith.constant dense<[2.5, -2.5]> : tensor<2xf32>
  %floor = math.floor %floor_in : tensor<2xf32>
  // CHECK: ceil: tensor<2xf32> = [3, -2]
  %ceil_in = arith.constant dense<[2.5, -2.5]> : tensor<2xf32>
  %ceil = math.ceil %ceil_in : tensor<2xf32>
  // CHECK: trunc: tensor<2xf32> = [2, -2]
  %trunc_in = arith.constant dense<[2.5, -2.5]> : tensor<2xf32>
  %trunc = math.trunc %trunc_in : tensor<2xf32>
  // CHECK: round: tensor<2xf32> = [3, -3]
  %round_in = arith.constant dense<[2.5, -2.5]> : tensor<2xf32>
  %round = math.round %round_in : tensor<2xf32>
  // CHECK: roundeven: tensor<2xf32> = [2, -4]
  %roundeven_in = arith.constant dense<[2.5, -3.5]> : tensor<2xf32>
  %roundeven = math.roundeven %roundeven_in : tensor<2xf32>
  // CHECK: powf: tensor<2xf32> = [1024, 3]
  %powf_a = arith.constant dense<[2.0, 9.0]> : tensor<2xf32>
  %powf_b = arith.constant dense<[10.0, 0.5]> : tensor<2xf32>
  %powf = math.powf %powf_a, %powf_b : tensor<2xf32>
  // CHECK: atan2: tensor<2xf32> = [0.785398, -2.35619]
  %atan2_a = arith.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %atan2_b = arith.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %atan2 = math.atan2 %atan2_a, %atan2_b : tensor<2xf32>
  // CHECK: copysign: tensor<2xf32> = [-2.5, 3]
  %copysign_a = arith.constant dense<[2.5, -3.0]> : tensor<2xf32>
  %copysign_b = arith.constant dense<[-1.0, 0.0]> : tensor<2xf32>
  %copysign = math.copysign %copysign_a, %copysign_b : tensor<2xf32>
  // CHECK: fma: tensor<2xf32> = [6, 0.75]
  %two = arith.constant dense<[2.0, -1.5]> : tensor<2xf32>
  %fma = math.fma %two, %two, %two : tensor<2xf32>
  // CHECK: clampf: tensor<2xf32> = [1, -1]
  %low = arith.constant dense<-1.0> : tensor<2xf32>
  %high = arith.constant dense<1.0> : tensor<2xf32>
  %clampf = math.clampf %two to [%low, %high] : tensor<2xf32>
  // CHECK: fpowi: tensor<2xf32> = [8, -0.666667]
  %powers = arith.constant dense<[3, -1]> : tensor<2xi32>
  %fpowi = math.fpowi %two, %powers : tensor<2xf32>, tensor<2xi32>
  %odd = arith.constant dense<[0x7FC00000, 0xFF800000]> : tensor<2xf32>
  // CHECK: isnan: tensor<2xi1> = [1, 0]
  %isnan = math.isnan %odd : tensor<2xf32>
  // CHECK: isinf: tensor<2xi1> = [0, 1]
  %isinf = math.isinf %odd : tensor<2xf32>
  // CHECK: isfinite: tensor<2xi1> = [0, 0]
  %isfinite = math.isfinite %odd : tensor<2xf32>
  %ints = arith.constant dense<[-128, 12, 0]> : tensor<3xi8>
  // There is no 128 in i8.
  // CHECK: absi: tensor<3xi8> = [-128, 12, 0]
  %absi = math.absi %ints : tensor<3xi8>
  // CHECK: ctpop: tensor<3xi8> = [1, 2, 0]
  %ctpop = math.ctpop %ints : tensor<3xi8>
  // CHECK: ctlz: tensor<3xi8> = [0, 4, 8]
  %ctlz = math.ctlz %ints : tensor<3xi8>
  // CHECK: cttz: tensor<3xi8> = [7, 2, 8]
  %cttz = math.cttz %ints : tensor<3xi8>
  // 243 - 256; a negative exponent truncates
  // CHECK: ipowi: tensor<3xi8> = [-13, -1, 0]
  %base = arith.constant dense<[3, -1, 2]> : tensor<3xi8>
  %exponent = arith.constant dense<[5, -3, -1]> : tensor<3xi8>
  %ipowi = math.ipowi %base, %exponent : tensor<3xi8>
  return %exp, %exp2, %expm1, %log, %log2, %log10,
    %log1p, %sqrt, %rsqrt, %cbrt, %sin, %cos,
    %tan, %asin, %acos, %atan, %sinh, %cosh,
    %tanh, %asinh, %acosh, %atanh, %erf, %erfc,
    %absf, %floor, %ceil, %trunc, %round, %roundeven,
    %powf, %atan2, %copysign, %fma, %clampf, %fpowi,
    %isnan, %isinf, %isfinite, %absi, %ctpop, %ctlz,
    %cttz, %ipowi
    : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<3xi8>,
      tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xi8>
}
