/* Alerts tell the operator that something is lost (the source, a receiver), or that new pictures are not shown (freeze,
 * blackout). An alert lasts as long as its cause, and there is at most one of each kind.
 *
 * Only the window's thread raises and ends alerts. A struct alerts is a plain value, and other threads get copies. The
 * window, remote programs and the web page show the same alerts. */
#ifndef APP_CONTROL_ALERTS_H
#define APP_CONTROL_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of alerts, the most important one first. Alerts are drawn and listed in this order. */
enum alert_kind {
  ALERT_SOURCE, /* no frames arrive from the source */
  /* a source that is wanted has been opening for some seconds: a name that is looked up, a server, a device */
  ALERT_OPENING,
  ALERT_ENGINE, /* the engine has failed or ended, or has not finished a frame for too long */
  /* after a change of size, model or step count the first new picture is not finished yet, and the last old one is
   * shown */
  ALERT_PICTURE,
  ALERT_DISPLAY, /* the display on which the output window was shown is disconnected */
  ALERT_BLACKOUT,
  ALERT_CARD, /* the test card covers the picture, or corners are edited, while an operator's window is open */
  ALERT_FREEZE,
  ALERT_BYPASS,
  ALERT_PAUSE,
  ALERT_RECORDING,  /* a recording ended because of an error */
  ALERT_SENDING,    /* the receiver of a stream no longer answers */
  ALERT_SOUND,      /* the sound input that changes parameters (--sound) is lost, or the source has no sound */
  ALERT_MICROPHONE, /* the sound input for recordings (--record-sound) is lost */
  ALERT_CONTROL,    /* the control source (--control-source, frames from which control maps are made) fails */
  ALERT_LATE,       /* most pictures take longer than the budget allows */
  ALERTS
};

enum { ALERT_WORDS_MAX = 40, ALERT_REASON_MAX = 240 };

struct alert {
  bool holds;
  char words[ALERT_WORDS_MAX];   /* short text for the screen, for example "source lost" */
  char reason[ALERT_REASON_MAX]; /* explanation that is shown after the alert's words; "": there is none */
  int64_t since_ns;              /* time at which the alert was raised, on the clock of platform_now_ns */
  int64_t since_s;               /* time at which the alert was raised, in seconds of Unix time */
  /* when the alert ends even if its cause remains, in seconds of Unix time; 0: it ends only with its cause */
  int64_t until_s;
};

/* The alert of each kind; entry[kind].holds: true: it is raised. Initialise with zeros: no alert. */
struct alerts {
  struct alert entry[ALERTS];
};

/* Raises an alert. If the alert is raised already, its words and reason are replaced, and the time of its beginning is
 * kept. reason: NULL or "" if there is none. */
void alerts_raise(struct alerts *alerts, enum alert_kind kind, int64_t now_ns, const char *words, const char *reason);
/* Ends an alert. Does nothing if the alert is not raised. */
void alerts_end(struct alerts *alerts, enum alert_kind kind);
/* Lets an alert end this many seconds from now, even if its cause remains. Does nothing if the alert is not raised. */
void alerts_last(struct alerts *alerts, enum alert_kind kind, double seconds);
/* Returns true if the same kinds of alerts are raised in a and b, with the same words, reasons, beginnings and ends. */
bool alerts_equal(const struct alerts *a, const struct alerts *b);
/* Returns the number of alerts that are raised. */
int alerts_count(const struct alerts *alerts);
/* Returns the name of a kind of alert, by which remote programs refer to it: a string constant such as "source" or
 * "blackout". */
const char *alert_name(enum alert_kind kind);
/* Appends the raised alerts to the string in `text`, separated by commas: "source lost: nothing came for 2 s,
 * blackout". size: number of bytes that `text` has room for, including the present content. */
void alerts_describe(const struct alerts *alerts, char *text, size_t size);

#endif
