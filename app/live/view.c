/* The window: events, drawing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/picture_size.h"
#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"
#include "app/run/setup.h"
#include "app/window/import_gl.h"
#include "unet/base/platform.h"

enum {
  /* Without --window the window is as large as fits in here. */
  WINDOW_WIDTH = 960,
  WINDOW_HEIGHT = 720,
  /* How long to wait for a picture before looking for keys again, and before all else is looked after. */
  WAIT_MS = 8,
  REST_NS = 50000000,
  /* The same where nothing has come for so long: each look costs, and a key is still answered within 20 ms. */
  CALM_WAIT_MS = 16,
  CALM_NS = 1000000000,
  /* Pictures after which what is copied is counted. */
  SETTLED = 30,
  /* New figures come on screen with the next picture, unless there was none for so long. */
  OVERLAY_NS = 200000000,
  /* How often the overlay is looked after while nobody uses the list or the line. */
  OVERLAY_LOOK_NS = 200000000,
  /* The operator's window, and how often it is drawn. */
  OPERATOR_WIDTH = 1280,
  OPERATOR_HEIGHT = 720,
  OPERATOR_NS = 50000000,
};

/* Beside the operator's window on one display, half of its width is left for that one. */
void live_fit_window(const struct live *live, double shape, int *width, int *height) {
  double most_width = WINDOW_WIDTH, most_height = WINDOW_HEIGHT;
  if (live->options->values.with_operator && window_count_displays(live->window) == 1) {
    int display_width, display_height;
    window_get_display(live->window, &display_width, &display_height);
    most_width = fmin(most_width, display_width / 2.0);
    most_height = fmin(most_height, display_height);
  }
  *width = (int)lrint(fmin(most_width, most_height * shape));
  *height = (int)lrint(fmin(most_height, most_width / shape));
}

bool live_fills_display(const struct live *live) {
  const struct options *options = live->options;
  return options->values.with_operator && !options->window_width && window_count_displays(live->window) > 1;
}

/* As large as what is asked for, or fits; 0 by 0: all of the display. */
static void choose_size(const struct live *live, struct window_params *params) {
  const struct options *options = live->options;
  const struct parameter_size *size = &options->values.size;
  double shape = size->width ? (double)size->width / size->height : live->info.shape;
  params->width = options->window_width;
  params->height = options->window_height;
  if (!params->width && !live_fills_display(live))
    live_fit_window(live, shape > 0 ? shape : 1, &params->width, &params->height);
}

static int open_operator(struct live *live, struct error *err) {
  static const struct window_params params = {
      .title = "reverie operator", .width = OPERATOR_WIDTH, .height = OPERATOR_HEIGHT};
  return window_open_operator(live->window, &params, err);
}

static void open_history(struct live *live) {
  char cache[PATHS_MAX], history[HISTORY_PATH_MAX];
  bool kept = paths_cache(cache) && snprintf(history, sizeof history, "%s/prompts", cache) < (int)sizeof history;
  history_open(&live->panel.history, kept ? history : NULL);
}

int live_open_window(struct live *live, struct error *err) {
  const struct options *options = live->options;
  struct window_params params = {.title = "reverie",
                                 .borderless = options->values.with_operator,
                                 .fullscreen = options->values.fullscreen || live_fills_display(live)};
  choose_size(live, &params);
  if (live->came)
    params.place = &live->came->place;
  open_history(live);
  if (window_open(live->window, &params, err) || present_open(&live->present, &import_gl, NULL, &live->log, err) ||
      hud_open(&live->hud, err))
    return -1;
  return options->values.with_operator ? open_operator(live, err) : 0;
}

static void set_switch(struct live *live, enum parameter id, bool on) {
  struct error ignored;
  parameters_set_number(&live->state.settings.values, id, 0, on, &ignored);
}

/* Opens and closes it as the state says. The screen that it leaves stays clean. */
static void follow_operator(struct live *live, int64_t now_ns) {
  bool wanted = live->state.settings.values.with_operator, there = window_has_operator(live->window);
  struct error err;
  if (there && !wanted) {
    window_close_operator(live->window);
    set_switch(live, PARAMETER_HUD, false);
    set_switch(live, PARAMETER_HELP, false);
    live->panel.lists = false;
  } else if (wanted && !there && open_operator(live, &err)) {
    live_notice(&live->state, now_ns, "%s", err.message);
    set_switch(live, PARAMETER_OPERATOR, false);
  }
}

/* The size whose shape is seen. What the budget leaves of a size has its shape but for the rounding of its sides, and
 * fills the same part of the window. */
static struct parameter_size shape_of_view(const struct live *live) {
  const struct engine_shape *own = &live->engine.prepared.shape, *wish = &live->engine.wish;
  const struct parameter_size asked = {wish->width, wish->height}, prepared = {own->width, own->height};
  bool succeeds = live->came && !own->width; /* what is seen is another program's picture */
  if (!live->shown)
    return succeeds ? live->options->values.size : prepared;
  const struct parameter_size shown = {live->shown->frame.width, live->shown->frame.height};
  return picture_size_alike(&shown, &asked) ? asked : shown;
}

/* The source is seen beside the picture where the overlay is. */
static struct present_view make_view(const struct live *live, enum window_which which, int width, int height) {
  const struct parameter_size shape = shape_of_view(live);
  bool with_overlay = which == (live_layout(live) == HUD_OPERATOR ? WINDOW_OPERATOR : WINDOW_OUTPUT);
  return (struct present_view){
      .width = width,
      .height = height,
      .shape_w = shape.width,
      .shape_h = shape.height,
      .fit = (enum fit)live->options->values.fit,
      .split = with_overlay && live->state.settings.values.split && live->shown && live->shown->input.plane[0],
      .split_at = (float)live->state.settings.values.split_at,
      .bicubic = which == WINDOW_OUTPUT && !window_is_software(live->window),
      .cover = live->cover_levels,
  };
}

/* The picture among what the operator sees. */
static struct present_view make_operator_view(struct live *live, int width, int height) {
  struct hud_places places;
  hud_get_places(live->hud, HUD_OPERATOR, width, height, &places);
  struct present_view view = make_view(live, WINDOW_OPERATOR, places.picture.width, places.picture.height);
  view.left = places.picture.left;
  view.bottom = height - places.picture.top - places.picture.height;
  return view;
}

static void move_split(struct live *live, float x) {
  int width, height;
  struct error outside;
  bool alone = live_layout(live) == HUD_OVERLAY;
  window_use(live->window, alone ? WINDOW_OUTPUT : WINDOW_OPERATOR);
  window_get_size(live->window, &width, &height);
  const struct present_view view =
      alone ? make_view(live, WINDOW_OUTPUT, width, height) : make_operator_view(live, width, height);
  parameters_set_number(&live->state.settings.values, PARAMETER_SPLIT_AT, 0,
                        (double)present_locate(live->present, &view, x), &outside);
}

static void get_list_box(struct live *live, struct list_box *box) {
  int width, height;
  enum hud_layout layout = live_layout(live);
  window_use(live->window, layout == HUD_OPERATOR ? WINDOW_OPERATOR : WINDOW_OUTPUT);
  window_get_size(live->window, &width, &height);
  hud_get_list_box(live->hud, layout, width, height, box);
}

static bool lists(const struct live *live) {
  return live_layout(live) == HUD_OPERATOR || live->panel.lists || (live->panel.types && live->panel.filters);
}

static void handle_point(struct live *live, const struct window_event *event, int64_t now_ns) {
  struct panel *panel = &live->panel;
  struct list_box box;
  if (event->which == WINDOW_OUTPUT && live_layout(live) == HUD_OPERATOR)
    return;
  get_list_box(live, &box);
  if (event->pressed && lists(live) && panel_press(panel, &live->state, &box, event->x, event->y, now_ns))
    return;
  if (panel->list.grabbed)
    parameter_list_drag(&panel->list, &live->state, &box, event->x, now_ns);
  else if (live->state.settings.values.split)
    move_split(live, event->x);
}

static void paste(struct live *live) {
  char *text = window_paste(live->window);
  if (text)
    panel_text(&live->panel, &live->state, text);
  free(text);
}

static void handle_key(struct live *live, const struct window_event *event, int64_t now_ns) {
  struct panel *panel = &live->panel;
  if (*event->text && panel_text(panel, &live->state, event->text))
    return;
  if (panel->types && event->key == KEY_CONTROL + 'v')
    paste(live);
  else if (!panel_key(panel, &live->state, event->key, now_ns))
    commands_run(&live->state, event->key, event->repeat, now_ns);
}

static void handle_event(struct live *live, const struct window_event *event, int64_t now_ns) {
  switch (event->type) {
  case WINDOW_CLOSE:
    if (event->which == WINDOW_OPERATOR)
      set_switch(live, PARAMETER_OPERATOR, false);
    else
      live->state.quit = true;
    break;
  case WINDOW_KEY:
    handle_key(live, event, now_ns);
    break;
  case WINDOW_COMPOSE:
    panel_compose(&live->panel, event->text);
    break;
  case WINDOW_POINT:
    handle_point(live, event, now_ns);
    break;
  case WINDOW_RELEASE:
    parameter_list_release(&live->panel.list);
    break;
  case WINDOW_WHEEL:
    parameter_list_scroll(&live->panel.list, (int)lrintf(-3 * event->turns));
    break;
  case WINDOW_DROP:
    live_drop(live, event->file, event->follows, now_ns);
    break;
  case WINDOW_DISPLAY_GONE:
    live_tell(live, LOG_WARNING, now_ns, "the display %s is gone: the output comes back with it", event->display);
    break;
  case WINDOW_DISPLAY_CAME:
    live_tell(live, LOG_WARNING, now_ns, "the output is on the display %s again", event->display);
    break;
  case WINDOW_DRAW:
    break;
  }
}

/* What is typed before a line is open is no text. */
static void follow_panel(struct live *live) {
  panel_follow(&live->panel, &live->state);
  window_take_text(live->window, live->panel.types);
}

bool live_handle_events(struct live *live, int64_t now_ns) {
  bool draw = false;
  struct window_event event;
  while (window_poll(live->window, &event)) {
    draw |= event.type == WINDOW_DRAW || live_layout(live) == HUD_OVERLAY; /* the operator's is drawn anew anyway */
    handle_event(live, &event, now_ns);
    follow_panel(live);
  }
  follow_panel(live); /* clients open lines, too */
  return draw;
}

/* The part of the input that is seen, from the left. */
static float input_part(const struct live *live) {
  const struct parameters *values = &live->state.settings.values;
  return live->options->values.fit == FIT_STRETCH ? (float)values->split_at : 1;
}

static void take_input(struct live *live, float part) {
  if (live->probe)
    live_probe_bring(live, part);
  else
    present_input(live->present, &live->shown->input, part);
  live->input_part = part;
}

/* When more of it is to be seen than before. */
static void follow_split(struct live *live) {
  float part = input_part(live);
  if (live->shown && live->shown->input.plane[0] && !live->frozen && part > live->input_part)
    take_input(live, part);
}

static bool moves_by_itself(const struct live *live) {
  return !live->shown || live->cover_moves || live->cover_levels.bypass > 0 || live->script;
}

/* Whether a turn would change nothing: nothing moves by itself, and nobody has done anything. */
static bool is_at_rest(struct live *live) {
  return !moves_by_itself(live) && !window_has_event(live->window) && !hub_has_wishes(live->hub);
}

/* Whether nobody can do anything: neither at the window nor from outside. */
static bool is_deaf(const struct live *live) {
  bool clients = live->ipc || live->osc || live->midi || live->web;
  return !moves_by_itself(live) && !clients && !window_takes_events(live->window);
}

/* How long to wait for a picture at a time. */
static int look_again_ms(struct live *live, int64_t now_ns) {
  if (is_deaf(live))
    return REST_NS / 1000000;
  return now_ns - live->stirred_ns > CALM_NS ? CALM_WAIT_MS : WAIT_MS;
}

static int wait_for_picture(struct live *live, const struct mail **mail) {
  int64_t now_ns = platform_now_ns(), until_ns = now_ns + REST_NS;
  int got, wait_ms = look_again_ms(live, now_ns);
  bool rests;
  do {
    got = mailbox_take(&live->pictures, mail, wait_ms);
    rests = !got && is_at_rest(live);
    now_ns = platform_now_ns();
  } while (rests && now_ns < until_ns);
  if (!rests)
    live->stirred_ns = now_ns;
  return got;
}

bool live_take_picture(struct live *live) {
  const struct mail *mail;
  pace_count(&live->figures.source, mailbox_count(&live->frames).put, platform_now_ns());
  int got = wait_for_picture(live, &mail);
  live->ended = got < 0;
  if (got == 1) {
    live->shown = mail;
    present_picture(live->present, &mail->frame);
    if (mail->input.plane[0] && !live->frozen)
      take_input(live, input_part(live));
    return true;
  }
  struct frame source;
  if (live->shown || !mailbox_peek(&live->frames, &source))
    return false;
  present_input(live->present, &source, 1);
  frame_release(&source);
  return true;
}

/* The newest frame of the source, for as long as anything of it is seen. */
static bool take_source(struct live *live) {
  struct frame source;
  if (live->cover_levels.bypass <= 0 || !mailbox_look(&live->frames, &source))
    return false;
  bool fresh = source.serial != live->source_serial;
  if (fresh)
    present_source(live->present, &source);
  live->source_serial = source.serial;
  frame_release(&source);
  return fresh;
}

/* Whether the curtain's picture is what is seen, or is to be. */
static bool is_behind_curtain(const struct live *live) {
  return live->came && (!live->unveiled_ns || live->curtain >= 0);
}

/* A fade goes on only where it is seen: what moved on while the curtain comes would be seen twice, and what moved
 * behind it not at all. Where a picture is there before the curtain is gone, the source that stood in for it goes at
 * once: the window has not shown it, and outputs begin with the picture. */
bool live_cover(struct live *live, int64_t now_ns) {
  const struct parameters *values = &live->state.settings.values;
  const struct cover_levels before = live->cover_levels;
  live->covered_anew = false;
  if (live->handing != HANDING_NOT)
    return false;
  if (!is_behind_curtain(live))
    cover_follow(&live->cover, values, live->engine.away || live->stalled || (live->came && !live->shown), now_ns);
  else if (live->shown && !values->bypass)
    live->cover.bypass = (struct cover_slide){0};
  live->cover_moves = cover_levels(&live->cover, now_ns, &live->cover_levels);
  if (values->freeze && !live->frozen) {
    if (live->shown && live->shown->input.plane[0])
      take_input(live, 1); /* the split may be moved later */
    present_hold(live->present);
    live_hold_for_outputs(live);
  }
  live->frozen = values->freeze;
  bool fresh = take_source(live);
  live->covered_anew = fresh || memcmp(&before, &live->cover_levels, sizeof before) != 0;
  return live->covered_anew;
}

uint8_t *live_read_output(struct live *live, int *width, int *height) {
  window_use(live->window, WINDOW_OUTPUT);
  window_get_size(live->window, width, height);
  uint8_t *rgba = *width > 0 && *height > 0 ? malloc((size_t)*width * (size_t)*height * 4) : NULL;
  const struct present_view view = make_view(live, WINDOW_OUTPUT, *width, *height);
  present_draw(live->present, &view);
  if (!rgba || !present_read(*width, *height, rgba))
    return rgba;
  free(rgba);
  return NULL;
}

static struct present_view draw_output(struct live *live) {
  int width, height;
  window_use(live->window, WINDOW_OUTPUT);
  window_get_size(live->window, &width, &height);
  const struct present_view view = make_view(live, WINDOW_OUTPUT, width, height);
  present_draw(live->present, &view);
  if (live_layout(live) == HUD_OVERLAY)
    hud_draw(live->hud, HUD_OVERLAY, width, height);
  present_flush();
  if (!live->probe) /* what it reads of the window belongs to the drawing */
    mailbox_done(&live->pictures);
  window_swap(live->window); /* which may wait for the screen */
  live->overlay_changed = false;
  live->drawn_ns = platform_now_ns();
  return view;
}

/* After the output, never before it, not with every picture, and only what looks different. */
static void draw_operator(struct live *live, bool changed, int64_t now_ns) {
  int width, height;
  live->operator_changed |= changed;
  if (now_ns - live->operator_drawn_ns < OPERATOR_NS)
    return;
  live->operator_drawn_ns = now_ns;
  window_use(live->window, WINDOW_OPERATOR);
  window_get_size(live->window, &width, &height);
  live->operator_changed |= live_update_overlay(live, now_ns, width, height);
  const struct present_view view = make_operator_view(live, width, height);
  if (!live->operator_changed && !memcmp(&view, &live->operator_view, sizeof view))
    return;
  live->operator_changed = false;
  live->operator_view = view;
  present_draw(live->present, &view);
  hud_draw(live->hud, HUD_OPERATOR, width, height);
  window_swap(live->window);
}

static struct costs count_costs(const struct live *live) {
  return (struct costs){
      .engine_bytes = live->engine.copied,
      .window_bytes = live_count_drawn(live).bytes,
      .engine_cpu_ms = live->engine.cpu_ms,
      .window_cpu_ms = (double)platform_thread_cpu_ns() * 1e-6,
      .made = live->engine.frames,
      .shown = live->figures.shown,
  };
}

/* The first pictures go through the host's memory, until it is known that the window reads them elsewhere. */
static void tell_costs(const struct live *live) {
  const struct costs *then = &live->costs;
  struct costs now = count_costs(live);
  struct present_counts counts = live_count_drawn(live);
  double shown = (double)(now.shown - then->shown), made = (double)(now.made - then->made);
  if (!then->shown || shown <= 0 || made <= 0)
    return;
  log_line(&live->log, LOG_INFO,
           "bytes of pixels copied a picture: engine %.0f, window %.0f; %ld pictures shared, %ld uploaded",
           (double)(now.engine_bytes - then->engine_bytes) / shown,
           (double)(now.window_bytes - then->window_bytes) / shown, counts.shared, counts.uploaded);
  log_line(&live->log, LOG_INFO, "processor time a picture: engine's thread %.0f us, window's thread %.0f us",
           (now.engine_cpu_ms - then->engine_cpu_ms) * 1e3 / made,
           (now.window_cpu_ms - then->window_cpu_ms) * 1e3 / shown);
}

static void count_shown(struct live *live) {
  struct live_figures *figures = &live->figures;
  if (!figures->shown)
    log_line(&live->log, LOG_INFO, "first picture %.2f s after the start", platform_process_age_ms() / 1000);
  live_figures_shown(figures, live->shown, platform_now_ns());
  if (figures->shown == SETTLED)
    live->costs = count_costs(live);
  figures->dropped = mailbox_count(&live->frames).dropped - live->dropped_before + live->engine.dropped +
                     mailbox_count(&live->pictures).dropped;
}

static void update_overlay(struct live *live, int64_t now_ns) {
  int width, height;
  live->overlay_ns = now_ns;
  window_use(live->window, WINDOW_OUTPUT);
  window_get_size(live->window, &width, &height);
  live->overlay_changed |= live_update_overlay(live, now_ns, width, height);
}

/* Of a window alone: returns whether its overlay wants to be drawn. at_once: something was done to it. */
static bool follow_overlay(struct live *live, bool at_once, int64_t now_ns) {
  at_once |= lists(live) || live->panel.types;
  if (at_once || now_ns - live->overlay_ns >= OVERLAY_LOOK_NS)
    update_overlay(live, now_ns);
  return live->overlay_changed && now_ns - live->drawn_ns > OVERLAY_NS;
}

void live_draw(struct live *live, bool fresh, bool changed, int64_t now_ns) {
  follow_operator(live, now_ns);
  live_tell_terminal(live);
  bool alone = live_layout(live) == HUD_OVERLAY;
  follow_split(live);
  bool at_once = changed;
  if (alone && !fresh)
    changed |= follow_overlay(live, at_once, now_ns);
  struct present_view view = {0};
  if (fresh || changed)
    view = draw_output(live);
  if (fresh && live->shown && live->probe) {
    live_probe_look(live, &view);
    mailbox_done(&live->pictures);
  }
  if (fresh && live->shown)
    count_shown(live);
  live_show_elsewhere(live, fresh);
  if (alone && fresh) /* it takes longer than a picture, which does not wait for it */
    follow_overlay(live, at_once, now_ns);
  if (!alone)
    draw_operator(live, fresh || changed, platform_now_ns());
}

void live_close_window(struct live *live) {
  if (live->present)
    tell_costs(live);
  history_close(&live->panel.history);
  hud_close(&live->hud);
  present_close(&live->present);
  window_close(&live->window);
  if (live->options->verbose < 0 || live->probe || live->handing == HANDING_READY)
    return;
  live_figures_print(&live->figures, live->engine.info.device, stderr);
  setup_print_behind(stderr, &live->engine.prepared, live_figures_mean_fps(&live->figures));
}
