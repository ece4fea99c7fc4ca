/* The pictures that runs write. A picture has device memory, which other libraries can import if that is wanted and
 * possible, and page-locked host memory of the same layout. Either the run fills the host memory, or it is filled when
 * a reader waits for it. */
#ifndef CUDA_PICTURES_H
#define CUDA_PICTURES_H

#include "cuda/cuda_device.h"
#include "unet/base/picture.h"

extern const struct picture_owner cuda_picture_owner;

/* pictures_open creates the data that all pictures of the device share. shared: true if other libraries, such as
 * OpenGL, may import the pictures' memory. pictures_close may be called while pictures are in use; they stay valid. */
int pictures_open(struct cuda_device *device, bool shared, struct error *err);
void pictures_close(struct cuda_device *device);

/* Prepares the picture of a frame for a run that will write `bytes` bytes of its device memory, from plane 0 on. From
 * then on the copy in host memory is out of date, until picture_copied is called or a reader waits for the picture.
 * early: true: the picture is given out before the run has ended, so its fence (CUDA event) tells when it has; false:
 * afterwards. */
void picture_begin(const struct frame *frame, size_t bytes, bool early);
/* Makes the stream of a run wait until other streams have read the pictures that it will write (picture_owner.read_on).
 * Does nothing if none did. */
int pictures_follow_readers(struct picture *const *pictures, int count, cudaStream_t stream, struct error *err);
/* Records the fences of those pictures that are given out before their run has ended, behind the run. */
int pictures_record_fences(struct picture *const *pictures, int count, cudaStream_t stream, struct error *err);
/* Records that the run itself has copied the picture to host memory, so that readers need not copy it again. */
void picture_copied(struct picture *picture);

#endif
