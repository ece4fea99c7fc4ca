#include "cuda/ways/ways.h"

#include <string.h>

const struct way *const ways[WAYS] = {&way_gemm, &way_sm90,  &way_halo,     &way_narrow,
                                      &way_few,  &way_eight, &way_cublaslt, &way_cudnn};

const char *way_name(const struct way *way) {
  return launch_kind_name(way->kind);
}

const char *choice_remark(const struct choice *choice) {
  return choice->way == &way_gemm && gemm_tile_sizes[choice->index].span ? " FP16 sums" : "";
}

const struct way *way_find(const char *name) {
  for (int i = 0; i < WAYS; i++)
    if (!strcmp(name, way_name(ways[i])))
      return ways[i];
  return strcmp(name, way_name(&way_pair)) ? NULL : &way_pair;
}
