#include "app/sink/palette.h"

#include <stdio.h>
#include <stdlib.h>

#include <libavutil/pixdesc.h>

#include "app/source/ffmpeg_util.h"
#include "app/source/filter_chain.h"

struct palette {
  struct filter_chain chain;
  AVRational time_base;
};

static int build(struct palette *palette, int width, int height) {
  char input[128];
  snprintf(input, sizeof input, "video_size=%dx%d:pix_fmt=%s:time_base=%d/%d:pixel_aspect=1/1", width, height,
           av_get_pix_fmt_name(AV_PIX_FMT_RGB32), palette->time_base.num, palette->time_base.den);
  return filter_chain_build_for(
      &palette->chain, input,
      "[in]split[picture][copy];[copy]palettegen=stats_mode=single[colors];[picture][colors]paletteuse=new=1[out]", 1);
}

int palette_open(struct palette **out, int width, int height, AVRational time_base, struct error *err) {
  char reason[128];
  struct palette *palette = *out = calloc(1, sizeof *palette);
  if (!palette)
    return error_set(err, STATUS_OUTPUT, "%s", ffmpeg_reason(AVERROR(ENOMEM), reason));
  if (ffmpeg_open_filters(&palette->chain.filters, STATUS_OUTPUT, err)) {
    palette_close(out);
    return -1;
  }
  palette->time_base = time_base;
  int code = build(palette, width, height);
  if (code >= 0)
    return 0;
  palette_close(out);
  return error_set(err, STATUS_OUTPUT, "%s", ffmpeg_reason(code, reason));
}

int palette_send(struct palette *palette, AVFrame *frame) {
  const struct filter_chain *chain = &palette->chain;
  return chain->filters.source_add(chain->source, frame, AV_BUFFERSRC_FLAG_KEEP_REF | AV_BUFFERSRC_FLAG_PUSH);
}

int palette_receive(struct palette *palette, AVFrame *frame) {
  struct filter_chain *chain = &palette->chain;
  int code = filter_chain_receive(chain, frame);
  if (code >= 0)
    frame->pts = av_rescale_q(frame->pts, chain->filters.sink_time_base(chain->sink), palette->time_base);
  return code;
}

void palette_close(struct palette **palette) {
  if (*palette)
    filter_chain_free(&(*palette)->chain);
  free(*palette);
  *palette = NULL;
}
