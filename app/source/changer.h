/* Decides which source of a list the reader reads: the next one when a file ends, or the one that the user asks for.
 * The next source is opened, and its first frame decoded, before it is needed. Opening happens on a thread of its own;
 * one other thread calls all of these functions. */
#ifndef APP_SOURCE_CHANGER_H
#define APP_SOURCE_CHANGER_H

#include <stdatomic.h>

#include "app/source/playlist.h"
#include "app/source/reader.h"

struct changer;

/* What follows when a file ends. CLIP_LIST: as the list and changer_params.loop say; CLIP_LOOP: the same file again;
 * CLIP_HOLD: nothing, its last picture stays. The order is that of the choices of the parameter clip-loop. */
enum clip_loop { CLIP_LIST, CLIP_LOOP, CLIP_HOLD };

struct changer_params {
  /* the reader, which was started with the source at index `first` of the list; must outlive the changer */
  struct reader *reader;
  const struct source_options *options; /* options for all sources; copied */
  bool loop; /* true: after the last source of the list the first follows again; a single source repeats by itself */
  double still_s;    /* seconds for which a single picture stays on screen; 0: until another source is asked for */
  atomic_bool *stop; /* becomes true if the program ends; must outlive reader and changer */
  int first;         /* index (from 0), in the list, of the source to begin with */
  bool first_loops;  /* true: the source at index `first` repeats itself, without being opened again
                      * (source_options.loop) */
};

/* Opens a changer, which takes over the list's entries and leaves *list empty. Returns 0, or -1 with err; the caller
 * then keeps the list. */
int changer_open(struct changer **changer, struct playlist *list, const struct changer_params *params,
                 struct error *err);
/* Sets *stop to true and waits for the source that is being opened. *changer becomes NULL; does nothing if it is
 * NULL. */
void changer_close(struct changer **changer);

/* Continues with the source of this index, as soon as it is open. If that is the source that is read at present or that
 * the reader is about to begin, the call only cancels an earlier request. */
void changer_ask(struct changer *changer, int index);
/* Reads the current source again from its start; does nothing if another source was asked for. */
void changer_again(struct changer *changer);
/* Seeks in the current source to a time in seconds from its beginning (or from source_options.start). The source is
 * opened again at that time; meanwhile frames continue. Does nothing if another source was asked for. If nothing can be
 * read there, news.refused says so, and the source continues. */
void changer_seek(struct changer *changer, double seconds);
/* Returns true while the source is being opened for changer_seek. *seconds: the time that changer_seek was given. */
bool changer_seeks(const struct changer *changer, double *seconds);
/* Inserts a file that was dropped on the window after the current source, and continues with it. follows: true: it was
 * dropped together with the last call's file, and is inserted and read after that one. A file that cannot be opened is
 * removed again. From now on the last picture stays on screen at the list's end. Returns 0, or -1 with err. */
int changer_drop(struct changer *changer, const char *path, bool follows, struct error *err);

/* Sets what follows when the present file ends. Once a value other than CLIP_LIST was set, the list does not end any
 * more: the last picture stays on screen. */
void changer_set_loop(struct changer *changer, enum clip_loop loop);
/* Cues the source of this index, which then follows at the end of the present file, whatever changer_set_loop says; -1:
 * none is cued. It is no longer cued once it has begun, or cannot be opened when it is due. A file is opened at once.
 * If that fails, news.refused says so, and opening is tried again at the end of the present file. */
void changer_cue(struct changer *changer, int index);
/* Returns the index of the source that is cued; -1: none. */
int changer_cued(const struct changer *changer);
/* Sets the in and out points of a source, in seconds (struct playlist_entry). The out point of the source that is read
 * counts at once, an in point when the source begins the next time. */
void changer_set_range(struct changer *changer, int index, double in_s, double out_s);
void changer_get_range(const struct changer *changer, int index, double *in_s, double *out_s);

struct changer_news {
  bool changed; /* true: since the last call of changer_turn the reader has begun another source, or the same source
                 * from its start */
  bool sought;  /* true: the same source is read from the time sought_s on, which changer_seek has given */
  double sought_s;
  char refused[512]; /* why a source could not be opened; "": none was refused */
};

/* Looks at the reader's status at time now_ns (platform_now_ns) and opens or hands over the next source if that is due.
 * Fills *news. The main loop calls this function once in each pass; the function does not wait. */
void changer_turn(struct changer *changer, int64_t now_ns, struct changer_news *news);

/* Records that the reader has begun another source, if `status`, the reader's present state, says so. changer_turn does
 * the same; this function is for callers that need changer_now to be right before the next changer_turn. */
void changer_follow(struct changer *changer, const struct reader_status *status);
/* True if the reader, when it gave out `status`, was reading the source whose index changer_now returns. */
bool changer_is_at(const struct changer *changer, const struct reader_status *status);
/* Returns the index of the source that is read. */
int changer_now(const struct changer *changer);
/* Returns the index of the source that is wanted but was not handed to the reader yet, because the user has asked for
 * it, or a source has ended or cannot be opened. If there is none, returns the source that the reader reads or is about
 * to begin. */
int changer_wanted(const struct changer *changer);
/* Returns the index of the source that is wanted or read at present, but is still being opened; -1: there is none.
 * *since_ns: the time at which changer_turn first saw that. A source that the reader has lost, and tries to open again,
 * does not count (reader_status.lost). */
int changer_awaits(const struct changer *changer, int64_t *since_ns);
/* Returns the number of sources in the list. */
int changer_count(const struct changer *changer);
/* Returns the list's entry for the source at this index: its name, and its in and out points. The changer owns the
 * entry; it is valid until the list changes. */
const struct playlist_entry *changer_entry(const struct changer *changer, int index);
/* Returns the name of the source at this index. The changer owns the string; it is valid until the list changes. */
const char *changer_name(const struct changer *changer, int index);
/* True if another source follows when the current one ends. */
bool changer_goes_on(const struct changer *changer);

#endif
