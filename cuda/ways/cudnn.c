/* The way (implementation of a product) that uses cuDNN, for 3x3 convolutions. For each engine i that cuDNN offers
 * there are two choices. Choice 2 i also adds bias, time row and residual and activates, in the same kernel. Choice 2 i
 * + 1 is the convolution alone, after which a kernel of this program does the rest. */
#include "cuda/libraries/libraries.h"
#include "cuda/ways/product.h"

static bool suits(const struct gemm_args *args) {
  int h = args->h << args->upsample, w = args->w << args->upsample, border = 2 * args->pad - args->kernel;
  return args->kernel == 3 && args->columns % 8 == 0 && args->out_h == (h + border) / args->stride + 1 &&
         /* this way is used only if padding by the same number of pixels at both ends, as cuDNN pads, gives the
          * output's size */
         args->out_w == (w + border) / args->stride + 1;
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  return device->dnn && suits(args) && choice->index >= 0;
}

static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  /* the project's own products are faster where compute capability 9.0 has them, so fewer are worth timing there */
  static const int indices[] = {0, 1, 2, 3, 4, 6};
  int count = 0, most = device->product.encode_tiled ? 4 : (int)(sizeof indices / sizeof indices[0]);
  for (; device->dnn && suits(args) && count < most; count++)
    list[count] = (struct choice){&way_cudnn, indices[count], 1};
  return count;
}

static void scratch(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]) {
  if (shape->kernel != 3)
    return;
  if (shape->c2 || shape->upsample)
    bytes[SCRATCH_DENSE] = product_dense_bytes(shape);
  bytes[SCRATCH_LIBRARY] = (size_t)shape->columns * sizeof(half_t);
}

/* Lets the norm before the convolution, if it is the last launch, make the sum of bias and time row. Returns false if
 * it cannot. */
static bool append_to_norm(const struct cuda_device *device, const struct product *product, struct launches *launches) {
  const struct gemm_args *args = &product->args;
  struct launch *last = launches->count ? &launches->list[launches->count - 1] : NULL;
  if (!last || last->kind != LAUNCH_NORM || last->op != product->prologue.op ||
      !norm_has_beside(&device->queue, &last->norm))
    return false;
  last->beside.sum = product->scratch[SCRATCH_LIBRARY];
  last->beside.time = args->time;
  last->beside.bias = args->bias;
  last->beside.count = args->columns;
  return true;
}

/* cuDNN's fused convolutions add one FP16 vector. Makes it: the sum of the bias and of the bias from the time
 * embedding. *vector becomes its address; NULL: there is neither. */
static int append_bias(struct cuda_device *device, const struct product *product, const half_t **vector,
                       struct launches *launches, struct error *err) {
  const struct gemm_args *args = &product->args;
  *vector = args->time;
  if (!args->bias)
    return 0;
  if (!args->time)
    return (*vector = resource_f16(device, product->bias, product->set, err)) ? 0 : -1;
  if ((uintptr_t)args->time % 16)
    return error_set(err, STATUS_DEVICE, "cuda: cuDNN needs aligned vectors");
  *vector = product->scratch[SCRATCH_LIBRARY];
  if (append_to_norm(device, product, launches))
    return 0;
  struct launch launch = {.kind = LAUNCH_EPILOGUE, .op = product->prologue.op};
  launch.epilogue = (struct epilogue_args){
      .x = args->time, .bias = args->bias, .y = product->scratch[SCRATCH_LIBRARY], .rows = 1, .columns = args->columns};
  return launches_append(launches, &launch, err);
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  int index = choice->index;
  struct gemm_args args = product->args;
  bool fused = index % 2 == 0;
  const half_t *vector = NULL;
  if (product_append_dense(device, product, &args, launches, err) < 0 ||
      (fused && append_bias(device, product, &vector, launches, err) < 0))
    return -1;
  struct launch launch = {.kind = LAUNCH_DNN, .op = product->prologue.op, .algorithm = index};
  library_threads_wait(device, LIBRARY_DNN);
  launch.dnn = dnn_conv_create(device->dnn, &args, vector, fused, index / 2, product->workspace, WORKSPACE_BYTES);
  if (!launch.dnn)
    return error_set(err, STATUS_DEVICE, "cuda: cuDNN has no engine %d for this convolution", index);
  if (launches_append(launches, &launch, err) < 0) {
    dnn_conv_destroy(launch.dnn);
    return -1;
  }
  bool rest = args.bias || args.time || args.residual || args.act != ACT_NONE;
  return !fused && rest ? product_append_epilogue(product, args.y, launches, err) : 0;
}

const struct way way_cudnn = {
    .kind = LAUNCH_DNN, .scratch = scratch, .candidates = candidates, .takes = takes, .append = append};
