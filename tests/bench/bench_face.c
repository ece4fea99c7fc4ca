/* Prints what a redraw of the operator's window costs the window's thread, in ms, while meters, graph, figures and a
 * bar move: bench_face [WIDTH HEIGHT [REDRAWS]], 3840x2160 and 1000 without arguments. "update", "draw" and their sum
 * are processor time of the thread; "wall" is how long the sum keeps it, waits for the driver included. The last line
 * compares both with the limit of 1 ms. It draws with SDL's offscreen driver unless SDL_VIDEODRIVER names another
 * one. */
#include <SDL.h>
#include <epoxy/gl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app/control/panel.h"
#include "app/flow/recent_times.h"
#include "app/window/hud.h"
#include "app/window/window.h"
#include "unet/base/platform.h"

static struct panel panel;
static struct face_content face;
static struct parameters values;
static struct recent_times recent;

static double thread_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Prints the times, and returns their 99th percentile. */
static double print(const char *what, double *ms, int count) {
  qsort(ms, (size_t)count, sizeof *ms, compare);
  printf("%-8s median %.3f ms, p99 %.3f ms, longest %.3f ms\n", what, ms[count / 2], ms[count * 99 / 100],
         ms[count - 1]);
  return ms[count * 99 / 100];
}

static void fill(struct hud_content *content) {
  struct error err;
  parameters_init(&values);
  for (int i = 1; i <= FACE_PROMPTS; i++)
    parameters_set_text(&values, PARAMETER_PROMPT, i, "ink drawing of a harbour", &err);
  parameter_list_update(&panel.list, &values, 8);
  face = (struct face_content){.prompts = FACE_PROMPTS,
                               .scenes = 3,
                               .first_scene = 1,
                               .scene_name = {"a", "b", "c"},
                               .clip = true,
                               .clip_end_s = 90,
                               .clip_left_s = 60,
                               .clip_speed = 1};
  face.bars = parameter_list_leading(&values, NULL, face.bar, FACE_BARS);
  *content = (struct hud_content){.layout = HUD_OPERATOR,
                                  .running = true,
                                  .fps = 60,
                                  .values = &values,
                                  .panel = &panel,
                                  .face = &face,
                                  .model = "mini",
                                  .recent = &recent,
                                  .budget_ms = 16.7};
}

/* Sets the values of the next redraw, which comes 50 ms after the one before. */
static void move(struct hud_content *content, struct meter *meter, int i, int64_t now_ns) {
  for (int j = 0; j < 4; j++)
    meter->values[j] = 0.5 + 0.5 * sin(0.7 * i + j);
  for (int j = 0; j < 3; j++)
    recent_times_add(&recent,
                     &(struct recent_time){now_ns - (3 - j) * 16666667, (float)(3 + i % 5), (float)(5 + i % 7), false});
  values.strength = 0.5 + 0.5 * sin(0.1 * i);
  face.clip_at_s = 0.05 * i;
  content->fps = 60 + i % 3;
  content->meter = meter;
  content->now_ns = now_ns;
}

int main(int argc, char **argv) {
  int width = argc > 2 ? atoi(argv[1]) : 3840, height = argc > 2 ? atoi(argv[2]) : 2160,
      count = argc > 3 ? atoi(argv[3]) : 1000;
  struct window *window;
  struct hud *hud;
  struct hud_content content;
  struct meter meter = {.heard = true};
  struct error err;
  SDL_setenv("SDL_VIDEODRIVER", "offscreen", 0);
  double *update = calloc((size_t)count + 1, sizeof *update), *draw = calloc((size_t)count + 1, sizeof *draw),
         *both = calloc((size_t)count + 1, sizeof *both), *wall = calloc((size_t)count + 1, sizeof *wall);
  if (!update || !draw || !both || !wall || window_create(&window, NULL, false, &err) ||
      window_open(window, &(struct window_params){.title = "bench", .width = width, .height = height}, &err) ||
      hud_open(&hud, &err)) {
    fprintf(stderr, "bench_face: %s\n", err.message);
    return 1;
  }
  fill(&content);
  for (int i = -20; i < count; i++) {
    int64_t now_ns = 1000000000 + (i + 20) * (int64_t)50000000;
    move(&content, &meter, i + 20, now_ns);
    int64_t begun_ns = platform_now_ns();
    double begun = thread_ms();
    hud_update(hud, &content, width, height, now_ns);
    double updated = thread_ms();
    hud_draw(hud, HUD_OPERATOR, width, height);
    glFlush();
    double drawn = thread_ms();
    int64_t drawn_ns = platform_now_ns();
    glFinish();
    if (i >= 0) {
      update[i] = updated - begun;
      draw[i] = drawn - updated;
      both[i] = drawn - begun;
      wall[i] = (double)(drawn_ns - begun_ns) * 1e-6;
    }
  }
  printf("%dx%d, %d redraws, %s\n", width, height, count, (const char *)glGetString(GL_RENDERER));
  print("update", update, count);
  print("draw", draw, count);
  double cpu_ms = print("redraw", both, count), wall_ms = print("wall", wall, count);
  printf("p99 of a redraw: %.3f ms of the thread's time (%s 1 ms), %.3f ms by the clock (%s 1 ms)\n", cpu_ms,
         cpu_ms <= 1 ? "within" : "over", wall_ms, wall_ms <= 1 ? "within" : "over");
  hud_close(&hud);
  window_close(&window);
  free(update);
  free(draw);
  free(both);
  free(wall);
}
