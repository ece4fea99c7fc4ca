/* A chain of FFmpeg's filters, one after the other, through which the frames of a video go. One thread at a time uses a
 * chain. */
#ifndef APP_SOURCE_FILTER_CHAIN_H
#define APP_SOURCE_FILTER_CHAIN_H

#include <libavutil/frame.h>

#include "app/source/ffmpeg_libraries.h"

struct filter_chain {
  struct ffmpeg_filters filters;
  AVFilterGraph *graph;           /* FFmpeg's graph with the filters; NULL: no filters are built */
  AVFilterContext *source, *sink; /* the filters at the chain's beginning and end; owned by `graph` */
  int width, height, format;      /* size and format of the frames for which the chain is built */
};

/* Opens libavfilter for a zeroed chain, and checks that it has all filters in `names`, which NULL ends. Returns 0, or
 * -1 with err. */
int filter_chain_open(struct filter_chain *chain, const char *const *names, struct error *err);
/* Builds the filters that `text` describes, in FFmpeg's syntax, for frames with the size and format of `like`. Filters
 * that were built before are freed, with the frames in them. Returns 0 or an FFmpeg error code. */
int filter_chain_build(struct filter_chain *chain, const AVFrame *like, const char *text);
/* Does the same as filter_chain_build for frames that `input` describes by options of FFmpeg's filter "buffer".
 * threads: number of threads on which the filters run. */
int filter_chain_build_for(struct filter_chain *chain, const char *input, const char *text, int threads);
/* True if the chain is built for frames of this size and format. */
bool filter_chain_fits(const struct filter_chain *chain, const AVFrame *frame);
/* Gives the chain a frame, whose reference it takes over; NULL: no more frames come. Returns 0 or an FFmpeg error
 * code. */
int filter_chain_send(struct filter_chain *chain, AVFrame *frame);
/* Takes a frame from the end of the chain. Returns 0 or an FFmpeg error code: AVERROR(EAGAIN) if the chain needs
 * another frame first, or AVERROR_EOF after the last frame. */
int filter_chain_receive(struct filter_chain *chain, AVFrame *frame);
/* Frees the filters and the frames in them. Accepts a zeroed struct. */
void filter_chain_free(struct filter_chain *chain);

#endif
