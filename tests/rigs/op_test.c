#include "tests/rigs/op_test.h"
#include "unet/base/picture.h"
#include "unet/devices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- random values --- */

static uint64_t next(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

double test_uniform(struct op_test *t) {
  return (double)(next(&t->random) >> 11) * 0x1p-53;
}

int test_integer(struct op_test *t, int low, int high) {
  return low + (int)(test_uniform(t) * (high - low + 1));
}

float test_normal(struct op_test *t) {
  float radius = sqrtf(-2 * logf((float)(1 - test_uniform(t))));
  return radius * cosf((float)(2 * M_PI * test_uniform(t)));
}

static float rounded(const struct op_test *t, float value) {
  if (t->dtype == DTYPE_F16)
    return f16_to_f32(f32_to_f16(value));
  return t->dtype == DTYPE_BF16 ? bf16_to_f32(f32_to_bf16(value)) : value;
}

float test_value(struct op_test *t, enum fill fill) {
  float value = test_normal(t);
  switch (fill) {
  case FILL_LARGE:
    value *= t->dtype == DTYPE_F32 ? 1000 : 30;
    break;
  case FILL_OFFSET:
    value = 100 + 0.1f * value;
    break;
  case FILL_CONSTANT:
    value = 3;
    break;
  case FILL_ZEROS:
    value = test_uniform(t) < 0.5 ? 0 : value;
    break;
  case FILL_TINY:
    value *= 1e-3f;
    break;
  case FILL_NANS:
    t->has_nans = true;
    value = test_uniform(t) < 0.2 ? NAN : value;
    break;
  default:
    break;
  }
  return rounded(t, value);
}

/* --- operands --- */

static void die(const char *what) {
  fprintf(stderr, "op_test: %s\n", what);
  abort();
}

static void *need(void *data) {
  if (!data)
    die("out of memory");
  return data;
}

static float *add_operand(struct op_test *t, struct tensor tensor, size_t count) {
  if (t->operand_count == TEST_OPERANDS)
    die("too many operands");
  struct operand *operand = &t->operands[t->operand_count++];
  operand->tensor = tensor;
  operand->data = need(malloc(count * sizeof *operand->data));
  return operand->data;
}

struct tensor test_input(struct op_test *t, int n, int h, int w, int c, enum demand demand, enum fill fill) {
  struct tensor x = plan_input(&t->plan, n, h, w, c, demand);
  float *data = add_operand(t, x, tensor_elements(x));
  for (size_t i = 0; i < tensor_elements(x); i++)
    data[i] = test_value(t, fill);
  return x;
}

/* Adds a weight that is named after its number, with data in a checkpoint's order. */
static struct tensor add_weight(struct op_test *t, int n, int k, int c, int rows, double mean, double spread) {
  char name[32];
  struct error err = {0};
  size_t count = (size_t)n * (size_t)k * (size_t)k * (size_t)c;
  float *data = add_operand(t, (struct tensor){0}, count);
  for (size_t i = 0; i < count; i++)
    data[i] = rounded(t, (float)(mean + spread * (double)test_normal(t)));
  snprintf(name, sizeof name, "weight %d", t->operand_count);
  struct weight_part part = {data, DTYPE_F32, rows};
  struct tensor w = resources_weight(&t->resources, name, n, k, k, c, &part, 1, &err);
  if (!tensor_exists(w))
    die(err.message);
  return w;
}

struct tensor test_weight(struct op_test *t, int out, int k, int in) {
  return add_weight(t, out, k, in, out, 0, 1 / sqrt((double)k * k * in));
}

struct tensor test_vector(struct op_test *t, int c, float mean) {
  return add_weight(t, 1, 1, c, c, (double)mean, 0.5);
}

static struct tensor fill_kept(struct op_test *t, struct tensor s) {
  if (!tensor_exists(s))
    die("no state");
  float *data = add_operand(t, s, tensor_elements(s));
  for (size_t i = 0; i < tensor_elements(s); i++)
    data[i] = test_value(t, FILL_NORMAL);
  return s;
}

struct tensor test_state(struct op_test *t, int n, int h, int w, int c, enum demand demand) {
  char name[32];
  snprintf(name, sizeof name, "state %d", t->operand_count);
  return fill_kept(t, plan_state(&t->plan, name, n, h, w, c, demand));
}

struct tensor test_slots(struct op_test *t, int n, int h, int w, int c) {
  char name[32];
  snprintf(name, sizeof name, "slots %d", t->operand_count);
  return fill_kept(t, resources_state(&t->resources, name, n, h, w, c, ELEMENT_DEVICE, NULL));
}

struct tensor test_table(struct op_test *t, int rows, int c) {
  return add_weight(t, rows, 1, c, rows, 0, 1);
}

void test_output(struct op_test *t, struct tensor y) {
  if (t->output_count == TEST_OUTPUTS)
    die("too many outputs");
  t->outputs[t->output_count++] = y;
}

struct frame *test_frame(struct op_test *t, enum pixel_format format, int width, int height, bool smooth) {
  if (t->frame_count == FRAMES_MAX)
    die("too many frames");
  struct frame *f = &t->frames[t->frame_count];
  *f = (struct frame){.format = format, .width = width, .height = height};
  size_t place[3], size = 0;
  for (int i = 0; i < frame_planes(format); i++) {
    f->pitch[i] = frame_row_bytes(format, i, width) + 6; /* rows of real frames are rarely without padding */
    place[i] = size;
    size += (size_t)f->pitch[i] * (size_t)frame_rows(format, i, height);
  }
  uint8_t *pixels = t->pixels[t->frame_count++] = need(malloc(size));
  for (size_t i = 0; i < size; i++)
    pixels[i] = (uint8_t)next(&t->random);
  for (int i = 0; i < frame_planes(format); i++) {
    f->plane[i] = pixels + place[i];
    for (int y = 0; smooth && y < frame_rows(format, i, height); y++)
      for (int x = 0; x < frame_row_bytes(format, i, width); x++)
        pixels[place[i] + (size_t)y * (size_t)f->pitch[i] + (size_t)x] =
            (uint8_t)(64 + 120 * y / height + 60 * x / (4 * width) + test_integer(t, 0, 7));
  }
  return f;
}

/* --- running --- */

/* The result of a case on one device. */
struct result {
  float *values[TEST_OUTPUTS];
  uint8_t *picture; /* rows without padding, plane after plane */
  size_t picture_bytes;
};

static void result_free(struct result *r) {
  for (int i = 0; i < TEST_OUTPUTS; i++)
    free(r->values[i]);
  free(r->picture);
  *r = (struct result){0};
}

/* Stores a picture after those that are stored already. */
static void keep_picture(struct result *r, const struct frame *picture) {
  size_t size = r->picture_bytes;
  for (int i = 0; i < frame_planes(picture->format); i++)
    size += (size_t)frame_row_bytes(picture->format, i, picture->width) *
            (size_t)frame_rows(picture->format, i, picture->height);
  r->picture = need(realloc(r->picture, size));
  uint8_t *to = r->picture + r->picture_bytes;
  r->picture_bytes = size;
  for (int i = 0; i < frame_planes(picture->format); i++) {
    size_t row = (size_t)frame_row_bytes(picture->format, i, picture->width);
    for (int y = 0; y < frame_rows(picture->format, i, picture->height); y++, to += row)
      memcpy(to, picture->plane[i] + (long)y * picture->pitch[i], row);
  }
}

static int write_operands(const struct op_test *t, struct device *device, struct program *program,
                          enum tensor_space space, struct error *err) {
  for (int i = 0; i < t->operand_count; i++) {
    const struct operand *o = &t->operands[i];
    if (o->tensor.space == space &&
        device_write(device, program, o->tensor, 0, o->data, tensor_elements(o->tensor), err) < 0)
      return -1;
  }
  return 0;
}

static int run_once(const struct op_test *t, struct device *device, struct program *program, struct result *r,
                    struct error *err) {
  struct frame pictures[BATCH_MAX] = {0};
  if (write_operands(t, device, program, TENSOR_STATE, err) < 0 ||
      device_submit(device, program, &t->params, t->frames, err) < 0 ||
      device_collect(device, program, pictures, err) < 0)
    return -1;
  for (int i = 0; i < program->pictures; i++) {
    keep_picture(r, &pictures[i]);
    frame_release(&pictures[i]);
  }
  for (int i = 0; i < t->output_count; i++) {
    size_t count = tensor_elements(t->outputs[i]);
    r->values[i] = need(malloc(count * sizeof(float)));
    if (device_read(device, program, t->outputs[i], 0, r->values[i], count, err) < 0)
      return -1;
  }
  return 0;
}

static bool same(const struct op_test *t, const struct result *a, const struct result *b) {
  for (int i = 0; i < t->output_count; i++)
    if (memcmp(a->values[i], b->values[i], tensor_elements(t->outputs[i]) * sizeof(float)) != 0)
      return false;
  return a->picture_bytes == b->picture_bytes && (!a->picture || !memcmp(a->picture, b->picture, a->picture_bytes));
}

/* Runs the case on a device. hooks: options with functions of the device under test; NULL for the reference. */
static int run_device(struct op_test *t, const struct device_options *options, const struct op_test_options *hooks,
                      struct result *r, struct error *err) {
  struct device *device = NULL;
  struct program *program = NULL;
  struct result again = {0};
  int status = -1;
  if (device_open(&device, &t->resources, options, err) < 0)
    return -1;
  if (hooks && hooks->opened)
    hooks->opened(device);
  if (device_prepare(device, &program, &t->plan, &(struct program_options){t->output}, err) < 0 ||
      device_poison(device, program, err) < 0)
    goto fail;
  if (hooks && hooks->prepared)
    hooks->prepared(program);
  if (write_operands(t, device, program, TENSOR_TEMPORARY, err) < 0 ||
      write_operands(t, device, program, TENSOR_RESOURCE, err) < 0)
    goto fail;
  if (run_once(t, device, program, r, err) < 0 || run_once(t, device, program, &again, err) < 0)
    goto fail;
  status = same(t, r, &again) ? 0 : error_set(err, STATUS_FAILED, "a second run gave another result");
fail:
  result_free(&again);
  device_release(device, &program);
  device_close(&device);
  return status;
}

/* --- comparing --- */

/* The name of a case in messages, and the bound that applies. */
struct name {
  char name[96];
  bool exact, codes, whole;
  double bound;
};

/* Returns ||out - ref|| / ||ref||, or ||out - ref|| if ref is 0; NaN if an output is not a number. nans: true: outputs
 * that are no numbers are left out where those of the reference are none either. */
static double difference(const float *out, const float *ref, size_t count, bool nans, size_t *worst) {
  double sum = 0, norm = 0, largest = -1;
  for (size_t i = 0; i < count; i++) {
    if (nans && isnan(out[i]) && isnan(ref[i]))
      continue;
    double d = (double)out[i] - (double)ref[i];
    if (!(fabs(d) <= largest)) {
      largest = fabs(d);
      *worst = i;
    }
    if (!isfinite(d))
      return NAN;
    sum += d * d;
    norm += (double)ref[i] * (double)ref[i];
  }
  return norm > 0 ? sqrt(sum / norm) : sqrt(sum);
}

/* Returns how many codes differ; NaN as difference does. */
static double different_codes(const float *out, const float *ref, size_t count, size_t *worst) {
  size_t differing = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(out[i]) || !isfinite(ref[i]))
      return NAN;
    if (lrintf(255 * out[i]) != lrintf(255 * ref[i]))
      *worst = i, differing++;
  }
  return (double)differing;
}

static int compare_values(const struct op_test *t, const struct name *c, const struct op_test_options *options,
                          const struct result *out, const struct result *ref) {
  int status = 0;
  double bound = c->codes || c->whole ? 0 : fmax(c->bound, c->exact ? options->exact : options->product);
  for (int i = 0; i < t->output_count; i++) {
    size_t worst = 0, count = tensor_elements(t->outputs[i]), channels = (size_t)t->outputs[i].c;
    double error = c->codes ? different_codes(out->values[i], ref->values[i], count, &worst)
                            : difference(out->values[i], ref->values[i], count, t->has_nans, &worst);
    bool good = error <= bound;
    if (!good)
      status = -1;
    if (!good || options->verbose)
      printf("%s %s: relative error %.3g, bound %.3g; worst %g for %g at row %zu, channel %zu of [%d, %d, %d, %d]\n",
             good ? "ok  " : "FAIL", c->name, error, bound, (double)out->values[i][worst],
             (double)ref->values[i][worst], worst / channels, worst % channels, t->outputs[i].n, t->outputs[i].h,
             t->outputs[i].w, t->outputs[i].c);
  }
  return status;
}

static int compare_pictures(const struct op_test *t, const struct name *c, const struct op_test_options *options,
                            const struct result *out, const struct result *ref) {
  bool wide = t->output == PIXEL_P010;
  int largest = 0, step = wide ? 2 : 1, bound = options->codes * (wide ? 4 : 1);
  size_t differing = 0;
  if (!t->has_picture)
    return 0;
  for (size_t i = 0; i < ref->picture_bytes; i += (size_t)step) {
    int a = out->picture[i], b = ref->picture[i];
    if (wide)
      a = (a | out->picture[i + 1] << 8) >> 6, b = (b | ref->picture[i + 1] << 8) >> 6;
    largest = abs(a - b) > largest ? abs(a - b) : largest;
    differing += a != b;
  }
  bool good = largest <= bound;
  if (!good || options->verbose)
    printf("%s %s: samples differ by up to %d (bound %d), %zu of %zu differ\n", good ? "ok  " : "FAIL", c->name,
           largest, bound, differing, ref->picture_bytes / (size_t)step);
  return good ? 0 : -1;
}

void op_test_free(struct op_test *t) {
  for (int i = 0; i < t->operand_count; i++)
    free(t->operands[i].data);
  for (int i = 0; i < FRAMES_MAX; i++)
    free(t->pixels[i]);
  plan_free(&t->plan);
  resources_free(&t->resources);
}

static uint64_t fresh_seed(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
}

int op_test_run(const struct op_cases *cases, int index, const struct op_test_options *options) {
  struct op_test t = {.dtype = options->operands, .output = PIXEL_RGBA};
  uint64_t seed = options->seed ? options->seed : fresh_seed();
  struct result out = {0}, ref = {0};
  struct error err = {0};
  struct name name = {.exact = cases->exact, .codes = cases->codes, .whole = cases->whole};
  name.bound = cases->bound;
  snprintf(name.name, sizeof name.name, "%s %d", cases->name, index);
  t.random = seed;
  t.params.mix = 1;
  plan_init(&t.plan, &t.resources);
  cases->build(&t, cases->arguments ? (const char *)cases->arguments + (size_t)index * cases->size : NULL);
  int status = plan_finish(&t.plan, &err);
  if (status == 0)
    status = run_device(&t, &(struct device_options){.name = "cpu:plain"}, NULL, &ref, &err);
  if (status == 0)
    status = run_device(&t, &options->device, options, &out, &err);
  if (status < 0)
    printf("FAIL %s: %s\n", name.name, err.message);
  else
    status = compare_values(&t, &name, options, &out, &ref) | compare_pictures(&t, &name, options, &out, &ref);
  if (status < 0)
    printf("     seed %llu\n", (unsigned long long)seed);
  result_free(&out);
  result_free(&ref);
  op_test_free(&t);
  return status;
}
