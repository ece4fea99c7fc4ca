/* Pictures that runs make: device memory, which the driver exports where that is wished for and it can, and page-locked
 * host memory of the same layout beside it. The host's part is filled behind the run, or when somebody waits for it. */
#ifndef CUDA_PICTURES_H
#define CUDA_PICTURES_H

#include "cuda/cuda_device.h"
#include "unet/base/picture.h"

extern const struct picture_owner cuda_picture_owner;

/* What all pictures of a device share. Pictures that are held when the device closes go on. */
int pictures_open(struct cuda_device *device, bool shared, struct error *err);
void pictures_close(struct cuda_device *device);

/* A run is to write so many bytes from plane 0 on: where the planes are on the device is stored, and the host's part is
 * not there until it was copied. */
void picture_begin(const struct frame *frame, size_t bytes);
/* It is there now. */
void picture_copied(struct picture *picture);

#endif
