/* Decides which source of a list the reader reads: the next one when a file ends, or the one that the user asks for.
 * The next source is opened, and its first frame decoded, before it is needed. Opening happens on a thread of its own;
 * one other thread calls all of these functions. */
#ifndef APP_SOURCE_CHANGER_H
#define APP_SOURCE_CHANGER_H

#include <stdatomic.h>

#include "app/source/playlist.h"
#include "app/source/reader.h"

struct changer;

struct changer_params {
  struct reader *reader;                /* reads the source at index `first` of the list; must outlive the changer */
  const struct source_options *options; /* options for all sources; copied */
  bool loop;                            /* after the last source comes the first; a single source repeats by itself */
  double still_s;    /* seconds for which a single picture stays; 0: until another source is asked for */
  atomic_bool *stop; /* set if the program ends; must outlive reader and changer */
  int first;         /* index in the list, from 0 */
};

/* Opens a changer and takes over the list. Returns 0, or -1 with err. */
int changer_open(struct changer **changer, struct playlist *list, const struct changer_params *params,
                 struct error *err);
/* Sets *stop and waits for the source that is being opened. Stores NULL; accepts NULL. */
void changer_close(struct changer **changer);

/* Continues with the source of this index, as soon as it is open. */
void changer_ask(struct changer *changer, int index);
/* Reads the current source again from its start. */
void changer_again(struct changer *changer);
/* Inserts a file that was dropped on the window after the current source, and continues with it. follows: it was
 * dropped in one go with the file of the last call, and is inserted after that one instead. A file that cannot be
 * opened is removed again and changes nothing else. From now on the list does not end: the last picture stays. Returns
 * 0, or -1 with err. */
int changer_drop(struct changer *changer, const char *path, bool follows, struct error *err);

struct changer_news {
  bool changed;      /* another source is read, or the same one from its start */
  char refused[512]; /* why a source could not be opened; "": none failed */
};

/* Looks at the reader's status at time now_ns (platform_now_ns) and opens or hands over the next source if that is due.
 * Fills *news. The main loop calls it once for each turn; it does not wait. */
void changer_turn(struct changer *changer, int64_t now_ns, struct changer_news *news);

/* Returns the index of the source that is read. */
int changer_now(const struct changer *changer);
/* Returns the index of the source asked for last while it is not read yet, else that of the source that is read. */
int changer_wanted(const struct changer *changer);
/* Returns the number of sources in the list. */
int changer_count(const struct changer *changer);
/* True if the source was dropped on the window: the command line's input options do not apply to it. */
bool changer_is_plain(const struct changer *changer, int index);
/* Returns the source's name. Owned by the changer; valid until the list changes. */
const char *changer_name(const struct changer *changer, int index);
/* True if another source follows when the current one ends. */
bool changer_goes_on(const struct changer *changer);

#endif
