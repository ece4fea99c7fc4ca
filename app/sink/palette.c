#include "app/sink/palette.h"

#include <stdio.h>
#include <stdlib.h>

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/pixdesc.h>

struct palette {
  AVFilterGraph *graph;
  AVFilterContext *source, *sink; /* belong to graph */
  AVRational time_base;
};

static int build(struct palette *palette, int width, int height) {
  static const char chain[] =
      "[in]split[picture][copy];[copy]palettegen=stats_mode=single[colors];[picture][colors]paletteuse=new=1[out]";
  char input[128];
  AVFilterInOut *starts = avfilter_inout_alloc(), *ends = avfilter_inout_alloc();
  int code = AVERROR(ENOMEM);
  if (!palette->graph || !starts || !ends)
    goto done;
  palette->graph->nb_threads = 1;
  snprintf(input, sizeof input, "video_size=%dx%d:pix_fmt=%s:time_base=%d/%d:pixel_aspect=1/1", width, height,
           av_get_pix_fmt_name(AV_PIX_FMT_RGB32), palette->time_base.num, palette->time_base.den);
  code =
      avfilter_graph_create_filter(&palette->source, avfilter_get_by_name("buffer"), "in", input, NULL, palette->graph);
  if (code >= 0)
    code = avfilter_graph_create_filter(&palette->sink, avfilter_get_by_name("buffersink"), "out", NULL, NULL,
                                        palette->graph);
  if (code < 0)
    goto done;
  *starts = (AVFilterInOut){av_strdup("in"), palette->source, 0, NULL};
  *ends = (AVFilterInOut){av_strdup("out"), palette->sink, 0, NULL};
  code = avfilter_graph_parse_ptr(palette->graph, chain, &ends, &starts, NULL);
  if (code >= 0)
    code = avfilter_graph_config(palette->graph, NULL);
done:
  avfilter_inout_free(&starts);
  avfilter_inout_free(&ends);
  return code;
}

int palette_open(struct palette **out, int width, int height, AVRational time_base) {
  struct palette *palette = *out = calloc(1, sizeof *palette);
  if (!palette)
    return AVERROR(ENOMEM);
  palette->time_base = time_base;
  palette->graph = avfilter_graph_alloc();
  int code = build(palette, width, height);
  if (code < 0)
    palette_close(out);
  return code;
}

int palette_send(struct palette *palette, AVFrame *frame) {
  return av_buffersrc_add_frame_flags(palette->source, frame, AV_BUFFERSRC_FLAG_KEEP_REF | AV_BUFFERSRC_FLAG_PUSH);
}

int palette_receive(struct palette *palette, AVFrame *frame) {
  int code = av_buffersink_get_frame(palette->sink, frame);
  if (code >= 0)
    frame->pts = av_rescale_q(frame->pts, av_buffersink_get_time_base(palette->sink), palette->time_base);
  return code;
}

void palette_close(struct palette **palette) {
  if (*palette)
    avfilter_graph_free(&(*palette)->graph);
  free(*palette);
  *palette = NULL;
}
