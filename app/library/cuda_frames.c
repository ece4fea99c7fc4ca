/* Frames whose planes are in CUDA memory of the program that uses the library. They are given to the engine in the way
 * of a decoder's: as pictures in device memory, which it reads where they are. The library knows no CUDA: what it calls
 * is in unet/base/gpu.h. */
#include "app/library/library.h"
#include "unet/base/picture.h"

/* A picture whose memory belongs to the program. */
struct guest {
  struct picture base;
  struct gpu gpu;
  void *written; /* CUDA event that is recorded on reverie_frame.stream */
};

/* Largest number of frames in CUDA memory that runs read or will read: of two runs that have not ended, and of the next
 * one, a frame and a frame of the second source each. */
enum { GUESTS = 2 * (REVERIE_IN_FLIGHT_MOST + 1) };

static int make(void *opaque, struct picture *picture, struct error *err) {
  struct guest *guest = (struct guest *)picture;
  guest->gpu = *(const struct gpu *)opaque;
  guest->written = guest->gpu.impl->make_fence(&guest->gpu, err);
  picture->memory = MEMORY_DEVICE;
  picture->gpu = guest->gpu.id;
  return guest->written ? 0 : -1;
}

static void destroy(struct picture *picture) {
  struct guest *guest = (struct guest *)picture;
  guest->gpu.impl->free_fence(&guest->gpu, guest->written);
}

static const struct picture_owner guest_owner = {.bytes = sizeof(struct guest), .make = make, .destroy = destroy};

/* --- opening and closing --- */

int library_open_gpu(struct reverie *reverie, struct error *err) {
  const bool needed = reverie->memory == REVERIE_CUDA || reverie->device.shares_pictures;
  reverie->gpu = (struct gpu){0};
  if (!gpu_exists(&reverie->info.gpu))
    return needed
               ? error_set(err, STATUS_DEVICE, "pictures in CUDA memory: the model was opened on %.100s, not on a GPU",
                           reverie->info.device)
               : 0;
  if (!devices_find_gpu(reverie->info.device_name, &reverie->gpu))
    return error_set(err, STATUS_DEVICE, "%.16s: the GPU is not there any more", reverie->info.device_name);
  reverie->stream = reverie->gpu.impl->make_stream(&reverie->gpu, err);
  if (!reverie->stream)
    return -1;
  return picture_pool_open(&reverie->guests, &guest_owner, &reverie->gpu, GUESTS, GUESTS, err);
}

void library_close_gpu(struct reverie *reverie) {
  picture_pool_close(&reverie->guests);
  if (reverie->stream)
    reverie->gpu.impl->free_stream(&reverie->gpu, reverie->stream);
  reverie->stream = NULL;
  reverie->gpu = (struct gpu){0};
}

/* --- frames --- */

/* Returns how many bytes a plane of the frame takes, from its first byte to its last one. */
static size_t bytes_of(const struct frame *frame, int plane) {
  return (size_t)frame->pitch[plane] * (size_t)(frame_rows(frame->format, plane, frame->height) - 1) +
         (size_t)frame_row_bytes(frame->format, plane, frame->width);
}

static int check(const struct reverie *reverie, const struct reverie_frame *from, const struct frame *frame,
                 struct error *err) {
  const struct gpu *gpu = &reverie->gpu;
  if (!gpu->impl || reverie->fallen_back)
    return error_set(err, STATUS_INPUT,
                     "a frame in CUDA memory: the engine computes on the CPU, which reads the host's memory alone");
  if (from->device != gpu->id.ordinal)
    return error_set(err, STATUS_INPUT,
                     "a frame in the memory of GPU %d: the engine computes on GPU %d, and reads its own", from->device,
                     gpu->id.ordinal);
  if (from->event && from->stream)
    return error_set(err, STATUS_INPUT, "a frame with an event and a stream: one of the two says when it is written");
  for (int i = 0; i < frame_planes(frame->format); i++) {
    if (gpu->impl->check_memory(gpu, from->plane[i], bytes_of(frame, i), err))
      return error_prefix(err, "plane %d of the frame: ", i);
    if (frame->format == PIXEL_P010 && ((uintptr_t)from->plane[i] % 2 || from->pitch[i] % 2))
      return error_set(err, STATUS_INPUT, "plane %d of the frame: 16-bit samples have even addresses and pitches", i);
  }
  return 0;
}

int library_guest(struct reverie *reverie, const struct reverie_frame *from, struct frame *frame, struct error *err) {
  struct frame taken;
  if (check(reverie, from, frame, err))
    return -1;
  int status = picture_pool_take(reverie->guests, &taken, err);
  if (status < 1)
    return status ? -1 : error_set(err, STATUS_FAILED, "%d frames in CUDA memory are in use", GUESTS);
  struct guest *guest = (struct guest *)taken.picture;
  for (int i = 0; i < 3; i++) {
    guest->base.device_plane[i] = (void *)(uintptr_t)from->plane[i];
    frame->plane[i] = NULL; /* the host has no pixels */
  }
  guest->base.fence = from->stream ? guest->written : from->event;
  frame->picture = taken.picture;
  if (!from->stream || !guest->gpu.impl->record_fence_on(&guest->gpu, guest->written, from->stream, err))
    return 0;
  frame_release(frame);
  return -1;
}
