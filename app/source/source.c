#include "app/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/platform_camera.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "app/source/source_impl.h"
#include "app/source/spec.h"
#include "unet/base/platform.h"

/* The kinds of source. The first one that accepts a spec opens it; ffmpeg, the last, accepts every spec. */
static const struct source_impl *const sources[] = {&source_pattern, &source_pipewire, &source_ffmpeg};
enum { SOURCES = sizeof sources / sizeof *sources, CAMERAS = 64 };

static int open_spec(struct source **source, const char *spec, const struct source_options *options,
                     struct error *err) {
  for (int i = 0; i < SOURCES; i++)
    if (sources[i]->accepts(spec))
      return sources[i]->open(source, spec, options, err);
  return error_set(err, STATUS_INPUT, "%s: nothing here opens this", spec);
}

/* Opens the first video device that works. On many machines some of the video devices give only metadata. */
static int open_camera(struct source **source, const struct source_options *options, struct error *err) {
  bool any = false;
  for (int i = 0; i < CAMERAS; i++) {
    char device[32];
    snprintf(device, sizeof device, "/dev/video%d", i);
    if (!platform_exists(device))
      continue;
    any = true;
    if (!open_spec(source, device, options, err))
      return 0;
    log_line(options->log, LOG_INFO, "%s", err->message);
  }
  if (!platform_has_cameras())
    return error_set(err, STATUS_INPUT, "no camera: they are known through Video4Linux, which this system has not");
  return any ? -1 : error_set(err, STATUS_INPUT, "no camera: there is no /dev/video* here");
}

int source_open(struct source **source, const char *spec, const struct source_options *options, struct error *err) {
  *source = NULL;
  struct error local;
  char resolved[SPEC_MAX];
  if (!err)
    err = &local;
  if (spec_resolve(spec, resolved, err))
    return -1;
  int code = strcmp(resolved, "camera") ? open_spec(source, resolved, options, err) : open_camera(source, options, err);
  if (!code) {
    (*source)->mirror = options->mirror;
    (*source)->mirrored.gpu = options->gpu;
  }
  return code;
}

static bool is_mirrored(const struct source *source) {
  if (!source->mirror)
    return false;
  int wish = atomic_load(&source->mirror->wish);
  bool now = wish == MIRROR_ON || (wish == MIRROR_AUTO && source->is_mirror);
  atomic_store(&source->mirror->now, now);
  return now;
}

bool source_opens_late(const char *spec) {
  char resolved[SPEC_MAX];
  return spec_resolve(spec, resolved, NULL) == 0 && (protocols_is_network(resolved) || pipe_input_is(resolved));
}

int source_read_ahead(struct source *source, struct error *err) {
  int got = source->impl->read(source, &source->ahead, err);
  source->has_ahead = got == 1;
  return got ? got == 1 ? 0 : -1 : error_set(err, STATUS_INPUT, "there is not one picture in it");
}

static int read_one(struct source *source, struct frame *frame, struct error *err) {
  if (!source->has_ahead)
    return source->impl->read(source, frame, err);
  *frame = source->ahead;
  source->has_ahead = false;
  return 1;
}

int source_read(struct source *source, struct frame *frame, struct error *err) {
  int got = read_one(source, frame, err);
  return got == 1 && is_mirrored(source) && mirror_frame(&source->mirrored, frame, err) ? -1 : got;
}

int source_check(const struct source *source, struct error *err) {
  return source->impl->check ? source->impl->check(source, err) : 0;
}

void source_get_info(const struct source *source, struct source_info *info) {
  *info = (struct source_info){0};
  source->impl->info(source, info);
}

void source_interrupt(struct source *source) {
  atomic_store(&source->interrupted, true);
}

void source_close(struct source **source) {
  if (*source) {
    if ((*source)->has_ahead)
      frame_release(&(*source)->ahead);
    host_pictures_free(&(*source)->mirrored);
    atomic_bool *owned = (*source)->owned;
    (*source)->impl->close(*source);
    free(owned);
  }
  *source = NULL;
}
