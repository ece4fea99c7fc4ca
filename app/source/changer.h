/* Which source of a list is read: goes on at a file's end, and where that is asked for, with the next one opened and
 * its first frame decoded before it is needed. Sources are opened on a thread of their own; all functions are called
 * from one other thread. */
#ifndef APP_SOURCE_CHANGER_H
#define APP_SOURCE_CHANGER_H

#include <stdatomic.h>

#include "app/source/playlist.h"
#include "app/source/reader.h"

struct changer;

struct changer_params {
  struct reader *reader;                /* reads `first` of the list; outlives the changer */
  const struct source_options *options; /* of all sources, copied */
  bool loop;         /* after the last comes the first; a source that is alone starts again by itself */
  double still_s;    /* a single picture stays so long; 0: until another is asked for */
  atomic_bool *stop; /* set when all is to end; outlives reader and changer */
  int first;         /* of the list, from 0 */
};

/* Takes over the list. */
int changer_open(struct changer **changer, struct playlist *list, const struct changer_params *params,
                 struct error *err);
/* Sets *stop and waits for what is being opened. Stores NULL; takes NULL. */
void changer_close(struct changer **changer);

/* Goes to that source of the list, from 0, as soon as it is open. */
void changer_ask(struct changer *changer, int index);
/* Reads the source anew. */
void changer_again(struct changer *changer);
/* Puts a file behind the source that is read, and goes there; one that was dropped along with the one before (follows)
 * behind that. What cannot be opened is not kept, and changes nothing. The list then no longer ends: at its end the
 * last picture stays. */
int changer_drop(struct changer *changer, const char *path, bool follows, struct error *err);

struct changer_news {
  bool changed;      /* another source is read, or the same one anew */
  char refused[512]; /* why one could not be opened; "": none */
};

/* To be called again and again. Does not wait. */
void changer_turn(struct changer *changer, int64_t now_ns, struct changer_news *news);

int changer_now(const struct changer *changer);    /* the source that is read, from 0 */
int changer_wanted(const struct changer *changer); /* the one asked for last, or that which is read */
int changer_count(const struct changer *changer);
bool changer_is_plain(const struct changer *changer, int index);
const char *changer_name(const struct changer *changer, int index);
/* Whether another source follows when this one ends. */
bool changer_goes_on(const struct changer *changer);

#endif
