#include "app/source/changer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/errand.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "app/source/spec.h"

/* A source on its way from being opened to being read. */
struct opening {
  struct errand errand;
  int index; /* -1: none */
  const char *name;
  struct source_options options;
  struct source *source, *former; /* former: that nobody reads, which the thread closes */
  int code;
  struct error err;
};

struct changer {
  struct changer_params params;
  struct source_options options;
  struct playlist list;
  int now, wanted;         /* indices; wanted -1: none */
  int handed[2];           /* to the reader: the last, and the one before */
  bool waits;              /* the last is not wanted yet, but when the one before ends */
  int begun;               /* reader_status.sources, as far as it is known here */
  bool changed;            /* it has become another, which no news has said yet */
  int step;                /* which way to go on from a source that cannot be opened */
  int refusals;            /* in a row */
  bool given_up;           /* what was to follow at an end cannot be opened */
  bool passed_first;       /* so was the first of the list */
  int unready;             /* the next one, which could not be opened ahead; -1: none */
  int dropped;             /* the last of those that were dropped and none of which is read yet; -1: none */
  struct opening opening;  /* done: it is ready, and waits */
  int64_t stands_since_ns; /* 0: it does not */
  bool keeps;              /* at the end of the list the last picture stays */
};

/* The one handed to the reader last that was wanted. */
static int current(const struct changer *changer) {
  return changer->handed[changer->waits];
}

/* --- on the thread that opens --- */

static void open_one(void *opaque) {
  struct opening *opening = opaque;
  struct source_info info;
  source_close(&opening->former);
  opening->code = source_open(&opening->source, opening->name, &opening->options, &opening->err);
  if (opening->code)
    return;
  source_get_info(opening->source, &info);
  /* What paces itself would grow old; the reader waits for its first frame. */
  if (!info.realtime && source_read_ahead(opening->source, &opening->err)) {
    source_close(&opening->source);
    opening->code = -1;
  }
}

/* --- */

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

/* What was opened and nobody reads. */
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

/* The one after `index` or before it; -1: there is none. */
static int neighbour(const struct changer *changer, int index, int step) {
  int count = changer->list.count, next = index + step;
  if (next >= 0 && next < count)
    return next;
  return changer->params.loop && count > 1 ? (next + count) % count : -1;
}

/* Whether it may be opened long before it is read: a file, and not a device or stream, which others may want. */
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

/* While nothing is being opened. To close a source may take longer than a picture. */
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

/* The source that is ready is the reader's: read from now on, or from the end of the one before; one that is not there
 * yet is waited for by the reader. */
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

/* The one that waits for an end is wanted before it. */
static void leave_for_next(struct changer *changer) {
  reader_leave(changer->params.reader);
  changer->waits = false;
  changer->wanted = -1;
}

/* Indices from this one on, after the list's length changed by one there. */
static void shift(struct changer *changer, int from, int by) {
  int *const indices[] = {&changer->now,           &changer->wanted,  &changer->handed[0], &changer->handed[1],
                          &changer->opening.index, &changer->unready, &changer->dropped};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
    *indices[i] += *indices[i] >= from ? by : 0;
}

/* What was dropped and cannot be opened; another that was dropped with it may. */
static void forget_dropped(struct changer *changer, int index) {
  playlist_remove(&changer->list, index);
  changer->opening.index = -1;
  changer->wanted = index < changer->dropped ? index : -1;
  shift(changer, index + 1, -1);
  if (changer->dropped == index && changer->wanted < 0)
    changer->dropped = -1;
}

/* It could not be opened: where it was wanted, the one after it is. */
static void pass_over(struct changer *changer, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  if (opening->index != changer->wanted) {
    changer->unready = opening->index;
  } else if (opening->index <= changer->dropped && changer->list.entries[opening->index].plain) {
    refuse(changer, &opening->err, news);
    forget_dropped(changer, opening->index);
  } else {
    refuse(changer, &opening->err, news);
    changer->wanted = neighbour(changer, opening->index, changer->step);
    /* At its end even the one that is read may be the next, which a list that starts again comes back to. */
    bool stays = changer->wanted == current(changer) && !changer->stands_since_ns;
    if (++changer->refusals >= changer->list.count || stays)
      changer->wanted = -1;
    changer->given_up = changer->wanted < 0 && changer->stands_since_ns;
  }
  opening->index = -1;
}

/* Whether it is waited for where it is not there yet: what others send here comes when they like, and so is the last of
 * a list. Another one in a list does not stop it. */
static bool is_waited_for(const struct changer *changer, int index) {
  char resolved[SPEC_MAX];
  struct error ignored;
  const char *name = changer->list.entries[index].name;
  bool comes = !spec_resolve(name, resolved, &ignored) && (protocols_listens(resolved) || pipe_input_is(resolved));
  return comes || neighbour(changer, index, changer->step) < 0;
}

static void take_opened(struct changer *changer, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  if (!errand_is_done(&opening->errand))
    return;
  errand_join(&opening->errand);
  if (opening->code && (opening->code != SOURCE_NOT_YET || !is_waited_for(changer, opening->index)))
    pass_over(changer, news);
}

/* The first of a list is opened by the reader, which would wait for it. */
static void pass_over_first(struct changer *changer, const struct reader_status *status, struct changer_news *news) {
  bool waits = status->sources == 1 && status->lost && !status->reached && !status->next;
  if (!waits || changer->passed_first || changer->wanted >= 0 || is_waited_for(changer, changer->now))
    return;
  changer->passed_first = true;
  snprintf(news->refused, sizeof news->refused, "%s", status->reason);
  changer->wanted = neighbour(changer, changer->now, changer->step);
}

/* A reader may have begun with one while another was handed to it, and by itself with what is asked for just then. */
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

/* The same, where what is asked for goes by what is read. */
static void look(struct changer *changer) {
  struct reader_status status;
  follow_reader(changer, &status);
}

/* How long what stands at its end stays: a file's last frame as long as all others. */
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
  changer->wanted = neighbour(changer, changer->now, 1);
}

/* Where the reader goes on by itself from a file's last picture to the next one's first, no picture's time is lost. A
 * single picture is no end. What was handed over comes no more, though the reader has not begun with it. */
static void open_what_comes(struct changer *changer, const struct reader_status *status, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  int next = neighbour(changer, changer->now, 1);
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

/* From the last to the first is forward. */
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
  return changer->wanted >= 0 || (!changer->given_up && neighbour(changer, changer->now, 1) >= 0);
}
