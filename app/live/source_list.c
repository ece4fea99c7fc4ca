/* Decides which source of the list is shown: the one whose number the parameter `source` has. Main thread only. */
#include <stdio.h>

#include "app/live/live_impl.h"
#include "app/run/setup.h"
#include "unet/base/address.h"

/* After a restart of the program, fills the list with the sources from before it, including files that were dropped on
 * the window. Returns 0, or -1 with err. */
static int list_again(struct live *live, struct error *err) {
  const struct playlist *before = &live->came->sources;
  for (int i = 0; i < before->count; i++)
    if (playlist_insert_copy(&live->list, i, &before->entries[i], err))
      return -1;
  live->first = live->came->source;
  live->source_options.loop = live->came->loop;
  return 0;
}

/* The sources of the command line, or of the show file, are first in the list. Gives these sources the in and out
 * points that the show file has for them. */
static void take_points(struct playlist *list, const struct options *options) {
  for (int i = 0; options->points && i < list->count && i <= options->file_count; i++) {
    list->entries[i].in_s = options->points[i].in_s;
    list->entries[i].out_s = options->points[i].out_s;
  }
}

int live_list_sources(struct live *live, struct error *err) {
  const struct options *options = live->options;
  struct playlist *list = &live->list;
  if (live->came)
    return list_again(live, err);
  if (options->input && playlist_insert(list, list->count, options->input, false, err))
    return -1;
  for (int i = 0; i < options->file_count; i++)
    if (playlist_insert(list, list->count, options->files[i], false, err))
      return -1;
  take_points(list, options);
  if (options->playlist && playlist_read(list, options->playlist, &setup_stop, &live->log, err))
    return -1;
  /* If the list has one source, --loop makes the reader repeat that source. If it has several, --loop repeats the
   * list. */
  live->source_options.loop = options->loop && list->count < 2;
  return 0;
}

int live_open_changer(struct live *live, struct error *err) {
  const struct changer_params params = {.reader = live->reader,
                                        .first = live->first,
                                        .first_loops = live->source_options.loop,
                                        .options = &live->source_options,
                                        .loop = live->options->loop || live->source_options.loop,
                                        .still_s = live->options->still,
                                        .stop = &live->sources_stop};
  if (!live->list.count && playlist_insert(&live->list, 0, live->spec, false, err))
    return -1;
  live->source_told = live->first + 1;
  live->mirror_told = live->options->values.mirror;
  if (changer_open(&live->changer, &live->list, &params, err))
    return -1;
  live->state.sources = changer_count(live->changer); /* clients may name one before the window is open */
  return 0;
}

void live_close_changer(struct live *live) {
  changer_close(&live->changer);
  playlist_free(&live->list);
}

bool live_sources_go_on(const struct live *live) {
  return live->changer && changer_goes_on(live->changer);
}

void live_drop(struct live *live, const char *file, bool follows, int64_t now_ns) {
  struct error err;
  if (!file)
    live_notice(&live->state, now_ns, "what was dropped is no file of this machine");
  else if (!live->changer)
    live_notice(&live->state, now_ns, "text to image has no source that could be another");
  else if (changer_drop(live->changer, file, follows, &err))
    live_notice(&live->state, now_ns, "%s", err.message);
}

/* Returns true if there is a source of this number (from 1), or if it is 0; otherwise tells the user. */
static bool has_source(struct live *live, int number, int64_t now_ns) {
  int count = changer_count(live->changer);
  if (number > count)
    live_notice(&live->state, now_ns, "there is no source %d: there %s %d", number, count == 1 ? "is" : "are", count);
  return number <= count;
}

/* Shows the source with this number (from 1), which keys or clients have set; tells the user if there is no such
 * source. */
static void ask(struct live *live, int number, int64_t now_ns) {
  if (has_source(live, number, now_ns))
    changer_ask(live->changer, number - 1);
}

/* Lets the source with this number follow at the end of the present one; 0: none is cued any more. Tells the user if
 * there is no such source. */
static void cue(struct live *live, int number, int64_t now_ns) {
  if (has_source(live, number, now_ns))
    changer_cue(live->changer, number - 1);
}

/* Applies a change of the parameter mirror. A source that is a single picture is read again, because it gives no
 * further frame that could be mirrored. */
static void follow_mirror(struct live *live) {
  int mirror = live->state.settings.values.mirror;
  if (mirror == live->mirror_told)
    return;
  live->mirror_told = mirror;
  atomic_store(&live->mirror.wish, mirror);
  if (live->source_status.picture)
    changer_again(live->changer);
}

/* Shows the file of --fallback while the source is lost, and tells the user when that file comes and goes. */
static void follow_fallback(struct live *live, int64_t now_ns) {
  bool before = fallback_is_shown(live->fallback);
  if (!live->fallback)
    return;
  fallback_turn(live->fallback, &live->source_status, live->state.settings.values.fallback_after, now_ns);
  if (fallback_is_shown(live->fallback) != before)
    live_tell(live, LOG_INFO, now_ns, before ? "the source is back, the fallback gone" : "the fallback is shown");
  fallback_pause(live->fallback, live->state.settings.values.pause);
}

void live_follow_sources(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  struct changer_news news;
  struct error ignored;
  if (!live->changer)
    return;
  const struct engine_shape *shape = &live->engine.prepared.shape;
  /* A fade needs further frames of the sources, and none come during a pause. So during a pause, another source or
   * position is shown at once. */
  mixer_set_fade(live->mixer, state->settings.values.pause ? 0 : state->settings.values.source_fade,
                 shape->height > 0 ? (double)shape->width / shape->height : 0);
  follow_fallback(live, now_ns);
  if (state->settings.values.source != live->source_told)
    ask(live, (int)state->settings.values.source, now_ns);
  if (state->settings.values.cued_source != live->cued_told)
    cue(live, (int)state->settings.values.cued_source, now_ns);
  live_follow_points(live, now_ns);
  changer_set_loop(live->changer, (enum clip_loop)state->settings.values.clip_loop);
  follow_mirror(live);
  changer_turn(live->changer, now_ns, &news);
  int now = changer_now(live->changer), count = changer_count(live->changer);
  if (news.changed)
    live_notice(state, now_ns, "source %d of %d: %s", now + 1, count,
                address_name(changer_name(live->changer, now)).text);
  if (news.sought)
    live_tell_clip(live, news.sought_s, now_ns);
  if (*news.refused) {
    live_notice(state, now_ns, "%s", news.refused);
    live_was_told(live, LOG_WARNING);
  }
  live->source_told = changer_wanted(live->changer) + 1;
  if (state->settings.values.source != live->source_told)
    parameters_set_number(&state->settings.values, PARAMETER_SOURCE, 0, live->source_told, &ignored);
  live->cued_told = changer_cued(live->changer) + 1;
  if (state->settings.values.cued_source != live->cued_told)
    parameters_set_number(&state->settings.values, PARAMETER_CUED_SOURCE, 0, live->cued_told, &ignored);
  state->sources = count;
}
