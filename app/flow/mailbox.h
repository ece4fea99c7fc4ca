/* A mailbox passes frames from one thread (the writer) to another (the reader) with low delay. It stores one frame, and
 * a new frame replaces one that was not taken. Pixels are not copied. The writer waits only in mailbox_wait_done. The
 * mailbox holds references to at most MAILBOX_HOLDS pictures and as many inputs: the newest, and the one that the
 * reader took last. */
#ifndef APP_FLOW_MAILBOX_H
#define APP_FLOW_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { MAILBOX_HOLDS = 2 };

struct mail {
  struct frame frame;
  /* the source's frame from which `frame` was made, for showing both side by side; without planes if the input is not
   * to be shown */
  struct frame input;
  /* time when the engine got the input (platform_now_ns); 0: the frame comes from the source and was not made by the
   * engine */
  int64_t submitted_ns;
  int64_t put_ns;      /* time when mailbox_put was called (platform_now_ns) */
  int64_t finished_ns; /* time when the picture was finished (platform_now_ns) */
  double frame_ms;     /* the engine's time for this picture in ms */
  /* the part of frame_ms, in ms, in which the device worked, by the device's own clock; 0: the device has no clock */
  double device_ms;
  /* true: the picture took longer than the time budget, counted from the time when its input was available */
  bool missed;
  /* true: an earlier picture was made from the same input, and this picture was made because values (such as the
   * prompt) have changed since */
  bool again;
  /* number of changes of values (such as the prompt) that the engine had received when it made this picture */
  long applied;
  /* true: the picture shows all of the `applied` changes; false: the engine is still preparing at least one of them */
  bool whole;
};

struct mailbox {
  /* the frame that mailbox_take returned last; only the reader's thread uses it without `lock`; mailbox_take replaces
   * it, and mailbox_look reads it, under `lock` */
  struct mail taken;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. */
  struct mail newest; /* the newest frame, if the reader has not taken it yet; zeros if `full` is false */
  bool full, closed;
  bool woken;  /* true: mailbox_wake was called, but has not ended the reader's wait yet */
  bool undone; /* true: the reader has not called mailbox_done since the newest frame was put into the mailbox */
  pthread_cond_t done;
  /* put: number of all frames that were put into the mailbox; dropped: number of frames that were replaced before the
   * reader took them, without those that were made again of an earlier input (mail.again) */
  long put, dropped;
};

struct mailbox_counts {
  long put, dropped;
};

void mail_release(struct mail *mail); /* releases the frame and the input from which it was made */

void mailbox_init(struct mailbox *mailbox);
void mailbox_free(struct mailbox *mailbox); /* releases the frames that are left in the mailbox */

/* Called by the writer: stores `mail` in the mailbox, in place of a frame that was not taken. The mailbox takes over
 * the references in *mail. */
void mailbox_put(struct mailbox *mailbox, const struct mail *mail);
/* Called by the writer: tells the mailbox that no more frames will come. The newest frame can still be taken. */
void mailbox_close(struct mailbox *mailbox);

/* Called by the reader: waits up to wait_ms for a frame. Returns 1 and stores the frame in *mail, which is valid until
 * the next call that returns 1. Returns 0 if no frame came or mailbox_wake was called; -1 if the mailbox is closed and
 * empty. */
int mailbox_take(struct mailbox *mailbox, const struct mail **mail, int wait_ms);

/* Called by any thread: gets a reference to the newest frame if the reader has not taken that frame yet. The caller
 * releases the reference. Returns false if there is no such frame. */
bool mailbox_peek(struct mailbox *mailbox, struct frame *frame);
/* Called by any thread: gets a reference to the newest frame, even if the reader has taken that frame. The caller
 * releases the reference. Returns false if there was no frame yet. */
bool mailbox_look(struct mailbox *mailbox, struct frame *frame);
/* Called by any thread: returns how many frames were put into the mailbox, and how many of them were replaced before
 * they were taken. */
struct mailbox_counts mailbox_count(struct mailbox *mailbox);

/* Called by any thread: ends the reader's wait at once. If the reader is not waiting, its next wait ends at once. */
void mailbox_wake(struct mailbox *mailbox);
/* Called by the reader: waits until mailbox_wake is called, at most wait_ms. A new frame does not end this wait. */
void mailbox_rest(struct mailbox *mailbox, int wait_ms);

/* Called by the reader: reports that its work with the frames taken so far is finished. That ends mailbox_wait_done,
 * unless a newer frame is in the mailbox. */
void mailbox_done(struct mailbox *mailbox);
/* Called by the writer: waits until the reader calls mailbox_done for the newest frame, or until the time until_ns
 * (platform_now_ns). Returns true if it had to wait. */
bool mailbox_wait_done(struct mailbox *mailbox, int64_t until_ns);

#endif
