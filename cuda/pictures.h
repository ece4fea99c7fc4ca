/* Pictures that runs write: device memory, which the driver exports if that is wanted and possible, and page-locked
 * host memory with the same layout. The host's memory is filled after the run, or when a reader waits for it. */
#ifndef CUDA_PICTURES_H
#define CUDA_PICTURES_H

#include "cuda/cuda_device.h"
#include "unet/base/picture.h"

extern const struct picture_owner cuda_picture_owner;

/* Creates and closes the data that all pictures of a device share. Pictures that are in use when the device is closed
 * stay valid. */
int pictures_open(struct cuda_device *device, bool shared, struct error *err);
void pictures_close(struct cuda_device *device);

/* Prepares a picture for a run, which will write this many bytes from plane 0 on. Stores the planes' addresses on the
 * device; the host's memory counts as unfilled. */
void picture_begin(const struct frame *frame, size_t bytes);
/* Tells that the host's memory is filled. */
void picture_copied(struct picture *picture);

#endif
