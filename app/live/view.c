/* Opens the live window, handles its events, takes pictures from the engine and draws them. Main thread only. */
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
  /* Largest size, in window coordinates, of the output window if --window is not given and the output window does not
   * fill a display of its own. */
  WINDOW_WIDTH = 960,
  WINDOW_HEIGHT = 720,
  /* WAIT_MS: longest time in ms to wait for a picture before events are checked. REST_NS: longest time in ns between
   * two passes of the main thread's loop while nothing happens. */
  WAIT_MS = 8,
  REST_NS = 50000000,
  /* If no picture or event has come for IDLE_NS (ns), events are checked only every IDLE_WAIT_MS (ms), because each
   * check costs processor time. */
  IDLE_WAIT_MS = 16,
  IDLE_NS = 1000000000,
  /* Number of the picture after which the use of resources is counted, because the first pictures use more than later
   * ones. */
  SETTLED = 30,
  /* A change of the overlay is drawn together with the next picture; if none comes for this many ns, the overlay is
   * drawn without one. */
  OVERLAY_NS = 200000000,
  /* Interval in ns at which the overlay's contents are updated. While the list of parameters is open or the user types,
   * they are updated in every pass of the loop. */
  OVERLAY_LOOK_NS = 200000000,
  /* OPERATOR_WIDTH, OPERATOR_HEIGHT: size in pixels that the operator's window has at first, if its display is not
   * large (window_open_operator). OPERATOR_NS: shortest time in ns between two drawings of that window. */
  OPERATOR_WIDTH = 1280,
  OPERATOR_HEIGHT = 720,
  OPERATOR_NS = 50000000,
};

/* Computes the size of the output window for pictures of this aspect ratio (`shape`). If the operator's window is on
 * the same display, the output window gets at most half of the display's width. */
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

/* Chooses the size of the output window: the size given by --window, or one that fits the picture; 0 by 0 means all of
 * the display. */
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

/* Opens or closes the operator's window as the parameter `operator` says. When that window closes, switches off the
 * help, the overlay with measured values and the list of parameters, so that they do not appear over the audience's
 * picture. */
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

/* Returns a size with the aspect ratio of the drawn picture, usually the size of the picture on screen. A size that was
 * reduced for the time budget may differ slightly in aspect ratio by rounding; then the requested size is returned, so
 * that the picture's edges do not move. */
static struct parameter_size shape_of_view(const struct live *live) {
  const struct engine_shape *own = &live->engine.prepared.shape, *wish = &live->engine.wish;
  const struct parameter_size asked = {wish->width, wish->height}, prepared = {own->width, own->height};
  /* after a restart, until the first picture comes, the curtain (a window of another process) shows a picture from
   * before the restart; the aspect ratio of that picture is kept */
  bool succeeds = live->came && !own->width;
  if (!live->shown)
    return succeeds ? live->options->values.size : prepared;
  const struct parameter_size shown = {live->shown->frame.width, live->shown->frame.height};
  return picture_size_alike(&shown, &asked) ? asked : shown;
}

/* Returns position, size and contents of the view to draw in a window of this size in pixels. The input is shown beside
 * the picture (split) only in the window that has the overlay; bench --live reads it from the output window. */
static struct present_view make_view(const struct live *live, enum window_which which, int width, int height) {
  const struct parameter_size shape = shape_of_view(live);
  bool apart = live_layout(live) == HUD_OPERATOR && !live->probe;
  return (struct present_view){
      .width = width,
      .height = height,
      .shape_w = shape.width,
      .shape_h = shape.height,
      .fit = (enum fit)live->options->values.fit,
      .split = which == (apart ? WINDOW_OPERATOR : WINDOW_OUTPUT) && live->state.settings.values.split && live->shown &&
               live->shown->input.plane[0],
      .split_at = (float)live->state.settings.values.split_at,
      .bicubic = which == WINDOW_OUTPUT && !window_is_software(live->window),
      .placement = which == WINDOW_OUTPUT && !placement_is_plain(&live->placement) ? &live->placement : NULL,
      .card = which == WINDOW_OUTPUT ? live->card_level : 0,
      .cover = live->cover_levels,
  };
}

/* Returns position, size and contents of the view to draw in the operator's window: the picture, in the part that the
 * overlay leaves free. */
static struct present_view make_operator_view(struct live *live, int width, int height) {
  struct hud_places places;
  hud_get_places(live->hud, HUD_OPERATOR, width, height, &places);
  struct present_view view = make_view(live, WINDOW_OPERATOR, places.picture.width, places.picture.height);
  view.left = places.picture.left;
  view.bottom = height - places.picture.top - places.picture.height;
  return view;
}

static void move_split(struct live *live, float x, float y) {
  int width, height;
  struct error outside;
  bool alone = live_layout(live) == HUD_OVERLAY;
  window_use(live->window, alone ? WINDOW_OUTPUT : WINDOW_OPERATOR);
  window_get_size(live->window, &width, &height);
  const struct present_view view =
      alone ? make_view(live, WINDOW_OUTPUT, width, height) : make_operator_view(live, width, height);
  parameters_set_number(&live->state.settings.values, PARAMETER_SPLIT_AT, 0,
                        (double)present_locate(live->present, &view, x, y), &outside);
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
  if (live_layout(live) == HUD_OPERATOR) {
    if (event->which == WINDOW_OUTPUT)
      live_drag_corner(live, event, now_ns);
    else if (!live_operate(live, event, now_ns) && live->state.settings.values.split)
      move_split(live, event->x, event->y);
    return;
  }
  get_list_box(live, &box);
  if (event->pressed && lists(live) && panel_press(panel, &live->state, &box, event->x, event->y, now_ns))
    return;
  if (panel->list.grabbed)
    parameter_list_drag(&panel->list, &live->state, &box, event->x, now_ns);
  else if (!live_drag_corner(live, event, now_ns) && live->state.settings.values.split)
    move_split(live, event->x, event->y);
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
  else if (!panel_key(panel, &live->state, event->key, now_ns) && !corners_key(&live->state, event->key, now_ns))
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
    if (live_layout(live) == HUD_OPERATOR && event->which == WINDOW_OPERATOR)
      live_operate(live, event, now_ns);
    parameter_list_release(&live->panel.list);
    live->corner_drag = (struct corner_drag){0};
    break;
  case WINDOW_WHEEL:
    if (live_layout(live) == HUD_OPERATOR && event->which == WINDOW_OPERATOR)
      live_operate(live, event, now_ns);
    else
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

/* Updates the panel (parameter list and line of text), and tells the window to pass typed text on only while the line
 * of text is open. */
static void follow_panel(struct live *live) {
  panel_follow(&live->panel, &live->state);
  window_take_text(live->window, live->panel.types);
}

bool live_handle_events(struct live *live, int64_t now_ns) {
  bool draw = false;
  struct window_event event;
  while (window_poll(live->window, &event)) {
    /* the operator's window, if there is one, shows the change; the output window is drawn again only if it has the
     * overlay */
    draw |= event.type == WINDOW_DRAW || live_layout(live) == HUD_OVERLAY;
    handle_event(live, &event, now_ns);
    follow_panel(live);
  }
  follow_panel(live); /* the panel is updated even if no event came, because a remote client may have opened the line of
                       * text */
  return draw;
}

/* Returns the fraction of the input frame's width, from its left edge, that must be uploaded. If the input is stretched
 * to the picture's area (--fit stretch), only the part left of the split is visible; otherwise the fraction is 1. */
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

/* If the split between input and picture was moved so that more of the input is visible, uploads more of the input
 * frame to OpenGL. */
static void follow_split(struct live *live) {
  float part = input_part(live);
  if (live->shown && live->shown->input.plane[0] && !live->frozen && part > live->input_part)
    take_input(live, part);
}

static bool moves_by_itself(const struct live *live) {
  return !live->shown || live->cover_moves || live->cover_levels.bypass > 0 || live->scripts.played;
}

/* Returns true if the next pass of the loop would change nothing: there is a picture, no fade, script or bypass, no
 * event of the window, and no request of a client. */
static bool is_at_rest(struct live *live) {
  return !moves_by_itself(live) && !window_has_event(live->window) && !hub_has_wishes(live->hub);
}

/* Returns true if neither the window nor clients can send events, and no fade, script or bypass is active. Events are
 * then checked less often. */
static bool gets_no_input(const struct live *live) {
  bool clients = live->ipc || live->osc || live->midi || live->web;
  return !moves_by_itself(live) && !clients && !window_takes_events(live->window);
}

/* Returns how many ms to wait for a picture before events are checked again. */
static int look_again_ms(struct live *live, int64_t now_ns) {
  if (gets_no_input(live))
    return REST_NS / 1000000;
  return now_ns - live->active_ns > IDLE_NS ? IDLE_WAIT_MS : WAIT_MS;
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
    live->active_ns = now_ns;
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

/* During a bypass, which shows the source instead of pictures: uploads the source's newest frame, unless it was
 * uploaded before. Returns true if it uploaded one. */
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

/* Returns true if the program has restarted itself and the user still sees the curtain, a still picture that another
 * process shows meanwhile, or if this window is not shown yet. */
static bool is_behind_curtain(const struct live *live) {
  return live->came && (!live->window_shown_ns || live->curtain >= 0);
}

/* While the curtain (another process's window) is on screen, fades do not advance, because nobody would see them. After
 * a restart the source is shown until there is a picture; if the picture comes before the curtain goes, the source is
 * not shown at all. */
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
  if (live->state.cover_at_once)
    cover_jump(&live->cover);
  live->state.cover_at_once = false;
  live->cover_moves = cover_levels(&live->cover, now_ns, &live->cover_levels);
  if (values->freeze && !live->frozen) {
    if (live->shown && live->shown->input.plane[0])
      /* the whole input is uploaded, not only the part that is shown beside the output, because the user may move the
       * border between the two (the split) during the freeze */
      take_input(live, 1);
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
  /* Tells the engine's loop that drawing is done. While bench --live measures, the loop is told later, because the
   * probe (the measurement) still reads the drawn pixels. */
  if (!live->probe)
    mailbox_done(&live->pictures);
  window_swap(live->window); /* shows what was drawn; this may wait for the display's refresh */
  live->overlay_changed = false;
  live->drawn_ns = platform_now_ns();
  return view;
}

/* Draws the operator's window if something in it has changed, at most every 50 ms. Called after the output (the
 * audience's window) was drawn. */
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

/* Logs the resources used per picture, without the first pictures: these are copied through host memory until the
 * program knows that OpenGL can read pictures on the GPU. */
static void tell_costs(const struct live *live) {
  const struct costs *then = &live->costs;
  const struct live_figures *figures = &live->figures;
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
  log_line(&live->log, LOG_INFO, "skipped: %ld waited for the engine, %ld would have been late, %ld were not drawn",
           figures->dropped - figures->left_out - figures->undrawn, figures->left_out, figures->undrawn);
}

static void count_shown(struct live *live) {
  struct live_figures *figures = &live->figures;
  if (!figures->shown)
    log_line(&live->log, LOG_INFO, "first picture %.2f s after the start", platform_process_age_ms() / 1000);
  live_figures_shown(figures, live->shown, platform_now_ns());
  if (figures->shown == SETTLED)
    live->costs = count_costs(live);
  figures->left_out = live->engine.left_out;
  figures->undrawn = mailbox_count(&live->pictures).dropped;
  figures->dropped =
      mailbox_count(&live->frames).dropped - live->dropped_before + live->engine.dropped + figures->undrawn;
}

static void update_overlay(struct live *live, int64_t now_ns) {
  int width, height;
  live->overlay_ns = now_ns;
  window_use(live->window, WINDOW_OUTPUT);
  window_get_size(live->window, &width, &height);
  live->overlay_changed |= live_update_overlay(live, now_ns, width, height);
}

/* Updates the overlay over the picture; used if there is no operator's window. at_once: true: an event came, so the
 * contents must be updated now. Returns true if the overlay has to be drawn without waiting for the next picture. */
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
  /* the new picture was drawn before the overlay is updated here, because updating the overlay takes longer */
  if (alone && fresh)
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
