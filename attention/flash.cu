/* Chooses the kernel and the tile shape for an attention, and launches it. All code here runs on the host. */
#include "choices.h"
#include "tiles.h"

#include <algorithm>

namespace attention {

/* ---- launch of the generic kernel, by head dim -------------------------------------------------------------- */

static cudaError_t run_by_rows(const attn_args &a, shape_sm80 shape, cudaStream_t stream) {
  if (a.D <= 32)
    return launch_sm80<32>(a, shape, stream);
  if (a.D <= 48)
    return launch_sm80<48>(a, shape, stream);
  if (a.D <= 64)
    return launch_sm80<64>(a, shape, stream);
  if (a.D <= 80)
    return launch_sm80<80>(a, shape, stream);
  if (a.D <= 96)
    return launch_sm80<96>(a, shape, stream);
  if (a.D <= 128)
    return launch_sm80<128>(a, shape, stream);
  if (a.D <= UNSPLIT_DIM_MAX)
    return launch_sm80<160>(a, shape, stream);
  return launch_sm80<512>(a, shape, stream);
}

/* The workspace of every kernel begins with counters, which are zero between launches. */
constexpr int COUNTERS_EACH = 4; /* counters for each multiprocessor */

static size_t arrivals_bytes(const attn_device &device) {
  return (device.sms * COUNTERS_EACH * sizeof(unsigned) + 255) / 256 * 256;
}

static int blocks_of(int keys, int block) {
  return (keys + block - 1) / block;
}

static attn_cuts cut_long(const attn_device &device, const attn_args &a) {
  using T = TileLongSm80<64, 2>;
  static_assert(T::BLOCKS <= COUNTERS_EACH, "a counter for each thread block");
  int first = blocks_of(a.Tk, T::BN), second = a.k2 ? blocks_of(a.Tk2, T::BN) : 0;
  return attn_divide(ATTN_CUT_ALWAYS, device.sms * T::BLOCKS, 1, false, (int)tiles_of(a, T::BM), first, first + second);
}

/* Division of the work of the shape "ahead": a tile for each thread block. */
static attn_cuts cut_nothing(const attn_args &a) {
  using T = TileLongSm80<64, 1>;
  int first = blocks_of(a.Tk, T::BN), second = a.k2 ? blocks_of(a.Tk2, T::BN) : 0;
  return attn_divide(ATTN_CUT_NEVER, INT_MAX, 1, true, (int)tiles_of(a, T::BM), first, first + second);
}

static size_t workspace_sm80(const attn_device &device, const attn_args &a, shape_sm80 shape) {
  size_t partial = a.D <= 48 ? TileLongSm80<48, 2>::PARTIAL_BYTES : TileLongSm80<64, 2>::PARTIAL_BYTES;
  return shape == SM80_LONG ? arrivals_bytes(device) + 2 * partial * cut_long(device, a).clusters : 0;
}

static cudaError_t run_sm80(const attn_device &device, const attn_args &a, shape_sm80 shape, void *workspace,
                            cudaStream_t stream) {
  if (shape == SM80_AHEAD)
    return a.D <= 48 ? launch_long_sm80<48, 1>(a, cut_nothing(a), nullptr, nullptr, stream)
                     : launch_long_sm80<64, 1>(a, cut_nothing(a), nullptr, nullptr, stream);
  if (shape != SM80_LONG)
    return run_by_rows(a, shape, stream);
  char *partials = static_cast<char *>(workspace) + arrivals_bytes(device);
  return a.D <= 48 ? launch_long_sm80<48, 2>(a, cut_long(device, a), workspace, partials, stream)
                   : launch_long_sm80<64, 2>(a, cut_long(device, a), workspace, partials, stream);
}

/* ---- Hopper kernel: the choice of the tile shape ------------------------------------------------------------ */

template <class T> struct describe_tile {
  static shape_info info() {
    return {T::BM,    T::BN,         T::ROW_GROUPS, T::KEY_GROUPS, T::SLICES,
            T::PARTS, T::STORE_ROWS, T::CUTS,       T::BLOCKS,     T::PARTIAL_BYTES};
  }
};
template <> struct describe_tile<void> {
  static shape_info info() {
    return {};
  }
};

template <int DP> static shape_info describe_dim(shape_sm90 shape) {
  switch (shape) {
  case SHAPE_LONG:
    return describe_tile<typename tile_of<DP, SHAPE_LONG>::type>::info();
  case SHAPE_PAIR:
    return describe_tile<typename tile_of<DP, SHAPE_PAIR>::type>::info();
  case SHAPE_HALVES:
    return describe_tile<typename tile_of<DP, SHAPE_HALVES>::type>::info();
  case SHAPE_SPLIT:
    return describe_tile<typename tile_of<DP, SHAPE_SPLIT>::type>::info();
  case SHAPE_FEW:
    return describe_tile<typename tile_of<DP, SHAPE_FEW>::type>::info();
  case SHAPE_SHORT:
    return describe_tile<typename tile_of<DP, SHAPE_SHORT>::type>::info();
  default:
    return {};
  }
}

shape_info describe_sm90(int dp, shape_sm90 shape) {
  switch (dp) {
  case 40:
    return describe_dim<40>(shape);
  case 64:
    return describe_dim<64>(shape);
  case 80:
    return describe_dim<80>(shape);
  case 128:
    return describe_dim<128>(shape);
  case 160:
    return describe_dim<160>(shape);
  default:
    return describe_dim<512>(shape);
  }
}

static long all_keys(const attn_args &a) {
  return (long)a.Tk + (a.k2 ? a.Tk2 : 0);
}

/* Chooses the variant of the Hopper kernel, by the number of keys in k alone. Keys in k2, which are appended to those,
 * do not count: a k2 of which no key is used must not change a bit of the result. If a launch would leave
 * multiprocessors idle, it may be left to the device to decide whether tiles are cut, by the number of all keys. */
choice_sm90 choose_sm90(const attn_device &device, const attn_args &a) {
  int dp = pad_sm90(a.D);
  long keys = a.Tk, small_tiles = tiles_of(a, 64);
  /* For larger head dims there is only one shape of tile. Work is divided evenly between the clusters (cuts.h): tiles
   * are cut between clusters, unless that would take longer than whole tiles. */
  if (dp > UNSPLIT_DIM_MAX)
    return {SHAPE_PAIR, ATTN_CUT_ALWAYS};
  bool has_long = describe_sm90(dp, SHAPE_LONG).rows, has_pair = describe_sm90(dp, SHAPE_PAIR).rows;
  shape_sm90 large = has_long && (tiles_of(a, 128) > device.sms || !has_pair) ? SHAPE_LONG : SHAPE_PAIR;
  shape_info large_info = describe_sm90(dp, large);
  /* With one block of keys nothing can be loaded ahead within a thread block, but many small thread blocks hide each
   * other's latencies. They are better than larger ones that are mostly empty, even if they do not all fit on the chip
   * at a time. */
  for (shape_sm90 shape : {SHAPE_SHORT, SHAPE_FEW}) {
    shape_info info = describe_sm90(dp, shape);
    bool one_round = small_tiles <= info.blocks * device.sms, tighter = info.blocks > 1 && info.keys < large_info.keys;
    if (keys <= info.keys && (one_round || tighter))
      return {shape, ATTN_CUT_NEVER};
  }
  /* In SHAPE_HALVES, two thread blocks have the same rows and half of the keys each. Its start and end take long, so
   * SHAPE_SPLIT is faster if all tiles of 64 rows fit on the chip at a time. But from about 1024 keys on, SHAPE_HALVES
   * is faster if its blocks of keys are larger than those of SHAPE_SPLIT. Measured for 8 heads of 1024 queries and 1024
   * keys, SHAPE_SPLIT and SHAPE_HALVES: head dim 64, with equal blocks of keys: 6.95 and 9.43 us; head dim 80: 9.4 and
   * 8.8 us; head dim 160: 13.5 and 12.3 us. */
  shape_info halves = describe_sm90(dp, SHAPE_HALVES), split = describe_sm90(dp, SHAPE_SPLIT);
  bool one_wave = halves.rows && tiles_of(a, halves.rows) * halves.parts <= device.sms;
  if (small_tiles <= device.sms)
    return {one_wave && split.keys < halves.keys && keys >= 1024 ? SHAPE_HALVES : SHAPE_SPLIT, ATTN_CUT_NEVER};
  /* With few keys, small thread blocks are faster if they all fit on the chip at a time, where larger ones need two
   * rounds. Measured for 80 heads of 256 queries and 256 keys: small thread blocks take 5.8 us with blocks of 64 keys,
   * and 6.9 us with blocks of 80 keys; the tiles of SHAPE_LONG take 10.7 us. */
  shape_info small = describe_sm90(dp, SHAPE_SHORT);
  if (small.rows && keys <= 256 && small_tiles <= small.blocks * device.sms &&
      tiles_of(a, large_info.rows) > device.sms)
    return {SHAPE_SHORT, ATTN_CUT_NEVER};
  if (one_wave && keys > 256)
    return {SHAPE_HALVES, ATTN_CUT_NEVER};
  int from = attn_cut_from(device.sms, tiles_of(a, large_info.rows));
  return {large, keys >= from ? ATTN_CUT_ALWAYS : all_keys(a) >= from ? ATTN_CUT_BY_COUNT : ATTN_CUT_NEVER};
}

/* ---- Hopper kernel: workspace, tensor maps, launch ---------------------------------------------------------- */

size_t workspace_sm90(const attn_device &device, const attn_args &a, choice_sm90 choice) {
  shape_info info = describe_sm90(pad_sm90(a.D), choice.shape);
  return choice.cutting ? arrivals_bytes(device) + 2 * device.sms * info.row_groups * info.partial_bytes : 0;
}

using encode_tensor_map = decltype(&cuTensorMapEncodeTiled);

/* Makes a tensor map (TMA's description of a tensor) of [batch][row][head][channel], with boxes of `rows`
 * rows by 64 channels of one head. The part of a box that lies outside the tensor reads as zero and is not written. A
 * batch stride of 0 makes a tensor of one batch row. */
static bool make_map(const attn_device &device, CUtensorMap *map, const attn_args &a, const void *data, int T,
                     long row_stride, long batch_stride, int rows) {
  bool batched = batch_stride != 0 && a.B > 1;
  cuuint64_t sizes[4] = {(cuuint64_t)a.D, (cuuint64_t)a.H, (cuuint64_t)T, batched ? (cuuint64_t)a.B : 1};
  cuuint64_t strides[3] = {(cuuint64_t)a.D * 2, (cuuint64_t)row_stride * 2,
                           (cuuint64_t)(batched ? batch_stride : row_stride) * 2};
  cuuint32_t box[4] = {64, 1, (cuuint32_t)rows, 1}, steps[4] = {1, 1, 1, 1};
  return ((encode_tensor_map)device.encode_tensor_map)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void *>(data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

static bool make_maps(const attn_device &device, params_sm90 *p, const attn_args &a, const shape_info &info) {
  int keys = info.keys;
  bool ok = make_map(device, &p->q, a, a.q, a.Tq, a.q_row, a.q_batch, 64) &&
            make_map(device, &p->k, a, a.k, a.Tk, a.k_row, a.k_batch, keys) &&
            make_map(device, &p->v, a, a.v, a.Tk, a.v_row, a.v_batch, keys) &&
            make_map(device, &p->o, a, a.o, a.Tq, a.o_row, a.o_batch, info.store_rows);
  if (a.k2)
    ok = ok && make_map(device, &p->k2, a, a.k2, a.Tk2, a.k2_row, a.k2_batch, keys) &&
         make_map(device, &p->v2, a, a.v2, a.Tk2, a.v2_row, a.v2_batch, keys);
  return ok;
}

static divisor divide_by(unsigned d) {
  int log = 0;
  while (1u << log < d)
    log++;
  return {static_cast<unsigned>(((1ull << (31 + log)) + d - 1) / d), 31 + log};
}

cudaError_t run_sm90(const attn_device &device, const attn_args &a, choice_sm90 choice, void *workspace,
                     cudaStream_t stream) {
  int dp = pad_sm90(a.D);
  shape_info info = describe_sm90(dp, choice.shape);
  if (!info.rows || (choice.cutting && !info.cuts))
    return cudaErrorNotSupported;
  params_sm90 p = {};
  if (!make_maps(device, &p, a, info))
    return cudaErrorInvalidValue;
  p.row_tiles = (a.Tq + info.rows - 1) / info.rows;
  p.heads = a.H;
  p.Tk = a.Tk;
  p.count2_rows = std::max(a.count2_rows, 1);
  p.count2_most = a.k2 ? a.Tk2 / p.count2_rows : 0;
  p.count2 = a.k2 ? a.count2 : nullptr;
  p.k_batched = a.k_batch != 0;
  p.v_batched = a.v_batch != 0;
  p.k2_batched = a.k2_batch != 0;
  p.v2_batched = a.v2_batch != 0;
  p.scale = scale_of(a);
  p.arrivals = (unsigned *)workspace;
  p.partials = (float4 *)((char *)workspace + arrivals_bytes(device));
  bool one_tile = info.key_groups > 1 || info.parts > 1;
  int resident = std::max(device.sms * info.blocks / info.slices, 1);
  int first_blocks = blocks_of(a.Tk, info.keys), second_blocks = a.k2 ? blocks_of(a.Tk2, info.keys) : 0;
  p.cuts = attn_divide(choice.cutting, resident, info.slices, one_tile, tiles_of(a, info.rows), first_blocks,
                       first_blocks + second_blocks);
  p.by_row_tiles = divide_by(p.row_tiles);
  p.by_heads = divide_by(p.heads);
  int grid = p.cuts.clusters * info.slices * info.parts;
  switch (dp) {
  case 40:
    return launch_sm90<40>(p, choice.shape, grid, device.overlap, stream);
  case 64:
    return launch_sm90<64>(p, choice.shape, grid, device.overlap, stream);
  case 80:
    return launch_sm90<80>(p, choice.shape, grid, device.overlap, stream);
  case 128:
    return launch_sm90<128>(p, choice.shape, grid, device.overlap, stream);
  case 160:
    return launch_sm90<160>(p, choice.shape, grid, device.overlap, stream);
  default:
    return launch_sm90<512>(p, choice.shape, grid, device.overlap, stream);
  }
}

/* ---- checks of the arguments, and the choice between the two kernels ---------------------------------------- */

static bool aligned(const void *p, long row, long batch) {
  return (uintptr_t)p % 16 == 0 && row > 0 && row % 8 == 0 && batch >= 0 && batch % 8 == 0;
}

static bool well_formed(const attn_args &a) {
  bool ok = a.q && a.k && a.v && a.o && a.B > 0 && a.H > 0 && a.Tq > 0 && a.Tk > 0 && a.D >= ATTN_HEAD_DIM_MIN &&
            a.D <= ATTN_HEAD_DIM_MAX && a.D % 8 == 0 && a.H < 65536 && a.B < 65536 && a.scale > 0 &&
            a.scale <= FLT_MAX && aligned(a.q, a.q_row, a.q_batch) && aligned(a.k, a.k_row, a.k_batch) &&
            aligned(a.v, a.v_row, a.v_batch) && aligned(a.o, a.o_row, a.o_batch) &&
            (a.B == 1 || (a.q_batch > 0 && a.o_batch > 0));
  if (a.k2)
    ok = ok && a.v2 && a.count2 && a.count2_rows >= 0 && a.Tk2 > 0 && !a.causal &&
         aligned(a.k2, a.k2_row, a.k2_batch) && aligned(a.v2, a.v2_row, a.v2_batch);
  return ok;
}

static bool fits_hopper(const attn_device &device, const attn_args &a) {
  /* The kernel counts in int, both keys and units of work (pairs of a row tile and a block of keys). */
  long tiles = tiles_of(a, 64), blocks = all_keys(a) / 48 + 2;
  return device.encode_tensor_map && !a.causal && tiles < 1l << 30 && tiles * blocks < 1l << 30 &&
         all_keys(a) <= INT_MAX;
}

} // namespace attention

using namespace attention;

cudaError_t attention_open(struct attn_device *device) {
  int index, major, minor;
  cudaError_t status = cudaGetDevice(&index);
  *device = {};
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&device->sms, cudaDevAttrMultiProcessorCount, index);
  if (status != cudaSuccess)
    return status;
  device->capability = 10 * major + minor;
  if (device->capability == 90 && present_sm90()) {
    void *encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    if (status == cudaSuccess && found == cudaDriverEntryPointSuccess)
      device->encode_tensor_map = encode;
    device->overlap = true;
  }
  return cudaSuccess;
}

bool attention_supported(const struct attn_device *device, const struct attn_args *args, enum attn_path path) {
  if (!well_formed(*args) || device->capability < 80)
    return false;
  return path != ATTN_HOPPER || fits_hopper(*device, *args);
}

static bool takes_hopper(const struct attn_device *device, const struct attn_args *args, enum attn_path path) {
  return path != ATTN_GENERIC && fits_hopper(*device, *args);
}

size_t attention_workspace(const struct attn_device *device, const struct attn_args *args, enum attn_path path) {
  return takes_hopper(device, args, path) ? workspace_sm90(*device, *args, choose_sm90(*device, *args))
                                          : workspace_sm80(*device, *args, choose_sm80(*device, *args));
}

cudaError_t attention_launch(const struct attn_device *device, const struct attn_args *args, enum attn_path path,
                             void *workspace, cudaStream_t stream) {
  if (!attention_supported(device, args, path))
    return cudaErrorNotSupported;
  if (takes_hopper(device, args, path))
    return run_sm90(*device, *args, choose_sm90(*device, *args), workspace, stream);
  return run_sm80(*device, *args, choose_sm80(*device, *args), workspace, stream);
}

/* ---- choices.h: the kernels' variants by number: first the shapes of the generic kernel; after them each tile shape
 * of the Hopper kernel has three numbers, one for each value of enum attn_cutting ---- */

enum { CUTTINGS = ATTN_CUT_BY_COUNT + 1 };

#define ATTENTION_CHOICES(shape) "sm90 " shape, "sm90 " shape " balanced", "sm90 " shape " by count"
static const char *const choice_names[] = {"sm80 tall",
                                           "sm80 wide",
                                           "sm80 long",
                                           "sm80 short",
                                           "sm80 ahead",
                                           ATTENTION_CHOICES("long"),
                                           ATTENTION_CHOICES("pair"),
                                           ATTENTION_CHOICES("halves"),
                                           ATTENTION_CHOICES("split"),
                                           ATTENTION_CHOICES("few"),
                                           ATTENTION_CHOICES("short")};
#undef ATTENTION_CHOICES
constexpr int CHOICES = sizeof choice_names / sizeof *choice_names;
static_assert(CHOICES == SHAPES_SM80 + CUTTINGS * SHAPES_SM90, "a name for each");

static choice_sm90 choice_of(int choice) {
  return {static_cast<shape_sm90>((choice - SHAPES_SM80) / CUTTINGS),
          static_cast<attn_cutting>((choice - SHAPES_SM80) % CUTTINGS)};
}

const char *attention_choice_name(int choice) {
  return choice >= 0 && choice < CHOICES ? choice_names[choice] : nullptr;
}

bool attention_choice_supported(const struct attn_device *device, const struct attn_args *args, int choice) {
  if (choice < SHAPES_SM80)
    return attention_supported(device, args, ATTN_GENERIC) && !(choice == SM80_WIDE && args->D > UNSPLIT_DIM_MAX) &&
           !((choice == SM80_LONG || choice == SM80_AHEAD) && !fits_long(*args)) &&
           !(choice == SM80_SHORT && args->D > SHORT_DIM_MAX);
  shape_info info = describe_sm90(pad_sm90(args->D), choice_of(choice).shape);
  return attention_supported(device, args, ATTN_HOPPER) && info.rows && !(choice_of(choice).cutting && !info.cuts);
}

int attention_choice_auto(const struct attn_device *device, const struct attn_args *args) {
  if (!takes_hopper(device, args, ATTN_AUTO))
    return choose_sm80(*device, *args);
  choice_sm90 choice = choose_sm90(*device, *args);
  return SHAPES_SM80 + CUTTINGS * choice.shape + choice.cutting;
}

size_t attention_choice_workspace(const struct attn_device *device, const struct attn_args *args, int choice) {
  return choice < SHAPES_SM80 ? workspace_sm80(*device, *args, static_cast<shape_sm80>(choice))
                              : workspace_sm90(*device, *args, choice_of(choice));
}

cudaError_t attention_choice_launch(const struct attn_device *device, const struct attn_args *args, int choice,
                                    void *workspace, cudaStream_t stream) {
  if (!attention_choice_supported(device, args, choice))
    return cudaErrorNotSupported;
  if (choice < SHAPES_SM80)
    return run_sm80(*device, *args, static_cast<shape_sm80>(choice), workspace, stream);
  return run_sm90(*device, *args, choice_of(choice), workspace, stream);
}
