func.func private @expf(f32) -> f32
func.func private @logf(f32) -> f32
func.func @loss(%logits: tensor<?x?xf32> {bufferization.writable = false}, %targets: tensor<?xi64> {bufferization.writable = false}) -> f32 attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 0.0 : f32
  %N = tensor.dim %logits, %c0 : tensor<?x?xf32>
  %C = tensor.dim %logits, %c1 : tensor<?x?xf32>
  %N_1 = tensor.dim %targets, %c0 : tensor<?xi64>
  %0 = arith.cmpi eq, %N_1, %N : index
  cf.assert %0, "the argument targets of loss: shapes differ"
  %2 = tensor.empty(%N) : tensor<?xf32>
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<?xf32>) -> tensor<?xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%logits : tensor<?x?xf32>) outs(%3 : tensor<?xf32>) {
  ^bb0(%5: f32, %6: f32):
    %7 = arith.cmpf ogt, %6, %5 : f32
    %8 = arith.cmpf une, %6, %6 : f32
    %9 = arith.ori %7, %8 : i1
    %10 = arith.select %9, %6, %5 : f32
    linalg.yield %10 : f32
  } -> tensor<?xf32>
  %11 = tensor.empty(%N) : tensor<?xf32>
  %12 = linalg.fill ins(%cst_1 : f32) outs(%11 : tensor<?xf32>) -> tensor<?xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%logits, %4 : tensor<?x?xf32>, tensor<?xf32>) outs(%12 : tensor<?xf32>) {
  ^bb0(%14: f32, %15: f32, %16: f32):
    %17 = arith.subf %14, %15 : f32
    %18 = func.call @expf(%17) : (f32) -> f32
    %19 = arith.addf %16, %18 : f32
    linalg.yield %19 : f32
  } -> tensor<?xf32>
  %21 = tensor.empty(%N) : tensor<?xf32>
  %20 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%13 : tensor<?xf32>) outs(%21 : tensor<?xf32>) {
  ^bb0(%22: f32, %23: f32):
    %24 = func.call @logf(%22) : (f32) -> f32
    linalg.yield %24 : f32
  } -> tensor<?xf32>
  %25 = tensor.empty(%N, %C) : tensor<?x?xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%logits, %4, %20 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%25 : tensor<?x?xf32>) {
  ^bb0(%26: f32, %27: f32, %28: f32, %29: f32):
    %30 = arith.subf %26, %27 : f32
    %31 = arith.subf %30, %28 : f32
    linalg.yield %31 : f32
  } -> tensor<?x?xf32>
  %33 = tensor.empty(%N) : tensor<?x1xi64>
  %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%targets : tensor<?xi64>) outs(%33 : tensor<?x1xi64>) {
  ^bb0(%34: i64, %35: i64):
    linalg.yield %34 : i64
  } -> tensor<?x1xi64>
  %37 = tensor.empty(%N) : tensor<?x1xf32>
  %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%32 : tensor<?x1xi64>) outs(%37 : tensor<?x1xf32>) {
  ^bb0(%38: i64, %39: f32):
    %40 = arith.index_cast %38 : i64 to index
    %41 = arith.cmpi ult, %40, %C : index
    cf.assert %41, "index out of range"
    %42 = linalg.index 0 : index
    %43 = linalg.index 1 : index
    %44 = tensor.extract %1[%42, %40] : tensor<?x?xf32>
    linalg.yield %44 : f32
  } -> tensor<?x1xf32>
  %45 = tensor.empty() : tensor<f32>
  %46 = linalg.fill ins(%cst_1 : f32) outs(%45 : tensor<f32>) -> tensor<f32>
  %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%36 : tensor<?x1xf32>) outs(%46 : tensor<f32>) {
  ^bb0(%48: f32, %49: f32):
    %50 = arith.addf %49, %48 : f32
    linalg.yield %50 : f32
  } -> tensor<f32>
  %51 = arith.index_cast %N : index to i64
  %52 = arith.sitofp %51 : i64 to f32
  %54 = tensor.empty() : tensor<f32>
  %53 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%47 : tensor<f32>) outs(%54 : tensor<f32>) {
  ^bb0(%55: f32, %56: f32):
    %57 = arith.divf %55, %52 : f32
    linalg.yield %57 : f32
  } -> tensor<f32>
  %58 = tensor.extract %53[] : tensor<f32>
  %59 = arith.negf %58 : f32
  return %59 : f32
}
func.func @main() -> (tensor<f32>, tensor<2x3xf32>) {
  %cst = arith.constant dense<[[2.0, 0.5, -1.0], [0.1, 0.2, 0.3]]> : tensor<2x3xf32>
  %cst_1 = arith.constant dense<[0, 2]> : tensor<2xi64>
  %cst_2 = arith.constant 0xFF800000 : f32
  %cst_3 = arith.constant 0.0 : f32
  %c3 = arith.constant 3 : index
  %cst_4 = arith.constant 2.0 : f32
  %cst_5 = arith.constant 1.0 : f32
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
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
  %32 = tensor.empty() : tensor<2x1xi64>
  %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<2xi64>) outs(%32 : tensor<2x1xi64>) {
  ^bb0(%33: i64, %34: i64):
    linalg.yield %33 : i64
  } -> tensor<2x1xi64>
  %36 = tensor.empty() : tensor<2x1xf32>
  %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%31 : tensor<2x1xi64>) outs(%36 : tensor<2x1xf32>) {
  ^bb0(%37: i64, %38: f32):
    %39 = arith.index_cast %37 : i64 to index
    %40 = arith.cmpi ult, %39, %c3 : index
    cf.assert %40, "index out of range"
    %41 = linalg.index 0 : index
    %42 = linalg.index 1 : index
    %43 = tensor.extract %0[%41, %39] : tensor<2x3xf32>
    linalg.yield %43 : f32
  } -> tensor<2x1xf32>
  %44 = tensor.empty() : tensor<f32>
  %45 = linalg.fill ins(%cst_3 : f32) outs(%44 : tensor<f32>) -> tensor<f32>
  %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%35 : tensor<2x1xf32>) outs(%45 : tensor<f32>) {
  ^bb0(%47: f32, %48: f32):
    %49 = arith.addf %48, %47 : f32
    linalg.yield %49 : f32
  } -> tensor<f32>
  %51 = tensor.empty() : tensor<f32>
  %50 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%46 : tensor<f32>) outs(%51 : tensor<f32>) {
  ^bb0(%52: f32, %53: f32):
    %54 = arith.divf %52, %cst_4 : f32
    linalg.yield %54 : f32
  } -> tensor<f32>
  %55 = tensor.extract %50[] : tensor<f32>
  %56 = arith.negf %55 : f32
  %57 = arith.negf %cst_5 : f32
  %58 = arith.divf %57, %cst_4 : f32
  %60 = tensor.empty() : tensor<1xf32>
  %59 = linalg.fill ins(%58 : f32) outs(%60 : tensor<1xf32>) -> tensor<1xf32>
  %62 = tensor.empty() : tensor<1x1xf32>
  %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%59 : tensor<1xf32>) outs(%62 : tensor<1x1xf32>) {
  ^bb0(%63: f32, %64: f32):
    linalg.yield %63 : f32
  } -> tensor<1x1xf32>
  %66 = tensor.empty() : tensor<2x1xf32>
  %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%61 : tensor<1x1xf32>) outs(%66 : tensor<2x1xf32>) {
  ^bb0(%67: f32, %68: f32):
    linalg.yield %67 : f32
  } -> tensor<2x1xf32>
  %70 = tensor.empty() : tensor<2x3xf32>
  %69 = linalg.fill ins(%cst_3 : f32) outs(%70 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %73 = scf.for %72 = %c0 to %c2 step %c1 iter_args(%74 = %69) -> (tensor<2x3xf32>) {
    %76 = scf.for %75 = %c0 to %c1 step %c1 iter_args(%77 = %74) -> (tensor<2x3xf32>) {
      %78 = tensor.extract %31[%72, %75] : tensor<2x1xi64>
      %79 = arith.index_cast %78 : i64 to index
      %80 = arith.cmpi ult, %79, %c3 : index
      cf.assert %80, "index out of range"
      %81 = tensor.extract %65[%72, %75] : tensor<2x1xf32>
      %82 = tensor.extract %77[%72, %79] : tensor<2x3xf32>
      %83 = arith.addf %82, %81 : f32
      %84 = tensor.insert %83 into %77[%72, %79] : tensor<2x3xf32>
      scf.yield %84 : tensor<2x3xf32>
    }
    scf.yield %76 : tensor<2x3xf32>
  }
  %86 = tensor.empty() : tensor<2x3xf32>
  %85 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x3xf32>) outs(%86 : tensor<2x3xf32>) {
  ^bb0(%87: f32, %88: f32):
    %89 = func.call @expf(%87) : (f32) -> f32
    linalg.yield %89 : f32
  } -> tensor<2x3xf32>
  %91 = tensor.empty() : tensor<2xf32>
  %92 = linalg.fill ins(%cst_3 : f32) outs(%91 : tensor<2xf32>) -> tensor<2xf32>
  %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%73 : tensor<2x3xf32>) outs(%92 : tensor<2xf32>) {
  ^bb0(%94: f32, %95: f32):
    %96 = arith.addf %95, %94 : f32
    linalg.yield %96 : f32
  } -> tensor<2xf32>
  %97 = tensor.empty() : tensor<2x1xf32>
  %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%93 : tensor<2xf32>) outs(%97 : tensor<2x1xf32>) {
  ^bb0(%98: f32, %99: f32):
    linalg.yield %98 : f32
  } -> tensor<2x1xf32>
  %101 = tensor.empty() : tensor<2x3xf32>
  %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%85, %90 : tensor<2x3xf32>, tensor<2x1xf32>) outs(%101 : tensor<2x3xf32>) {
  ^bb0(%102: f32, %103: f32, %104: f32):
    %105 = arith.mulf %102, %103 : f32
    linalg.yield %105 : f32
  } -> tensor<2x3xf32>
  %d_logits = arith.subf %73, %100 : tensor<2x3xf32>
  %106 = tensor.from_elements %56 : tensor<f32>
  return %106, %d_logits : tensor<f32>, tensor<2x3xf32>
}
