/* Pictures in CUDA memory: the functions for streams that read them, and for who imports their memory. */
#include "app/library/library.h"
#include "unet/base/picture.h"
#include "unet/base/platform.h"

/* Reads the calling program's struct of a picture, which may be of another version. Returns 0 with *frame, which
 * borrows the picture, or -1 with err. */
static int read_picture(const struct reverie_picture *picture, struct frame *frame, struct error *err) {
  struct reverie_picture own;
  if (library_check_size(picture, LIBRARY_PICTURE_LEAST, "reverie_picture", err))
    return -1;
  library_read(&own, picture, sizeof own);
  *frame = (struct frame){.picture = own.hold};
  return own.hold ? 0 : error_set(err, STATUS_USAGE, "there is no picture: it was not collected, or was released");
}

int reverie_wait_on(const struct reverie_picture *picture, void *stream, struct reverie_error *error) {
  struct error err;
  struct frame frame;
  int status = read_picture(picture, &frame, &err) || frame_wait_on(&frame, stream, &err);
  return library_tell(error, status ? &err : NULL);
}

int reverie_release_on(struct reverie_picture *picture, void *stream, struct reverie_error *error) {
  struct error err;
  struct frame frame;
  int status = read_picture(picture, &frame, &err) || frame_read_on(&frame, stream, &err);
  reverie_release(picture);
  return library_tell(error, status ? &err : NULL);
}

static int export_memory(const struct frame *frame, int *descriptor, size_t *bytes, struct error *err) {
  const struct picture *picture = frame->picture;
  if (!(picture->memory & MEMORY_SHARED))
    return error_set(err, STATUS_USAGE, "the picture's memory cannot be given away: %s",
                     picture->memory & MEMORY_DEVICE
                         ? "reverie_config.shares asks for memory that can, which not every "
                           "system has"
                         : "it is the host's");
  if (frame_wait(frame, MEMORY_SHARED, err))
    return -1;
  *descriptor = platform_copy_descriptor(picture->share);
  *bytes = picture->share_bytes;
  return *descriptor < 0 ? error_set(err, STATUS_FAILED, "no file descriptor for the memory of a picture") : 0;
}

int reverie_export(const struct reverie_picture *picture, int *descriptor, size_t *bytes, struct reverie_error *error) {
  struct error err;
  struct frame frame;
  *descriptor = -1;
  *bytes = 0;
  int status = read_picture(picture, &frame, &err) || export_memory(&frame, descriptor, bytes, &err);
  return library_tell(error, status ? &err : NULL);
}
