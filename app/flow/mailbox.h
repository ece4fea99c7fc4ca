/* Passes frames from one thread (the writer) to another (the reader) with low delay: a new frame replaces one that was
 * not taken yet. Frames do not queue, pixels are not copied, and the writer waits for the reader only if it calls
 * mailbox_wait_done. The mailbox holds at most MAILBOX_HOLDS pictures (and inputs): the newest, and the one taken
 * last. */
#ifndef APP_FLOW_MAILBOX_H
#define APP_FLOW_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { MAILBOX_HOLDS = 2 };

struct mail {
  struct frame frame;
  /* the frame from which `frame` was made, for the before/after view; without planes if not requested */
  struct frame input;
  int64_t submitted_ns; /* time when the engine got the input; 0 in a mailbox before the engine */
  int64_t put_ns;       /* time of mailbox_put */
  int64_t finished_ns;  /* time when the picture was finished */
  double frame_ms;      /* the engine's time for this picture */
  double device_ms;     /* the device's part of it by its own clock; 0: it has none */
  bool missed;          /* the picture was not finished within the budget, counted from when its input was available */
  bool again;           /* the input was used before, and only the controls differ */
  long applied; /* number of changes that the engine had received before this picture, as loop_send counts them */
  bool whole;   /* the picture shows all these changes */
};

struct mailbox {
  struct mail taken; /* belongs to the reader, which replaces it under the lock */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock. */
  struct mail newest; /* zeros unless full */
  bool full, closed;
  bool woken;  /* the reader's wait is to end */
  bool undone; /* the reader has not called mailbox_done for the newest frame */
  pthread_cond_t done;
  long put, dropped; /* frames put; frames replaced before they were taken */
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

/* Any thread: gives a hold on the newest frame if it was not taken yet. False: there is none. */
bool mailbox_peek(struct mailbox *mailbox, struct frame *frame);
/* Any thread: gives a hold on the newest frame, whether it was taken or not. False: there is none. */
bool mailbox_look(struct mailbox *mailbox, struct frame *frame);
/* Any thread: returns both counts as of one moment. */
struct mailbox_counts mailbox_count(struct mailbox *mailbox);

/* Any thread: ends the reader's wait, or its next one if it is not waiting. */
void mailbox_wake(struct mailbox *mailbox);
/* Reader: waits for mailbox_wake alone, up to wait_ms. A frame that can be taken stays. */
void mailbox_rest(struct mailbox *mailbox, int wait_ms);

/* Reader: ends mailbox_wait_done, because its work with all frames taken so far is finished. */
void mailbox_done(struct mailbox *mailbox);
/* Writer: waits until the reader calls mailbox_done for the newest frame, or until until_ns (platform_now_ns). Returns
 * true if it had to wait. */
bool mailbox_wait_done(struct mailbox *mailbox, int64_t until_ns);

#endif
