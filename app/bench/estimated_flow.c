#include "app/bench/estimated_flow.h"

#include <stdio.h>
#include <stdlib.h>

#include <libavutil/frame.h>
#include <libavutil/motion_vector.h>

#include "app/source/ffmpeg_libraries.h"
#include "app/source/ffmpeg_util.h"

/* BLOCK: width and height of a block of pixels. SEARCH: the longest motion that is searched, in pixels. blur:
 * deviation, in pixels, of the Gaussian blur that first removes noise. */
enum { BLOCK = 16, SEARCH = 15 };
static const double blur = 1.5;

struct estimator {
  struct ffmpeg_filters filters;
  AVFilterGraph *graph;
  AVFilterContext *source, *sink; /* the filters at both ends of the graph; the graph owns them */
  int width, height;
};

static int build(struct estimator *estimator) {
  const struct ffmpeg_filters *filters = &estimator->filters;
  AVFilterContext *estimate = NULL;
  char input[128], search[64];
  estimator->graph = filters->graph_alloc();
  if (!estimator->graph)
    return AVERROR(ENOMEM);
  estimator->graph->nb_threads = 1;
  snprintf(input, sizeof input, "video_size=%dx%d:pix_fmt=gray:time_base=1/25:pixel_aspect=1/1", estimator->width,
           estimator->height);
  snprintf(search, sizeof search, "method=esa:mb_size=%d:search_param=%d", BLOCK, SEARCH);
  int code = filters->graph_create_filter(&estimator->source, filters->get_by_name("buffer"), "in", input, NULL,
                                          estimator->graph);
  if (code >= 0)
    code = filters->graph_create_filter(&estimate, filters->get_by_name("mestimate"), "estimate", search, NULL,
                                        estimator->graph);
  if (code >= 0)
    code = filters->graph_create_filter(&estimator->sink, filters->get_by_name("buffersink"), "out", NULL, NULL,
                                        estimator->graph);
  if (code >= 0)
    code = filters->link(estimator->source, 0, estimate, 0);
  if (code >= 0)
    code = filters->link(estimate, 0, estimator->sink, 0);
  return code < 0 ? code : filters->graph_config(estimator->graph, NULL);
}

static int make_blocks(struct blocks *blocks, int width, int height) {
  *blocks = (struct blocks){BLOCK, width / BLOCK, height / BLOCK, NULL};
  blocks->dxdy = calloc((size_t)blocks->columns * blocks->rows * 2 + 1, sizeof *blocks->dxdy);
  return blocks->dxdy ? 0 : AVERROR(ENOMEM);
}

static void take_vectors(const AVFrame *estimated, int source, struct blocks *blocks) {
  const AVFrameSideData *data = av_frame_get_side_data(estimated, AV_FRAME_DATA_MOTION_VECTORS);
  const AVMotionVector *vectors = data ? (const AVMotionVector *)(const void *)data->data : NULL;
  for (size_t i = 0; data && i < data->size / sizeof *vectors; i++) {
    const AVMotionVector *vector = &vectors[i];
    int column = vector->dst_x / BLOCK, row = vector->dst_y / BLOCK;
    if (vector->source != source || column < 0 || row < 0 || column >= blocks->columns || row >= blocks->rows)
      continue;
    float *to = blocks->dxdy + 2 * ((size_t)row * blocks->columns + column);
    to[0] = (float)(vector->src_x - vector->dst_x);
    to[1] = (float)(vector->src_y - vector->dst_y);
  }
}

/* Sends the luminance of a picture to the filter mestimate, after a blur has removed most of the picture's noise. at:
 * the picture's number, from 0, which becomes its pts. luma: a buffer of width * height values for the luminance.
 * Returns a negative error code of FFmpeg on failure. */
static int send(struct estimator *estimator, const struct raster *picture, int at, float *luma) {
  AVFrame *frame = av_frame_alloc();
  struct error err;
  int code = frame && !raster_denoise(picture, blur, luma, &err) ? 0 : AVERROR(ENOMEM);
  if (!code) {
    frame->format = AV_PIX_FMT_GRAY8;
    frame->width = picture->width;
    frame->height = picture->height;
    frame->pts = at;
    code = av_frame_get_buffer(frame, 0);
  }
  for (int y = 0; code >= 0 && y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      frame->data[0][(ptrdiff_t)y * frame->linesize[0] + x] = (uint8_t)(luma[(size_t)y * picture->width + x] + 0.5f);
  if (code >= 0)
    code = estimator->filters.source_add(estimator->source, frame, AV_BUFFERSRC_FLAG_PUSH);
  av_frame_free(&frame);
  return code;
}

/* Stores the motions of the pictures that mestimate has finished. *taken: the number of pictures whose motions are
 * stored; the function raises it. The newest picture is never finished, because mestimate compares each picture with
 * the next one. Returns 0, or a negative error code of FFmpeg. */
static int receive(struct estimator *estimator, struct estimated_flow *flow, int *taken) {
  AVFrame *frame = av_frame_alloc();
  int code = frame ? 0 : AVERROR(ENOMEM);
  while (code >= 0 && (code = estimator->filters.sink_get(estimator->sink, frame)) >= 0) {
    if (*taken < flow->count) {
      take_vectors(frame, -1, &flow->back[*taken]);
      take_vectors(frame, 1, &flow->forth[*taken]);
    }
    ++*taken;
    av_frame_unref(frame);
  }
  av_frame_free(&frame);
  return code == AVERROR(EAGAIN) || code == AVERROR_EOF ? 0 : code;
}

/* Sends all pictures to the filter mestimate, and the last one a second time, because mestimate finishes a picture only
 * when the next one comes. Returns 0, or a negative error code of FFmpeg. */
static int estimate(struct estimator *estimator, const struct raster *frames, struct estimated_flow *flow) {
  int taken = 0, code = 0;
  float *luma = malloc((size_t)estimator->width * estimator->height * sizeof *luma);
  if (!luma)
    return AVERROR(ENOMEM);
  for (int i = 0; i <= flow->count && code >= 0; i++) {
    code = send(estimator, &frames[i < flow->count ? i : flow->count - 1], i, luma);
    if (code >= 0)
      code = receive(estimator, flow, &taken);
  }
  free(luma);
  return code < 0 ? code : taken < flow->count ? AVERROR_BUG : 0;
}

static int make_flow(struct estimated_flow *flow, int width, int height, int count) {
  *flow = (struct estimated_flow){count, calloc((size_t)count, sizeof *flow->back),
                                  calloc((size_t)count, sizeof *flow->forth)};
  if (!flow->back || !flow->forth)
    return AVERROR(ENOMEM);
  for (int i = 0; i < count; i++)
    if (make_blocks(&flow->back[i], width, height) || make_blocks(&flow->forth[i], width, height))
      return AVERROR(ENOMEM);
  return 0;
}

int estimated_flow_find(struct estimated_flow *flow, const struct raster *frames, int count, struct error *err) {
  struct estimator estimator = {.width = frames->width, .height = frames->height};
  char reason[128];
  *flow = (struct estimated_flow){0};
  if (ffmpeg_open_filters(&estimator.filters, STATUS_FAILED, err))
    return -1;
  if (!estimator.filters.get_by_name("mestimate"))
    return error_set(err, STATUS_FAILED, "FFmpeg's libavfilter has no filter mestimate");
  int code = make_flow(flow, estimator.width, estimator.height, count);
  if (code >= 0)
    code = build(&estimator);
  if (code >= 0)
    code = estimate(&estimator, frames, flow);
  estimator.filters.graph_free(&estimator.graph);
  if (code >= 0)
    return 0;
  estimated_flow_free(flow);
  return error_set(err, STATUS_FAILED, "FFmpeg's filter mestimate: %s", ffmpeg_reason(code, reason));
}

void estimated_flow_free(struct estimated_flow *flow) {
  for (int i = 0; i < flow->count; i++) {
    if (flow->back)
      free(flow->back[i].dxdy);
    if (flow->forth)
      free(flow->forth[i].dxdy);
  }
  free(flow->back);
  free(flow->forth);
  *flow = (struct estimated_flow){0};
}
