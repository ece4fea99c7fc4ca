/* Converts a decoded AVFrame to struct frame. If the engine reads the AVFrame's pixel format, the frame refers to its
 * planes without a copy; else swscale converts it to a new picture. Colours with wider primaries than BT.709's are
 * converted, and the picture is turned upright if the file states an orientation. */
#ifndef APP_SOURCE_CONVERT_H
#define APP_SOURCE_CONVERT_H

#include <libavutil/frame.h>

#include "app/source/gamut.h"
#include "app/source/surfaces.h"
#include "app/source/tone_map.h"
#include "unet/base/picture.h"

struct SwsContext;

/* The state of converting. Zero-initialise it to start; pictures are then not rotated or mirrored. The struct must not
 * move while it is used. */
struct convert {
  bool copies; /* true: each frame is copied at once, because its planes are buffers of a driver, which has only few of
                * them */
  struct gpu gpu;   /* the GPU that reads the frames; gpu.impl NULL: none */
  bool to_host;     /* true: a hardware decoder's surfaces are copied to host memory (source_options.to_host) */
  bool alpha;       /* true: pictures keep their alpha, and a picture without alpha is an error */
  bool keeps_alpha; /* true: pictures that have alpha keep their alpha */
  /* The orientation: the displayed pixel (x, y) is the stored pixel (xx x + xy y, yx x + yy y), where negative
   * coordinates count from the right or bottom edge. Each of the four is -1, 0 or 1; all 0: pictures stay as stored. */
  int xx, xy, yx, yy;
  struct SwsContext *scaler;
  int scaler_key[6];         /* parameters for which the scaler is set up: width, height, both formats, matrix, range */
  struct gamut gamut;        /* tables that convert colours with wider primaries to BT.709 */
  struct tone_map *tone_map; /* converter of HDR to SDR; NULL: HDR is passed on unchanged */
  /* pixel aspect ratio (width / height) of a tone-mapped frame whose original has square pixels: not 1 if the new size
   * was rounded; 0: exactly 1 */
  float aspect;
  AVFrame *deep; /* RGBA picture with 16 bits per channel, to which a frame with wider primaries is converted first; its
                  * colours are then converted to BT.709 */
  struct picture_pool *decoded; /* pictures that refer to the planes of an AVFrame */
  struct host_pictures scaled, turned;
  bool unlocked; /* true: page-locked memory has run out, so ordinary memory is used */
  struct surfaces surfaces;
};

/* Sets the orientation by an FFmpeg display matrix, without its scale. Returns false and ignores the matrix if it is
 * not a rotation by quarters or a mirror. */
bool convert_orient(struct convert *convert, const int32_t matrix[9]);
/* True if the orientation rotates or mirrors pictures. */
bool convert_turns(const struct convert *convert);
/* True if the orientation swaps width and height. */
bool convert_swaps_sides(const struct convert *convert);

/* Converts `in` to *frame: sets picture, format, size, matrix and range. Also sets sample_aspect if tone mapping has
 * changed the shape by rounding. If the picture uses the planes of `in`, the frame takes over that reference, and `in`
 * becomes empty. Returns 0, or -1 with err. */
int convert_frame(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err);

/* Returns FFmpeg's name for a pixel format of struct frame. */
enum AVPixelFormat convert_to_ffmpeg(enum pixel_format format);
/* Returns swscale's coefficients for a YUV matrix, as sws_setColorspaceDetails takes them. */
const int *convert_matrix(enum color_matrix matrix);

/* Frees all that `convert` holds; pictures that others still hold stay valid. Accepts a zeroed struct. */
void convert_free(struct convert *convert);

#endif
