#include "app/window/hud_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/control/keys.h"
#include "app/control/parameter_order.h"
#include "app/flow/stats.h"
#include "app/window/cells.h"
#include "unet/base/text.h"

/* Buffer of HUD_TEXT_MAX bytes to which text is appended. */
struct writer {
  char *text;
  size_t used;
};

PRINTF_LIKE(3, 4) static void put(struct writer *writer, enum tone tone, const char *format, ...) {
  size_t room = HUD_TEXT_MAX - writer->used;
  if (room < 2)
    return;
  char *at = writer->text + writer->used;
  *at = (char)tone;
  va_list args;
  va_start(args, format);
  int length = vsnprintf(at + 1, room - 1, format, args);
  va_end(args);
  writer->used += 1 + ((size_t)length < room - 1 ? (size_t)length : room - 2);
}

static void end_line(struct writer *writer) {
  if (writer->used + 1 < HUD_TEXT_MAX) {
    writer->text[writer->used++] = '\n';
    writer->text[writer->used] = 0;
  }
}

/* Appends text that does not come from the program, such as file names and prompts. Control characters are removed,
 * because they would be read as colour marks. */
static void put_foreign(struct writer *writer, enum tone tone, const char *words) {
  char clean[512];
  snprintf(clean, sizeof clean, "%s", words);
  put(writer, tone, "%s", text_clean(clean));
}

/* Appends a rate in frames per second: with one digit after the decimal point if it is at least 1, with two if it is
 * below 1, and with three if it is below 0.1. */
static void put_fps(struct writer *writer, double fps) {
  if (fps > 0)
    put(writer, TONE_PLAIN, fps < 0.0995 ? "%5.3f" : fps < 0.995 ? "%4.2f" : "%4.1f", fps);
  else
    put(writer, TONE_PLAIN, "   -");
}

static void put_values(struct writer *writer, const struct parameters *values) {
  static const enum parameter shown[] = {PARAMETER_STRENGTH, PARAMETER_STEPS};
  char words[32];
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    put(writer, TONE_DIM, "%s ", parameter_row(shown[i])->name);
    put(writer, TONE_PLAIN, "%s  ", parameters_show(values, shown[i], 0, words, sizeof words));
  }
  if (values->seed_position != 0 || values->seed_walk != 0) {
    put(writer, TONE_DIM, "seed ");
    put(writer, TONE_PLAIN, "%.2f  ", (double)values->seed + values->seed_position);
  }
}

/* Appends the tempo and the number of the present beat in its bar, such as "tempo 128.0  beat . . 3 .". */
static void put_beat(struct writer *writer, const struct hud_content *content) {
  if (content->tempo <= 0)
    return;
  put(writer, TONE_DIM, "tempo ");
  put(writer, TONE_PLAIN, "%.1f", content->tempo);
  put(writer, TONE_DIM, "  beat");
  for (int i = 0; i < content->bar_beats; i++)
    if (i == content->beat)
      put(writer, TONE_TITLE, " %d", i + 1);
    else
      put(writer, TONE_DIM, " .");
  end_line(writer);
}

/* Appends the sound's levels: a bar for the whole sound and for each frequency band, such as "sound level ####....",
 * and the word "onset". */
static void put_sound(struct writer *writer, const struct meter *meter) {
  enum { BAR = 8 };
  static const char *const words[SOUND_BANDS] = {"level", "bass", "mid", "treble"}, full[] = "########",
                           empty[] = "........";
  put(writer, TONE_DIM, "sound");
  for (int i = 0; i < SOUND_BANDS; i++) {
    int length = (int)(BAR * meter->values[i] + 0.5);
    put(writer, TONE_DIM, "  %s ", words[i]);
    put(writer, TONE_PLAIN, "%.*s", length, full);
    put(writer, TONE_DIM, "%.*s", BAR - length, empty);
  }
  put(writer, meter->values[SOUND_ONSET] > 0 ? TONE_TITLE : TONE_DIM, "  onset");
  end_line(writer);
}

/* Appends the parameters that sound and LFOs change: the value that is set, and the offset, such as "strength 0.50
 * +0.12". */
static void put_moved(struct writer *writer, const struct meter *meter) {
  char name[PARAMETER_NAME_MAX];
  for (int i = 0; i < meter->count; i++) {
    const struct meter_row *row = &meter->row[i];
    put(writer, TONE_DIM, "%s%s ", i ? "  " : "", parameter_name(row->id, row->index, name));
    put(writer, TONE_PLAIN, "%.2f", row->base);
    put(writer, TONE_TITLE, " %+.2f", row->now - row->base);
  }
  if (meter->count)
    end_line(writer);
}

static void put_model(struct writer *writer, const struct hud_content *content) {
  put(writer, TONE_DIM, "model ");
  put_foreign(writer, TONE_PLAIN, content->model);
  if (content->loading) {
    put(writer, TONE_DIM, "  loading ");
    put_foreign(writer, TONE_PLAIN, content->loading);
  }
  end_line(writer);
}

/* Appends the line with the source's frame rate, the latency and the time budget. */
static void put_way(struct writer *writer, const struct hud_content *content) {
  if (content->source_fps > 0) {
    put(writer, TONE_DIM, "source ");
    put_fps(writer, content->source_fps);
    if (content->hardware)
      put(writer, TONE_DIM, " %s", content->hardware);
  }
  if (content->clip) {
    put(writer, TONE_DIM, "%sclip ", content->source_fps > 0 ? "  " : "");
    put(writer, TONE_PLAIN, "%s", content->clip);
  }
  if (content->latency_ms > 0) {
    put(writer, TONE_DIM, "%scapture to screen ", content->source_fps > 0 || content->clip ? "  " : "");
    put(writer, TONE_PLAIN, "%.1f", content->latency_ms);
    put(writer, TONE_DIM, " ms");
    put(writer, TONE_DIM, "  p99 ");
    put(writer, TONE_PLAIN, "%.1f", content->latency_p99_ms);
  }
  if (content->budget_ms > 0) {
    put(writer, TONE_DIM, "  missed ");
    put(writer, content->missed ? TONE_ALERT : TONE_PLAIN, "%ld", content->missed);
  }
  if (content->source_fps > 0 || content->clip || content->latency_ms > 0 || content->budget_ms > 0)
    end_line(writer);
}

static void put_budget_and_outputs(struct writer *writer, const struct hud_content *content) {
  if (content->governed) {
    put(writer, TONE_TITLE, "%s", content->governed);
    end_line(writer);
  }
  if (content->outputs) {
    put_foreign(writer, TONE_ALERT, content->outputs);
    end_line(writer);
  }
}

static void put_figures(struct writer *writer, const struct hud_content *content) {
  bool late = content->budget_ms > 0 && content->frame_ms > content->budget_ms;
  put(writer, TONE_DIM, "fps ");
  put_fps(writer, content->fps);
  put(writer, TONE_DIM, "  frame ");
  put(writer, late ? TONE_ALERT : TONE_PLAIN, "%5.1f", content->frame_ms);
  put(writer, TONE_DIM, " ms");
  if (content->budget_ms > 0)
    put(writer, TONE_DIM, " of %.*f", stats_decimals(content->budget_ms), content->budget_ms);
  put(writer, TONE_DIM, "  skipped ");
  put(writer, TONE_PLAIN, "%-5ld", content->dropped);
  end_line(writer);
  put_way(writer, content);
  put_budget_and_outputs(writer, content);
  put_beat(writer, content);
  if (content->meter && content->meter->heard)
    put_sound(writer, content->meter);
  if (content->meter)
    put_moved(writer, content->meter);
  for (int i = 0; i < content->prompt_count; i++) {
    if (content->prompt_count > 1)
      put(writer, TONE_PLAIN, "%3.0f%% ", 100 * (double)content->prompts[i].share);
    put_foreign(writer, TONE_TITLE, content->prompts[i].words);
    end_line(writer);
  }
  if (content->model)
    put_model(writer, content);
  if (content->values)
    put_values(writer, content->values);
  put(writer, TONE_DIM, "? help");
  end_line(writer);
}

/* Returns true if measured values, alerts and notices are shown: always in the operator's window, over the picture only
 * if the user has switched the overlay on. */
static bool shows_words(const struct hud_content *content) {
  return content->figures || content->layout == HUD_OPERATOR;
}

void hud_figures_text(char *text, const struct hud_content *content) {
  struct writer writer = {text, 0};
  text[0] = 0;
  if (shows_words(content) && content->state) {
    put_foreign(&writer, TONE_TITLE, content->state);
    end_line(&writer);
  }
  if (shows_words(content) && content->running)
    put_figures(&writer, content);
}

/* The forms in which an alert is written, the longest first: ALERT_FULL with duration and reason, ALERT_SHORT with
 * duration, ALERT_BARE with its words alone. */
enum alert_style { ALERT_FULL, ALERT_SHORT, ALERT_BARE, ALERT_STYLES };

/* Writes an alert with its duration and reason, such as "source lost 0:12: nothing came for 2 s", or shorter as style
 * says. */
static void print_alert(char *out, size_t size, const struct alert *alert, enum alert_style style, int64_t now_ns) {
  long seconds = (long)((now_ns - alert->since_ns) / 1000000000);
  if (style == ALERT_BARE)
    snprintf(out, size, "%s", alert->words);
  else
    snprintf(out, size, "%s %ld:%02ld%s%s", alert->words, seconds / 60, seconds % 60,
             style == ALERT_FULL && *alert->reason ? ": " : "", style == ALERT_FULL ? alert->reason : "");
}

static int put_alerts(char *text, const struct hud_content *content, enum alert_style style, int columns) {
  struct writer writer = {text, 0};
  int used = 0, lines = 0;
  for (int i = 0; i < ALERTS; i++) {
    char words[ALERT_WORDS_MAX + ALERT_REASON_MAX + 24];
    const struct alert *alert = &content->alerts->entry[i];
    if (!alert->holds)
      continue;
    print_alert(words, sizeof words, alert, style, content->now_ns);
    int own = cells_count(words, strlen(words)), gap = used ? 3 : 0;
    if (used && (style == ALERT_FULL || used + gap + own > columns)) {
      end_line(&writer);
      used = gap = 0;
    }
    lines += !used;
    put(&writer, TONE_PLAIN, "%*s", gap, "");
    put_foreign(&writer, TONE_PLAIN, words);
    used += gap + own;
  }
  if (lines)
    end_line(&writer);
  return lines;
}

int hud_alerts_text(char *text, const struct hud_content *content, int columns, int lines) {
  int taken = 0;
  text[0] = 0;
  if (!content->alerts || !shows_words(content))
    return 0;
  for (enum alert_style style = ALERT_FULL; style < ALERT_STYLES; style++) {
    text[0] = 0;
    taken = put_alerts(text, content, style, columns);
    if (taken <= lines)
      break;
  }
  return taken;
}

void hud_notice_text(char *text, const struct hud_content *content) {
  struct writer writer = {text, 0};
  text[0] = 0;
  if (shows_words(content) && content->notice) {
    put_foreign(&writer, TONE_PLAIN, content->notice);
    end_line(&writer);
  }
}

/* Returns the last space in the line before which the text fits into the columns. NULL: there is none, or the whole
 * line fits. */
static char *find_break(char *line, int columns) {
  size_t length = strcspn(line, "\n"), fits = cells_fit(line, length, columns);
  if (fits >= length)
    return NULL;
  char *at = line + fits;
  while (at > line && *at != ' ')
    at--;
  return at > line ? at : NULL;
}

void hud_text_fold(char *text, int columns) {
  for (char *line = text; *line;) {
    size_t marks = (unsigned char)*line < TONES;
    char *at = find_break(line + marks, columns);
    if (at)
      *at = '\n';
    line = at ? at + 1 : line + strcspn(line, "\n") + (strchr(line, '\n') != NULL);
  }
}

static bool is_mark(char c) {
  return c > 0 && c < TONES;
}

/* Returns true if in a line of measured values one value ends and the next begins at `at`: there are two spaces next to
 * a colour mark. Spaces that only pad a number do not count. */
static bool is_gap(const char *at) {
  return is_mark(at[0]) ? at[-1] != ' ' && at[1] == ' ' && at[2] == ' '
                        : at[-1] == ' ' && at[0] == ' ' && is_mark(at[1]);
}

/* Returns where to break a line of measured values. That is the last gap between two values up to which the text fits
 * into the columns; else the position before the number that would be cut; else the first gap. NULL: the whole line
 * fits, or there is no such position. */
static char *find_gap(char *line, int columns) {
  size_t length = strcspn(line, "\n");
  while (length && line[length - 1] == ' ')
    length--;
  size_t fits = cells_fit(line, length, columns);
  if (fits >= length)
    return NULL;
  for (char *at = line + fits; at > line + 1; at--)
    if (is_gap(at))
      return at;
  bool in_number = line[fits] == '.' || (line[fits] >= '0' && line[fits] <= '9');
  for (char *at = line + fits; in_number && at > line + 1; at--)
    if (at[0] == ' ' && is_mark(at[1]))
      return at;
  for (char *at = line + fits + 1; at < line + length; at++)
    if (is_gap(at))
      return at;
  return NULL;
}

void hud_text_fold_figures(char *text, int columns) {
  for (char *line = text; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
    char *gap = find_gap(line, columns);
    /* The first line may be a sentence that says what the user waits for; if it has no gap between values, it is broken
     * at a space */
    if (!gap && line == text)
      gap = find_break(line + 1, columns);
    if (!gap)
      continue;
    if (is_mark(*gap)) /* the colour mark is moved to the next line, where it replaces a space */
      gap[1] = *gap;
    *gap = '\n';
  }
}

/* Returns true if the user has bound each of the command's usual keys to something else, so that none of them gives
 * this command. */
static bool is_rebound(const struct command_entry *entry, const struct key_bindings *bindings) {
  int held = entry->special == KEY_CONTROL ? KEY_CONTROL : 0;
  for (const char *key = entry->keys; *key; key++)
    if (!key_bindings_find(bindings, held + *key))
      return false;
  return held || entry->special == KEY_NONE || key_bindings_find(bindings, entry->special);
}

static void put_bindings(struct writer *writer, const struct key_bindings *bindings) {
  char name[KEY_NAME_MAX], words[KEY_VALUE_MAX + PARAMETER_NAME_MAX + 8];
  for (int i = 0; bindings && i < bindings->count; i++) {
    put(writer, TONE_TITLE, "%-12s", key_name(bindings->entry[i].key, name));
    put_foreign(writer, TONE_PLAIN, key_binding_describe(&bindings->entry[i], words, sizeof words));
    put(writer, TONE_DIM, " (keys.conf)");
    end_line(writer);
  }
}

void hud_code_text(char *text, const struct hud_content *content) {
  snprintf(text, HUD_TEXT_MAX, "%s", content->address ? content->address : "");
}

void hud_help_text(char *text, const struct hud_content *content) {
  struct writer writer = {text, 0};
  text[0] = 0;
  if (!content->help)
    return;
  int count;
  const struct command_entry *entries = commands_table(&count);
  put_bindings(&writer, content->bindings);
  for (int i = 0; i < count; i++) {
    if (!entries[i].label || is_rebound(&entries[i], content->bindings))
      continue;
    put(&writer, TONE_TITLE, "%-12s", entries[i].label);
    put(&writer, TONE_PLAIN, "%s", entries[i].help);
    end_line(&writer);
  }
}

const char *hud_text_next_line(const char *text) {
  text += strcspn(text, "\n");
  return *text ? text + 1 : text;
}

void hud_text_measure(const char *text, int *lines, int *columns) {
  *lines = *columns = 0;
  for (; *text; text = hud_text_next_line(text), ++*lines) {
    int own = cells_count(text, strcspn(text, "\n"));
    *columns = own > *columns ? own : *columns;
  }
}

/* Puts as many columns of text side by side as fit into the width. The last line of each page is left for the
 * page's number. */
int hud_text_page(char *text, int page, int width, int lines) {
  int count, columns;
  hud_text_measure(text, &count, &columns);
  int beside = (width + HUD_COLUMN_GAP) / (columns + HUD_COLUMN_GAP), room = lines * (beside > 0 ? beside : 1);
  if (count <= room || room < 2)
    return count > 0;
  int each = room - 1, pages = (count + each - 1) / each, now = page < pages ? page : pages - 1;
  const char *from = text;
  for (int i = 0; i < now * each; i++)
    from = hud_text_next_line(from);
  memmove(text, from, strlen(from) + 1);
  const char *end = text;
  for (int i = 0; i < each; i++)
    end = hud_text_next_line(end);
  struct writer writer = {text, (size_t)(end - text)};
  put(&writer, TONE_DIM, "page %d of %d: ? turns, Esc leaves", now + 1, pages);
  end_line(&writer);
  return pages;
}

static void put_row(struct writer *writer, const struct hud_content *content, int i) {
  const struct parameter_list *list = &content->panel->list;
  const struct list_row row = list->row[i];
  char name[PARAMETER_NAME_MAX], value[PARAMETER_TEXT_MAX];
  if (row.id == PARAMETER_NONE) {
    put(writer, TONE_TITLE, " %4d%-*s", -1, HUD_NAME_COLUMNS, parameter_group_label((enum parameter_group)row.index));
    end_line(writer);
    return;
  }
  double share = parameter_list_share(content->values, row);
  bool chosen = i == list->chosen;
  put(writer, TONE_PLAIN, "%c%4d%-*.*s", chosen ? '>' : ' ', share < 0 ? -1 : (int)(1000 * share + 0.5),
      HUD_NAME_COLUMNS, HUD_NAME_COLUMNS, parameter_name(row.id, row.index, name));
  if (chosen && *list->typed)
    put(writer, TONE_TITLE, "%s_", list->typed);
  else
    put_foreign(writer, TONE_PLAIN, parameter_list_value(content->values, row, value, sizeof value));
  end_line(writer);
}

/* Appends the parameter list's heading. If the user filters the list, the heading shows the filter text, which explains
 * why few parameters are listed. */
static void put_head(struct writer *writer, const struct panel *panel) {
  const char *filter = panel->list.filter;
  if (*filter)
    put(writer, TONE_TITLE, "only \"%s\": / and Esc show all; Tab leaves", filter);
  else
    put(writer, TONE_TITLE, "arrows, a number, Enter; / filters, Tab leaves");
  end_line(writer);
}

void hud_list_text(char *text, const struct hud_content *content) {
  struct writer writer = {text, 0};
  text[0] = 0;
  if (!content->panel || !content->panel->lists)
    return;
  const struct parameter_list *list = &content->panel->list;
  put_head(&writer, content->panel);
  for (int i = list->first; i < list->first + list->seen && i < list->count; i++)
    put_row(&writer, content, i);
}

void hud_line_text(char *text, const struct hud_content *content) {
  struct writer writer = {text, 0};
  const struct panel *panel = content->panel;
  char name[PARAMETER_NAME_MAX];
  text[0] = 0;
  if (panel && panel->types)
    put(&writer, TONE_TITLE, "%s %zu %d %s %s", panel_label(panel, name), panel->line.cursor, panel->line.selected,
        panel->line.composed, panel->line.text);
  else if (panel && content->layout == HUD_OPERATOR)
    put(&writer, TONE_DIM, "Enter types the prompt, n the negative one");
}
