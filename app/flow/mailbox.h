/* A mailbox passes frames from one thread (the writer) to another (the reader) with low delay: it stores one frame, and
 * a new frame replaces one that was not taken. Pixels are not copied. The writer waits for the reader only in
 * mailbox_wait_done. The mailbox holds references to at most MAILBOX_HOLDS pictures (and as many inputs): the newest
 * one, and the one that the reader took last. */
#ifndef APP_FLOW_MAILBOX_H
#define APP_FLOW_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { MAILBOX_HOLDS = 2 };

struct mail {
  struct frame frame;
  /* the input from which `frame` was made, for the before/after view; without planes if that is not shown */
  struct frame input;
  int64_t submitted_ns; /* time when the engine got the input (platform_now_ns); 0 if the frame is itself an input */
  int64_t put_ns;       /* time of mailbox_put */
  int64_t finished_ns;  /* time when the picture was finished */
  double frame_ms;      /* the engine's time for this picture */
  double device_ms;     /* how much of frame_ms the device worked, by its own clock; 0: it has no clock */
  bool missed;          /* the picture was not finished within the budget, counted from when its input was available */
  bool again;           /* the same input was used for an earlier picture, and only values have changed */
  long applied;         /* how many changes of values the engine had received when it made this picture */
  bool whole; /* the picture shows all of the `applied` changes; false while one of them still needs preparation */
};

struct mailbox {
  struct mail taken; /* used only by the reader; mailbox_take replaces it under the lock */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock. */
  struct mail newest; /* the frame that was not taken yet; zeros if full is false */
  bool full, closed;
  bool woken;  /* mailbox_wake was called, and the reader has not woken yet */
  bool undone; /* the reader has not called mailbox_done for the newest frame */
  pthread_cond_t done;
  /* numbers of all frames that were put, and of those that were replaced before the reader took them */
  long put, dropped;
};

struct mailbox_counts {
  long put, dropped;
};

void mail_release(struct mail *mail); /* releases both frames */

void mailbox_init(struct mailbox *mailbox);
void mailbox_free(struct mailbox *mailbox); /* releases the frames that are left */

/* Writer: stores mail, replacing a frame that was not taken. The mailbox takes over its holds. */
void mailbox_put(struct mailbox *mailbox, const struct mail *mail);
/* Writer: no more frames will come. The newest can still be taken. */
void mailbox_close(struct mailbox *mailbox);

/* Reader: waits up to wait_ms for a frame. Returns 1 and *mail, which is valid until the next call that returns 1; 0 if
 * none came or mailbox_wake was called; -1 if the mailbox is closed and empty. */
int mailbox_take(struct mailbox *mailbox, const struct mail **mail, int wait_ms);

/* Any thread: gets a reference to the newest frame if the reader has not taken it yet, which the caller releases.
 * Returns false if there is none. */
bool mailbox_peek(struct mailbox *mailbox, struct frame *frame);
/* Any thread: gets a reference to the newest frame, even if the reader has taken it. Returns false if there was none
 * yet. */
bool mailbox_look(struct mailbox *mailbox, struct frame *frame);
/* Any thread: returns how many frames were put, and how many of them were replaced before they were taken. */
struct mailbox_counts mailbox_count(struct mailbox *mailbox);

/* Any thread: ends the reader's wait at once; if it is not waiting, its next wait. */
void mailbox_wake(struct mailbox *mailbox);
/* Reader: waits until mailbox_wake is called, at most wait_ms. A new frame does not end this wait. */
void mailbox_rest(struct mailbox *mailbox, int wait_ms);

/* Reader: reports that its work with the frames taken so far is finished, which ends mailbox_wait_done. */
void mailbox_done(struct mailbox *mailbox);
/* Writer: waits until the reader calls mailbox_done for the newest frame, or until until_ns (platform_now_ns). Returns
 * true if it had to wait. */
bool mailbox_wait_done(struct mailbox *mailbox, int64_t until_ns);

#endif
