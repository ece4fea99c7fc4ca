/* The way (implementation of a product) that uses cuBLASLt, for linear layers and 1x1 convolutions. */
#include "cuda/libraries/libraries.h"
#include "cuda/ways/product.h"

static bool suits(const struct gemm_args *args) {
  return args->kernel == 1 && args->stride == 1 && !args->upsample && !args->time && args->columns % 16 == 0 &&
         (args->act == ACT_NONE || args->act == ACT_GEGLU);
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  return device->blas && suits(args) && choice->index >= 0;
}

static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  int count = 0;
  while (device->blas && suits(args) && count < 3) {
    list[count] = (struct choice){&way_cublaslt, count, 1};
    count++;
  }
  return count;
}

static void scratch(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]) {
  if (shape->kernel != 1)
    return;
  if (shape->c2)
    bytes[SCRATCH_DENSE] = product_dense_bytes(shape);
  if (shape->act == ACT_GEGLU || shape->gain.there)
    bytes[SCRATCH_LIBRARY] =
        (size_t)shape->n * (size_t)shape->out_h * (size_t)shape->out_w * (size_t)shape->columns * sizeof(half_t);
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  int index = choice->index;
  struct gemm_args args = product->args;
  bool raw = args.act != ACT_NONE || args.gain.there;
  const half_t *bias = NULL;
  if (!raw && product->bias >= 0 && !(bias = resource_f16(device, product->bias, product->set, err)))
    return -1;
  if (product_append_dense(device, product, &args, launches, err) < 0)
    return -1;
  struct launch launch = {.kind = LAUNCH_BLAS, .op = product->prologue.op, .algorithm = index};
  half_t *y = raw ? product->scratch[SCRATCH_LIBRARY] : args.y;
  if (raw)
    args.residual = NULL;
  library_threads_wait(device, LIBRARY_BLAS);
  launch.blas = blas_product_create(device->blas, &args, bias, y, index, product->workspace, WORKSPACE_BYTES);
  if (!launch.blas)
    return error_set(err, STATUS_DEVICE, "cuda: cuBLASLt has no algorithm %d for this product", index);
  if (launches_append(launches, &launch, err) < 0) {
    blas_product_destroy(launch.blas);
    return -1;
  }
  return raw ? product_append_epilogue(product, y, launches, err) : 0;
}

const struct way way_cublaslt = {
    .kind = LAUNCH_BLAS, .scratch = scratch, .candidates = candidates, .takes = takes, .append = append};
