/* Alerts: what an operator has to know for as long as it is so, because something is lost or something covers the
 * picture. They are plain values of one thread. The window, the figures of other programs and the web page draw the
 * same ones. Each kind is there once at most. */
#ifndef APP_CONTROL_ALERTS_H
#define APP_CONTROL_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The worst comes first, and so it is drawn. */
enum alert_kind {
  ALERT_SOURCE,
  ALERT_ENGINE,
  ALERT_PICTURE, /* the first of a size, model or step count takes long, and one from before stands */
  ALERT_DISPLAY,
  ALERT_BLACKOUT,
  ALERT_FREEZE,
  ALERT_BYPASS,
  ALERT_PAUSE,
  ALERT_RECORDING,
  ALERT_SENDING,
  ALERT_SOUND,      /* the sound that moves parameters */
  ALERT_MICROPHONE, /* the sound of recordings */
  ALERT_CONTROL,
  ALERT_LATE,
  ALERTS
};

enum { ALERT_WORDS_MAX = 40, ALERT_REASON_MAX = 240 };

struct alert {
  bool holds;
  char words[ALERT_WORDS_MAX];   /* "source lost" */
  char reason[ALERT_REASON_MAX]; /* "" if the words say all */
  int64_t since_ns;              /* platform_now_ns when it began */
  int64_t since_s;               /* the same in seconds of Unix time */
  int64_t until_s;               /* when it ends by itself, in Unix time; 0: only when what it says is no longer so */
};

/* Zero-initialise to start. */
struct alerts {
  struct alert entry[ALERTS];
};

/* Raises an alert, or says it in other words. One that holds already keeps the time of its beginning. reason: NULL or
 * "" if there is none. */
void alerts_raise(struct alerts *alerts, enum alert_kind kind, int64_t now_ns, const char *words, const char *reason);
/* Ends an alert, if it holds. */
void alerts_end(struct alerts *alerts, enum alert_kind kind);
/* Says when an alert ends by itself, in seconds from now. */
void alerts_last(struct alerts *alerts, enum alert_kind kind, double seconds);
bool alerts_equal(const struct alerts *a, const struct alerts *b);
int alerts_count(const struct alerts *alerts);
/* The name that other programs know a kind by: "source", "blackout". */
const char *alert_name(enum alert_kind kind);
/* Writes "source lost: nothing came for 2 s, blackout" behind what is in text already. */
void alerts_describe(const struct alerts *alerts, char *text, size_t size);

#endif
