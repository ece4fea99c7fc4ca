#include "tests/rigs/fake_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unet/base/platform.h"

enum { WIDTH = 32, HEIGHT = 16, BEGINNINGS = 100 };

struct fake {
  struct source source;
  long read;
  bool spare;
  bool dead;         /* true: a read was interrupted by source_options.stop, so that every later one fails */
  int first;         /* value of the first picture's bytes */
  int64_t resume_ms; /* time stamp of the first picture */
  struct host_pictures pictures;
};

/* Settings and results of the tests. */
static struct fake_source_script script;
static atomic_int openings, attempts, open_now, aheads, urgency;
static _Thread_local int closed_here;
static atomic_bool late, spares_gone, close_held;
static atomic_int spares_refused;
static atomic_long readable;
static atomic_llong begun_ns[BEGINNINGS];
static const struct source_impl fake_impl = {.name = "fake"};

void fake_source_begin(const struct fake_source_script *new_script) {
  script = *new_script;
  openings = attempts = open_now = aheads = 0;
  late = script.late;
  spares_gone = false;
  close_held = script.close_gated;
  spares_refused = 0;
  readable = 0;
  for (int i = 0; i < BEGINNINGS; i++)
    begun_ns[i] = 0;
}

void fake_source_come(void) {
  late = false;
}

void fake_source_go(void) {
  late = true;
}

void fake_source_lose_spares(void) {
  spares_gone = true;
}

int fake_source_spares_refused(void) {
  return spares_refused;
}

void fake_source_let_read(long frames) {
  readable += frames;
}

void fake_source_let_close(void) {
  close_held = false;
}

int fake_source_openings(void) {
  return openings;
}

int fake_source_attempts(void) {
  return attempts;
}

int fake_source_open_now(void) {
  return open_now;
}

int fake_source_closed_here(void) {
  return closed_here;
}

int fake_source_aheads(void) {
  return aheads;
}

int64_t fake_source_begun_ns(long frame) {
  return frame < BEGINNINGS ? begun_ns[frame] : 0;
}

enum urgency fake_source_urgency(void) {
  return (enum urgency)urgency;
}

/* Waits until the opening is interrupted. Returns -1 with err. */
static int hang(const char *spec, const struct source_options *options, struct error *err) {
  while (!(options->stop && *options->stop) && !(options->cancel && *options->cancel))
    usleep(1000);
  return error_set(err, STATUS_INPUT, "%s: interrupted", spec);
}

int source_open(struct source **source, const char *spec, const struct source_options *options, struct error *err) {
  bool spare = !strncmp(spec, "spare", 5);
  int attempt = spare ? 0 : attempts++;
  if (spare && spares_gone) {
    spares_refused++;
    return error_set(err, STATUS_INPUT, "%s: is gone", spec);
  }
  if (!strncmp(spec, "hanging", 7))
    return hang(spec, options, err);
  if (!strncmp(spec, "missing", 7))
    return error_set(err, STATUS_INPUT, "%s: is nowhere", spec);
  if (options->resume > FAKE_LENGTH_S)
    return error_set(err, STATUS_INPUT, "%s: ends before that", spec);
  if ((late && !spare) || !strncmp(spec, "tcp:", 4)) {
    error_set(err, STATUS_INPUT, "%s: not there yet", spec);
    return SOURCE_NOT_YET;
  }
  if (attempt > 0 && attempt <= script.refusals)
    return error_set(err, STATUS_INPUT, "%s: not there", spec);
  struct fake *fake = calloc(1, sizeof *fake);
  if (!fake)
    return error_set(err, STATUS_FAILED, "no memory");
  fake->source.impl = &fake_impl;
  fake->source.stop = options->stop;
  fake->resume_ms = (int64_t)(options->resume * 1000);
  fake->spare = spare;
  fake->first = strncmp(spec, "other", 5) ? 0 : 100;
  openings++;
  open_now++;
  *source = &fake->source;
  return 0;
}

int source_read_ahead(struct source *source, struct error *err) {
  (void)source;
  aheads++;
  return script.frames ? 0 : error_set(err, STATUS_INPUT, "the fake source is empty");
}

static int read_spare(struct fake *fake, struct frame *frame, struct error *err) {
  if (fake->source.interrupted)
    return 0;
  if (host_pictures_take(&fake->pictures, PIXEL_RGBA, WIDTH, HEIGHT, frame, err))
    return -1;
  memset(frame_plane(frame, 0), 200 + (int)(fake->read % 50), (size_t)frame->pitch[0] * HEIGHT);
  frame->pts = fake->read * script.frame_ms;
  frame->serial = (uint64_t)fake->read++;
  return 1;
}

int source_read(struct source *source, struct frame *frame, struct error *err) {
  struct fake *fake = (struct fake *)source;
  if (fake->spare)
    return read_spare(fake, frame, err);
  urgency = platform_urgency();
  if (fake->read < BEGINNINGS)
    begun_ns[fake->read] = platform_now_ns();
  if (script.realtime)
    usleep((useconds_t)script.frame_ms * 1000);
  if (script.slow_every && fake->read % script.slow_every == 0)
    usleep((useconds_t)script.slow_ms * 1000);
  while (script.gated && fake->read >= readable && fake->read < script.frames && !source->interrupted)
    usleep(1000);
  if (source->interrupted)
    return 0;
  fake->dead |= source->stop && atomic_load(source->stop);
  if (fake->dead)
    return error_set(err, STATUS_INPUT, "the fake source was interrupted");
  if (fake->read == script.frames)
    return script.ends_in_error ? error_set(err, STATUS_INPUT, "the fake source breaks as told") : 0;
  if (host_pictures_take(&fake->pictures, PIXEL_RGBA, WIDTH, HEIGHT, frame, err))
    return -1;
  memset(frame_plane(frame, 0), fake->first + (int)fake->read, (size_t)frame->pitch[0] * HEIGHT);
  frame->pts = (script.jump_at ? fake->read % script.jump_at : fake->read) * script.frame_ms + fake->resume_ms;
  frame->captured_ns = platform_now_ns();
  frame->stretch = script.jump_at ? (uint64_t)(fake->read / script.jump_at) : 0;
  frame->serial = (uint64_t)fake->read++;
  return 1;
}

void source_get_info(const struct source *source, struct source_info *info) {
  bool spare = ((const struct fake *)source)->spare;
  int width = script.shapeless ? 0 : WIDTH, height = script.shapeless ? 0 : HEIGHT;
  *info = (struct source_info){.description = "fake",
                               .width = width,
                               .height = height,
                               .shape = script.shapeless ? 0 : (double)WIDTH / HEIGHT,
                               .fps = 1000.0 / script.frame_ms,
                               .time_base_num = 1,
                               .time_base_den = 1000,
                               .realtime = script.realtime && !spare,
                               .returns = script.realtime && !spare,
                               .hardware = script.hardware};
  if (!script.shapeless)
    return;
  strcpy(info->name, "fake: grey");
  source_describe(info);
}

void source_interrupt(struct source *source) {
  source->interrupted = true;
}

void source_close(struct source **source) {
  if (*source) {
    usleep((useconds_t)script.close_ms * 1000);
    while (close_held)
      usleep(1000);
    open_now--;
    closed_here++;
    host_pictures_free(&((struct fake *)*source)->pictures);
    free((*source)->owned);
  }
  free(*source);
  *source = NULL;
}
