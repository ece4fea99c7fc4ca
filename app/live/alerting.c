/* Decides in each pass of the main thread's loop which alerts (messages that last as long as their cause) the overlay
 * shows. Every cause is checked in every pass, so no alert outlasts its cause. */
#include <stdio.h>

#include "app/live/live_impl.h"
#include "app/run/patience.h"
#include "unet/base/address.h"

/* A source that takes longer than this to open, in ns, is an alert. */
static const int64_t opening_ns = 3000000000;

static void follow(struct live *live, enum alert_kind kind, bool holds, int64_t now_ns, const char *words,
                   const char *reason) {
  if (holds)
    alerts_raise(&live->alerts, kind, now_ns, words, reason);
  else
    alerts_end(&live->alerts, kind);
}

static void follow_source(struct live *live, int64_t now_ns) {
  const struct reader_status *source = &live->source_status;
  const char *words = source->opened ? "source lost" : "waiting for the source";
  if (fallback_is_shown(live->fallback))
    words = "source lost, fallback shown";
  follow(live, ALERT_SOURCE, source->lost, now_ns, words, source->reason);
}

static void follow_opening(struct live *live, int64_t now_ns) {
  int64_t since_ns = now_ns;
  int index = live->changer ? changer_awaits(live->changer, &since_ns) : -1;
  follow(live, ALERT_OPENING, index >= 0 && now_ns - since_ns > opening_ns, now_ns, "a source does not open",
         index >= 0 ? address_name(changer_name(live->changer, index)).text : NULL);
}

static void follow_engine(struct live *live, int64_t now_ns) {
  char reason[ALERT_REASON_MAX];
  const char *then = *live->fate ? live->fate : live->stalled ? "" : "it is opened again";
  if (live->stalled)
    snprintf(reason, sizeof reason, "it has not answered for %.0f s%s%s", live->engine.busy_ms / 1000,
             *then ? "; " : "", then);
  else
    snprintf(reason, sizeof reason, "%.100s; %.119s", live->engine.why_away, then);
  follow(live, ALERT_ENGINE, live->engine.away || live->stalled, now_ns,
         live->stalled ? "the engine hangs" : "the engine failed", reason);
}

/* Raises ALERT_PICTURE if the engine has worked for more than a second on the first picture after a change of size,
 * steps or model; until it is finished, the screen shows a picture from before the change. Otherwise ends that
 * alert. */
static void follow_picture(struct live *live, int64_t now_ns) {
  char reason[ALERT_REASON_MAX];
  bool waits = live->state.ready && live->engine.first && live->engine.busy_ms > PATIENCE_LEAST_MS;
  snprintf(reason, sizeof reason, "the first of %s", live->engine.name);
  follow(live, ALERT_PICTURE, waits, now_ns, "waiting for a picture", reason);
}

static void follow_display(struct live *live, int64_t now_ns) {
  const char *name = window_lost_display(live->window);
  follow(live, ALERT_DISPLAY, name != NULL, now_ns, "display gone", name);
}

/* Updates the alerts about missing sound, which can have three causes: the sound input that changes parameters is lost,
 * the source has no sound, or the sound input for recordings is lost. */
static void follow_sounds(struct live *live, int64_t now_ns) {
  char reason[ALERT_REASON_MAX] = "";
  bool away = live->listener && listener_is_away(live->listener, reason);
  follow(live, ALERT_SOUND, away || *live->silent_now, now_ns, away ? "sound gone" : "the source has no sound",
         away ? reason : live->silent_now);
  away = live->microphone && listener_is_away(live->microphone, reason);
  follow(live, ALERT_MICROPHONE, away, now_ns, "no sound for recordings", reason);
}

static void follow_files(struct live *live, int64_t now_ns) {
  const struct outputs_figures *figures = &live->output_figures;
  char reason[ALERT_REASON_MAX];
  follow(live, ALERT_RECORDING, *figures->broken, now_ns, "recording ended", figures->broken);
  snprintf(reason, sizeof reason, "%d of %d", figures->failing, figures->streams);
  follow(live, ALERT_SENDING, figures->failing > 0, now_ns, figures->failing > 1 ? "receivers gone" : "receiver gone",
         reason);
}

static void follow_control(struct live *live, int64_t now_ns) {
  char reason[ALERT_REASON_MAX];
  bool wrong = control_source_state(live->control, reason, sizeof reason);
  follow(live, ALERT_CONTROL, wrong, now_ns, "control source", reason);
}

/* Raises or ends the alert that the audience sees the test card. Only an operator's window shows this alert. If there
 * is only one window, the operator sees the card itself, and the alert would cover the card's corners. */
static void follow_card(struct live *live, int64_t now_ns) {
  const struct parameters *values = &live->state.settings.values;
  bool covers = window_has_operator(live->window) && (values->test_card || values->corner_edit);
  follow(live, ALERT_CARD, covers, now_ns, values->test_card ? "test card" : "corners are edited", NULL);
}

static void follow_covers(struct live *live, int64_t now_ns) {
  const struct parameters *values = &live->state.settings.values;
  follow(live, ALERT_BLACKOUT, values->blackout, now_ns, "blackout", NULL);
  follow(live, ALERT_FREEZE, values->freeze, now_ns, "frozen", NULL);
  follow(live, ALERT_BYPASS, values->bypass, now_ns, "bypass", NULL);
  follow(live, ALERT_PAUSE, live->state.ready && values->pause, now_ns, "paused", NULL);
}

static void follow_late(struct live *live, int64_t now_ns) {
  struct recent_lateness late = {.late = live->alerts.entry[ALERT_LATE].holds};
  char reason[ALERT_REASON_MAX];
  recent_times_judge(&live->figures.recent, now_ns, &late);
  snprintf(reason, sizeof reason, "%d of the last %d pictures missed the budget", late.missed, late.of);
  follow(live, ALERT_LATE, late.late, now_ns, "late", reason);
  alerts_last(&live->alerts, ALERT_LATE, late.seconds);
}

void live_follow_alerts(struct live *live, int64_t now_ns) {
  follow_source(live, now_ns);
  follow_opening(live, now_ns);
  follow_engine(live, now_ns);
  follow_picture(live, now_ns);
  follow_display(live, now_ns);
  follow_covers(live, now_ns);
  follow_card(live, now_ns);
  follow_files(live, now_ns);
  follow_sounds(live, now_ns);
  follow_control(live, now_ns);
  follow_late(live, now_ns);
}
