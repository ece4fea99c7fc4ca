/* A hand-over of one frame between two threads, made for low delay: the newest frame wins, nothing queues, nothing is
 * copied, and the writer waits for the reader only where it asks to (mailbox_wait_done). It holds MAILBOX_HOLDS
 * pictures (and inputs) at most: the one that waits and the one taken last. */
#ifndef APP_FLOW_MAILBOX_H
#define APP_FLOW_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { MAILBOX_HOLDS = 2 };

struct mail {
  struct frame frame;
  struct frame input;   /* what frame was made from, for the before/after view; without planes: not asked for */
  int64_t submitted_ns; /* when the engine got the input; 0 on the way there */
  int64_t put_ns;       /* when it came into the mailbox */
  int64_t finished_ns;  /* when the picture was done */
  double frame_ms;      /* the engine's own time for it */
  double device_ms;     /* of that the device's, by its own clock; 0: it has none */
  bool missed;          /* it was not there within the budget, from when its input was */
  bool again;           /* its input was shown before; only the controls differ */
  long heeded;          /* changes that reached the engine before it, as loop_send counts them */
  bool whole;           /* it shows all of them */
};

struct mailbox {
  struct mail taken; /* the reader's, who changes it under the lock */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock */
  struct mail newest; /* of zeros unless full */
  bool full, closed;
  bool woken;  /* the reader is to look up */
  bool undone; /* the newest of all; see mailbox_done */
  pthread_cond_t done;
  long put, dropped; /* handed in; replaced before anyone took them */
};

struct mailbox_counts {
  long put, dropped;
};

void mail_release(struct mail *mail); /* both frames */

void mailbox_init(struct mailbox *mailbox);
void mailbox_free(struct mailbox *mailbox); /* releases what is left */

/* Writer: mail replaces what was not taken yet. Its holds are the mailbox's from now on. */
void mailbox_put(struct mailbox *mailbox, const struct mail *mail);
/* Writer: no more will come. The newest can still be taken. */
void mailbox_close(struct mailbox *mailbox);

/* Reader: 1 and *mail, valid until the next call that returns 1; 0 when nothing came within wait_ms, or the reader was
 * woken; -1 when the mailbox is closed and empty. */
int mailbox_take(struct mailbox *mailbox, const struct mail **mail, int wait_ms);

/* Any thread: *frame gets a hold on the newest picture, which can still be taken. false: there is none. */
bool mailbox_peek(struct mailbox *mailbox, struct frame *frame);
/* Likewise the newest of all, taken or not. Any thread. */
bool mailbox_look(struct mailbox *mailbox, struct frame *frame);
struct mailbox_counts mailbox_count(struct mailbox *mailbox);

/* Any thread: the reader goes on at once, or does not wait the next time. */
void mailbox_wake(struct mailbox *mailbox);
/* Reader: waits for that alone; what there is to be taken stays. */
void mailbox_rest(struct mailbox *mailbox, int wait_ms);

/* Reader: what the writer may wait for has been done with all that was taken. */
void mailbox_done(struct mailbox *mailbox);
/* Writer: waits for that, of the newest, until until_ns of platform_now_ns. Returns whether it had to. */
bool mailbox_wait_done(struct mailbox *mailbox, int64_t until_ns);

#endif
