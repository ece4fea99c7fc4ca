/* Commands that choose the source, and those for the file that is shown. */
#include "app/control/keys_impl.h"

static int number_of(const struct live_state *state, enum parameter id) {
  return (int)parameters_number(&state->settings.values, id, 0);
}

/* Returns the number of the source that comes `step` (1 or -1) after source `number` of the list, whose first source
 * follows its last; 0 after a notice if there is no other source. */
static int source_beside(struct live_state *state, int number, int step, int64_t now_ns) {
  int count = state->sources;
  if (count < 2) {
    live_notice(state, now_ns, "there is no other source: name several, or drop a file here");
    return 0;
  }
  return (number - 1 + count + step) % count + 1;
}

void run_source(struct live_state *state, const struct command_call *call) {
  int next = source_beside(state, number_of(state, PARAMETER_SOURCE), call->value < 0 ? -1 : 1, call->now_ns);
  if (next)
    live_set(state, PARAMETER_SOURCE, next, call->now_ns);
}

/* Cues a source, which follows when the present file ends. The cued source is the one after the source that was cued
 * before or, if none was, the one after the present source. */
void run_cue_source(struct live_state *state, const struct command_call *call) {
  int cued = number_of(state, PARAMETER_CUED_SOURCE);
  int next = source_beside(state, cued ? cued : number_of(state, PARAMETER_SOURCE), 1, call->now_ns);
  if (!next)
    return;
  live_set(state, PARAMETER_CUED_SOURCE, next, call->now_ns);
  live_notice(state, call->now_ns, "source %d is next", next);
}

void run_take_source(struct live_state *state, const struct command_call *call) {
  take_cued(state, PARAMETER_CUED_SOURCE, PARAMETER_SOURCE, "no source is cued: Ctrl n cues the next one",
            call->now_ns);
}

/* Asks to move in the clip by call->value seconds (negative: back). Requests that are not carried out yet add up. */
void run_seek(struct live_state *state, const struct command_call *call) {
  state->seek_by_s += call->value;
  state->seeks_asked++;
}

void run_seek_start(struct live_state *state, const struct command_call *call) {
  live_set(state, PARAMETER_CLIP_POSITION, 0, call->now_ns);
}

/* Asks to set the clip's in point or out point to the present position. The command's value in the table of commands
 * says which one. */
void run_mark(struct live_state *state, const struct command_call *call) {
  state->clip_marks |= (unsigned)call->entry->value;
}

void run_clear_marks(struct live_state *state, const struct command_call *call) {
  live_set(state, PARAMETER_CLIP_IN, 0, call->now_ns);
  live_set(state, PARAMETER_CLIP_OUT, 0, call->now_ns);
  live_notice(state, call->now_ns, "the whole clip");
}

void run_next_loop(struct live_state *state, const struct command_call *call) {
  static const char *const words[] = {"the list goes on", "it begins again", "its last picture stays"};
  int next = (number_of(state, PARAMETER_CLIP_LOOP) + 1) % (int)(sizeof words / sizeof *words);
  live_set(state, PARAMETER_CLIP_LOOP, next, call->now_ns);
  live_notice(state, call->now_ns, "at the clip's end: %s", words[next]);
}
