#include "app/source/changer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/opening.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "app/source/spec.h"

/* Last information sent to the reader about the end of the source that it reads (reader_end_at). */
struct told_end {
  int number;
  double until;
  bool rounds;
};

/* Only the caller's thread uses the struct, except `opening` (opening.h) while the thread of opening.errand
 * (app/flow/errand.h) runs. */
struct changer {
  struct changer_params params;
  struct source_options options;
  struct playlist list;
  /* The fields of this block tell which sources of the list are read and which are wanted, by their indices in the
   * list. */
  int now; /* index of the source that is read */
  /* the next source: the user's choice, or what follows a source that has ended or cannot be opened; kept until it is
   * handed to the reader; index -1: none */
  struct source_request wanted;
  /* the sources that were handed to the reader: handed[0] is the newest one, handed[1] the one before it */
  struct source_request handed[2];
  bool loops[2];       /* loops[i]: true: the source in handed[i] repeats itself, without being opened again
                        * (source_options.loop) */
  bool now_loops;      /* true: the source that is read repeats itself, without being opened again
                        * (source_options.loop) */
  enum clip_loop loop; /* what follows when the file that is read ends, if no source is cued (chosen to come next) */
  int cued;            /* index of the cued source, which follows in any case when the file that is read ends; -1:
                        * none */
  bool sought; /* true: a seek has moved the reader to the time sought_s, and changer_news has not reported this yet */
  double sought_s;
  /* true: the reader still reads the source in handed[1], and begins the one in handed[0] only when that source has
   * ended */
  bool waits;
  struct told_end told_end;
  int begun;    /* number of sources that the reader had begun to read (reader_status.sources) when it was last asked */
  bool changed; /* true: another source is read now, and changer_news has not reported this yet */
  /* The fields of this block are for sources that cannot be opened, and for files that were dropped on the window. */
  int step;      /* 1 or -1: the direction in the list in which the next source is tried if one cannot be opened */
  int refusals;  /* number of consecutive sources that could not be opened in the present search for the next source */
  bool given_up; /* true: the current source has ended, and no other source of the list could be opened */
  bool passed_first; /* true: the list's first source did not exist and was skipped */
  /* index of the next source if it could not be opened in advance, so that opening is tried again when the source is
   * due; -1: none */
  int unready;
  /* index of the file dropped last, while none of the files dropped with it is read yet; -1: none */
  int dropped;
  struct opening opening; /* the source that is being opened, or that is open and waits to be handed to the reader */
  /* time (platform_now_ns) when this thread first saw that the reader is at the end of the source; 0: it is not */
  int64_t stands_since_ns;
  bool keeps; /* true: at the end of the list the last picture stays on screen */
  /* the source that is wanted or read, but is still being opened (index -1: none), and since when (platform_now_ns) */
  struct source_request awaited;
  int64_t awaited_since_ns;
};

/* Returns the index of the source that is read or that the reader is about to begin: handed[0] or, while that one waits
 * for the end of the source before it, handed[1]. */
static int current(const struct changer *changer) {
  return changer->handed[changer->waits].index;
}

static bool same(const struct source_request *a, const struct source_request *b) {
  return a->index == b->index && a->at_s == b->at_s && a->seeks == b->seeks && a->repeats == b->repeats;
}

/* --- functions for the caller's thread: which source is opened, and when the reader gets it --- */

int changer_open(struct changer **out, struct playlist *list, const struct changer_params *params, struct error *err) {
  struct changer *changer = calloc(1, sizeof *changer);
  if (!changer)
    return error_set(err, STATUS_FAILED, "no memory for a list of sources");
  changer->params = *params;
  changer->options = *params->options;
  changer->options.stop = params->stop;
  changer->list = *list;
  *list = (struct playlist){0};
  changer->wanted.index = changer->unready = changer->opening.request.index = changer->dropped = changer->cued = -1;
  changer->awaited.index = -1;
  changer->begun = 1;
  changer->step = 1;
  changer->now = params->first;
  changer->handed[0] = (struct source_request){.index = params->first};
  changer->now_loops = changer->loops[0] = params->first_loops;
  for (int i = 0; i < changer->list.count; i++)
    changer->keeps |= changer->list.entries[i].plain;
  *out = changer;
  return 0;
}

void changer_close(struct changer **pointer) {
  struct changer *changer = *pointer;
  if (!changer)
    return;
  atomic_store(changer->params.stop, true);
  opening_drop(&changer->opening);
  playlist_free(&changer->list);
  free(changer);
  *pointer = NULL;
}

/* Returns the index in the list of sources that follows `index` (step 1) or precedes it (step -1). With params.loop
 * the list's ends are neighbours. -1: there is no such source. */
static int adjacent(const struct changer *changer, int index, int step) {
  int count = changer->list.count, next = index + step;
  if (next >= 0 && next < count)
    return next;
  return changer->params.loop && count > 1 ? (next + count) % count : -1;
}

/* Returns the end of the part of a source that is played, in seconds; 0: its own end. */
static double end_of(const struct playlist_entry *entry) {
  return entry->out_s > entry->in_s ? entry->out_s : 0;
}

/* True if a source that has ended is read again, unless another source is cued (chosen to come next). */
static bool is_repeated(const struct changer *changer) {
  bool alone = changer->loop == CLIP_LIST && changer->params.loop && changer->list.count == 1;
  return alone || changer->loop == CLIP_LOOP;
}

/* True if a source that is repeated can repeat itself without being opened again (source_options.loop). It then plays
 * from its start to its end, so it must have no in or out point. */
static bool can_loop(const struct changer *changer, int index) {
  const struct playlist_entry *entry = &changer->list.entries[index];
  return is_repeated(changer) && entry->in_s <= 0 && end_of(entry) <= 0;
}

/* True if the source that is read repeats itself without being opened again, so that no next source is needed. */
static bool goes_round(const struct changer *changer) {
  return changer->now_loops && can_loop(changer, changer->now) && changer->cued < 0;
}

static struct source_request from_begin(const struct changer *changer, int index) {
  return (struct source_request){.index = index, .at_s = index < 0 ? 0 : changer->list.entries[index].in_s};
}

/* Returns the source that follows at the end of the source being read, and the position at which it begins; index -1:
 * none. */
static struct source_request follower(const struct changer *changer) {
  struct source_request request = from_begin(changer, changer->now);
  request.seeks = request.repeats = true;
  if (changer->cued >= 0)
    return from_begin(changer, changer->cued);
  if (is_repeated(changer) && !goes_round(changer))
    return request;
  return from_begin(changer, changer->loop == CLIP_LIST ? adjacent(changer, changer->now, 1) : -1);
}

/* True if a source may be opened long before it is read: a file may; devices and streams may not, because other
 * programs may need them. */
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

/* Starts to open a source, when nothing else is being opened. */
static void start_opening(struct changer *changer, const struct source_request *request, struct changer_news *news) {
  const struct playlist_entry *entry = &changer->list.entries[request->index];
  struct source_options options = changer->options;
  options.loop = can_loop(changer, request->index);
  playlist_narrow(entry, &options);
  options.resume = request->at_s;
  options.until = end_of(entry);
  options.no_fade = request->repeats;
  struct error err;
  if (opening_start(&changer->opening, request, entry->name, &options, &err)) {
    refuse(changer, &err, news);
    changer->wanted.index = -1;
  }
}

/* Hands the source in `opening` to the reader, to be read at once or at the end of the current one. If the source does
 * not exist yet (SOURCE_NOT_YET), the reader itself tries again and again to open it. */
static void hand_over(struct changer *changer, enum reader_when when, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  struct error err;
  if (reader_switch(changer->params.reader, &opening->source, opening->name, &opening->options, when, &err)) {
    refuse(changer, &err, news);
    opening_drop(&changer->opening);
  } else {
    changer->handed[1] = changer->handed[0];
    changer->loops[1] = changer->loops[0];
    changer->handed[0] = opening->request;
    changer->loops[0] = opening->options.loop;
    changer->waits = when == READER_AT_END;
    changer->dropped = -1;
  }
  opening->request.index = changer->wanted.index = -1;
  changer->stands_since_ns = 0;
}

/* Makes the reader leave the current source at once and continue with the next one, which was handed to it to follow
 * only when the current one ends. */
static void leave_for_next(struct changer *changer) {
  reader_leave(changer->params.reader);
  changer->waits = false;
  changer->wanted.index = -1;
}

/* Adds `by` to all indices stored in the changer that are at least `from`, because an entry of the list before them was
 * inserted (`by` is 1) or removed (-1). */
static void shift(struct changer *changer, int from, int by) {
  int *const indices[] = {&changer->now,
                          &changer->wanted.index,
                          &changer->handed[0].index,
                          &changer->handed[1].index,
                          &changer->opening.request.index,
                          &changer->unready,
                          &changer->dropped,
                          &changer->cued};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
    *indices[i] += *indices[i] >= from ? by : 0;
}

/* Removes a dropped file that cannot be opened from the list. If further files were dropped together with it, the next
 * of them becomes the wanted source. */
static void forget_dropped(struct changer *changer, int index) {
  playlist_remove(&changer->list, index);
  changer->opening.request.index = -1;
  changer->wanted = from_begin(changer, index < changer->dropped ? index : -1);
  shift(changer, index + 1, -1);
  if (changer->dropped == index && changer->wanted.index < 0)
    changer->dropped = -1;
}

/* Called when the wanted source (at `index`) could not be opened. If the user has cued it (chosen it to come next), it
 * is no longer cued. Otherwise the next source of the list is wanted, unless all were tried. */
static void try_another(struct changer *changer, int index) {
  if (changer->cued == index) { /* the source is no longer cued, but the present one continues; the next source is
                                 * chosen when it has ended */
    changer->cued = changer->wanted.index = -1;
    return;
  }
  changer->wanted = from_begin(changer, adjacent(changer, index, changer->step));
  /* True if the search for a source that can be opened has come round to the current one, which has not ended. (Once
   * ended, it could be opened again and repeated.) */
  bool stays = changer->wanted.index == current(changer) && !changer->stands_since_ns;
  if (++changer->refusals >= changer->list.count || stays)
    changer->wanted.index = -1;
  changer->given_up = changer->wanted.index < 0 && changer->stands_since_ns;
  if (changer->wanted.index < 0) /* no source is left to try; the next search counts the sources that cannot be opened
                                  * from 0 again */
    changer->refusals = 0;
}

/* Handles a source that could not be opened, the one in `opening`. If it was the wanted source, the next one of the
 * list becomes the wanted one. */
static void pass_over(struct changer *changer, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  int index = opening->request.index;
  if (index != changer->wanted.index) {
    if (index == changer->cued) /* the failure is reported at once, while the user has time to cue another source */
      refuse(changer, &opening->err, news);
    changer->unready = index;
  } else if (opening->request.seeks) {
    refuse(changer, &opening->err, news);
    changer->wanted.index = -1;
    changer->given_up = opening->request.repeats;
  } else if (index <= changer->dropped && changer->list.entries[index].plain) {
    refuse(changer, &opening->err, news);
    forget_dropped(changer, index);
  } else {
    refuse(changer, &opening->err, news);
    try_another(changer, index);
  }
  opening->request.index = -1;
}

/* True if the program waits for a source that does not exist yet: a pipe or an address to which others send, or the
 * last source of a list. Any other source is skipped, so that the rest of the list is played. */
static bool is_waited_for(const struct changer *changer, int index) {
  char resolved[SPEC_MAX];
  struct error ignored;
  const char *name = changer->list.entries[index].name;
  bool comes = !spec_resolve(name, resolved, &ignored) && (protocols_listens(resolved) || pipe_input_is(resolved));
  return comes || adjacent(changer, index, changer->step) < 0;
}

static void take_opened(struct changer *changer, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  if (!opening_has_ended(opening))
    return;
  if (opening->code && (opening->code != SOURCE_NOT_YET || !is_waited_for(changer, opening->request.index)))
    pass_over(changer, news);
}

/* Skips the first source of a list if it does not exist. The reader was started with that source, and would wait for
 * it. */
static void pass_over_first(struct changer *changer, const struct reader_status *status, struct changer_news *news) {
  bool waits = status->sources == 1 && status->lost && !status->reached && !status->next;
  if (!waits || changer->passed_first || changer->wanted.index >= 0 || is_waited_for(changer, changer->now))
    return;
  changer->passed_first = true;
  snprintf(news->refused, sizeof news->refused, "%s", status->reason);
  changer->wanted = from_begin(changer, adjacent(changer, changer->now, changer->step));
}

/* The reader has begun with handed[0]; or with handed[1], if a further source was handed over before that
 * (status.next). If it was the wanted source, no source is wanted any more. */
void changer_follow(struct changer *changer, const struct reader_status *status) {
  if (status->sources == changer->begun)
    return;
  changer->begun = status->sources;
  const struct source_request *begun = &changer->handed[status->next];
  changer->now = begun->index;
  changer->now_loops = changer->loops[status->next];
  if (changer->cued == changer->now && !begun->seeks)
    changer->cued = -1;
  if (changer->waits && !status->next && same(&changer->wanted, begun))
    changer->wanted.index = -1;
  changer->waits = changer->waits && status->next;
  changer->refusals = 0;
  changer->unready = -1;
  changer->given_up = false;
  changer->stands_since_ns = 0;
  if (changer->wanted.seeks && changer->wanted.index != changer->now) /* the file to seek in has ended meanwhile */
    changer->wanted.index = -1;
  changer->sought |= begun->seeks && !begun->repeats;
  changer->sought_s = begun->at_s;
  changer->changed |= !begun->seeks;
}

/* Records in `changer` which source the reader reads now, for callers that need no status of the reader. */
static void look(struct changer *changer) {
  struct reader_status status;
  reader_get_status(changer->params.reader, &status);
  changer_follow(changer, &status);
}

/* Returns for how many seconds the picture stays on screen at the end of a source: params.still_s for a single picture;
 * for a file the duration of a frame, at most 1 s, or 0 if the frame rate is unknown. */
static double patience(const struct changer *changer, const struct reader_status *status) {
  struct source_info info;
  if (status->picture)
    return changer->params.still_s;
  return reader_get_info(changer->params.reader, &info) && info.fps > 0 ? fmin(1 / info.fps, 1) : 0;
}

static void follow_end(struct changer *changer, const struct reader_status *status, int64_t now_ns) {
  if (!status->stands || status->next || changer->wanted.index >= 0 || changer->given_up)
    return;
  if (!changer->stands_since_ns)
    changer->stands_since_ns = now_ns;
  double stays = patience(changer, status);
  if ((status->picture && stays <= 0) || (double)(now_ns - changer->stands_since_ns) < stays * 1e9)
    return;
  changer->step = 1;
  if (changer->loop == CLIP_LOOP) /* the file has ended although it should have repeated itself, so it is opened
                                   * again */
    changer->now_loops = false;
  changer->wanted = follower(changer);
}

/* Takes back the source that was handed to the reader in advance, if it is no longer the one that is to follow. Does
 * nothing if the reader has just begun that source. */
static void withdraw(struct changer *changer, const struct source_request *next) {
  if (same(&changer->handed[0], next) || !reader_withdraw(changer->params.reader, &changer->opening.taken_back))
    return;
  changer->handed[0] = changer->handed[1];
  changer->loops[0] = changer->loops[1];
  changer->waits = false;
}

/* Opens the source that comes next or, if it is open, hands it to the reader. A file's successor is handed over in
 * advance (READER_AT_END), so that the reader continues without a pause. A single picture does not end on its own, so
 * its successor is handed over only when the user asks for it. No source is handed over twice.
 *
 * If another source is to come than the one being opened, that opening is interrupted. It could last for ever, as with
 * a pipe without a writer or an address that does not answer. */
static void open_what_comes(struct changer *changer, const struct reader_status *status, struct changer_news *news) {
  struct opening *opening = &changer->opening;
  const struct source_request next = follower(changer), *wanted = &changer->wanted;
  bool asked = wanted->index >= 0, ready = next.index >= 0 && same(&next, &opening->request);
  if (opening->errand.busy) {
    if (!same(&opening->request, asked ? wanted : &next))
      opening_cancel(opening);
    return;
  }
  if (asked && changer->waits && same(wanted, &changer->handed[0]))
    leave_for_next(changer);
  else if (asked && same(wanted, &opening->request))
    hand_over(changer, READER_NOW, news);
  else if (asked)
    start_opening(changer, wanted, news);
  else if (changer->waits)
    withdraw(changer, &next);
  else if (ready && opening->source && status->moves && !status->next && changer->now == changer->handed[0].index)
    hand_over(changer, READER_AT_END, news);
  else if (next.index >= 0 && !ready && changer->now == changer->handed[0].index && next.index != changer->unready &&
           can_be_early(changer->list.entries[next.index].name))
    start_opening(changer, &next, news);
}

/* Passes the end of the source that is read to the reader, if it has changed. */
static void tell_end(struct changer *changer) {
  const struct told_end end = {changer->begun, end_of(&changer->list.entries[changer->now]), goes_round(changer)};
  const struct told_end *told = &changer->told_end;
  if (end.number != told->number || end.until != told->until || end.rounds != told->rounds)
    reader_end_at(changer->params.reader, end.number, end.until, end.rounds);
  changer->told_end = end;
}

/* Notes which source is still being opened: the wanted one, or, at first and where a source comes late, the one that
 * the reader itself opens. */
static void follow_awaited(struct changer *changer, const struct reader_status *status, int64_t now_ns) {
  struct source_request awaited = changer->wanted;
  if (awaited.index < 0 && !status->reached && !status->lost && !status->stands)
    awaited = changer->handed[status->next];
  if (!same(&awaited, &changer->awaited))
    changer->awaited_since_ns = now_ns;
  changer->awaited = awaited;
}

void changer_turn(struct changer *changer, int64_t now_ns, struct changer_news *news) {
  struct reader_status status;
  *news = (struct changer_news){.changed = false};
  reader_get_status(changer->params.reader, &status);
  changer_follow(changer, &status);
  take_opened(changer, news);
  pass_over_first(changer, &status, news);
  follow_end(changer, &status, now_ns);
  open_what_comes(changer, &status, news);
  follow_awaited(changer, &status, now_ns);
  news->changed = changer->changed;
  news->sought = changer->sought;
  news->sought_s = changer->sought_s;
  changer->changed = changer->sought = false;
  reader_go_on(changer->params.reader, changer_goes_on(changer) || changer->keeps);
  tell_end(changer);
  reader_tend(changer->params.reader);
}

/* Returns the direction in the list from one source to another: 1: forward; -1: backward. From the last to the first is
 * forward. */
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
  changer->wanted = from_begin(changer, index);
}

void changer_ask(struct changer *changer, int index) {
  int step = direction(changer, changer_wanted(changer), index);
  want(changer, index == current(changer) ? -1 : index, step);
}

void changer_again(struct changer *changer) {
  look(changer);
  if (changer->wanted.index < 0)
    want(changer, current(changer), 1);
}

void changer_seek(struct changer *changer, double seconds) {
  look(changer);
  if (changer->wanted.index >= 0 && !changer->wanted.seeks)
    return;
  want(changer, current(changer), 1);
  changer->wanted.seeks = true;
  changer->wanted.at_s = seconds;
}

bool changer_seeks(const struct changer *changer, double *seconds) {
  bool seeks = changer->wanted.seeks && changer->wanted.index >= 0;
  if (seeks)
    *seconds = changer->wanted.at_s;
  return seeks;
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

void changer_set_loop(struct changer *changer, enum clip_loop loop) {
  changer->given_up = changer->given_up && loop == changer->loop;
  changer->loop = loop;
  changer->keeps |= loop != CLIP_LIST;
}

void changer_cue(struct changer *changer, int index) {
  changer->given_up = changer->given_up && index == changer->cued;
  if (index != changer->cued && index == changer->unready) /* the source is opened once more, to find out whether it
                                                            * fails */
    changer->unready = -1;
  changer->cued = index;
}

int changer_cued(const struct changer *changer) {
  return changer->cued;
}

void changer_set_range(struct changer *changer, int index, double in_s, double out_s) {
  changer->list.entries[index].in_s = in_s;
  changer->list.entries[index].out_s = out_s;
}

void changer_get_range(const struct changer *changer, int index, double *in_s, double *out_s) {
  *in_s = changer->list.entries[index].in_s;
  *out_s = changer->list.entries[index].out_s;
}

int changer_now(const struct changer *changer) {
  return changer->now;
}

bool changer_is_at(const struct changer *changer, const struct reader_status *status) {
  return changer->begun == status->sources;
}

int changer_wanted(const struct changer *changer) {
  return changer->wanted.index >= 0 ? changer->wanted.index : current(changer);
}

int changer_awaits(const struct changer *changer, int64_t *since_ns) {
  *since_ns = changer->awaited_since_ns;
  return changer->awaited.index;
}

int changer_count(const struct changer *changer) {
  return changer->list.count;
}

const struct playlist_entry *changer_entry(const struct changer *changer, int index) {
  return &changer->list.entries[index];
}

const char *changer_name(const struct changer *changer, int index) {
  return changer->list.entries[index].name;
}

bool changer_goes_on(const struct changer *changer) {
  return changer->wanted.index >= 0 || (!changer->given_up && follower(changer).index >= 0);
}
