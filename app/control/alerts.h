/* Alerts tell an operator that something is lost, or that something covers the picture, for as long as it lasts. Only
 * one thread uses a struct alerts; it is a plain value and may be copied. The window, the figures that other programs
 * read and the web page draw the same alerts. There is at most one alert of each kind. */
#ifndef APP_CONTROL_ALERTS_H
#define APP_CONTROL_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds are in order of importance, and alerts are drawn in this order. */
enum alert_kind {
  ALERT_SOURCE,
  ALERT_ENGINE,
  ALERT_PICTURE, /* the first picture of a new size, model or step count is not there yet, and an older one is shown */
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
  int64_t until_s;               /* when the alert will end by itself, in Unix time; 0: it ends only with its cause */
};

/* Initialise with zeros: no alert. */
struct alerts {
  struct alert entry[ALERTS];
};

/* Raises an alert. If it holds already, its words and reason are replaced and the time of its beginning stays. reason:
 * NULL or "" if there is none. */
void alerts_raise(struct alerts *alerts, enum alert_kind kind, int64_t now_ns, const char *words, const char *reason);
/* Ends an alert, if it holds. */
void alerts_end(struct alerts *alerts, enum alert_kind kind);
/* Sets when an alert will end by itself, in seconds from now. It has no effect if the alert does not hold. */
void alerts_last(struct alerts *alerts, enum alert_kind kind, double seconds);
/* True if the same alerts hold, with the same words, reasons and times. */
bool alerts_equal(const struct alerts *a, const struct alerts *b);
/* Returns the number of alerts that hold. */
int alerts_count(const struct alerts *alerts);
/* Returns the name by which other programs know a kind: "source", "blackout". */
const char *alert_name(enum alert_kind kind);
/* Appends the alerts that hold to text, as in "source lost: nothing came for 2 s, blackout". size: bytes of text. */
void alerts_describe(const struct alerts *alerts, char *text, size_t size);

#endif
