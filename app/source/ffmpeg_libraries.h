/* Opens FFmpeg's libavdevice and libavfilter only when needed, because loading the fifty libraries that they use would
 * take a third of the program's start. They stay open, because libavformat then refers to libavdevice's devices. Any
 * thread may call these functions. */
#ifndef APP_SOURCE_FFMPEG_LIBRARIES_H
#define APP_SOURCE_FFMPEG_LIBRARIES_H

#include <stddef.h>

#include <libavdevice/avdevice.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>

#include "unet/base/error.h"

struct ffmpeg_devices {
  __typeof__(&avdevice_register_all) register_all;
  __typeof__(&avdevice_list_input_sources) list_input_sources;
  __typeof__(&avdevice_free_list_devices) free_list_devices;
};

struct ffmpeg_filters {
  __typeof__(&avfilter_get_by_name) get_by_name;
  __typeof__(&avfilter_graph_alloc) graph_alloc;
  __typeof__(&avfilter_graph_free) graph_free;
  __typeof__(&avfilter_graph_create_filter) graph_create_filter;
  __typeof__(&avfilter_graph_parse_ptr) graph_parse;
  __typeof__(&avfilter_graph_config) graph_config;
  __typeof__(&avfilter_link) link;
  __typeof__(&avfilter_inout_alloc) inout_alloc;
  __typeof__(&avfilter_inout_free) inout_free;
  __typeof__(&av_buffersrc_add_frame_flags) source_add;
  __typeof__(&av_buffersink_get_frame) sink_get;
  __typeof__(&av_buffersink_get_time_base) sink_time_base;
};

/* ffmpeg_open_devices opens libavdevice, and ffmpeg_open_filters libavfilter; they store the addresses of the library's
 * functions in the struct. They return 0, or -1 with err, whose status is `status`; the caller prefixes the message
 * with what needs the library. After ffmpeg_open_devices, libavformat finds devices by name. devices NULL: no functions
 * are needed. */
int ffmpeg_open_devices(struct ffmpeg_devices *devices, enum status status, struct error *err);
int ffmpeg_open_filters(struct ffmpeg_filters *filters, enum status status, struct error *err);

struct ffmpeg_symbol {
  void *pointer; /* address of the pointer that gets the function's address */
  const char *name;
};
/* Opens a library and stores the addresses of `count` functions in the pointers of symbols. library, major: for example
 * "libavdevice" and "59". Returns 0, or -1 with err. */
int ffmpeg_open_library(const char *library, const char *major, const struct ffmpeg_symbol *symbols, size_t count,
                        enum status status, struct error *err);

#endif
