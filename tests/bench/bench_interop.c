/* Compares the ways to bring a picture that CUDA wrote into a texture of OpenGL. Prints tables: what each way costs the
 * thread that does it, how long it takes until OpenGL has drawn the picture, and how far drawing slows CUDA down, with
 * which it takes turns on the GPU. Needs a GPU with CUDA and OpenGL. Without a screen, set SDL_VIDEODRIVER=offscreen
 * first. */
#include "tests/bench/interop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const load_names[LOADS] = {"alone", "3 ms at 60/s", "3 ms without pause"};

struct samples {
  double value[ROUNDS];
  int count;
};

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double quantile(struct samples *s, double q) {
  qsort(s->value, (size_t)s->count, sizeof *s->value, compare);
  return s->count ? s->value[(int)(q * (s->count - 1))] : 0;
}

static bool tells_pixels(const struct way *way) {
  return way->hand != hand_nothing || from_buffer || memory;
}

static void print_times(const struct way *way, struct samples *wall, struct samples *cpu, struct samples *done,
                        int looked, int right) {
  printf("%-24s %7.0f %7.0f %7.0f %7.0f %7.0f %7.0f", way->name, quantile(wall, .5), quantile(wall, .99),
         quantile(cpu, .5), quantile(cpu, .99), quantile(done, .5), quantile(done, .99));
  if (way->swap || !tells_pixels(way))
    printf("  -\n");
  else
    printf("  %d of %d\n", right, looked);
}

/* Times one way under one load. Compares every LOOK_EVERY-th picture with what CUDA wrote, because the caches of OpenGL
 * may hold something older. */
static void time_way(const struct way *way, enum load load) {
  static struct samples wall, cpu, done;
  int looked = 0, right = 0;
  wall.count = cpu.count = done.count = 0;
  use_context(way->context);
  if (way->context && !contexts[1])
    return;
  uint32_t *to = way->open();
  bool good = to != NULL;
  load_now = load;
  usleep(30000);
  int rounds = load == LOAD_FULL ? ROUNDS / 2 : ROUNDS;
  for (int i = 0; i < rounds + WARM && good; i++) {
    uint32_t seed = (uint32_t)i * 7919u;
    good = write_picture(to, seed);
    if (way->hand == hand_pinned || way->hand == hand_memory)
      cudaMemcpy(pinned, to, BYTES, cudaMemcpyDeviceToHost);
    double began = wall_us(), cpu_began = cpu_us();
    good = good && way->hand();
    draw(way->swap);
    GLsync fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (way->swap)
      swap();
    else
      glFlush();
    double handed = wall_us(), cpu_handed = cpu_us();
    glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000);
    double ended = wall_us();
    glDeleteSync(fence);
    if (i >= WARM) {
      wall.value[wall.count++] = handed - began;
      cpu.value[cpu.count++] = cpu_handed - cpu_began;
      done.value[done.count++] = ended - began;
    }
    if (!way->swap && i % LOOK_EVERY == 0) {
      right += is_right(seed);
      looked++;
    }
    if (load != LOAD_NONE && load != LOAD_FULL)
      usleep((useconds_t)(rand() % 3000));
  }
  load_now = LOAD_NONE;
  good = good && gl_ok("rounds");
  if (good)
    print_times(way, &wall, &cpu, &done, looked, right);
  else
    printf("%-24s not to be had: %s\n", way->name, why);
  usleep(10000);
  close_way(good);
  use_context(0);
  fflush(stdout);
}

/* --- what drawing costs CUDA --- */

enum strip {
  STRIP_NONE,
  STRIP_LEFT /* not waited for: the drawing is enqueued only */,
  STRIP_READ,
  STRIP_COLUMNS /* reads 4 columns of pixels, and waits for them */
};
enum show { SHOW_NOTHING, SHOW_FLUSH, SHOW_FINISH, SHOW_SWAP };

struct rate {
  const char *name;
  uint32_t *(*open)(void);
  bool (*hand)(void);
  enum show show;
  int context, columns; /* columns of pixels read one by one, as a probe reads them */
  enum strip strip;     /* what is read back from the drawn picture */
  int every_us;         /* shortest time between two pictures */
};

static const struct rate rates[] = {
    {"no drawing", open_plain, hand_nothing, SHOW_NOTHING, 0, 0, STRIP_NONE, 0},
    {"draw + flush", open_plain, hand_nothing, SHOW_FLUSH, 0, 0, STRIP_NONE, 0},
    {"draw + finish", open_plain, hand_nothing, SHOW_FINISH, 0, 0, STRIP_NONE, 0},
    {"draw + swap", open_plain, hand_nothing, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"draw + swap, high", open_plain, hand_nothing, SHOW_SWAP, 1, 0, STRIP_NONE, 0},
    {"pinned upload + swap", open_pinned, hand_pinned, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"  + 4 columns read", open_pinned, hand_pinned, SHOW_SWAP, 0, 4, STRIP_NONE, 0},
    {"registered buffer + swap", open_registered, hand_registered, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"mapped once + swap", open_mapped_once, hand_buffer, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"imported + swap", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"  + 4 columns read", open_imported, hand_buffer, SHOW_SWAP, 0, 4, STRIP_NONE, 0},
    {"  + strip to a buffer", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_LEFT, 0},
    {"  high", open_imported, hand_buffer, SHOW_SWAP, 1, 0, STRIP_NONE, 0},
    {"  high + strip", open_imported, hand_buffer, SHOW_SWAP, 1, 0, STRIP_LEFT, 0},
    {"  + strip, read", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_READ, 0},
    {"  + 4 columns packed", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_COLUMNS, 0},
    {"  at most 60/s", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_NONE, 16667},
    {"imported texels + swap", open_imported_texel, hand_nothing, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"imported + flush", open_imported, hand_buffer, SHOW_FLUSH, 0, 0, STRIP_NONE, 0},
};

static GLuint pack;

static void read_back(const struct rate *rate) {
  static uint8_t column[WINDOW_H * 4];
  glReadBuffer(rate->columns ? GL_FRONT : GL_BACK);
  for (int i = 0; i < rate->columns; i++)
    glReadPixels(10 + 20 * i, 0, 1, WINDOW_H, GL_RGBA, GL_UNSIGNED_BYTE, column);
  glReadBuffer(GL_BACK);
}

static void read_strip(enum strip strip) {
  static uint8_t read[120 * WINDOW_H * 4];
  glBindBuffer(GL_PIXEL_PACK_BUFFER, pack);
  for (int i = 0; i < 4 && strip == STRIP_COLUMNS; i++)
    glReadPixels(10 + 20 * i, 0, 1, WINDOW_H, GL_RGBA, GL_UNSIGNED_BYTE, (void *)(uintptr_t)(i * WINDOW_H * 4));
  if (strip != STRIP_COLUMNS)
    glReadPixels(0, 0, 120, WINDOW_H, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  if (strip != STRIP_LEFT)
    glGetBufferSubData(GL_PIXEL_PACK_BUFFER, 0, strip == STRIP_READ ? sizeof read : WINDOW_H * 16, read);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

/* Draws after each frame of CUDA, always only the newest, and prints how many frames a second CUDA and OpenGL reach. */
static void time_rate(const struct rate *rate) {
  enum { TIME_US = 700000 };
  static struct samples cpu;
  cpu.count = 0;
  use_context(rate->context);
  if (rate->context && !contexts[1])
    return;
  bool good = rate->open() != NULL;
  if (!good)
    printf("%-24s not to be had: %s\n", rate->name, why);
  load_now = LOAD_FULL;
  usleep(50000);
  long first = load_frames, seen = first, shown = 0;
  double began = wall_us(), last = 0;
  while (good && wall_us() - began < TIME_US) {
    if (load_frames == seen || wall_us() - last < rate->every_us || rate->show == SHOW_NOTHING) {
      usleep(50);
      continue;
    }
    seen = load_frames;
    last = wall_us();
    double cpu_began = cpu_us();
    rate->hand();
    draw(rate->show == SHOW_SWAP);
    if (rate->strip)
      read_strip(rate->strip);
    if (rate->show == SHOW_SWAP)
      swap();
    else if (rate->show == SHOW_FINISH)
      glFinish();
    else
      glFlush();
    read_back(rate);
    if (cpu.count < ROUNDS)
      cpu.value[cpu.count++] = cpu_us() - cpu_began;
    shown++;
  }
  double seconds = (wall_us() - began) * 1e-6;
  if (good)
    printf("%-24s %8.1f %8.1f %8.0f\n", rate->name, (double)(load_frames - first) / seconds, (double)shown / seconds,
           quantile(&cpu, .5));
  load_now = LOAD_NONE;
  usleep(20000);
  close_way(good);
  use_context(0);
  fflush(stdout);
}

static void time_rates(void) {
  printf("\nCUDA without pause: frames of CUDA and of OpenGL a second, processor time of one (us)\n");
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    time_rate(&rates[i]);
}

static bool was_asked(int argc, char **argv, const char *part) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], part))
      return true;
  return argc == 1;
}

static void time_ways(void) {
  for (int load = 0; load < LOADS; load++) {
    printf("\nCUDA %s; us: handing and drawing, wall and processor time; until drawn (median, p99);\npictures that "
           "were drawn right\n",
           load_names[load]);
    printf("%-24s %7s %7s %7s %7s %7s %7s  pixels\n", "", "wall", "p99", "cpu", "p99", "drawn", "p99");
    for (int i = 0; i < way_count; i++)
      time_way(&ways[i], (enum load)load);
  }
}

/* bench_interop [ways] [rates]: prints the table that is named, without a name both. */
int main(int argc, char **argv) {
  pthread_t thread;
  if (!open_gl())
    return 77;
  if (!open_cuda()) {
    printf("no CUDA: %s\n", why);
    return 77;
  }
  glGenBuffers(1, &pack);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, pack);
  glBufferData(GL_PIXEL_PACK_BUFFER, 120 * WINDOW_H * 4, NULL, GL_STREAM_READ);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  pthread_create(&thread, NULL, run_load, NULL);
  if (was_asked(argc, argv, "ways"))
    time_ways();
  if (was_asked(argc, argv, "rates"))
    time_rates();
  load_ends = true;
  pthread_join(thread, NULL);
  return 0;
}
