#include "app/source/changer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/errand.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "app/source/spec.h"

/* A source that is being opened, or is open and waits to be read. */
struct opening {
  struct errand errand;
  int index; /* index in the list; -1: none */
  const char *name;
  struct source_options options;
  /* source: the opened one; NULL after an error. former: a source opened earlier and not needed; the thread closes
   * it. */
  struct source *source, *former;
  int code;
  struct error err;
};

/* Used by the caller's thread only. While opening.errand (app/flow/errand.h) runs, its thread uses `opening`. */
struct changer {
  struct changer_params params;
  struct source_options options;
  struct playlist list;
  /* Which sources of the list are read and wanted, by their indices in the list. */
  int now, wanted; /* now: the source that is read. wanted: the one asked for and not read yet; -1: none. */
  int handed[2];   /* the source handed to the reader last, and the one handed to it before that */
  bool waits;      /* true: the reader begins handed[0] only when handed[1] has ended */
  int begun;       /* number of sources that the reader had begun (reader_status.sources) when it was last asked */
  bool changed;    /* another source is read, which no changer_news has reported yet */
  /* Sources that cannot be opened, and files that were dropped. */
  int step;          /* direction in which to continue if a source cannot be opened: 1 or -1 */
  int refusals;      /* sources in a row that could not be opened in this search for the next one */
  bool given_up;     /* the current source has ended, and no other one of the list could be opened */
  bool passed_first; /* the list's first source was not there, and it was decided to go on with the next one */
  /* index of the next source, if opening it in advance failed: it is tried again when it is due; -1: none */
  int unready;
  /* index of the file dropped last, while none of the files dropped with it is read yet; -1: none */
  int dropped;
  struct opening opening; /* the source that is being opened; once open, it waits here to be handed over */
  /* when the reader was first seen at the end of the source, by platform_now_ns; 0: it is not there */
  int64_t stands_since_ns;
  bool keeps; /* at the end of the list the last picture stays */
};

/* Returns the index of the source that is read or about to be: the last one handed to the reader, unless that one waits
 * for the end of the one before it. */
static int current(const struct changer *changer) {
  return changer->handed[changer->waits];
}

/* --- the thread that opens sources --- */

static void open_one(void *opaque) {
  struct opening *opening = opaque;
  struct source_info info;
  source_close(&opening->former);
  opening->code = source_open(&opening->source, opening->name, &opening->options, &opening->err);
  if (opening->code)
    return;
  source_get_info(opening->source, &info);
  /* A live source's first frame would be old when it is shown; the reader waits for a new one. */
  if (!info.realtime && source_read_ahead(opening->source, &opening->err)) {
    source_close(&opening->source);
    opening->code = -1;
  }
}

/* --- the caller's thread --- */

int changer_open(struct changer **out, struct playlist *list, const struct changer_params *params, struct error *err) {
  struct changer *changer = calloc(1, sizeof *changer);
  if (!changer)
    return error_set(err, STATUS_FAILED, "no memory for a list of sources");
  changer->params = *params;
  changer->options = *params->options;
  changer->options.stop = params->stop;
  changer->list = *list;
  *list = (struct playlist){0};
  changer->wanted = changer->unready = changer->opening.index = changer->dropped = -1;
  changer->begun = 1;
  changer->step = 1;
  changer->now = changer->handed[0] = params->first;
  for (int i = 0; i < changer->list.count; i++)
    changer->keeps |= changer->list.entries[i].plain;
  *out = changer;
  return 0;
}

/* Waits until no source is being opened, and closes the one that was opened and not handed over. */
static void drop_opening(struct changer *changer) {
  errand_join(&changer->opening.errand);
  source_close(&changer->opening.source);
  source_close(&changer->opening.former);
  changer->opening.index = -1;
}

void changer_close(struct changer **pointer) {
  struct changer *changer = *pointer;
  if (!changer)
    return;
  atomic_store(changer->params.stop, true);
  drop_opening(changer);
  playlist_free(&changer->list);
  free(changer);
  *pointer = NULL;
}

/* Returns the index after `index` (step 1) or before it (step -1); -1: there is none. */
static int adjacent(const struct changer *changer, int index, int step) {
  int count = changer->list.count, next = index + step;
  if (next >= 0 && next < count)
    return next;
  return changer->params.loop && count > 1 ? (next + count) % count : -1;
}

/* True if a source may be opened long before it is read: files may, but not devices and streams, which others may
 * need. */
static bool can_be_early(const char *name) {
  char resolved[SPEC_MAX];
  struct error ignored;
  return !spec_resolve(name, resolved, &ignored) && strcmp(resolved, "camera") && strncmp(resolved, "/dev/", 5) &&
         protocols_is_file(resolved) && !pipe_input_is(resolved);
}

static void refuse(struct changer *changer, const struct error *err, struct changer_news *news) {
  snprintf(news->refused, sizeof news->refused, "%s", err->message);
  log_line(changer->options.log, LOG_WARNING, "%s", err->message);
}

/* Starts to open a source, when nothing else is being opened. The thread also closes the one opened before, since that
 * may take longer than a frame. */
static void start_opening(struct changer *changer, int index, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  const struct playlist_entry *entry = &changer->list.entries[index];
  opening->former = opening->source;
  opening->source = NULL;
  opening->options = changer->options;
  opening->options.loop = changer->params.loop && changer->list.count == 1;
  playlist_narrow(entry, &opening->options);
  opening->name = entry->name;
  opening->index = index;
  struct error err;
  if (errand_start(&opening->errand, open_one, opening, "opens sources", &err)) {
    refuse(changer, &err, news);
    source_close(&opening->former);
    opening->index = changer->wanted = -1;
  }
}

/* Hands the source in `opening` to the reader, to be read at once or at the end of the current one. If it is not there
 * yet (SOURCE_NOT_YET), the reader itself opens it again and again. */
static void hand_over(struct changer *changer, enum reader_when when, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  struct error err;
  if (reader_switch(changer->params.reader, &opening->source, opening->name, &opening->options, when, &err)) {
    refuse(changer, &err, news);
    drop_opening(changer);
  } else {
    changer->handed[1] = changer->handed[0];
    changer->handed[0] = opening->index;
    changer->waits = when == READER_AT_END;
    changer->dropped = -1;
  }
  opening->index = changer->wanted = -1;
  changer->stands_since_ns = 0;
}

/* Makes the reader continue at once with the source that it got for the end of the current one. */
static void leave_for_next(struct changer *changer) {
  reader_leave(changer->params.reader);
  changer->waits = false;
  changer->wanted = -1;
}

/* Adds `by` to all indices kept in the changer that are at least `from`, after an entry was inserted (1) or removed
 * (-1) there. */
static void shift(struct changer *changer, int from, int by) {
  int *const indices[] = {&changer->now,           &changer->wanted,  &changer->handed[0], &changer->handed[1],
                          &changer->opening.index, &changer->unready, &changer->dropped};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
    *indices[i] += *indices[i] >= from ? by : 0;
}

/* Removes a dropped file that cannot be opened. Another file of the same drop may be wanted instead. */
static void forget_dropped(struct changer *changer, int index) {
  playlist_remove(&changer->list, index);
  changer->opening.index = -1;
  changer->wanted = index < changer->dropped ? index : -1;
  shift(changer, index + 1, -1);
  if (changer->dropped == index && changer->wanted < 0)
    changer->dropped = -1;
}

/* Handles a source that could not be opened. If it was wanted, the next one is wanted now. */
static void pass_over(struct changer *changer, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  if (opening->index != changer->wanted) {
    changer->unready = opening->index;
  } else if (opening->index <= changer->dropped && changer->list.entries[opening->index].plain) {
    refuse(changer, &opening->err, news);
    forget_dropped(changer, opening->index);
  } else {
    refuse(changer, &opening->err, news);
    changer->wanted = adjacent(changer, opening->index, changer->step);
    /* The search has come round to the current source. It may be chosen, to be repeated, only when it has ended. */
    bool stays = changer->wanted == current(changer) && !changer->stands_since_ns;
    if (++changer->refusals >= changer->list.count || stays)
      changer->wanted = -1;
    changer->given_up = changer->wanted < 0 && changer->stands_since_ns;
    if (changer->wanted < 0) /* no source is left to try; a later search begins to count anew */
      changer->refusals = 0;
  }
  opening->index = -1;
}

/* True if a source that is not there is waited for: a pipe or an address where others send to, and the last of a list.
 * Any other source is passed over, so that it does not stop the list. */
static bool is_waited_for(const struct changer *changer, int index) {
  char resolved[SPEC_MAX];
  struct error ignored;
  const char *name = changer->list.entries[index].name;
  bool comes = !spec_resolve(name, resolved, &ignored) && (protocols_listens(resolved) || pipe_input_is(resolved));
  return comes || adjacent(changer, index, changer->step) < 0;
}

static void take_opened(struct changer *changer, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  if (!errand_is_done(&opening->errand))
    return;
  errand_join(&opening->errand);
  if (opening->code && (opening->code != SOURCE_NOT_YET || !is_waited_for(changer, opening->index)))
    pass_over(changer, news);
}

/* Passes over the first source of a list if it is not there. The reader opened that one, and would wait for it. */
static void pass_over_first(struct changer *changer, const struct reader_status *status, struct changer_news *news) {
  bool waits = status->sources == 1 && status->lost && !status->reached && !status->next;
  if (!waits || changer->passed_first || changer->wanted >= 0 || is_waited_for(changer, changer->now))
    return;
  changer->passed_first = true;
  snprintf(news->refused, sizeof news->refused, "%s", status->reason);
  changer->wanted = adjacent(changer, changer->now, changer->step);
}

/* Notes that the reader has begun with another source. It may have done so while a further one was handed to it, and by
 * itself with the one that is wanted. */
static void follow_reader(struct changer *changer, struct reader_status *status) {
  reader_get_status(changer->params.reader, status);
  if (status->sources == changer->begun)
    return;
  changer->begun = status->sources;
  changer->now = changer->handed[status->next];
  if (changer->waits && !status->next && changer->wanted == changer->now)
    changer->wanted = -1;
  changer->waits = changer->waits && status->next;
  changer->refusals = 0;
  changer->unready = -1;
  changer->given_up = false;
  changer->stands_since_ns = 0;
  changer->changed = true;
}

/* Calls follow_reader with the reader's present status, for functions that are called between two changer_turns. */
static void look(struct changer *changer) {
  struct reader_status status;
  follow_reader(changer, &status);
}

/* Returns for how many seconds the picture stays at the end: for a single picture params.still_s, for a file the
 * duration of a frame. */
static double patience(const struct changer *changer, const struct reader_status *status) {
  struct source_info info;
  if (status->picture)
    return changer->params.still_s;
  return reader_get_info(changer->params.reader, &info) && info.fps > 0 ? fmin(1 / info.fps, 1) : 0;
}

static void follow_end(struct changer *changer, const struct reader_status *status, int64_t now_ns) {
  if (!status->stands || status->next || changer->wanted >= 0 || changer->given_up)
    return;
  if (!changer->stands_since_ns)
    changer->stands_since_ns = now_ns;
  double stays = patience(changer, status);
  if ((status->picture && stays <= 0) || (double)(now_ns - changer->stands_since_ns) < stays * 1e9)
    return;
  changer->step = 1;
  changer->wanted = adjacent(changer, changer->now, 1);
}

/* Opens the source that comes next, or hands it over. A source that is handed over for the end of a file lets the
 * reader continue by itself, so that no time is lost between the two. A single picture does not end by itself. A source
 * that was handed over is not handed over again, even if the reader has not begun with it. */
static void open_what_comes(struct changer *changer, const struct reader_status *status, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  int next = adjacent(changer, changer->now, 1);
  bool ready = changer->wanted >= 0 ? changer->wanted == opening->index : next >= 0 && next == opening->index;
  if (opening->errand.busy)
    return;
  if (changer->wanted >= 0 && changer->waits && changer->wanted == changer->handed[0])
    leave_for_next(changer);
  else if (changer->wanted >= 0 && ready)
    hand_over(changer, READER_NOW, news);
  else if (changer->wanted >= 0)
    start_opening(changer, changer->wanted, news);
  else if (ready && opening->source && status->moves && !status->next && changer->now == changer->handed[0])
    hand_over(changer, READER_AT_END, news);
  else if (next >= 0 && !ready && changer->now == changer->handed[0] && next != changer->unready &&
           can_be_early(changer->list.entries[next].name))
    start_opening(changer, next, news);
}

void changer_turn(struct changer *changer, int64_t now_ns, struct changer_news *news) {
  struct reader_status status;
  *news = (struct changer_news){.changed = false};
  follow_reader(changer, &status);
  take_opened(changer, news);
  pass_over_first(changer, &status, news);
  follow_end(changer, &status, now_ns);
  open_what_comes(changer, &status, news);
  news->changed = changer->changed;
  changer->changed = false;
  reader_go_on(changer->params.reader, changer_goes_on(changer) || changer->keeps);
}

/* Returns the direction from one source to another; from the last to the first is forward. */
static int direction(const struct changer *changer, int from, int to) {
  int last = changer->list.count - 1;
  if (from == last && to == 0)
    return 1;
  return to < from || (from == 0 && to == last && last > 1) ? -1 : 1;
}

static void want(struct changer *changer, int index, int step) {
  changer->step = step;
  changer->refusals = 0;
  changer->given_up = false;
  changer->wanted = index;
}

void changer_ask(struct changer *changer, int index) {
  int step = direction(changer, changer_wanted(changer), index);
  want(changer, index == current(changer) ? -1 : index, step);
}

void changer_again(struct changer *changer) {
  look(changer);
  if (changer->wanted < 0)
    want(changer, current(changer), 1);
}

int changer_drop(struct changer *changer, const char *path, bool follows, struct error *err) {
  look(changer);
  follows = follows && changer->dropped >= 0;
  int index = (follows ? changer->dropped : changer->now) + 1;
  if (playlist_insert(&changer->list, index, path, true, err))
    return -1;
  shift(changer, index, 1);
  changer->dropped = index;
  changer->keeps = true;
  if (!follows)
    want(changer, index, 1);
  return 0;
}

int changer_now(const struct changer *changer) {
  return changer->now;
}

int changer_wanted(const struct changer *changer) {
  return changer->wanted >= 0 ? changer->wanted : current(changer);
}

int changer_count(const struct changer *changer) {
  return changer->list.count;
}

bool changer_is_plain(const struct changer *changer, int index) {
  return changer->list.entries[index].plain;
}

const char *changer_name(const struct changer *changer, int index) {
  return changer->list.entries[index].name;
}

bool changer_goes_on(const struct changer *changer) {
  return changer->wanted >= 0 || (!changer->given_up && adjacent(changer, changer->now, 1) >= 0);
}
