#include "app/sink/palette.h"

#include <stdio.h>
#include <stdlib.h>

#include <libavutil/pixdesc.h>

#include "app/source/ffmpeg_libraries.h"
#include "app/source/ffmpeg_util.h"

struct palette {
  struct ffmpeg_filters filters;
  AVFilterGraph *graph;
  AVFilterContext *source, *sink; /* owned by graph */
  AVRational time_base;
};

static int build(struct palette *palette, int width, int height) {
  const struct ffmpeg_filters *filters = &palette->filters;
  static const char chain[] =
      "[in]split[picture][copy];[copy]palettegen=stats_mode=single[colors];[picture][colors]paletteuse=new=1[out]";
  char input[128];
  AVFilterInOut *starts = filters->inout_alloc(), *ends = filters->inout_alloc();
  int code = AVERROR(ENOMEM);
  if (!palette->graph || !starts || !ends)
    goto done;
  palette->graph->nb_threads = 1;
  snprintf(input, sizeof input, "video_size=%dx%d:pix_fmt=%s:time_base=%d/%d:pixel_aspect=1/1", width, height,
           av_get_pix_fmt_name(AV_PIX_FMT_RGB32), palette->time_base.num, palette->time_base.den);
  code =
      filters->graph_create_filter(&palette->source, filters->get_by_name("buffer"), "in", input, NULL, palette->graph);
  if (code >= 0)
    code = filters->graph_create_filter(&palette->sink, filters->get_by_name("buffersink"), "out", NULL, NULL,
                                        palette->graph);
  if (code < 0)
    goto done;
  *starts = (AVFilterInOut){av_strdup("in"), palette->source, 0, NULL};
  *ends = (AVFilterInOut){av_strdup("out"), palette->sink, 0, NULL};
  code = filters->graph_parse(palette->graph, chain, &ends, &starts, NULL);
  if (code >= 0)
    code = filters->graph_config(palette->graph, NULL);
done:
  filters->inout_free(&starts);
  filters->inout_free(&ends);
  return code;
}

int palette_open(struct palette **out, int width, int height, AVRational time_base, struct error *err) {
  char reason[128];
  struct palette *palette = *out = calloc(1, sizeof *palette);
  if (!palette)
    return error_set(err, STATUS_OUTPUT, "%s", ffmpeg_reason(AVERROR(ENOMEM), reason));
  if (ffmpeg_open_filters(&palette->filters, STATUS_OUTPUT, err)) {
    palette_close(out);
    return -1;
  }
  palette->time_base = time_base;
  palette->graph = palette->filters.graph_alloc();
  int code = build(palette, width, height);
  if (code >= 0)
    return 0;
  palette_close(out);
  return error_set(err, STATUS_OUTPUT, "%s", ffmpeg_reason(code, reason));
}

int palette_send(struct palette *palette, AVFrame *frame) {
  return palette->filters.source_add(palette->source, frame, AV_BUFFERSRC_FLAG_KEEP_REF | AV_BUFFERSRC_FLAG_PUSH);
}

int palette_receive(struct palette *palette, AVFrame *frame) {
  int code = palette->filters.sink_get(palette->sink, frame);
  if (code >= 0)
    frame->pts = av_rescale_q(frame->pts, palette->filters.sink_time_base(palette->sink), palette->time_base);
  return code;
}

void palette_close(struct palette **palette) {
  if (*palette && (*palette)->graph)
    (*palette)->filters.graph_free(&(*palette)->graph);
  free(*palette);
  *palette = NULL;
}
