/* Mixtures of two frames of NV12 or P010, as they are made in a GPU's memory (gpu_impl.mix). mixture_make is the
 * definition; kernels are compared with it. Frames of other formats are mixed in host memory
 * (app/source/dissolve.h). */
#ifndef UNET_BASE_MIXTURE_H
#define UNET_BASE_MIXTURE_H

#include "unet/base/frame.h"

/* A part of a frame, in pixels. Its left and top are even. */
struct mixture_part {
  int left, top, width, height;
};

/* The planes of a frame: luma, then Cb and Cr in turn. */
struct mixture_planes {
  const uint8_t *plane[2];
  int pitch[2]; /* bytes from one row to the next */
  int width, height;
  bool wide; /* true: samples have 16 bits, as in P010, and all 16 count; false: they have 8 bits */
};

/* A mixture of the frames `from` and `to`. The part `of` of `from` is scaled to the part `at` of `to`; beside that part
 * `from` counts as black. The mixture has the format and size of `to`. */
struct mixture {
  struct mixture_planes from, to;
  struct mixture_part of, at;
  int share; /* weight of `to`, in 256ths */
  /* The conversion of `from`'s samples Y, Cb, Cr to the format, matrix and range of `to`: Y' = luma[0] + luma[1] Y +
   * luma[2] Cb + luma[3] Cr; Cb' = blue[0] + blue[1] Cb + blue[2] Cr; Cr' = red[0] + red[1] Cb + red[2] Cr. */
  float luma[4], blue[3], red[3];
  int black[2]; /* samples of black in `to`: luma, chroma */
};

/* Returns true if frames of this format can be mixed so. */
bool mixture_takes(enum pixel_format format);
/* Sets all fields of a mixture. The addresses of the planes are those of the frames. share: weight of `to`, 0 to 1. */
void mixture_set_up(struct mixture *mixture, const struct frame *from, const struct mixture_part *of,
                    const struct frame *to, const struct mixture_part *at, float share);
/* Makes the mixture in host memory: out has the planes' addresses, which have the pitches of `to`. */
void mixture_make(const struct mixture *mixture, uint8_t *const out[2]);

#endif
