/* Maps HDR video (PQ and HLG) to SDR in BT.709, with FFmpeg's filters zscale (zimg) and tonemap. The pixels' codes
 * become linear light with BT.709's primaries. A curve then leaves dark and middle tones as they are and compresses
 * bright ones, and the result becomes codes again. All of it is computed in floating point. */
#ifndef APP_SOURCE_TONE_MAP_H
#define APP_SOURCE_TONE_MAP_H

#include <stdbool.h>

#include <libavutil/frame.h>

#include "unet/base/error.h"

struct tone_map;

/* True if a video with this curve is HDR. */
bool tone_map_is_hdr(enum AVColorTransferCharacteristic transfer);

/* Opens FFmpeg's filters. side: pictures whose shorter side has more pixels than this are scaled down to it before they
 * are mapped, since mapping costs much time for each pixel; 0: pictures keep their size. Returns 0, or -1 with err,
 * which says what FFmpeg lacks. The caller closes *map in both cases. */
int tone_map_open(struct tone_map **map, int side, struct error *err);
/* Replaces a frame by its picture in SDR, with 10 bits. Returns 0 or, with the frame empty, an FFmpeg error code. */
int tone_map_frame(struct tone_map *map, AVFrame *frame);
void tone_map_close(struct tone_map **map); /* closes the filters; *map becomes NULL; does nothing if it is NULL */

#endif
