/* Gives pictures to libraries of tensors by DLPack (https://dmlc.github.io/dlpack), whose structs are a convention
 * between programs like a binary interface: the fields and their order below are the convention's. */
#include <stdlib.h>

#include "app/library/library.h"
#include "unet/base/picture.h"

enum { ON_CPU = 1, ON_CUDA = 2, UNSIGNED = 1, VERSION_MAJOR = 1, VERSION_MINOR = 0, AXES = 3 };

struct tensor {
  void *data;
  struct {
    int32_t kind, number;
  } device;
  int32_t axes;
  struct {
    uint8_t kind, bits;
    uint16_t lanes;
  } type;
  int64_t *shape, *strides; /* strides: in elements */
  uint64_t offset;
};

/* A tensor with the function that ends its use, in the two forms that consumers ask for. */
struct managed {
  struct tensor tensor;
  void *owner;
  void (*deleter)(struct managed *);
};

struct managed_versioned {
  struct {
    uint32_t major, minor;
  } version;
  void *owner;
  void (*deleter)(struct managed_versioned *);
  uint64_t flags;
  struct tensor tensor;
};

/* What a tensor points to: one allocation. */
struct export {
  union {
    struct managed plain;
    struct managed_versioned versioned;
  } managed;
  struct frame frame; /* the tensor's own hold on the picture */
  void *stream;       /* the stream that uses the tensor; NULL: none that is known */
  int64_t shape[AXES], strides[AXES];
};

static void end(struct export *export) {
  if (export->stream)
    frame_read_on(&export->frame, export->stream, NULL);
  frame_release(&export->frame);
  free(export);
}

static void delete (struct managed *managed) {
  end(managed->owner);
}

static void delete_versioned(struct managed_versioned *managed) {
  end(managed->owner);
}

static struct tensor describe(struct export *export, const struct reverie_picture *picture) {
  const int64_t shape[AXES] = {picture->height, picture->width, 4}, strides[AXES] = {picture->pitch[0], 4, 1};
  memcpy(export->shape, shape, sizeof shape);
  memcpy(export->strides, strides, sizeof strides);
  return (struct tensor){.data = (void *)(uintptr_t)picture->plane[0],
                         .device = {picture->memory == REVERIE_CUDA ? ON_CUDA : ON_CPU, picture->device},
                         .axes = AXES,
                         .type = {UNSIGNED, 8, 1},
                         .shape = export->shape,
                         .strides = export->strides};
}

static int make(const struct reverie_picture *picture, int versioned, void *stream, void **out, struct error *err) {
  const struct frame frame = {.picture = picture->hold};
  if (!picture->hold)
    return error_set(err, STATUS_USAGE, "there is no picture: it was not collected, or was released");
  if (picture->format != REVERIE_RGBA && picture->format != REVERIE_BGRA)
    return error_set(err, STATUS_USAGE, "a picture in %s has several planes: tensors are made of RGBA and BGRA",
                     picture->format == REVERIE_YUYV ? "YUYV" : "YUV");
  if (picture->memory == REVERIE_CUDA && stream && frame_wait_on(&frame, stream, err))
    return -1;
  struct export *export = calloc(1, sizeof *export);
  if (!export)
    return error_set(err, STATUS_FAILED, "out of memory");
  export->frame = frame_hold(&frame);
  export->stream = picture->memory == REVERIE_CUDA ? stream : NULL;
  const struct tensor tensor = describe(export, picture);
  if (versioned)
    export->managed.versioned = (struct managed_versioned){
        .version = {VERSION_MAJOR, VERSION_MINOR}, .owner = export, .deleter = delete_versioned, .tensor = tensor};
  else
    export->managed.plain = (struct managed){.tensor = tensor, .owner = export, .deleter = delete};
  *out = &export->managed;
  return 0;
}

int reverie_to_dlpack(const struct reverie_picture *picture, int versioned, void *stream, void **tensor,
                      struct reverie_error *error) {
  struct error err;
  struct reverie_picture own;
  *tensor = NULL;
  if (library_check_size(picture, LIBRARY_PICTURE_LEAST, "reverie_picture", &err))
    return library_tell(error, &err);
  library_read(&own, picture, sizeof own);
  return library_tell(error, make(&own, versioned, stream, tensor, &err) ? &err : NULL);
}
