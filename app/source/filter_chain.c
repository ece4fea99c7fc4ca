#include "app/source/filter_chain.h"

#include <stdio.h>

#include <libavutil/pixdesc.h>

#include "unet/base/platform.h"

enum { THREADS_MAX = 4 };

int filter_chain_open(struct filter_chain *chain, const char *const *names, struct error *err) {
  if (ffmpeg_open_filters(&chain->filters, STATUS_INPUT, err))
    return -1;
  for (; *names; names++)
    if (!chain->filters.get_by_name(*names))
      return error_set(err, STATUS_INPUT, "FFmpeg here has no filter %s", *names);
  return 0;
}

static int open_ends(struct filter_chain *chain, const char *input) {
  const struct ffmpeg_filters *filters = &chain->filters;
  int code =
      filters->graph_create_filter(&chain->source, filters->get_by_name("buffer"), "in", input, NULL, chain->graph);
  return code < 0 ? code
                  : filters->graph_create_filter(&chain->sink, filters->get_by_name("buffersink"), "out", NULL, NULL,
                                                 chain->graph);
}

static int join_ends(struct filter_chain *chain, const char *text) {
  const struct ffmpeg_filters *filters = &chain->filters;
  AVFilterInOut *starts = filters->inout_alloc(), *ends = filters->inout_alloc();
  int code = AVERROR(ENOMEM);
  if (starts && ends) {
    *starts = (AVFilterInOut){av_strdup("in"), chain->source, 0, NULL};
    *ends = (AVFilterInOut){av_strdup("out"), chain->sink, 0, NULL};
    code = filters->graph_parse(chain->graph, text, &ends, &starts, NULL);
  }
  filters->inout_free(&starts);
  filters->inout_free(&ends);
  return code < 0 ? code : filters->graph_config(chain->graph, NULL);
}

int filter_chain_build_for(struct filter_chain *chain, const char *input, const char *text, int threads) {
  filter_chain_free(chain);
  chain->graph = chain->filters.graph_alloc();
  if (!chain->graph)
    return AVERROR(ENOMEM);
  chain->graph->nb_threads = threads;
  int code = open_ends(chain, input);
  if (code >= 0)
    code = join_ends(chain, text);
  if (code < 0)
    filter_chain_free(chain);
  return code;
}

int filter_chain_build(struct filter_chain *chain, const AVFrame *like, const char *text) {
  char input[160];
  int cores = platform_processors();
  AVRational aspect = like->sample_aspect_ratio.num > 0 ? like->sample_aspect_ratio : (AVRational){1, 1};
  snprintf(input, sizeof input, "video_size=%dx%d:pix_fmt=%s:time_base=1/1000000:pixel_aspect=%d/%d", like->width,
           like->height, av_get_pix_fmt_name(like->format), aspect.num, aspect.den);
  int code = filter_chain_build_for(chain, input, text, cores < THREADS_MAX ? cores : THREADS_MAX);
  chain->width = like->width;
  chain->height = like->height;
  chain->format = like->format;
  return code;
}

bool filter_chain_fits(const struct filter_chain *chain, const AVFrame *frame) {
  return chain->graph && chain->width == frame->width && chain->height == frame->height &&
         chain->format == frame->format;
}

int filter_chain_send(struct filter_chain *chain, AVFrame *frame) {
  return chain->filters.source_add(chain->source, frame, AV_BUFFERSRC_FLAG_PUSH);
}

int filter_chain_receive(struct filter_chain *chain, AVFrame *frame) {
  return chain->filters.sink_get(chain->sink, frame);
}

void filter_chain_free(struct filter_chain *chain) {
  if (chain->graph)
    chain->filters.graph_free(&chain->graph);
  chain->source = chain->sink = NULL;
}
