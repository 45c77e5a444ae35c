func.func private @expf(f32) -> f32
func.func private @logf(f32) -> f32
func.func @f(%x: tensor<2x3xf32> {bufferization.writable = false}) -> tensor<2x3xf32> attributes {llvm.emit_c_interface} {
  %cst = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 0.0 : f32
  %1 = tensor.empty() : tensor<2xf32>
  %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<2xf32>) -> tensor<2xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x3xf32>) outs(%2 : tensor<2xf32>) {
  ^bb0(%4: f32, %5: f32):
    %6 = arith.cmpf ogt, %5, %4 : f32
    %7 = arith.cmpf une, %5, %5 : f32
    %8 = arith.ori %6, %7 : i1
    %9 = arith.select %8, %5, %4 : f32
    linalg.yield %9 : f32
  } -> tensor<2xf32>
  %10 = tensor.empty() : tensor<2xf32>
  %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<2xf32>) -> tensor<2xf32>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %3 : tensor<2x3xf32>, tensor<2xf32>) outs(%11 : tensor<2xf32>) {
  ^bb0(%13: f32, %14: f32, %15: f32):
    %16 = arith.subf %13, %14 : f32
    %17 = func.call @expf(%16) : (f32) -> f32
    %18 = arith.addf %15, %17 : f32
    linalg.yield %18 : f32
  } -> tensor<2xf32>
  %20 = tensor.empty() : tensor<2xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<2xf32>) outs(%20 : tensor<2xf32>) {
  ^bb0(%21: f32, %22: f32):
    %23 = func.call @logf(%21) : (f32) -> f32
    linalg.yield %23 : f32
  } -> tensor<2xf32>
  %24 = tensor.empty() : tensor<2x3xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %3, %19 : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) outs(%24 : tensor<2x3xf32>) {
  ^bb0(%25: f32, %26: f32, %27: f32, %28: f32):
    %29 = arith.subf %25, %26 : f32
    %30 = arith.subf %29, %27 : f32
    linalg.yield %30 : f32
  } -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @main() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) {
  %cst = arith.constant dense<[[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf32>
  %cst_1 = arith.constant dense<[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]> : tensor<2x3xf32>
  %cst_2 = arith.constant 0xFF800000 : f32
  %cst_3 = arith.constant 0.0 : f32
  %1 = tensor.empty() : tensor<2xf32>
  %2 = linalg.fill ins(%cst_2 : f32) outs(%1 : tensor<2xf32>) -> tensor<2xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%cst : tensor<2x3xf32>) outs(%2 : tensor<2xf32>) {
  ^bb0(%4: f32, %5: f32):
    %6 = arith.cmpf ogt, %5, %4 : f32
    %7 = arith.cmpf une, %5, %5 : f32
    %8 = arith.ori %6, %7 : i1
    %9 = arith.select %8, %5, %4 : f32
    linalg.yield %9 : f32
  } -> tensor<2xf32>
  %10 = tensor.empty() : tensor<2xf32>
  %11 = linalg.fill ins(%cst_3 : f32) outs(%10 : tensor<2xf32>) -> tensor<2xf32>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%cst, %3 : tensor<2x3xf32>, tensor<2xf32>) outs(%11 : tensor<2xf32>) {
  ^bb0(%13: f32, %14: f32, %15: f32):
    %16 = arith.subf %13, %14 : f32
    %17 = func.call @expf(%16) : (f32) -> f32
    %18 = arith.addf %15, %17 : f32
    linalg.yield %18 : f32
  } -> tensor<2xf32>
  %20 = tensor.empty() : tensor<2xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<2xf32>) outs(%20 : tensor<2xf32>) {
  ^bb0(%21: f32, %22: f32):
    %23 = func.call @logf(%21) : (f32) -> f32
    linalg.yield %23 : f32
  } -> tensor<2xf32>
  %24 = tensor.empty() : tensor<2x3xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst, %3, %19 : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) outs(%24 : tensor<2x3xf32>) {
  ^bb0(%25: f32, %26: f32, %27: f32, %28: f32):
    %29 = arith.subf %25, %26 : f32
    %30 = arith.subf %29, %27 : f32
    linalg.yield %30 : f32
  } -> tensor<2x3xf32>
  %32 = tensor.empty() : tensor<2x3xf32>
  %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x3xf32>) outs(%32 : tensor<2x3xf32>) {
  ^bb0(%33: f32, %34: f32):
    %35 = func.call @expf(%33) : (f32) -> f32
    linalg.yield %35 : f32
  } -> tensor<2x3xf32>
  %37 = tensor.empty() : tensor<2xf32>
  %38 = linalg.fill ins(%cst_3 : f32) outs(%37 : tensor<2xf32>) -> tensor<2xf32>
  %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%cst_1 : tensor<2x3xf32>) outs(%38 : tensor<2xf32>) {
  ^bb0(%40: f32, %41: f32):
    %42 = arith.addf %41, %40 : f32
    linalg.yield %42 : f32
  } -> tensor<2xf32>
  %43 = tensor.empty() : tensor<2x1xf32>
  %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%39 : tensor<2xf32>) outs(%43 : tensor<2x1xf32>) {
  ^bb0(%44: f32, %45: f32):
    linalg.yield %44 : f32
  } -> tensor<2x1xf32>
  %47 = tensor.empty() : tensor<2x3xf32>
  %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%31, %36 : tensor<2x3xf32>, tensor<2x1xf32>) outs(%47 : tensor<2x3xf32>) {
  ^bb0(%48: f32, %49: f32, %50: f32):
    %51 = arith.mulf %48, %49 : f32
    linalg.yield %51 : f32
  } -> tensor<2x3xf32>
  %d_x = arith.subf %cst_1, %46 : tensor<2x3xf32>
  %53 = tensor.empty() : tensor<2xf32>
  %54 = linalg.fill ins(%cst_3 : f32) outs(%53 : tensor<2xf32>) -> tensor<2xf32>
  %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%d_x : tensor<2x3xf32>) outs(%54 : tensor<2xf32>) {
  ^bb0(%55: f32, %56: f32):
    %57 = arith.addf %56, %55 : f32
    linalg.yield %57 : f32
  } -> tensor<2xf32>
  return %0, %d_x, %52 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>
}
