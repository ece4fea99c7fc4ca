#include "app/source/ffmpeg_libraries.h"

#include <dlfcn.h>
#include <stdio.h>

#include <libavutil/macros.h>

/* The libraries' major versions must be those of the headers, because in another version the functions may take other
 * arguments. */
#define DEVICES_MAJOR AV_STRINGIFY(LIBAVDEVICE_VERSION_MAJOR)
#define FILTERS_MAJOR AV_STRINGIFY(LIBAVFILTER_VERSION_MAJOR)

/* Opens a library and finds its functions. The library is never closed. The dynamic loader counts its users, and loads
 * it once for all threads. */
int ffmpeg_open_library(const char *library, const char *major, const struct ffmpeg_symbol *symbols, size_t count,
                        enum status status, struct error *err) {
  char file[64];
  snprintf(file, sizeof file, "%s.so.%s", library, major);
  void *opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  bool whole = opened != NULL;
  for (size_t i = 0; i < count && whole; i++)
    whole = (*(void **)symbols[i].pointer = dlsym(opened, symbols[i].name)) != NULL;
  if (whole)
    return 0;
  return error_set(err, status, "FFmpeg's %s is needed and cannot be loaded: %s; install it (Debian: %s%s)", library,
                   dlerror(), library, major);
}

int ffmpeg_open_devices(struct ffmpeg_devices *devices, enum status status, struct error *err) {
  struct ffmpeg_devices found;
  const struct ffmpeg_symbol symbols[] = {
      {&found.register_all, "avdevice_register_all"},
      {&found.list_input_sources, "avdevice_list_input_sources"},
      {&found.free_list_devices, "avdevice_free_list_devices"},
  };
  if (ffmpeg_open_library("libavdevice", DEVICES_MAJOR, symbols, sizeof symbols / sizeof *symbols, status, err))
    return -1;
  found.register_all();
  if (devices)
    *devices = found;
  return 0;
}

int ffmpeg_open_filters(struct ffmpeg_filters *filters, enum status status, struct error *err) {
  const struct ffmpeg_symbol symbols[] = {
      {&filters->get_by_name, "avfilter_get_by_name"},
      {&filters->graph_alloc, "avfilter_graph_alloc"},
      {&filters->graph_free, "avfilter_graph_free"},
      {&filters->graph_create_filter, "avfilter_graph_create_filter"},
      {&filters->graph_parse, "avfilter_graph_parse_ptr"},
      {&filters->graph_config, "avfilter_graph_config"},
      {&filters->link, "avfilter_link"},
      {&filters->inout_alloc, "avfilter_inout_alloc"},
      {&filters->inout_free, "avfilter_inout_free"},
      {&filters->source_add, "av_buffersrc_add_frame_flags"},
      {&filters->sink_get, "av_buffersink_get_frame"},
      {&filters->sink_time_base, "av_buffersink_get_time_base"},
  };
  return ffmpeg_open_library("libavfilter", FILTERS_MAJOR, symbols, sizeof symbols / sizeof *symbols, status, err);
}
