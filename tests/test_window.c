/* Tests how SDL's events are handled, on SDL's offscreen driver. */
#include "tests/rigs/cmocka_all.h"

#include <SDL.h>
#include <epoxy/gl.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/keys.h"
#include "app/control/panel.h"
#include "app/flow/recent_times.h"
#include "app/window/hud.h"
#include "app/window/icon.h"
#include "app/window/qr.h"
#include "app/window/widget.h"
#include "app/window/window.h"

static struct window *window;

static void push(SDL_Event event) {
  assert_int_equal(SDL_PushEvent(&event), 1);
}

static void edit(const char *text) {
  SDL_Event event = {.edit = {.type = SDL_TEXTEDITING}};
  SDL_strlcpy(event.edit.text, text, sizeof event.edit.text);
  push(event);
}

static void commit(const char *text) {
  SDL_Event event = {.text = {.type = SDL_TEXTINPUT}};
  SDL_strlcpy(event.text.text, text, sizeof event.text.text);
  push(event);
}

static void key_down(SDL_Keycode key, Uint16 modifiers) {
  push((SDL_Event){.key = {.type = SDL_KEYDOWN, .keysym = {.sym = key, .mod = modifiers}}});
}

static void key_up(SDL_Keycode key, Uint16 modifiers) {
  push((SDL_Event){.key = {.type = SDL_KEYUP, .keysym = {.sym = key, .mod = modifiers}}});
}

/* Returns the next event. SDL may end a round of events before those that were pushed last. */
static struct window_event next(void) {
  struct window_event event;
  assert_true(window_poll(window, &event) || window_poll(window, &event));
  return event;
}

static void expect_none(void) {
  struct window_event event;
  assert_false(window_poll(window, &event) || window_poll(window, &event));
}

/* Passes events to the panel, as live does. */
static void hand_to(struct panel *panel) {
  const struct window_event event = next();
  if (event.type == WINDOW_COMPOSE)
    panel_compose(panel, event.text);
  else
    panel_text(panel, &(struct live_state){0}, event.text);
}

/* Text that is being composed is shown at the cursor; it becomes part of the line when the input method confirms it, or
 * is cancelled. */
static void composing(void **state) {
  (void)state;
  struct panel panel = {.types = true};
  line_edit_begin(&panel.line, "a  b");
  line_edit_key(&panel.line, KEY_LEFT);
  line_edit_key(&panel.line, KEY_LEFT);
  edit("\u3042");
  hand_to(&panel);
  edit("\u3042\u3076\u3089");
  hand_to(&panel);
  assert_string_equal(panel.line.composed, "\u3042\u3076\u3089");
  assert_string_equal(panel.line.text, "a  b");
  edit("");
  commit("\u6cb9");
  hand_to(&panel);
  hand_to(&panel);
  assert_string_equal(panel.line.composed, "");
  assert_string_equal(panel.line.text, "a \u6cb9 b");
  edit("\u304d");
  edit("");
  hand_to(&panel);
  hand_to(&panel);
  assert_string_equal(panel.line.composed, "");
  assert_string_equal(panel.line.text, "a \u6cb9 b");
  expect_none();
}

/* Some input methods convert a whole sentence; SDL's short events hold only ten of its characters. */
static void composing_a_sentence(void **state) {
  (void)state;
#if SDL_VERSION_ATLEAST(2, 0, 22)
  char sentence[WINDOW_TEXT_MAX] = "";
  for (int i = 0; i < 40; i++)
    strcat(sentence, "\u6c34");
  assert_true(SDL_GetHintBoolean(SDL_HINT_IME_SUPPORT_EXTENDED_TEXT, SDL_FALSE));
  push((SDL_Event){.editExt = {.type = SDL_TEXTEDITING_EXT, .text = SDL_strdup(sentence)}});
  const struct window_event event = next();
  assert_int_equal(event.type, WINDOW_COMPOSE);
  assert_string_equal(event.text, sentence);
  expect_none();
#else
  skip();
#endif
}

/* AltGr types characters; Ctrl runs commands, even if a text event comes with it. */
static void typing(void **state) {
  (void)state;
  commit("\u00e9");
  struct window_event event = next();
  assert_true(event.type == WINDOW_KEY && event.key == KEY_NONE);
  assert_string_equal(event.text, "\u00e9");
  key_down(SDLK_q, KMOD_LCTRL);
  commit("q");
  assert_int_equal(next().key, KEY_CONTROL + 'q');
  expect_none();
  key_down(SDLK_q, KMOD_LCTRL | KMOD_RALT);
  commit("@");
  event = next();
  assert_int_equal(event.key, '@');
  expect_none();
}

/* With some input methods Ctrl-J begins a composition, which takes the keys that follow. */
static void composing_after_control(void **state) {
  (void)state;
  key_down(SDLK_LCTRL, KMOD_LCTRL);
  key_up(SDLK_LCTRL, KMOD_NONE);
  edit("\u3042\u3076");
  assert_int_equal(next().type, WINDOW_COMPOSE);
  commit("\u867b");
  assert_string_equal(next().text, "\u867b");
  expect_none();
}

/* Presses a key, and sends the text that it types, if any. Returns the command key. */
static int strike(SDL_Scancode place, SDL_Keycode plain, Uint16 modifiers, const char *typed) {
  push((SDL_Event){.key = {.type = SDL_KEYDOWN, .keysym = {.scancode = place, .sym = plain, .mod = modifiers}}});
  if (typed)
    commit(typed);
  int key = next().key;
  expect_none();
  return key;
}

/* Keys of layouts without Latin letters count by their position, and so does a row of digits without digits. */
static void other_layouts(void **state) {
  (void)state;
  assert_int_equal(strike(SDL_SCANCODE_Q, 0x439, KMOD_NONE, "\u0439"), 'q');
  assert_int_equal(strike(SDL_SCANCODE_F, 0x430, KMOD_LSHIFT, "\u0410"), 'F');
  assert_int_equal(strike(SDL_SCANCODE_F, 0x430, KMOD_LSHIFT | KMOD_CAPS, "\u0430"), 'f');
  assert_int_equal(strike(SDL_SCANCODE_LEFTBRACKET, 0x445, KMOD_NONE, "\u0445"), '[');
  assert_int_equal(strike(SDL_SCANCODE_RIGHTBRACKET, 0x44a, KMOD_RSHIFT, "\u042a"), '}');
  assert_int_equal(strike(SDL_SCANCODE_COMMA, 0x431, KMOD_NONE, "\u0431"), ',');
  assert_int_equal(strike(SDL_SCANCODE_Q, 0x439, KMOD_LCTRL, NULL), KEY_CONTROL + 'q');
  assert_int_equal(strike(SDL_SCANCODE_W, 0x3c2, KMOD_NONE, "\u03c2"), 'w');
  assert_int_equal(strike(SDL_SCANCODE_1, 0x6f1, KMOD_NONE, "\u06f1"), '1');
  assert_int_equal(strike(SDL_SCANCODE_1, '&', KMOD_NONE, "&"), '1');
  assert_int_equal(strike(SDL_SCANCODE_2, 0xe9, KMOD_NONE, "\u00e9"), '2');
  assert_int_equal(strike(SDL_SCANCODE_6, '-', KMOD_NONE, "-"), '6');
  assert_int_equal(strike(SDL_SCANCODE_6, '-', KMOD_LSHIFT, "6"), '-');
  assert_int_equal(strike(SDL_SCANCODE_5, '(', KMOD_LSHIFT, "5"), '(');
  assert_int_equal(strike(SDL_SCANCODE_5, '(', KMOD_RALT, "["), '[');
  assert_int_equal(strike(SDL_SCANCODE_KP_MINUS, SDLK_KP_MINUS, KMOD_NONE, "-"), '-');
  assert_int_equal(strike(SDL_SCANCODE_9, '9', KMOD_LSHIFT, "("), '(');
  assert_int_equal(strike(SDL_SCANCODE_4, '4', KMOD_NONE, "4"), '4');
  assert_int_equal(strike(SDL_SCANCODE_Z, 'y', KMOD_NONE, "y"), 'y');
  assert_int_equal(strike(SDL_SCANCODE_SEMICOLON, 0xf6, KMOD_NONE, "\u00f6"), KEY_NONE);
}

/* On such layouts, typed text still goes into the line. */
static void text_of_other_layouts(void **state) {
  (void)state;
  window_take_text(window, true);
  push((SDL_Event){.key = {.type = SDL_KEYDOWN, .keysym = {.scancode = SDL_SCANCODE_Q, .sym = 0x439}}});
  commit("\u0439");
  assert_string_equal(next().text, "\u0439");
  expect_none();
  window_take_text(window, false);
}

static void expect_colour(const uint8_t *rgba, int column, int row, uint32_t wanted) {
  const uint8_t *at = rgba + 4 * (row * ICON_SIDE + column);
  assert_int_equal((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3], wanted);
}

/* The window's icon, and the reason that is given for keeping the screen on. */
static void icon_and_reason(void **state) {
  (void)state;
  uint8_t rgba[ICON_SIDE * ICON_SIDE * 4];
  icon_draw(rgba);
  expect_colour(rgba, 0, 0, 0);
  expect_colour(rgba, 10, 10, 0x12102bff);
  expect_colour(rgba, 26, 32, 0xf4e9d8ff);
  expect_colour(rgba, 38, 32, 0xff5fa2ff);
  expect_colour(rgba, 28, 14, 0xf4e9d8ff); /* a pixel of the eyelid */
#ifdef SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME
  assert_string_equal(SDL_GetHint(SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME), "Showing live video");
#endif
}

enum { WIDTH = 1000, HEIGHT = 400 };

/* Draws the overlay on white. Rows are from the lowest up. */
static void draw_overlay(const struct hud_content *content, int width, int height, uint32_t *pixels) {
  struct hud *hud;
  assert_int_equal(hud_open(&hud, NULL), 0);
  hud_update(hud, content, width, height, 1000000000);
  glClearColor(1, 1, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  hud_draw(hud, content->layout, width, height);
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  hud_close(&hud);
}

static bool is_red(uint32_t pixel) {
  int red = (int)(pixel & 255), green = (int)(pixel >> 8 & 255), blue = (int)(pixel >> 16 & 255);
  return red > 2 * green && red > 2 * blue;
}

/* Figures are not drawn over the help, or over a list that leaves them no space; alerts are drawn in every window. */
static void no_text_on_text(void **state) {
  (void)state;
  static uint32_t with[WIDTH * HEIGHT], without[WIDTH * HEIGHT];
  static const int sizes[][2] = {{WIDTH, HEIGHT}, {420, 300}, {300, 220}};
  struct parameters values;
  struct alerts alerts = {0};
  static struct panel panel;
  parameters_init(&values);
  parameter_list_update(&panel.list, &values, 5);
  for (int i = 0; i < ALERTS; i++)
    alerts_raise(&alerts, (enum alert_kind)i, 1, alert_name((enum alert_kind)i), "why");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct hud_content content = {.figures = true, .help = true, .running = true, .values = &values, .panel = &panel};
    int width = sizes[i][0], height = sizes[i][1], red = 0;
    draw_overlay(&content, width, height, with);
    content.running = false;
    draw_overlay(&content, width, height, without);
    assert_memory_equal(with, without, sizeof with);
    content.help = false;
    content.running = panel.lists = true;
    draw_overlay(&content, width, height, with);
    content.running = false;
    draw_overlay(&content, width, height, without);
    assert_int_equal(memcmp(with, without, sizeof with) == 0, width < WIDTH);
    panel.lists = false;
    content.alerts = &alerts;
    content.running = content.help = true;
    draw_overlay(&content, width, height, with);
    for (int pixel = 0; pixel < WIDTH * HEIGHT; pixel++)
      red += is_red(with[pixel]);
    assert_true(red > width * 20);
  }
}

/* In the operator's window only those textures are drawn again whose widgets show something new. */
static void only_what_changes_is_drawn(void **state) {
  (void)state;
  static struct panel panel;
  static struct face_content face;
  struct hud *hud;
  struct parameters values;
  struct meter meter = {.heard = true};
  struct error err;
  parameters_init(&values);
  for (int i = 1; i <= FACE_PROMPTS; i++)
    assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, i, "ink drawing", &err), 0);
  parameter_list_update(&panel.list, &values, 8);
  face = (struct face_content){.prompts = FACE_PROMPTS, .scenes = 3, .first_scene = 1, .scene_name = {"a", "b", "c"}};
  face.bars = parameter_list_leading(&values, NULL, face.bar, FACE_BARS);
  face.prompt_share[0] = 1;
  struct hud_content content = {.layout = HUD_OPERATOR,
                                .running = true,
                                .fps = 30,
                                .values = &values,
                                .panel = &panel,
                                .face = &face,
                                .meter = &meter,
                                .model = "mini"};
  int64_t now_ns = 1000000000;
  assert_int_equal(hud_open(&hud, NULL), 0);
#define DRAWN_BY(update)                                                                                               \
  (before = hud_count_drawn(hud), (update), now_ns += 200000000, hud_update(hud, &content, 3840, 2160, now_ns),        \
   hud_count_drawn(hud) - before)
  long before = 0;
  /* all textures: of state buttons, bars, scenes, prompts, two headings, meter, figures and list */
  assert_int_equal(DRAWN_BY(content.running = true), FACE_STATES + FACE_BARS + 3 + FACE_PROMPTS + 2 + 3);
  assert_int_equal(DRAWN_BY(content.running = true), 0);
  assert_int_equal(DRAWN_BY(meter.values[0] = 0.5), 1);
  assert_int_equal(DRAWN_BY(content.fps = 31), 1);
  assert_int_equal(DRAWN_BY(values.freeze = true), 1);
  assert_int_equal(DRAWN_BY(values.strength = 0.75), 1);
  assert_int_equal(DRAWN_BY(face.prompt_share[0] = 0.5f), 1);
  assert_int_equal(DRAWN_BY(face.scene_taken = 2), 1);
  assert_int_equal(DRAWN_BY(panel.list.first = 1), 1);
  /* the prompt is shown in the list as well */
  assert_int_equal(DRAWN_BY(parameters_set_text(&values, PARAMETER_PROMPT, 2, "neon", &err)), 2);
  assert_int_equal(DRAWN_BY(content.running = true), 0);
#undef DRAWN_BY
  hud_draw(hud, HUD_OPERATOR, WIDTH, HEIGHT);
  assert_int_equal(glGetError(), GL_NO_ERROR);
  hud_close(&hud);
}

static void draw_face(struct hud *hud, const struct hud_content *content, int64_t now_ns, uint32_t *pixels) {
  hud_update(hud, content, WIDTH, HEIGHT, now_ns);
  glClear(GL_COLOR_BUFFER_BIT);
  hud_draw(hud, HUD_OPERATOR, WIDTH, HEIGHT);
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
}

/* Changes something that the operator's window shows: numbers, texts, and what sound moves. */
static void change_face(struct hud_content *content, struct meter *meter, struct recent_times *recent, int64_t now_ns) {
  static const double fps[] = {30, 30, 31.5, 7.25};
  struct parameters *values = (struct parameters *)content->values;
  values->strength = rand() % 101 / 100.0;
  values->seed = rand() % 3 ? values->seed : rand() % 1000;
  meter->values[rand() % 4] = rand() % 101 / 100.0;
  meter->count = rand() % 4 > 0;
  meter->row[0] = (struct meter_row){.id = PARAMETER_STRENGTH, .base = values->strength, .now = rand() % 101 / 100.0};
  content->fps = fps[rand() % 4];
  struct face_content *face = (struct face_content *)content->face;
  face->clip_at_s = rand() % 900 / 10.0;
  for (int i = 0; i < 3; i++)
    recent_times_add(recent, &(struct recent_time){now_ns - (3 - i) * 50000000, (float)(1 + rand() % 12),
                                                   (float)(rand() % 14), rand() % 8 == 0});
}

/* A widget of which only a part was drawn again shows what it shows when all of it is drawn. */
static void parts_are_drawn_as_the_whole(void **state) {
  (void)state;
  static uint32_t parts[WIDTH * HEIGHT], whole[WIDTH * HEIGHT];
  static struct panel panel;
  static struct face_content face;
  static struct recent_times recent;
  struct parameters values;
  struct meter meter = {.heard = true};
  struct hud *hud, *fresh;
  parameters_init(&values);
  parameter_list_update(&panel.list, &values, 8);
  face = (struct face_content){.clip = true, .clip_end_s = 90, .clip_left_s = 60, .clip_speed = 1};
  face.bars = parameter_list_leading(&values, NULL, face.bar, FACE_BARS);
  struct hud_content content = {.layout = HUD_OPERATOR,
                                .running = true,
                                .values = &values,
                                .panel = &panel,
                                .face = &face,
                                .meter = &meter,
                                .recent = &recent,
                                .budget_ms = 16.7,
                                .model = "mini"};
  assert_int_equal(hud_open(&hud, NULL), 0);
  srand(7);
  for (int64_t turn = 1; turn <= 60; turn++) {
    content.now_ns = turn * 1000000000;
    change_face(&content, &meter, &recent, content.now_ns);
    draw_face(hud, &content, content.now_ns, parts);
    assert_int_equal(hud_open(&fresh, NULL), 0);
    draw_face(fresh, &content, content.now_ns, whole);
    hud_close(&fresh);
    assert_memory_equal(parts, whole, sizeof parts);
  }
  hud_close(&hud);
}

static void read_widget(const struct widget *widget, const struct typeface *face, uint32_t *pixels) {
  glClear(GL_COLOR_BUFFER_BIT);
  sheets_begin(face, WIDTH, HEIGHT);
  widget_show(widget, face);
  sheets_end();
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
}

/* A bar of which anything changes shows what it shows when all of it is drawn, also if its label is cut. */
static void bars_are_drawn_as_the_whole(void **state) {
  (void)state;
  static uint32_t parts[WIDTH * HEIGHT], whole[WIDTH * HEIGHT];
  static const char *const values[] = {"1", "0.25", "1000000", "", "a prompt that fills the bar", "12"},
                           *const labels[] = {"strength of the input", "0:05", "strength of the input", "1:00:05", ""};
  struct typeface *face;
  assert_int_equal(typeface_open(&face, NULL), 0);
  typeface_set_size(face, 20);
  for (int wide = 40; wide <= 400; wide += 30) {
    const struct hud_area area = {10, 10, wide, 40};
    struct widget kept = {0};
    for (int i = 0; i < 60; i++) {
      struct widget fresh = {0};
      union widget_state bar = {.bar = {.share = (float)(i / 3 % 7) / 6, .moved = (float)(i / 2 % 5) / 4 - 0.1F}};
      memcpy(bar.bar.value, values[i * 5 % 6], strlen(values[i * 5 % 6]));
      memcpy(bar.bar.label, labels[i / 2 % 5], strlen(labels[i / 2 % 5]));
      widget_update(&kept, face, WIDGET_BAR, &area, &bar, false);
      read_widget(&kept, face, parts);
      widget_update(&fresh, face, WIDGET_BAR, &area, &bar, false);
      read_widget(&fresh, face, whole);
      widget_close(&fresh);
      assert_memory_equal(parts, whole, sizeof parts);
    }
    widget_close(&kept);
  }
  typeface_close(&face);
}

/* Events of two fingers are distinguished, each with its position in pixels; events of the mouse have no finger. */
static void fingers(void **state) {
  (void)state;
  push((SDL_Event){.tfinger = {.type = SDL_FINGERDOWN, .fingerId = 0, .x = 0.5f, .y = 0.25f}});
  push((SDL_Event){.tfinger = {.type = SDL_FINGERDOWN, .fingerId = 7, .x = 0.25f, .y = 0.5f}});
  push((SDL_Event){.tfinger = {.type = SDL_FINGERMOTION, .fingerId = 0, .x = 1, .y = 0.25f}});
  push((SDL_Event){.tfinger = {.type = SDL_FINGERUP, .fingerId = 7, .x = 0.25f, .y = 0.5f}});
  int width, height;
  window_get_size(window, &width, &height);
  const struct window_event first = next(), second = next(), moved = next(), lifted = next();
  assert_true(first.type == WINDOW_POINT && first.pressed && second.pressed && first.finger && second.finger);
  assert_true(first.finger != second.finger && moved.finger == first.finger && lifted.finger == second.finger);
  assert_true(moved.type == WINDOW_POINT && !moved.pressed && lifted.type == WINDOW_RELEASE);
  assert_float_equal(first.x, 0.5 * width, 0.01);
  assert_float_equal(first.y, 0.25 * height, 0.01);
  assert_float_equal(moved.x, width, 0.01);
  push((SDL_Event){.button = {.type = SDL_MOUSEBUTTONDOWN, .button = SDL_BUTTON_LEFT, .x = 3, .y = 4}});
  const struct window_event mouse = next();
  assert_true(mouse.type == WINDOW_POINT && mouse.pressed && !mouse.finger);
}

static void drop(Uint32 type, const char *text) {
  push((SDL_Event){.drop = {.type = type, .file = text ? SDL_strdup(text) : NULL}});
}

static void dropping(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    drop(SDL_DROPBEGIN, NULL);
    drop(SDL_DROPFILE, "/tmp/one");
    drop(SDL_DROPFILE, "/tmp/two");
    drop(SDL_DROPCOMPLETE, NULL);
    struct window_event event = next();
    assert_true(event.type == WINDOW_DROP && !event.follows);
    assert_string_equal(event.file, "/tmp/one");
    event = next();
    assert_true(event.type == WINDOW_DROP && event.follows);
    assert_string_equal(event.file, "/tmp/two");
    expect_none();
  }
  drop(SDL_DROPBEGIN, NULL);
  drop(SDL_DROPTEXT, "words");
  drop(SDL_DROPCOMPLETE, NULL);
  const struct window_event event = next();
  assert_true(event.type == WINDOW_DROP && !event.file);
  expect_none();
}

/* Returns how many modules in a square of 7 x 7 at a corner of a QR code differ from the position mark that every code
 * has there. */
static int wrong_corner(const struct qr *qr, int top, int left) {
  static const char *const rows[] = {"*******", "*     *", "* *** *", "* *** *", "* *** *", "*     *", "*******"};
  int wrong = 0;
  for (int row = 0; row < 7; row++)
    for (int column = 0; column < 7; column++)
      wrong += qr->dark[top + row][left + column] != (rows[row][column] == '*');
  return wrong;
}

/* The web page's address as a QR code: other addresses give other codes. */
static void codes(void **state) {
  (void)state;
  struct qr qr = {0}, other = {0};
  char longer[3000];
  if (!qr_make(&qr, "http://192.168.1.20:8080/?token=0123456789abcdef0123456789abcdef")) {
    print_message("codes: skipped, built without libqrcodegen\n");
    skip();
  }
  assert_true(qr.side >= 33 && qr.side <= QR_SIDE_MAX);
  assert_int_equal(wrong_corner(&qr, 0, 0) + wrong_corner(&qr, 0, qr.side - 7) + wrong_corner(&qr, qr.side - 7, 0), 0);
  for (int i = 8; i < qr.side - 8; i++)
    assert_true(qr.dark[6][i] == (i % 2 == 0) && qr.dark[i][6] == (i % 2 == 0));
  assert_true(qr_make(&other, "http://192.168.1.20:8080/?token=0123456789abcdef0123456789abcdee"));
  assert_memory_not_equal(qr.dark, other.dark, sizeof qr.dark);
  memset(longer, 'a', sizeof longer);
  longer[sizeof longer - 1] = 0;
  assert_false(qr_make(&qr, longer));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(composing),
      cmocka_unit_test(composing_a_sentence),
      cmocka_unit_test(typing),
      cmocka_unit_test(composing_after_control),
      cmocka_unit_test(dropping),
      cmocka_unit_test(other_layouts),
      cmocka_unit_test(text_of_other_layouts),
      cmocka_unit_test(icon_and_reason),
      cmocka_unit_test(no_text_on_text),
      cmocka_unit_test(only_what_changes_is_drawn),
      cmocka_unit_test(parts_are_drawn_as_the_whole),
      cmocka_unit_test(bars_are_drawn_as_the_whole),
      cmocka_unit_test(fingers),
      cmocka_unit_test(codes),
  };
  struct error err = {0};
  struct window_event event;
  const struct window_params params = {.title = "test", .width = WIDTH, .height = HEIGHT};
  setenv("SDL_VIDEODRIVER", "offscreen", 1);
  if (window_create(&window, NULL, false, &err) || window_open(window, &params, &err)) {
    fprintf(stderr, "skipped: %s\n", err.message);
    window_close(&window);
    return 77;
  }
  while (window_poll(window, &event))
    ;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  window_close(&window);
  return failed;
}
