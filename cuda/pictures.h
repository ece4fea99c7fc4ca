/* Pictures that runs write: device memory, which the driver exports if that is wanted and possible, and page-locked
 * host memory with the same layout. The host's memory is filled after the run, or when a reader waits for it. */
#ifndef CUDA_PICTURES_H
#define CUDA_PICTURES_H

#include "cuda/cuda_device.h"
#include "unet/base/picture.h"

extern const struct picture_owner cuda_picture_owner;

/* pictures_open creates the data that all pictures of a device share. shared: other libraries, such as OpenGL, may
 * import the pictures' memory. pictures_close may be called while pictures are in use; they stay valid. */
int pictures_open(struct cuda_device *device, bool shared, struct error *err);
void pictures_close(struct cuda_device *device);

/* Prepares a picture for a run, which will write this many bytes to device memory, from plane 0 on. The copy in host
 * memory is then out of date until picture_copied is called or a reader waits for it. */
void picture_begin(const struct frame *frame, size_t bytes);
/* Notes that the run has copied the picture to host memory, so that readers need not copy it. */
void picture_copied(struct picture *picture);

#endif
