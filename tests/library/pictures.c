/* pictures WIDTHxHEIGHT IN OUT [NAME=VALUE...]: reads frames of this size from standard input, one after the
 * other without padding, in the format IN, and writes their pictures in the format OUT, of the same size, to standard
 * output. Each NAME=VALUE sets a parameter. There are as many frames in flight as there can be.
 *
 * pictures abi: lists what programs rely on: sizes of structs and places of their fields, values of enums, and
 * parameters.
 *
 * It includes nothing of reverie's but the library's header, and is built a second time for a header whose structs have
 * more fields. */
#include <reverie.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef APPENDED
/* Fills the fields that a later version appended: a library that does not know them must not touch them. */
#define APPEND(object) memset(object.appended, 0x5a, sizeof object.appended)
#define IS_LEFT(object) is_left(object.appended, sizeof object.appended)
static int is_left(const unsigned char *bytes, size_t size) {
  size_t same = 0;
  while (same < size && bytes[same] == 0x5a)
    same++;
  return same == size;
}
#else
#define APPEND(object) (void)0
#define IS_LEFT(object) 1
/* No struct ends with padding, where a later version's first new field could begin. */
#define ENDS_WITH(type, field) (offsetof(struct type, field) + sizeof((struct type *)0)->field == sizeof(struct type))
_Static_assert(ENDS_WITH(reverie_error, message) && ENDS_WITH(reverie_config, shares) &&
                   ENDS_WITH(reverie_parameter, help) && ENDS_WITH(reverie_frame, stream) &&
                   ENDS_WITH(reverie_picture, number) && ENDS_WITH(reverie_info, unused),
               "structs end with their last field");
#endif

/* --- the binary interface --- */

#define SIZE(type) printf("struct %s %zu\n", #type, sizeof(struct type))
#define FIELD(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define VALUE(name) printf("%s %d\n", #name, (int)(name))
#define FIVE(what, type, a, b, c, d, e) what(type, a), what(type, b), what(type, c), what(type, d), what(type, e)

static void list_structs(void) {
  SIZE(reverie_error), FIELD(reverie_error, status), FIELD(reverie_error, message);
  SIZE(reverie_config), FIVE(FIELD, reverie_config, log, log_opaque, device, threads, format);
  FIELD(reverie_config, pictures), FIELD(reverie_config, flags), FIELD(reverie_config, memory_limit);
  FIELD(reverie_config, cache_dir), FIELD(reverie_config, memory), FIELD(reverie_config, shares);
  SIZE(reverie_parameter), FIVE(FIELD, reverie_parameter, name, type, when, instances, decimals);
  FIVE(FIELD, reverie_parameter, least, most, low, high, standard), FIELD(reverie_parameter, by_model);
  FIELD(reverie_parameter, unit), FIELD(reverie_parameter, choices), FIELD(reverie_parameter, from);
  FIELD(reverie_parameter, help);
  SIZE(reverie_frame), FIVE(FIELD, reverie_frame, format, matrix, range, width, height);
  FIVE(FIELD, reverie_frame, plane, pitch, pixel_aspect, time_ns, restart);
  FIELD(reverie_frame, opaque), FIELD(reverie_frame, control), FIELD(reverie_frame, memory);
  FIELD(reverie_frame, device), FIELD(reverie_frame, event), FIELD(reverie_frame, stream);
  SIZE(reverie_picture), FIVE(FIELD, reverie_picture, format, matrix, range, width, height);
  FIVE(FIELD, reverie_picture, plane, pitch, time_ns, opaque, whole), FIELD(reverie_picture, restarted);
  FIELD(reverie_picture, device_ms), FIELD(reverie_picture, hold);
  FIELD(reverie_picture, memory), FIELD(reverie_picture, device), FIELD(reverie_picture, ready);
  FIELD(reverie_picture, number);
  SIZE(reverie_info), FIVE(FIELD, reverie_info, model, device, native_width, native_height, size_multiple);
  FIVE(FIELD, reverie_info, width, height, frames_behind, sees_frame, device_bytes);
  FIELD(reverie_info, stream), FIELD(reverie_info, gpu_uuid), FIELD(reverie_info, gpu), FIELD(reverie_info, unused);
}

static void list_values(void) {
  VALUE(REVERIE_OK), VALUE(REVERIE_FAILED), VALUE(REVERIE_USAGE), VALUE(REVERIE_INPUT), VALUE(REVERIE_MODEL);
  VALUE(REVERIE_DEVICE), VALUE(REVERIE_HELD), VALUE(REVERIE_LOG_WARNING), VALUE(REVERIE_LOG_INFO);
  VALUE(REVERIE_LOG_DEBUG), VALUE(REVERIE_RGBA), VALUE(REVERIE_BGRA), VALUE(REVERIE_I420), VALUE(REVERIE_NV12);
  VALUE(REVERIE_P010), VALUE(REVERIE_YUYV), VALUE(REVERIE_SMOOTH), VALUE(REVERIE_PACED), VALUE(REVERIE_REAL);
  VALUE(REVERIE_WHOLE), VALUE(REVERIE_SWITCH), VALUE(REVERIE_CHOICE), VALUE(REVERIE_SIZE), VALUE(REVERIE_TEXT);
  VALUE(REVERIE_AT_OPENING), VALUE(REVERIE_AT_PREPARATION), VALUE(REVERIE_AT_FRAME), VALUE(REVERIE_BT601);
  VALUE(REVERIE_BT709), VALUE(REVERIE_BT2020), VALUE(REVERIE_LIMITED), VALUE(REVERIE_FULL);
  VALUE(REVERIE_IN_FLIGHT_MOST), VALUE(REVERIE_EARLY), VALUE(REVERIE_HOST), VALUE(REVERIE_CUDA);
}

static int list(void) {
  list_structs();
  list_values();
  for (int i = 0; i < reverie_parameter_count(); i++) {
    struct reverie_parameter row = {.size = sizeof row};
    APPEND(row);
    if (reverie_describe_parameter(i, &row, NULL) || !IS_LEFT(row))
      return 1;
    printf("parameter %s type %d when %d instances %d %s\n", row.name, row.type, row.when, row.instances,
           row.choices ? row.choices : "");
  }
  return 0;
}

/* --- pictures --- */

struct job {
  struct reverie *reverie;
  struct reverie_error error;
  int width, height, in, out;
};

static int format_of(const char *name) {
  static const char *const names[] = {"", "rgba", "bgra", "i420", "nv12", "p010", "yuyv"};
  for (int i = 1; i < 7; i++)
    if (!strcmp(name, names[i]))
      return i;
  return 0;
}

/* Fills in the bytes of each plane's rows and its number of rows; returns the number of planes. */
static int shape_of(int format, int width, int height, int bytes[3], int rows[3]) {
  int packed = format == REVERIE_YUYV ? 2 : 4, deep = format == REVERIE_P010 ? 2 : 1;
  int planes = format == REVERIE_I420 ? 3 : format == REVERIE_NV12 || format == REVERIE_P010 ? 2 : 1;
  bytes[0] = planes == 1 ? packed * width : deep * width;
  bytes[1] = bytes[2] = planes == 3 ? (width + 1) / 2 : (width + 1) / 2 * 2 * deep;
  rows[0] = height;
  rows[1] = rows[2] = (height + 1) / 2;
  return planes;
}

static int write_picture(struct job *job) {
  int bytes[3], rows[3];
  struct reverie_picture picture = {.size = sizeof picture};
  APPEND(picture);
  if (reverie_collect(job->reverie, &picture, &job->error) || !IS_LEFT(picture))
    return -1;
  int planes = shape_of(picture.format, picture.width, picture.height, bytes, rows);
  for (int i = 0; i < planes; i++)
    for (int y = 0; y < rows[i]; y++)
      fwrite((const char *)picture.plane[i] + (size_t)y * (size_t)picture.pitch[i], 1, (size_t)bytes[i], stdout);
  reverie_release(&picture);
  return 0;
}

/* Reads a frame's planes into memory; returns 0 at the end of the input. */
static size_t read_frame(const struct job *job, struct reverie_frame *frame, char *memory) {
  int bytes[3], rows[3], planes = shape_of(job->in, job->width, job->height, bytes, rows);
  size_t size = 0;
  for (int i = 0; i < planes; i++) {
    frame->plane[i] = memory + size;
    frame->pitch[i] = bytes[i];
    size += (size_t)bytes[i] * (size_t)rows[i];
  }
  return fread(memory, size, 1, stdin);
}

static int make_pictures(struct job *job) {
  char *memory = malloc((size_t)job->width * (size_t)job->height * 4 + 64);
  struct reverie_frame frame = {
      .size = sizeof frame, .format = job->in, .matrix = REVERIE_BT601, .width = job->width, .height = job->height};
  int status = !memory;
  APPEND(frame);
  for (int i = 0; !status && read_frame(job, &frame, memory); i++) {
    frame.time_ns = i * INT64_C(40000000);
    if (reverie_in_flight(job->reverie) == REVERIE_IN_FLIGHT_MOST)
      status = write_picture(job);
    status = status || reverie_submit(job->reverie, &frame, &job->error);
  }
  while (!status && reverie_in_flight(job->reverie))
    status = write_picture(job);
  free(memory);
  return status;
}

static int set(struct job *job, char *value) {
  char *equal = strchr(value, '=');
  if (!equal)
    return -1;
  *equal = 0;
  return reverie_set(job->reverie, value, equal + 1, &job->error);
}

static int run(struct job *job, char **values, int count) {
  struct reverie_config config = {.size = sizeof config, .format = job->out};
  APPEND(config);
  int status = reverie_create(&job->reverie, &config, &job->error);
  for (int i = 0; !status && i < count; i++)
    status = set(job, values[i]);
  status = status || reverie_open(job->reverie, &job->error) ||
           reverie_prepare(job->reverie, job->width, job->height, &job->error) || make_pictures(job);
  reverie_destroy(&job->reverie);
  return status || !IS_LEFT(job->error);
}

int main(int argc, char **argv) {
  struct job job = {.error = {.size = sizeof job.error}};
  APPEND(job.error);
  if (argc == 2 && !strcmp(argv[1], "abi"))
    return list();
  if (argc < 4 || sscanf(argv[1], "%dx%d", &job.width, &job.height) != 2)
    return REVERIE_USAGE;
  job.in = format_of(argv[2]);
  job.out = format_of(argv[3]);
  if (!run(&job, argv + 4, argc - 4))
    return 0;
  fprintf(stderr, "%s\n", job.error.message);
  return job.error.status ? job.error.status : REVERIE_FAILED;
}
