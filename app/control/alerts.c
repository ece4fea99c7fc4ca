#include "app/control/alerts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void alerts_raise(struct alerts *alerts, enum alert_kind kind, int64_t now_ns, const char *words, const char *reason) {
  struct alert *alert = &alerts->entry[kind];
  if (!alert->holds)
    *alert = (struct alert){.holds = true, .since_ns = now_ns, .since_s = (int64_t)time(NULL)};
  snprintf(alert->words, sizeof alert->words, "%s", words);
  snprintf(alert->reason, sizeof alert->reason, "%.*s", ALERT_REASON_MAX - 1, reason ? reason : "");
}

void alerts_end(struct alerts *alerts, enum alert_kind kind) {
  alerts->entry[kind].holds = false;
}

void alerts_last(struct alerts *alerts, enum alert_kind kind, double seconds) {
  alerts->entry[kind].until_s = (int64_t)time(NULL) + (int64_t)(seconds + 0.999);
}

static bool same(const struct alert *a, const struct alert *b) {
  if (!a->holds || !b->holds)
    return a->holds == b->holds;
  return a->since_ns == b->since_ns && a->until_s == b->until_s && !strcmp(a->words, b->words) &&
         !strcmp(a->reason, b->reason);
}

bool alerts_equal(const struct alerts *a, const struct alerts *b) {
  for (int i = 0; i < ALERTS; i++)
    if (!same(&a->entry[i], &b->entry[i]))
      return false;
  return true;
}

int alerts_count(const struct alerts *alerts) {
  int count = 0;
  for (int i = 0; i < ALERTS; i++)
    count += alerts->entry[i].holds;
  return count;
}

const char *alert_name(enum alert_kind kind) {
  static const char *const names[ALERTS] = {[ALERT_SOURCE] = "source",
                                            [ALERT_OPENING] = "opening",
                                            [ALERT_ENGINE] = "engine",
                                            [ALERT_PICTURE] = "picture",
                                            [ALERT_DISPLAY] = "display",
                                            [ALERT_BLACKOUT] = "blackout",
                                            [ALERT_FREEZE] = "freeze",
                                            [ALERT_BYPASS] = "bypass",
                                            [ALERT_PAUSE] = "pause",
                                            [ALERT_RECORDING] = "recording",
                                            [ALERT_SENDING] = "sending",
                                            [ALERT_SOUND] = "sound",
                                            [ALERT_MICROPHONE] = "microphone",
                                            [ALERT_CONTROL] = "control",
                                            [ALERT_LATE] = "late",
                                            [ALERT_CARD] = "card"};
  return names[kind];
}

void alerts_describe(const struct alerts *alerts, char *text, size_t size) {
  size_t used = strlen(text);
  for (int i = 0; i < ALERTS && used + 1 < size; i++) {
    const struct alert *alert = &alerts->entry[i];
    if (alert->holds)
      used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", used ? ", " : "", alert->words,
                               *alert->reason ? ": " : "", alert->reason);
  }
}
