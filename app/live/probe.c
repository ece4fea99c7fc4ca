/* Measures the live window for bench --live (probe.h). It runs on the main thread, as a part of that thread's loop. */
#include <math.h>
#include <stdio.h>

#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"

enum {
  CHANGES = 8,
  CHANGE_EVERY = 5, /* least number of pictures between two changes of prompt or strength */
  GIVE_UP = 100,    /* number of pictures without the last change after which the probe continues */
  COLUMN_MAX = 16384,
};

/* --- changing prompt and strength, and seeing the change in a picture --- */

/* Changes the prompt in use to a text that the engine has not encoded before: the prompt of the command line with a
 * number appended. */
static void change_prompt(struct live *live, long number) {
  struct parameters *values = &live->state.settings.values;
  int slot = (int)values->shown_prompt;
  char text[PARAMETER_TEXT_MAX];
  struct error err;
  const char *now = parameters_text(&live->first_values, PARAMETER_PROMPT, slot);
  snprintf(text, sizeof text, "%.1900s, take %ld", now ? now : PARAMETER_PROMPT_DEFAULT, number);
  parameters_set_text(values, PARAMETER_PROMPT, slot, text, &err);
}

static void change_strength(struct live *live) {
  struct parameters *values = &live->state.settings.values;
  struct live_probe *probe = live->probe;
  struct error err;
  if (probe->strength <= 0)
    probe->strength = values->strength > 0 ? values->strength : 1;
  double other = 0.9 * probe->strength;
  parameters_set_number(values, PARAMETER_STRENGTH, 0, values->strength < probe->strength ? probe->strength : other,
                        &err);
}

static void change(struct live *live, int64_t now_ns) {
  struct live_probe *probe = live->probe;
  probe->changing = (enum probe_change)(probe->changes++ % PROBE_CHANGES);
  if (probe->changing == CHANGE_PROMPT)
    change_prompt(live, probe->changes);
  else
    change_strength(live);
  probe->awaits = true;
  probe->awaited = live->sent + 1;
  probe->changed_ns = now_ns;
  probe->changed_at = probe->shown;
}

static void see_change(struct live *live, int64_t presented_ns) {
  struct live_probe *probe = live->probe;
  if (!probe->awaits || live->shown->applied < probe->awaited || !live->shown->whole)
    return;
  probe->awaits = false;
  stats_add(&probe->change[probe->changing].ms, (double)(presented_ns - probe->changed_ns) * 1e-6);
  stats_add(&probe->change[probe->changing].frames, (double)(probe->shown - probe->changed_at));
}

/* --- reading from the window which frame is on screen --- */

static bool read_marker(struct live *live, const struct present_view *view, bool front, struct marker *marker) {
  static const int rgba = 4;
  uint8_t pixels[MARKER_COLUMNS * COLUMN_MAX * 4], level[MARKER_BLOCKS];
  float at[MARKER_COLUMNS];
  const struct frame *input = &live->shown->input;
  if (!input->width)
    return false;
  double shape = (double)input->width / input->height;
  for (int x = 0; x < MARKER_COLUMNS; x++)
    at[x] = (float)marker_x(x, shape);
  int height = present_read_columns(live->present, view, front, at, MARKER_COLUMNS, pixels, COLUMN_MAX);
  for (int x = 0; x < MARKER_COLUMNS; x++)
    for (int y = 0; y < MARKER_ROWS && height; y++)
      level[y * MARKER_COLUMNS + x] = pixels[((x + 1) * height - 1 - (int)(marker_y(y) * height)) * rgba + 1];
  return height && marker_read(level, marker);
}

/* Returns true if the marker may belong to a frame with this timestamp in a clip that is repeated. Timestamps go on
 * increasing from one repetition to the next, but times and numbers in markers begin again. So timestamp minus marker
 * time tells when the marker's repetition began. If that is more than half a clip later than the known begin, a new
 * repetition has begun. Otherwise the two must agree within half a frame, because containers round timestamps. Adds the
 * number of frames in earlier repetitions to marker->number. */
static bool is_in_round(struct live_probe *probe, double time_us, struct marker *marker) {
  double period_us = 1e6 / probe->fps, begun_us = time_us - (double)marker->time_us;
  double later_us = begun_us - probe->round.begun_us;
  if (later_us > probe->clip_us / 2) {
    probe->round.begun_us = begun_us;
    probe->round.first += (uint32_t)lrint(later_us / period_us);
  } else if (fabs(later_us) > period_us / 2) {
    return false;
  }
  marker->number += probe->round.first;
  return true;
}

/* Returns true if the marker that was read from the window (a frame's number and time) belongs to the frame of the
 * newest picture. */
static bool belongs(struct live *live, struct marker *marker) {
  const struct frame *frame = &live->shown->frame;
  if (live->probe->clip_us > 0)
    return is_in_round(live->probe, (double)frame->pts * source_tick(&live->info) * 1e6, marker);
  return marker->time_us == frame->captured_ns / 1000;
}

/* Reads the marker of the picture on screen from the window's front buffer if the system permits that, and otherwise
 * from the back buffer. Returns false if the marker cannot be read or belongs to another frame. */
static bool read_window(struct live *live, const struct present_view *view, struct marker *marker) {
  struct live_probe *probe = live->probe;
  if (probe->knows_side)
    return read_marker(live, view, !probe->reads_back, marker) && belongs(live, marker);
  for (int back = 0; back < 2 && !probe->knows_side; back++) {
    probe->knows_side = read_marker(live, view, !back, marker) && belongs(live, marker);
    probe->reads_back = back;
  }
  return probe->knows_side;
}

static void use_now(const struct live *live, struct probe_use *use) {
  *use = (struct probe_use){live->engine.cpu_ms, (double)platform_thread_cpu_ns() * 1e-6, live->engine.frames,
                            live->engine.copied, live_count_drawn(live)};
}

static void measure_use(struct live *live) {
  struct live_probe *probe = live->probe;
  struct probe_use now;
  use_now(live, &now);
  double frames = (double)(now.frames - probe->before.frames);
  if (frames > 0) {
    probe->engine_cpu_us = (now.engine_cpu_ms - probe->before.engine_cpu_ms) * 1e3 / frames;
    probe->engine_bytes = (double)(now.engine_copied - probe->before.engine_copied) / frames;
  }
  probe->shared = now.window.shared - probe->before.window.shared;
  probe->uploaded = now.window.uploaded - probe->before.window.uploaded;
  if (!probe->seen.presented)
    return;
  probe->window_bytes = (double)(now.window.bytes - probe->before.window.bytes) / (double)probe->seen.presented;
  probe->window_cpu_us =
      (now.window_cpu_ms - probe->before.window_cpu_ms - probe->own_cpu_ms) * 1e3 / (double)probe->seen.presented;
}

void live_probe_bring(struct live *live, float part) {
  struct live_probe *probe = live->probe;
  int64_t began_ns = platform_now_ns(), cpu_began_ns = platform_thread_cpu_ns();
  present_input(live->present, &live->shown->input, part);
  probe->bringing_ms = (double)(platform_now_ns() - began_ns) * 1e-6;
  if (probe->begun_ns)
    probe->own_cpu_ms += (double)(platform_thread_cpu_ns() - cpu_began_ns) * 1e-6;
}

void live_probe_look(struct live *live, const struct present_view *view) {
  struct live_probe *probe = live->probe;
  const struct mail *mail = live->shown;
  struct marker marker = {0};
  int64_t began_ns = platform_thread_cpu_ns();
  bool read = read_window(live, view, &marker);
  const struct sighting sighting = {
      .read = read,
      .number = marker.number,
      .captured_ns = mail->frame.captured_ns,
      .late_ns = mail->input.late_ns,
      .submitted_ns = mail->submitted_ns,
      .finished_ns = mail->finished_ns,
      .presented_ns = platform_now_ns(),
      .frame_ms = mail->frame_ms,
      .device_ms = mail->device_ms,
  };
  probe->shown++;
  if (!probe->begun_ns)
    return;
  if (!probe->measured) {
    sightings_add(&probe->seen, &sighting);
    stats_add(&probe->brought, probe->bringing_ms);
  }
  see_change(live, sighting.presented_ns);
  probe->own_cpu_ms += (double)(platform_thread_cpu_ns() - began_ns) * 1e-6;
}

/* --- what the probe, which measures the live window, does in each pass of the main thread's loop --- */

static bool has_measured(const struct live_probe *probe, int64_t now_ns) {
  return probe->measured || (probe->frames && probe->seen.presented >= probe->frames) ||
         (probe->seconds > 0 && (double)(now_ns - probe->begun_ns) >= probe->seconds * 1e9);
}

/* Starts the thread that measures how late threads wake up (pulse.h). If that fails, everything else is still
 * measured. */
static void begin_pulse(struct live *live) {
  struct error err;
  if (pulse_start(&live->probe->pulse, live->probe->fps, live->engine.wants_urgency, &err))
    log_line(&live->log, LOG_WARNING, "%s", err.message);
}

static void begin(struct live *live, int64_t now_ns) {
  begin_pulse(live);
  live->probe->begun_ns = now_ns;
  live->probe->engine_urgency = live->engine.urgency;
  live->probe->window_urgency = platform_urgency();
  live->probe->awake = platform_count_awake(live->awake);
  use_now(live, &live->probe->before);
}

static void end_measuring(struct live *live) {
  if (!live->probe->measured)
    measure_use(live);
  live->probe->hardware = live->info.hardware;
  live->probe->measured = true;
  pulse_stop(&live->probe->pulse, &live->probe->woken);
}

/* Called in each pass of the main thread's loop. Waits for `warmup` pictures, then measures with unchanged parameters
 * for the requested time or number of pictures. After that sends changes of prompt and strength, one at a time. The
 * next change is sent CHANGE_EVERY pictures after the last one, but not before a picture has shown it or GIVE_UP
 * pictures have passed. At the end quits the main thread's loop. */
void live_probe_turn(struct live *live, int64_t now_ns) {
  struct live_probe *probe = live->probe;
  if (!live->state.ready)
    return;
  if (!probe->begun_ns && probe->shown >= probe->warmup)
    begin(live, now_ns);
  if (!probe->begun_ns || !has_measured(probe, now_ns))
    return;
  end_measuring(live);
  if (probe->shown - probe->changed_at < (probe->awaits ? GIVE_UP : CHANGE_EVERY))
    return;
  if (probe->changes < CHANGES)
    change(live, now_ns);
  else
    probe->ended = live->state.quit = true;
}
