/* Writes the HTML page of a report: tables, and plots as inline SVG. Each bar of a plot has a title with its numbers,
 * which browsers show under the pointer; the tables contain the same numbers. */
#include "app/bench/html_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/bench/html_text.h"
#include "app/bench/profile_report.h"
#include "app/bench/steadiness_report.h"

enum { WIDTH = 960, BAR = 20, LABEL = 290, FIGURES = 130, STRIP = 220, PLOT = 300, MARGIN = 60 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>reverie bench</title>\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}\n"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:2px 8px;text-align:right;border-bottom:1px solid #ddd}"
    "\ntd:first-child,th:first-child{text-align:left}svg{display:block;margin:.5em 0;font:12px system-ui,sans-serif}\n"
    ".floor{fill:#3a7d44}.excess{fill:#d98324}.plain{fill:#4a6fa5}.axis{stroke:#888}.line{stroke:#3a7d44;fill:none;"
    "stroke-width:2}.time{stroke:#4a6fa5;fill:none;stroke-width:2}\n</style></head><body>\n";

static void write_head(const struct report *report, FILE *out) {
  const struct engine_info *engine = &report->engine;
  const struct engine_shape *shape = &report->prepared.shape;
  fputs(head, out);
  fputs("<h1>", out);
  html_text(engine->model, out);
  fprintf(out, ", %dx%d, %d step%s</h1>\n<p>", shape->width, shape->height, shape->steps, shape->steps == 1 ? "" : "s");
  html_text(engine->device, out);
  fputs(", ", out);
  html_text(engine->device_detail, out);
  fprintf(out, "<br>reverie %s, %.1f GFLOP a frame</p>\n", REVERIE_VERSION, report->prepared.flops * 1e-9);
}

/* --- the table of frame rates --- */

static void write_rates(const struct report *report, FILE *out) {
  fputs("<h2>Frame times</h2>\n<table><tr><th></th><th>frames</th><th>fps</th><th>median ms</th><th>p95</th>"
        "<th>p99</th><th>max</th></tr>\n",
        out);
  for (int i = 0; i < report->row_count; i++) {
    const struct report_row *row = &report->rows[i];
    fprintf(out,
            "<tr><td title=\"%s\">%s</td><td>%ld</td><td>%.1f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td>"
            "<td>%.3f</td></tr>\n",
            row->meaning, row->name, row->times.count, row->fps, row->times.median_ms, row->times.p95_ms,
            row->times.p99_ms, row->times.max_ms);
  }
  fputs("</table>\n", out);
  if (report->joules > 0)
    fprintf(out, "<p>%.3f J a frame of the whole GPU.</p>\n", report->joules);
}

/* --- times of the network's ops (--profile) --- */

static void write_bar(const struct profile_total *t, int y, double scale, FILE *out) {
  double floor = fmin(fmax(t->floor_us, 0), fmax(t->us, 0)) * scale, all = fmax(t->us, 0) * scale;
  fputs("<g><title>", out);
  html_text(t->group, out);
  fprintf(out, ": %.1f us, floor %.1f us, %d launches</title><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", t->us,
          t->floor_us, t->launches, LABEL - 8, y + BAR - 6);
  html_text(t->group, out);
  fprintf(out, "</text><rect class=\"floor\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", LABEL, y + 2, floor,
          BAR - 4);
  fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
          t->floor_us > 0 ? "excess" : "plain", LABEL + floor, y + 2, all - floor, BAR - 4);
  fprintf(out, "<text x=\"%.1f\" y=\"%d\">%.1f us</text></g>\n", LABEL + all + 6, y + BAR - 6, t->us);
}

static void write_totals(const struct profile *profile, enum profile_grouping grouping, FILE *out) {
  struct profile_totals totals;
  double most = 1e-9;
  if (profile_totals(profile, grouping, &totals))
    return;
  for (int i = 0; i < totals.count; i++)
    most = fmax(most, totals.list[i].us);
  fprintf(out, "<h3>%s</h3>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\">\n", profile_grouping_title(grouping), WIDTH,
          BAR * totals.count, WIDTH);
  for (int i = 0; i < totals.count; i++)
    write_bar(&totals.list[i], BAR * i, (WIDTH - LABEL - FIGURES) / most, out);
  fputs("</svg>\n", out);
  free(totals.list);
}

/* Draws the ops of a frame as bars from left to right. The width of a bar is the op's time. The green part of the bar's
 * height is the share of that time that the op would need at the device's peak rates. */
static void write_strip(const struct profile *profile, FILE *out) {
  double sum = profile_sum_us(profile), x = 0;
  fprintf(out,
          "<h3>the frame, op by op</h3>\n<p>From left to right as they run; width: time; green: the share that "
          "the floor explains. Point at one for its name.</p>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\">\n",
          WIDTH, STRIP, WIDTH);
  for (int i = 0; i < profile->count && sum > 0; i++) {
    const struct profile_row *row = &profile->rows[i];
    double width = fmax(row->us * row->runs, 0) / sum * WIDTH;
    double share = row->us > 0 ? fmin(row->floor_us / row->us, 1) : 0, high = STRIP * share;
    fputs("<g><title>", out);
    html_text(row->name, out);
    fprintf(out, "\n%s\n%s\n%.2f us (+- %.2f)%s, floor %.2f us</title>", row->shape, row->way, row->us, row->spread_us,
            row->runs > 1 ? " a run" : "", row->floor_us);
    fprintf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"%.1f\"/>",
            row->floor_us > 0 ? "excess" : "plain", x, width, STRIP - high);
    fprintf(out, "<rect class=\"floor\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/></g>\n", x, STRIP - high,
            width, high);
    x += width;
  }
  fputs("</svg>\n", out);
}

static void write_rows(const struct profile *profile, FILE *out) {
  fputs("<details><summary>All ops</summary>\n<table><tr><th>op</th><th>shape</th><th>way</th><th>runs</th><th>us</th>"
        "<th>+-</th><th>warm</th><th>flushed</th><th>floor</th></tr>\n",
        out);
  for (int i = 0; i < profile->count; i++) {
    const struct profile_row *row = &profile->rows[i];
    fputs("<tr><td>", out);
    html_text(row->name, out);
    fprintf(out,
            "</td><td>%s</td><td>%s</td><td>%d</td><td>%.2f</td><td>%.2f</td><td>%.2f</td><td>%.2f</td>"
            "<td>%.2f</td></tr>\n",
            row->shape, row->way, row->runs, row->us, row->spread_us, row->warm_us, row->flushed_us, row->floor_us);
  }
  fputs("</table></details>\n", out);
}

static void write_profile(const struct profile *profile, FILE *out) {
  fprintf(out,
          "<h2>Where the time goes</h2>\n<p>The frame %.1f us (+- %.1f), its ops together %.1f us. Green: the "
          "floor, the longest of arithmetic, weights and activations at the device's best rates (not known of "
          "every device); orange: the excess.</p>\n",
          profile->frame_us, profile->frame_spread_us, profile_sum_us(profile));
  write_strip(profile, out);
  for (enum profile_grouping grouping = 0; grouping < GROUPINGS; grouping++)
    write_totals(profile, grouping, out);
  write_rows(profile, out);
}

/* --- the plot of several sizes, step counts or batches (--sweep) --- */

/* Returns the x value of a sweep's row in the plot. If the sweep varies the batch, x is proportional to the number of
 * frames in the batch, because the operations per frame are constant; otherwise x is proportional to the operations per
 * frame. */
static double along_x(const struct sweep *sweep, int i) {
  const struct sweep_row *row = &sweep->rows[i], *last = &sweep->rows[sweep->count - 1];
  double share = sweep->by == SWEEP_BATCH ? (double)row->batch / last->batch : row->flops / last->flops;
  return MARGIN + (WIDTH - 2.0 * MARGIN) * share;
}

static void write_curve(const struct sweep *sweep, bool line, double scale, FILE *out) {
  fprintf(out, "<polyline class=\"%s\" points=\"", line ? "line" : "time");
  for (int i = 0; i < sweep->count; i++)
    fprintf(out, "%.1f,%.1f ", along_x(sweep, i),
            PLOT - MARGIN / 2.0 - scale * (line ? sweep->rows[i].line_ms : sweep->rows[i].times.median_ms));
  fputs("\"/>\n", out);
}

static void write_sweep(const struct sweep *sweep, FILE *out) {
  double most = 1e-9;
  for (int i = 0; i < sweep->count; i++)
    most = fmax(most, sweep->rows[i].times.median_ms);
  double scale = (PLOT - MARGIN) / most, base = PLOT - MARGIN / 2.0;
  fprintf(out,
          "<h2>The time of a frame over %s</h2>\n<p>Blue: measured. Green: the arithmetic alone at "
          "%.2f TFLOP/s, the best rate of these rows.</p>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\">\n",
          sweep->by == SWEEP_BATCH ? "the frames of a run" : "its arithmetic", sweep->rate * 1e-12, WIDTH, PLOT, WIDTH);
  fprintf(out, "<line class=\"axis\" x1=\"%d\" y1=\"%.0f\" x2=\"%d\" y2=\"%.0f\"/>\n", MARGIN, base, WIDTH - MARGIN,
          base);
  write_curve(sweep, true, scale, out);
  write_curve(sweep, false, scale, out);
  for (int i = 0; i < sweep->count; i++) {
    const struct sweep_row *row = &sweep->rows[i];
    double x = along_x(sweep, i), y = base - scale * row->times.median_ms;
    fprintf(out,
            "<g><title>%dx%d, %d steps: %.3f ms, line %.3f ms</title><circle class=\"plain\" cx=\"%.1f\" "
            "cy=\"%.1f\" r=\"4\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
            row->width, row->height, row->steps, row->times.median_ms, row->line_ms, x, y, x - 6, y - 6);
    if (sweep->by == SWEEP_STEPS)
      fprintf(out, "%d steps, ", row->steps);
    else if (sweep->by == SWEEP_BATCH)
      fprintf(out, "%d a run, ", row->batch);
    else
      fprintf(out, "%dx%d, ", row->width, row->height);
    fprintf(out, "%.2f ms</text></g>\n", row->times.median_ms);
  }
  const struct sweep_row *last = &sweep->rows[sweep->count - 1];
  bool batch = sweep->by == SWEEP_BATCH;
  fprintf(out, "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f %s</text></svg>\n",
          MARGIN, PLOT - 8, WIDTH - MARGIN, PLOT - 8, batch ? last->batch : last->flops * 1e-9,
          batch ? "frames a run" : "GFLOP");
}

/* --- how kernels were chosen --- */

static void write_timings(const char *timings, FILE *out) {
  fputs(
      "<h2>Kernels</h2>\n<details><summary>The device, its clocks when the measurements ended, and what each candidate "
      "for a product took</summary>\n<pre>",
      out);
  html_text(timings, out);
  fputs("</pre></details>\n", out);
}

int html_report(const struct report *report, const char *path, struct error *err) {
  char *page = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&page, &size);
  if (!out)
    return error_set(err, STATUS_FAILED, "no memory for the page");
  write_head(report, out);
  if (report->row_count)
    write_rates(report, out);
  if (report->profile.count)
    write_profile(&report->profile, out);
  if (report->sweep.count)
    write_sweep(&report->sweep, out);
  if (report->steadiness.count)
    steadiness_html(&report->steadiness, out);
  if (report->timings)
    write_timings(report->timings, out);
  fputs("</body></html>", out);
  if (fclose(out)) {
    free(page);
    page = NULL;
  }
  return report_write(path, page, err);
}
