#include "app/source/tone_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <libavutil/pixdesc.h>

#include "app/source/filter_chain.h"

/* Luminance of HDR, in candela per square metre, that corresponds to the white of SDR before the curve compresses
 * brighter light. */
enum { WHITE_NITS = 100 };

struct tone_map {
  struct filter_chain chain;
  int side;
  /* colour properties of the frames for which the filter chain is built, because zscale reads them only from the first
   * frame */
  int colours[4];
};

bool tone_map_is_hdr(enum AVColorTransferCharacteristic transfer) {
  return transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67;
}

int tone_map_open(struct tone_map **out, int side, struct error *err) {
  static const char *const needed[] = {"zscale", "tonemap", "format", "scale", NULL};
  struct tone_map *map = *out = calloc(1, sizeof *map);
  if (!map)
    return error_set(err, STATUS_FAILED, "no memory to map HDR");
  map->side = side;
  return filter_chain_open(&map->chain, needed, err);
}

/* Sets the colour properties that a frame leaves unspecified to the usual ones of HDR, because zscale refuses frames
 * without them. */
static void complete_colours(AVFrame *frame) {
  bool rgb = av_pix_fmt_desc_get(frame->format)->flags & AV_PIX_FMT_FLAG_RGB;
  if (frame->color_primaries == AVCOL_PRI_UNSPECIFIED)
    frame->color_primaries = AVCOL_PRI_BT2020;
  if (frame->colorspace == AVCOL_SPC_UNSPECIFIED)
    frame->colorspace = rgb ? AVCOL_SPC_RGB : AVCOL_SPC_BT2020_NCL;
  if (frame->color_range == AVCOL_RANGE_UNSPECIFIED)
    frame->color_range = rgb ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
}

static int even(double side) {
  return 2 * (int)lrint(side / 2);
}

static int build(struct tone_map *map, const AVFrame *frame) {
  char text[400];
  int shorter = frame->width < frame->height ? frame->width : frame->height;
  double scale = map->side && shorter > map->side ? (double)map->side / shorter : 1;
  snprintf(text, sizeof text,
           "zscale=w=%d:h=%d:f=bicubic:t=linear:npl=%d,format=gbrpf32le,zscale=p=bt709,"
           "tonemap=tonemap=mobius:desat=0,zscale=t=bt709:m=bt709:r=limited,format=yuv420p10le",
           scale < 1 ? even(frame->width * scale) : frame->width,
           scale < 1 ? even(frame->height * scale) : frame->height, WHITE_NITS);
  return filter_chain_build(&map->chain, frame, text);
}

/* True if the filter chain is built for frames with the size, format and colours of `frame`. Stores the frame's colours
 * in map->colours. */
static bool fits(struct tone_map *map, const AVFrame *frame) {
  const int colours[4] = {frame->color_primaries, frame->color_trc, frame->colorspace, frame->color_range};
  bool same = filter_chain_fits(&map->chain, frame);
  for (int i = 0; i < 4; i++) {
    same = same && map->colours[i] == colours[i];
    map->colours[i] = colours[i];
  }
  return same;
}

int tone_map_frame(struct tone_map *map, AVFrame *frame) {
  complete_colours(frame);
  int code = fits(map, frame) ? 0 : build(map, frame);
  if (code >= 0)
    code = filter_chain_send(&map->chain, frame);
  if (code >= 0)
    code = filter_chain_receive(&map->chain, frame);
  if (code < 0) {
    av_frame_unref(frame);
    filter_chain_free(&map->chain);
  }
  return code;
}

void tone_map_close(struct tone_map **map) {
  if (*map)
    filter_chain_free(&(*map)->chain);
  free(*map);
  *map = NULL;
}
