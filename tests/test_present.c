/* Tests what the window draws, pixel by pixel: pictures at their own size and scaled, and source frames of every pixel
 * format next to them. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "tests/rigs/hidden_picture.h"
#include "tests/rigs/present_rig.h"

static void expect_near(int x, int y, const double rgb[3], double tolerance) {
  for (int c = 0; c < 3; c++)
    if (fabs(shown[y][x][c] - rgb[c]) > tolerance)
      fail_msg("pixel %d, %d channel %d is %d, wanted %.2f", x, y, c, shown[y][x][c], rgb[c]);
}

static void plain_grey(struct frame *picture, int grey) {
  take_picture(picture, PIXEL_RGBA, WIDTH, HEIGHT);
  memset(frame_plane(picture, 0), grey, (size_t)picture->pitch[0] * HEIGHT);
}

static void exact_in_its_own_size(void **state) {
  (void)state;
  struct frame picture = {0};
  fill_random(&picture, PIXEL_RGBA, WIDTH, HEIGHT);
  hidden_replace(&picture);
  present_picture(present, &picture);
  frame_wait(&picture, MEMORY_HOST, NULL);
  for (int bicubic = 0; bicubic < 2; bicubic++) {
    struct present_view view = plain_view();
    view.bicubic = bicubic;
    draw(&view);
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++)
        assert_memory_equal(shown[y][x], pixel_of(&picture, x, y), 3);
  }
  frame_release(&picture);
}

/* A square picture is drawn in the middle between black bars; positions of the pointer are converted to the picture. */
static void bars_beside_another_shape(void **state) {
  (void)state;
  struct frame picture = {0};
  const struct present_view view = plain_view();
  const int left = (WIDTH - HEIGHT) / 2;
  fill_random(&picture, PIXEL_RGBA, HEIGHT, HEIGHT);
  present_picture(present, &picture);
  draw(&view);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      static const uint8_t black[4] = {0, 0, 0, 255};
      bool inside = x >= left && x < left + HEIGHT;
      assert_memory_equal(shown[y][x], inside ? pixel_of(&picture, x - left, y) : black, 3);
    }
  assert_true(present_locate(present, &view, 0, 0) == 0);
  assert_true(present_locate(present, &view, WIDTH, 0) == 1);
  assert_true(fabsf(present_locate(present, &view, WIDTH / 2.0f, 0) - 0.5f) < 1e-6f);
  frame_release(&picture);
}

/* Makes a picture of four rectangles, each WIDTH / 2 by HEIGHT / 2 pixels and of another colour. */
static void fill_quarters(struct frame *picture) {
  static const uint8_t colors[4][4] = {{250, 0, 0, 255}, {0, 250, 0, 255}, {0, 0, 250, 255}, {250, 250, 0, 255}};
  take_picture(picture, PIXEL_RGBA, WIDTH, HEIGHT);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      memcpy(frame_plane(picture, 0) + y * picture->pitch[0] + 4 * x, colors[(y >= HEIGHT / 2) * 2 + (x >= WIDTH / 2)],
             4);
}

static void expect_color(double x, double y, int r, int g, int b) {
  expect_near((int)(x * WIDTH), (int)(y * HEIGHT), (const double[3]){r, g, b}, 2);
}

/* The picture rotated by 180 degrees, mirrored, zoomed, and filling the window although its aspect ratio differs. */
static void placed(void **state) {
  (void)state;
  struct frame picture = {0};
  struct placement placement = {.zoom = 1, .rotation = 180};
  struct present_view view = plain_view();
  view.placement = &placement;
  fill_quarters(&picture);
  present_picture(present, &picture);
  draw(&view);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      assert_memory_equal(shown[y][x], pixel_of(&picture, WIDTH - 1 - x, HEIGHT - 1 - y), 3);
  placement = (struct placement){.zoom = 1, .flip = FLIP_HORIZONTAL};
  draw(&view);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      assert_memory_equal(shown[y][x], pixel_of(&picture, WIDTH - 1 - x, y), 3);
  placement = (struct placement){.zoom = 0.5};
  draw(&view);
  expect_color(0.2, 0.5, 0, 0, 0);
  expect_color(0.3, 0.3, 250, 0, 0);
  expect_color(0.7, 0.7, 250, 250, 0);
  expect_color(0.5, 0.8, 0, 0, 0);
  assert_true(fabsf(present_locate(present, &view, WIDTH * 0.375f, 9) - 0.25f) < 1e-6f);
  fill_random(&picture, PIXEL_RGBA, HEIGHT / 4, HEIGHT / 4);
  memset(frame_plane(&picture, 0), 200, (size_t)picture.pitch[0] * (size_t)picture.height);
  present_picture(present, &picture);
  placement = (struct placement){.zoom = 1, .fit = OUTPUT_FILL};
  draw(&view);
  expect_color(0, 0, 200, 200, 200);
  expect_color(0.999, 0.999, 200, 200, 200);
  frame_release(&picture);
}

/* A corner pin moves the picture's middle to where the diagonals of the four corners meet, and nothing is drawn outside
 * of the corners; a picture that is larger than the canvas is cut at its edges. Then the plain view is drawn again. */
static void pinned(void **state) {
  (void)state;
  struct frame picture = {0};
  /* the upper side is half as long as the lower one, so the diagonals meet at a third of the height from above */
  struct placement placement = {.zoom = 1, .corner = {{0.25, 0}, {-0.25, 0}, {0, 0}, {0, 0}}};
  struct present_view view = plain_view();
  fill_quarters(&picture);
  present_picture(present, &picture);
  for (int large = 0; large < 2; large++) {
    placement.zoom = large ? 3 : 1;
    view.placement = &placement;
    draw(&view);
    expect_color(0.1, 0.1, 0, 0, 0);
    expect_color(0.9, 0.1, 0, 0, 0);
    expect_color(0.2, 0.05, 0, 0, 0);
    expect_color(0.4, 1 / 3.0 - 0.05, 250, 0, 0);
    expect_color(0.6, 1 / 3.0 - 0.05, 0, 250, 0);
    expect_color(0.4, 1 / 3.0 + 0.05, 0, 0, 250);
    expect_color(0.6, 1 / 3.0 + 0.05, 250, 250, 0);
    expect_color(0.02, 0.99, 0, 0, 250);
  }
  placement.zoom = 1;
  view.split = true;
  view.split_at = 0.5f;
  view.fit = FIT_STRETCH;
  struct frame input = {0};
  plain_grey(&input, 90);
  present_input(present, &input, 1);
  draw(&view);
  expect_color(0.4, 0.5, 90, 90, 90);
  expect_color(0.6, 0.5, 250, 250, 0);
  expect_color(0.1, 0.1, 0, 0, 0);
  view = plain_view();
  draw(&view);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      assert_memory_equal(shown[y][x], pixel_of(&picture, x, y), 3);
  frame_release(&picture);
  frame_release(&input);
}

/* The test card is drawn over the picture with full or half opacity, within the corners, and also if there is no
 * picture. */
static void carded(void **state) {
  (void)state;
  struct frame picture = {0}, card = {0};
  struct placement placement = {.zoom = 1, .corner = {{0.25, 0}, {-0.25, 0}, {0, 0}, {0, 0}}};
  struct present_view view = plain_view();
  plain_grey(&card, 200);
  present_card(present, &card);
  draw(&view);
  expect_color(0.5, 0.5, 0, 0, 0);
  view.card = 1;
  draw(&view);
  expect_color(0.5, 0.5, 200, 200, 200);
  plain_grey(&picture, 100);
  present_picture(present, &picture);
  view.card = 0.5f;
  view.placement = &placement;
  draw(&view);
  expect_color(0.5, 0.5, 150, 150, 150);
  expect_color(0.1, 0.1, 0, 0, 0);
  view.cover.blackout = 1;
  draw(&view);
  expect_color(0.5, 0.5, 0, 0, 0);
  frame_release(&picture);
  frame_release(&card);
}

/* Sizes of the governor's lie a pixel beside the shape that was asked for, as their sides are even: no thin bars. */
static void no_bars_where_rounding_made_the_shape(void **state) {
  (void)state;
  static const int sides[][2] = {
      {WIDTH / 2, HEIGHT / 2}, {WIDTH / 2 + 1, HEIGHT / 2}, {WIDTH / 2, HEIGHT / 2 + 1}, {WIDTH / 4, HEIGHT / 4 + 1}};
  const struct present_view view = plain_view();
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    struct frame picture = {0};
    fill_dark(&picture, PIXEL_RGBA, sides[i][0], sides[i][1]);
    memset(frame_plane(&picture, 0), 200, (size_t)picture.pitch[0] * (size_t)picture.height);
    present_picture(present, &picture);
    draw(&view);
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++)
        if (shown[y][x][0] != 200)
          fail_msg("%dx%d: pixel %d, %d is %d", sides[i][0], sides[i][1], x, y, shown[y][x][0]);
    frame_release(&picture);
  }
}

/* Outside of its rectangle the window is black, whatever was there: the operator's window contains more than the
 * picture. */
static void in_a_part_of_the_drawable(void **state) {
  (void)state;
  static const uint8_t black[3] = {0};
  struct frame picture = {0};
  const struct present_view whole = plain_view(),
                            part = {.left = WIDTH / 2, .bottom = HEIGHT / 2, .width = WIDTH / 2, .height = HEIGHT / 2};
  fill_random(&picture, PIXEL_RGBA, WIDTH / 2, HEIGHT / 2);
  present_picture(present, &picture);
  draw(&whole);
  draw(&part);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      assert_memory_equal(shown[y][x], x >= WIDTH / 2 && y < HEIGHT / 2 ? pixel_of(&picture, x - WIDTH / 2, y) : black,
                          3);
  frame_release(&picture);
}

/* Returns the weight of Catmull-Rom interpolation for a sample at this distance. */
static double cubic(double d) {
  d = fabs(d);
  return d < 1 ? 1 + d * d * (-2.5 + 1.5 * d) : d < 2 ? 2 + d * (-4 + d * (2.5 - 0.5 * d)) : 0;
}

static double linear(double d) {
  d = fabs(d);
  return d < 1 ? 1 - d : 0;
}

static void expect_enlarged(const struct frame *picture, double (*weight)(double), double tolerance) {
  double step = (double)picture->width / WIDTH;
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      double at_x = (x + 0.5) * step - 0.5, at_y = (y + 0.5) * step - 0.5, rgb[3] = {0};
      int first_x = (int)floor(at_x) - 1, first_y = (int)floor(at_y) - 1;
      for (int j = first_y; j < first_y + 4; j++)
        for (int i = first_x; i < first_x + 4; i++)
          for (int c = 0; c < 3; c++)
            rgb[c] += weight(at_x - i) * weight(at_y - j) * pixel_of(picture, i, j)[c];
      for (int c = 0; c < 3; c++)
        rgb[c] = fmin(fmax(rgb[c], 0), 255);
      expect_near(x, y, rgb, tolerance);
    }
}

static void enlarged(void **state) {
  (void)state;
  struct frame picture = {0};
  struct present_view view = plain_view();
  fill_random(&picture, PIXEL_RGBA, WIDTH / 4, HEIGHT / 4);
  present_picture(present, &picture);
  draw(&view);
  expect_enlarged(&picture, linear, 2.5);
  view.bicubic = true;
  draw(&view);
  /* The shader uses nine bilinear reads, whose positions have 8 bits of fraction, so a tolerance is needed. */
  expect_enlarged(&picture, cubic, 5);
  frame_release(&picture);
}

struct weights {
  double red, blue; /* coefficients of luma */
};

static void to_rgb(double y, double cb, double cr, enum color_matrix matrix, bool full, double rgb[3]) {
  static const struct weights weights[] = {
      [MATRIX_BT601] = {0.299, 0.114}, [MATRIX_BT709] = {0.2126, 0.0722}, [MATRIX_BT2020] = {0.2627, 0.0593}};
  struct weights k = weights[matrix];
  double light = full ? y / 255 : (y - 16) / 219;
  double b = (cb - 128) / (full ? 255 : 224), r = (cr - 128) / (full ? 255 : 224);
  rgb[0] = light + 2 * (1 - k.red) * r;
  rgb[2] = light + 2 * (1 - k.blue) * b;
  rgb[1] = (light - k.red * rgb[0] - k.blue * rgb[2]) / (1 - k.red - k.blue);
  for (int c = 0; c < 3; c++)
    rgb[c] = fmin(fmax(rgb[c] * 255, 0), 255);
}

static void put16(uint8_t *at, int value10) {
  at[0] = (uint8_t)(value10 << 6 & 0xff);
  at[1] = (uint8_t)(value10 >> 2);
}

/* Fills luma with random values, and chroma with one colour. */
static void fill_yuv(struct frame *picture, enum pixel_format format, int cb, int cr) {
  fill_random(picture, format, WIDTH, HEIGHT);
  uint8_t *luma = frame_plane(picture, 0);
  int rows = (HEIGHT + 1) / 2, columns = (WIDTH + 1) / 2;
  for (int y = 0; y < (format == PIXEL_YUYV ? HEIGHT : rows); y++)
    for (int x = 0; x < columns; x++) {
      if (format == PIXEL_YUYV) {
        luma[y * picture->pitch[0] + 4 * x + 1] = (uint8_t)cb;
        luma[y * picture->pitch[0] + 4 * x + 3] = (uint8_t)cr;
      } else if (format == PIXEL_YUV420P) {
        frame_plane(picture, 1)[y * picture->pitch[1] + x] = (uint8_t)cb;
        frame_plane(picture, 2)[y * picture->pitch[2] + x] = (uint8_t)cr;
      } else if (format == PIXEL_NV12) {
        frame_plane(picture, 1)[y * picture->pitch[1] + 2 * x] = (uint8_t)cb;
        frame_plane(picture, 1)[y * picture->pitch[1] + 2 * x + 1] = (uint8_t)cr;
      } else {
        put16(frame_plane(picture, 1) + y * picture->pitch[1] + 4 * x, cb * 4);
        put16(frame_plane(picture, 1) + y * picture->pitch[1] + 4 * x + 2, cr * 4);
      }
    }
}

static double luma_at(const struct frame *frame, int x, int y) {
  const uint8_t *row = frame->plane[0] + (ptrdiff_t)y * frame->pitch[0];
  if (frame->format == PIXEL_P010)
    return (row[2 * x] + 256 * row[2 * x + 1]) / 256.0;
  return frame->format == PIXEL_YUYV ? row[2 * x] : row[x];
}

static void yuv_formats(void **state) {
  (void)state;
  static const enum pixel_format formats[] = {PIXEL_NV12, PIXEL_P010, PIXEL_YUV420P, PIXEL_YUYV};
  struct frame picture = {0};
  const struct present_view view = plain_view();
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
    for (int matrix = MATRIX_BT601; matrix <= MATRIX_BT2020; matrix++)
      for (int range = RANGE_LIMITED; range <= RANGE_FULL; range++) {
        /* In the full range 10-bit codes end at 1023 instead of 4 * 255: luma is off by up to 0.75 of an 8-bit code,
         * chroma by 0.4. */
        double tolerance = formats[f] == PIXEL_P010 && range == RANGE_FULL ? 2.5 : 1.5;
        fill_yuv(&picture, formats[f], 90, 170);
        picture.matrix = (enum color_matrix)matrix;
        picture.range = (enum color_range)range;
        present_input(present, &picture, 1);
        draw(&view);
        for (int y = 0; y < HEIGHT; y++)
          for (int x = 0; x < WIDTH; x++) {
            double rgb[3];
            to_rgb(luma_at(&picture, x, y), 90, 170, (enum color_matrix)matrix, range == RANGE_FULL, rgb);
            expect_near(x, y, rgb, tolerance);
          }
      }
  frame_release(&picture);
}

/* Codes of the standards' colour bars, which were not computed with the formulas under test. */
static void known_colors(void **state) {
  (void)state;
  static const struct {
    enum color_matrix matrix;
    uint8_t yuv[3];
    double rgb[3];
  } known[] = {
      {MATRIX_BT601, {81, 90, 240}, {255, 0, 0}},  {MATRIX_BT601, {145, 54, 34}, {0, 255, 0}},
      {MATRIX_BT601, {41, 240, 110}, {0, 0, 255}}, {MATRIX_BT709, {63, 102, 240}, {255, 0, 0}},
      {MATRIX_BT709, {173, 42, 26}, {0, 255, 0}},  {MATRIX_BT709, {32, 240, 118}, {0, 0, 255}},
  };
  struct frame picture = {0};
  const struct present_view view = plain_view();
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    take_picture(&picture, PIXEL_YUV420P, WIDTH, HEIGHT);
    picture.matrix = known[i].matrix;
    picture.range = RANGE_LIMITED;
    for (int p = 0; p < 3; p++)
      memset(frame_plane(&picture, p), known[i].yuv[p],
             (size_t)(picture.pitch[p] * frame_rows(PIXEL_YUV420P, p, HEIGHT)));
    present_input(present, &picture, 1);
    draw(&view);
    expect_near(7, 7, known[i].rgb, 3);
  }
  frame_release(&picture);
}

static void rgb_formats(void **state) {
  (void)state;
  struct frame picture = {0};
  const struct present_view view = plain_view();
  for (int bgra = 0; bgra < 2; bgra++) {
    fill_random(&picture, bgra ? PIXEL_BGRA : PIXEL_RGBA, WIDTH, HEIGHT);
    present_input(present, &picture, 1);
    draw(&view);
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++) {
        const uint8_t *p = pixel_of(&picture, x, y);
        const double rgb[3] = {p[bgra ? 2 : 0], p[1], p[bgra ? 0 : 2]};
        expect_near(x, y, rgb, 0.5);
      }
  }
  frame_release(&picture);
}

/* Draws a frame twice as wide as its picture, whose red counts columns; it is wide by its number of pixels, or by their
 * shape. */
static void expect_fits(int pixel_width) {
  static const enum fit ways[] = {FIT_CROP, FIT_LETTERBOX, FIT_STRETCH};
  struct frame input = {0};
  struct present_view view = plain_view();
  const int side = HEIGHT, left = (WIDTH - side) / 2;
  take_picture(&input, PIXEL_RGBA, 2 * side / pixel_width, side);
  for (int y = 0; y < side; y++)
    for (int x = 0; x < input.width; x++)
      memset(frame_plane(&input, 0) + y * input.pitch[0] + 4 * x, 60 + x * pixel_width, 4);
  input.sample_aspect = (float)pixel_width;
  present_input(present, &input, 1);
  view.shape_w = view.shape_h = side;
  for (int i = 0; i < 3; i++) {
    view.fit = ways[i];
    draw(&view);
    for (int y = 0; y < side; y++)
      for (int x = 1; x < side - 1; x++) {
        double grey = view.fit == FIT_CROP ? 60 + x + side / 2.0 : 60 + 2 * x + 0.5;
        if (view.fit == FIT_LETTERBOX && (y < side / 4 || y >= side * 3 / 4))
          grey = 0;
        expect_near(left + x, y, (const double[3]){grey, grey, grey}, 1.5);
      }
  }
  frame_release(&input);
}

static void fits(void **state) {
  (void)state;
  expect_fits(1);
  expect_fits(2);
}

/* The input is drawn left of the line, the picture right of it. */
static void split(void **state) {
  (void)state;
  struct frame picture = {0}, input = {0};
  struct present_view view = plain_view();
  fill_random(&picture, PIXEL_RGBA, WIDTH, HEIGHT);
  fill_random(&input, PIXEL_BGRA, WIDTH, HEIGHT);
  present_picture(present, &picture);
  present_input(present, &input, 1);
  for (int at = 12; at < WIDTH; at += 30) {
    view.split = true;
    view.split_at = (float)at / WIDTH;
    draw(&view);
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++) {
        const uint8_t *p = pixel_of(x < at ? &input : &picture, x, y);
        double rgb[3] = {p[x < at ? 2 : 0], p[1], p[x < at ? 0 : 2]};
        if (x >= at - 2 && x < at + 2)
          rgb[0] = rgb[1] = rgb[2] = x >= at - 1 && x < at + 1 ? 255 : 0;
        expect_near(x, y, rgb, 0.5);
      }
  }
  view.split = false;
  draw(&view);
  assert_memory_equal(shown[5][5], pixel_of(&picture, 5, 5), 3);
  frame_release(&picture);
  frame_release(&input);
}

/* Sizes and formats can change at any frame. */
static void changing_inputs(void **state) {
  (void)state;
  struct frame picture = {0};
  const struct present_view view = plain_view();
  for (int i = 0; i < 20; i++) {
    enum pixel_format format = (enum pixel_format)(i % PIXEL_FORMATS);
    fill_random(&picture, format, 31 + i * 7, 17 + i * 5);
    present_input(present, &picture, 1);
    draw(&view);
  }
  frame_release(&picture);
}

static void expect_grey(const struct cover_levels *cover, double grey) {
  struct present_view view = plain_view();
  view.cover = *cover;
  draw(&view);
  expect_near(3, 3, (double[]){grey, grey, grey}, 1);
  expect_near(WIDTH - 3, HEIGHT - 3, (double[]){grey, grey, grey}, 1);
}

/* Draws the newest picture, the frozen one, the source and black, mixed over each other. */
static void what_lies_over_the_picture(void **state) {
  (void)state;
  struct frame picture = {0}, source = {0};
  plain_grey(&picture, 40);
  plain_grey(&source, 200);
  expect_grey(&(struct cover_levels){.held = 1, .bypass = 1}, 0); /* nothing is there yet */
  present_source(present, &source);
  expect_grey(&(struct cover_levels){.bypass = 1}, 200);
  present_picture(present, &picture);
  expect_grey(&(struct cover_levels){0}, 40);
  expect_grey(&(struct cover_levels){.bypass = 0.5f}, 120);
  expect_grey(&(struct cover_levels){.blackout = 0.5f}, 20);
  expect_grey(&(struct cover_levels){.bypass = 1, .blackout = 0.75f}, 50);
  expect_grey(&(struct cover_levels){.bypass = 0.5f, .blackout = 1}, 0);
  present_hold(present);
  expect_grey(&(struct cover_levels){.held = 1}, 40);
  expect_grey(&(struct cover_levels){.held = 0.5f}, 40); /* no other has come */
  plain_grey(&picture, 100);
  present_picture(present, &picture);
  expect_grey(&(struct cover_levels){.held = 1}, 40);
  expect_grey(&(struct cover_levels){.held = 0.5f}, 70);
  expect_grey(&(struct cover_levels){.held = 0.5f, .bypass = 0.5f}, 135);
  expect_grey(&(struct cover_levels){0}, 100);
  frame_release(&picture);
  frame_release(&source);
}

static uint64_t show_input(const struct frame *input, float part) {
  uint64_t before = present_count(present).bytes;
  present_input(present, input, part);
  return present_count(present).bytes - before;
}

/* The part of the input right of the split line is not uploaded. */
static void only_what_is_seen(void **state) {
  (void)state;
  static canvas whole;
  struct frame picture = {0}, input = {0};
  struct present_view view = plain_view();
  view.fit = FIT_STRETCH;
  view.split = true;
  view.split_at = 0.25f;
  fill_random(&picture, PIXEL_RGBA, WIDTH, HEIGHT);
  present_picture(present, &picture);
  for (int format = 0; format < PIXEL_FORMATS; format++) {
    fill_random(&input, (enum pixel_format)format, 160, HEIGHT);
    uint64_t all = show_input(&input, 1);
    draw(&view);
    memcpy(whole, shown, sizeof whole);
    for (int fresh = 0; fresh < 2; fresh++) {
      struct frame dark = {0};
      fill_dark(&dark, (enum pixel_format)format, 160 - 2 * fresh, HEIGHT);
      show_input(&dark, 1);
      frame_release(&dark);
      assert_true(show_input(&input, view.split_at) * 2 < all);
      draw(&view);
      assert_memory_equal(whole, shown, sizeof whole);
    }
  }
  frame_release(&picture);
  frame_release(&input);
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, present_rig_open, present_rig_close)
  const struct CMUnitTest tests[] = {
      CASE(exact_in_its_own_size),
      CASE(what_lies_over_the_picture),
      CASE(bars_beside_another_shape),
      CASE(no_bars_where_rounding_made_the_shape),
      CASE(in_a_part_of_the_drawable),
      CASE(placed),
      CASE(pinned),
      CASE(carded),
      CASE(enlarged),
      CASE(yuv_formats),
      CASE(known_colors),
      CASE(rgb_formats),
      CASE(fits),
      CASE(split),
      CASE(changing_inputs),
      CASE(only_what_is_seen),
  };
  if (!present_rig_begin())
    return 77;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  present_rig_end();
  return failed;
}
