#include "app/bench/steadiness_report.h"

#include <math.h>

#include "app/bench/html_text.h"

enum { ROWS = MOTIONS_MOVING + 3, WIDTH = 960, BAR = 20, LABEL = 290, FIGURES = 130 };

static const char meaning[] =
    "output, input: mean change from frame to frame in grey levels of 0 to 255, each pixel compared with where it was\n"
    "ratio: output over input, 1 is as steady as the input    ends: the same between the first frame and the last one\n"
    "seen: pixels that were compared    detail: gradient energy over that of each frame made alone; less is blurred\n"
    "pan, zoom, turn and cut-out move the clip's first frame exactly; under noise it stands still\n";

/* A line of the table for one clip: its changes from frame to frame (step), its change from the first frame to the
 * last, and how sharp the outputs are. */
struct row {
  const char *name;
  struct steadiness_change step;
  /* ends: change of the outputs from the first to the last frame. detail: gradient energy of the outputs, divided by
   * that of outputs that were computed without earlier frames. NAN: not measured for this line */
  double ends, detail;
};

static void fill_rows(const struct steadiness_clip *clip, struct row rows[ROWS]) {
  static const char *const names[MOTIONS_MOVING] = {[MOTION_PAN] = "pan by (2, 1) pixels",
                                                    [MOTION_ZOOM] = "zoom by 1 %",
                                                    [MOTION_TURN] = "turn by half a degree",
                                                    [MOTION_CUT_OUT] = "cut-out over the ground"};
  for (enum motion motion = 0; motion < MOTIONS_MOVING; motion++) {
    const struct steadiness_motion *figures = &clip->motion[motion];
    rows[motion] = (struct row){names[motion], figures->step, figures->ends.output, figures->detail};
  }
  rows[MOTIONS_MOVING] = (struct row){"still under noise", clip->noise, NAN, NAN};
  rows[MOTIONS_MOVING + 1] = (struct row){"the clip: still pixels", clip->still, NAN, NAN};
  rows[MOTIONS_MOVING + 2] = (struct row){"the clip: along its flow", clip->warp, NAN, clip->detail};
}

/* Prints a number in eight columns, or a dash for NAN. */
static void cell(double number, FILE *out) {
  if (isnan(number))
    fprintf(out, " %8s", "-");
  else
    fprintf(out, " %8.2f", number);
}

static const char *or_more(const struct steadiness_lag *lag) {
  return lag->frames >= STEADINESS_LAG_MAX ? " or more" : "";
}

static void print_lag(const char *where, const struct steadiness_lag *lag, FILE *out) {
  fprintf(out, "%s the old picture is seen for %d frame%s%s (its share in the first: %.2f)\n", where, lag->frames,
          lag->frames == 1 ? "" : "s", or_more(lag), isnan(lag->share) ? 0 : lag->share);
}

static void print_clip(const struct steadiness_clip *clip, FILE *out) {
  struct row rows[ROWS];
  fill_rows(clip, rows);
  fprintf(out, "%s: %d frame%s\n%-26s %8s %8s %8s %8s %8s %8s\n", clip->name, clip->frames,
          clip->frames == 1 ? "" : "s", "", "output", "input", "ratio", "ends", "seen %", "detail");
  for (int i = 0; i < ROWS; i++) {
    const struct row *row = &rows[i];
    fprintf(out, "%-26s", row->name);
    cell(row->step.output, out);
    cell(row->step.input, out);
    cell(steadiness_ratio(&row->step), out);
    cell(row->ends, out);
    cell(isnan(row->step.output) ? NAN : 100 * row->step.share, out);
    cell(row->detail, out);
    fputc('\n', out);
  }
  print_lag("after a cut", &clip->cut, out);
  print_lag("behind a moving edge", &clip->edge, out);
  fputc('\n', out);
}

void steadiness_table(const struct steadiness *steadiness, FILE *out) {
  for (int i = 0; i < steadiness->count; i++)
    print_clip(&steadiness->clips[i], out);
  fputs(meaning, out);
}

/* --- printing as JSON --- */

static void add_number(cJSON *to, const char *name, double number) {
  cJSON_AddItemToObject(to, name, isnan(number) ? cJSON_CreateNull() : cJSON_CreateNumber(number));
}

static void add_change(cJSON *to, const struct steadiness_change *change) {
  add_number(to, "output", change->output);
  add_number(to, "input", change->input);
  add_number(to, "ratio", steadiness_ratio(change));
  add_number(to, "seen", change->share);
}

static void add_motion(cJSON *to, const struct steadiness_motion *figures) {
  add_change(to, &figures->step);
  add_number(to, "ends_output", figures->ends.output);
  add_number(to, "ends_input", figures->ends.input);
  add_number(to, "detail", figures->detail);
}

static void add_lag(cJSON *to, const struct steadiness_lag *lag) {
  add_number(to, "frames", lag->frames);
  add_number(to, "share", lag->share);
}

void steadiness_json(const struct steadiness *steadiness, cJSON *clips) {
  for (int i = 0; i < steadiness->count; i++) {
    const struct steadiness_clip *clip = &steadiness->clips[i];
    cJSON *to = cJSON_CreateObject();
    cJSON_AddStringToObject(to, "name", clip->name);
    add_number(to, "frames", clip->frames);
    for (enum motion motion = 0; motion < MOTIONS_MOVING; motion++)
      add_motion(cJSON_AddObjectToObject(to, motion_name(motion)), &clip->motion[motion]);
    add_change(cJSON_AddObjectToObject(to, "noise"), &clip->noise);
    add_change(cJSON_AddObjectToObject(to, "still"), &clip->still);
    add_change(cJSON_AddObjectToObject(to, "warp"), &clip->warp);
    add_number(to, "detail", clip->detail);
    add_lag(cJSON_AddObjectToObject(to, "after_cut"), &clip->cut);
    add_lag(cJSON_AddObjectToObject(to, "behind_edge"), &clip->edge);
    cJSON_AddItemToArray(clips, to);
  }
}

/* --- printing as HTML --- */

static void html_cell(double number, FILE *out) {
  if (isnan(number))
    fputs("<td>-</td>", out);
  else
    fprintf(out, "<td>%.2f</td>", number);
}

static void html_table(const struct row rows[ROWS], FILE *out) {
  fputs("<table><tr><th></th><th>output</th><th>input</th><th>ratio</th><th>ends</th><th>seen %</th><th>detail</th>"
        "</tr>\n",
        out);
  for (int i = 0; i < ROWS; i++) {
    const struct row *row = &rows[i];
    fprintf(out, "<tr><td>%s</td>", row->name);
    html_cell(row->step.output, out);
    html_cell(row->step.input, out);
    html_cell(steadiness_ratio(&row->step), out);
    html_cell(row->ends, out);
    html_cell(isnan(row->step.output) ? NAN : 100 * row->step.share, out);
    html_cell(row->detail, out);
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

/* Draws a bar whose length is the outputs' change; the length of its green part is the inputs' change. */
static void html_bar(const struct row *row, int y, double scale, FILE *out) {
  double all = isnan(row->step.output) ? 0 : row->step.output * scale;
  double input = isnan(row->step.input) ? 0 : fmin(row->step.input * scale, all);
  fprintf(out,
          "<g><title>%s: output %.2f, input %.2f grey levels</title><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s"
          "</text><rect class=\"floor\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
          row->name, isnan(row->step.output) ? 0 : row->step.output, isnan(row->step.input) ? 0 : row->step.input,
          LABEL - 8, y + BAR - 6, row->name, LABEL, y + 2, input, BAR - 4);
  fprintf(out, "<rect class=\"excess\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", LABEL + input, y + 2,
          all - input, BAR - 4);
  if (isnan(row->step.output))
    fprintf(out, "<text x=\"%d\" y=\"%d\">not measured</text></g>\n", LABEL + 6, y + BAR - 6);
  else
    fprintf(out, "<text x=\"%.1f\" y=\"%d\">%.2f</text></g>\n", LABEL + all + 6, y + BAR - 6, row->step.output);
}

static void html_plot(const struct row rows[ROWS], FILE *out) {
  double most = 1e-9;
  for (int i = 0; i < ROWS; i++)
    most = fmax(most, isnan(rows[i].step.output) ? 0 : rows[i].step.output);
  fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\">\n", WIDTH, BAR * ROWS, WIDTH);
  for (int i = 0; i < ROWS; i++)
    html_bar(&rows[i], BAR * i, (WIDTH - LABEL - FIGURES) / most, out);
  fputs("</svg>\n", out);
}

static void html_lag(const char *where, const struct steadiness_lag *lag, FILE *out) {
  fputs("<p>", out);
  print_lag(where, lag, out);
  fputs("</p>\n", out);
}

void steadiness_html(const struct steadiness *steadiness, FILE *out) {
  fputs("<h2>Steadiness</h2>\n<p>Change from frame to frame in grey levels, each pixel compared with where it was. "
        "Green: as much as the input changes; orange: the rest. Detail is compared with frames made alone.</p>\n",
        out);
  for (int i = 0; i < steadiness->count; i++) {
    const struct steadiness_clip *clip = &steadiness->clips[i];
    struct row rows[ROWS];
    fill_rows(clip, rows);
    fputs("<h3>", out);
    html_text(clip->name, out);
    fprintf(out, ", %d frame%s</h3>\n", clip->frames, clip->frames == 1 ? "" : "s");
    html_plot(rows, out);
    html_table(rows, out);
    html_lag("After a cut", &clip->cut, out);
    html_lag("Behind a moving edge", &clip->edge, out);
  }
}
