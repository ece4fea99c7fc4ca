/* Tests the operator's window: the positions of its widgets, what is found at a position, and what presses and
 * movements of mouse and fingers do. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/control/parameter_order.h"
#include "app/window/face_input.h"
#include "app/window/lettering.h"

enum { AREAS_MAX = 64 };

static const int sizes[][2] = {{1280, 720}, {1920, 1080}, {3840, 2160}, {1366, 768}, {1080, 1920}};
static const struct face_wish all = {
    .alert_lines = 2, .bars = FACE_BARS, .scenes = 30, .prompts = FACE_PROMPTS, .clip = true, .sound = true};

/* Stores all areas that are shown, and returns their number. */
static int list_areas(const struct face_places *places, const struct hud_area *area[AREAS_MAX]) {
  const struct hud_area *alone[] = {&places->alerts,      &places->picture,     &places->clip, &places->meter,
                                    &places->graph,       &places->figures,     &places->list, &places->typed,
                                    &places->scenes_head, &places->prompts_head};
  const struct {
    const struct hud_area *first;
    int count;
  } several[] = {{places->states, FACE_STATES},
                 {places->bars, FACE_BARS},
                 {places->scenes, FACE_SCENES},
                 {places->prompts, FACE_PROMPTS}};
  int count = 0;
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
    if (alone[i]->width)
      area[count++] = alone[i];
  for (size_t i = 0; i < sizeof several / sizeof *several; i++)
    for (int j = 0; j < several[i].count; j++)
      if (several[i].first[j].width)
        area[count++] = &several[i].first[j];
  return count;
}

static bool apart(const struct hud_area *a, const struct hud_area *b) {
  return a->left + a->width <= b->left || b->left + b->width <= a->left || a->top + a->height <= b->top ||
         b->top + b->height <= a->top;
}

static void expect_apart(int width, int height, const struct face_wish *wish) {
  struct face_places places;
  const struct hud_area *area[AREAS_MAX];
  face_place(&places, width, height, wish);
  int count = list_areas(&places, area);
  for (int i = 0; i < count; i++) {
    assert_true(area[i]->left >= 0 && area[i]->left + area[i]->width <= width);
    assert_true(area[i]->top >= 0 && area[i]->height > 0 && area[i]->top + area[i]->height <= height);
    for (int j = 0; j < i; j++)
      assert_true(apart(area[i], area[j]));
  }
  const struct list_box *box = &places.box;
  assert_true(places.list_rows >= 1);
  if (places.list.width) {
    assert_true(box->left < box->bar_left && box->bar_left < box->bar_right && box->bar_right < box->right);
    assert_true(box->top + (float)places.list_rows * box->line <= (float)(places.list.top + places.list.height));
  }
}

/* In a window of any size everything lies in it, and nothing on another. */
static void nothing_overlaps(void **state) {
  (void)state;
  for (int height = 60; height < 2200; height += 107)
    for (int width = 80; width < 3900; width += 173) {
      const struct face_wish wish = {.alert_lines = (width + height) % 15,
                                     .bars = width % 7,
                                     .scenes = height % 12,
                                     .prompts = width % 10,
                                     .clip = height % 2,
                                     .sound = width % 3};
      expect_apart(width, height, &wish);
      expect_apart(width, height, &all);
    }
}

/* On the usual displays of stages every widget is shown, large enough for fingers, and for eyes two metres away. */
static void everything_is_there(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct face_places places;
    const struct hud_area *area[AREAS_MAX];
    int height = sizes[i][1], least = sizes[i][0] < height ? sizes[i][0] : height;
    face_place(&places, sizes[i][0], height, &all);
    assert_int_equal(list_areas(&places, area), 10 + FACE_STATES + FACE_BARS + FACE_SCENES + FACE_PROMPTS);
    assert_true(places.size * 40 >= least);
    assert_true(places.picture.height * 5 >= least);
    assert_true(places.states[0].height * 16 >= least && places.bars[0].height * 17 >= least);
    assert_true(places.list_rows >= 5);
  }
}

/* If alerts are shown, only the picture becomes smaller, so that no widget moves under a finger that is about to press
 * it. */
static void alerts_move_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct face_places with, without;
    struct face_wish quiet = all;
    quiet.alert_lines = 0;
    face_place(&with, sizes[i][0], sizes[i][1], &all);
    face_place(&without, sizes[i][0], sizes[i][1], &quiet);
    assert_true(with.picture.height < without.picture.height && !without.alerts.width);
    with.picture = without.picture;
    with.alerts = without.alerts;
    assert_memory_equal(&with, &without, sizeof with);
  }
}

/* A line of alerts has room for 36 characters, enough for a short reason, or for as many as fit into the window. */
static void alerts_can_be_read(void **state) {
  (void)state;
  for (int height = 200; height < 2200; height += 100)
    for (int width = 300; width < 3900; width += 100) {
      int size = face_type_size(width, height), columns, lines;
      face_alert_room(width, height, size * 3 / 5, &columns, &lines);
      assert_true(columns >= 36 || columns >= (width - 3 * size) / (size * 3 / 5));
    }
}

/* --- texts --- */

static struct glyphs *glyphs;
static struct lettering *lettering;

static int begin_letters(void **state) {
  (void)state;
  assert_int_equal(glyphs_open(&glyphs, NULL), 0);
  assert_int_equal(lettering_open(&lettering, glyphs, NULL), 0);
  return 0;
}

static int end_letters(void **state) {
  (void)state;
  lettering_close(&lettering);
  glyphs_close(&glyphs);
  return 0;
}

static int wide(enum letter_size size, const char *text) {
  return lettering_width(lettering, size, text, strlen(text));
}

/* Texts of the program itself fit and are never cut: labels of buttons, bars with their values, and rows of the
 * list. */
static void own_texts_are_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    struct face_places places;
    enum parameter ids[PARAMETERS];
    char label[PARAMETER_NAME_MAX];
    face_place(&places, sizes[i][0], sizes[i][1], &all);
    glyphs_set_size(glyphs, places.size);
    lettering_set_size(lettering, places.size);
    assert_true(wide(LETTERS_LARGE, "Bypass") + 2 * wide(LETTERS_SMALL, "U") < places.states[0].width);
    int room = places.bars[0].width - places.size - places.size / 4, count = parameters_by_rank(ids);
    for (int j = 0; j < count; j++)
      assert_true(wide(LETTERS_USUAL, parameter_label(ids[j], parameter_row(ids[j])->first, label)) +
                      wide(LETTERS_USUAL, "-10.00") <=
                  room);
    float column = places.box.bar_left - places.box.left - (float)places.size / 4;
    for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
      assert_true((float)wide(LETTERS_USUAL, parameter_label(id, parameter_row(id)->first, label)) <= column);
    assert_true((float)wide(LETTERS_USUAL, "trained without guidance") <= places.box.right - places.box.bar_left);
    assert_true(lettering_line(lettering, LETTERS_USUAL) <= places.bars[0].height);
    assert_true(lettering_line(lettering, LETTERS_USUAL) <= places.prompts[0].height);
    assert_true((float)lettering_line(lettering, LETTERS_USUAL) <= places.box.line);
    assert_true(lettering_line(lettering, LETTERS_LARGE) <= places.states[0].height);
    assert_true(lettering_line(lettering, LETTERS_SMALL) + places.size / 4 <= places.prompts_head.height);
  }
}

/* Texts of users may have any length and script: of each, as many whole characters are drawn as fit. */
static void long_texts_are_fitted(void **state) {
  (void)state;
  static const char *const texts[] = {"a lighthouse in a storm with very high waves and a small boat",
                                      "\u6cb9\u7d75\u6f22", "Ma\u00dfe \u00fcber \u00c9t\u00e9 \u0391\u03b2 \u0416",
                                      "iiiiiiiiiiiiiiiiiiiiii"};
  lettering_set_size(lettering, 20);
  glyphs_set_size(glyphs, 20);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t before = 0, length = strlen(texts[i]);
    for (int width = 0; width < 700; width += 7) {
      size_t fits = lettering_fit(lettering, LETTERS_USUAL, texts[i], length, width);
      assert_true(fits >= before && fits <= length);
      assert_true(lettering_width(lettering, LETTERS_USUAL, texts[i], fits) <= width);
      assert_true(fits == length || ((unsigned char)texts[i][fits] & 0xc0) != 0x80);
      before = fits;
    }
    assert_int_equal(before, length);
  }
  assert_true(wide(LETTERS_USUAL, "iiii") < wide(LETTERS_USUAL, "mmmm"));
}

/* --- presses --- */

static struct live_state live;
static struct panel panel;
static struct face_content content;
static struct face_places places;
static struct face_grip grip;
static int first_scene;

static int begin(void **state) {
  (void)state;
  struct parameters values;
  struct error err;
  parameters_init(&values);
  for (int i = 1; i <= 3; i++)
    assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, i, "ink", &err), 0);
  values.size = (struct parameter_size){512, 256};
  live = (struct live_state){.ready = true, .presets = 12};
  settings_begin(&live.settings, &values);
  panel = (struct panel){.lists = false};
  content = (struct face_content){
      .prompts = 3, .scenes = 12, .first_scene = 1, .clip = true, .clip_end_s = 80, .clip_left_s = 40, .clip_speed = 1};
  content.bars = parameter_list_leading(&live.settings.values, NULL, content.bar, FACE_BARS);
  face_place(&places, 1920, 1080, &all);
  parameter_list_update(&panel.list, &live.settings.values, places.list_rows);
  grip = (struct face_grip){.moved = false};
  first_scene = 1;
  return 0;
}

static float across(const struct hud_area *area, double share) {
  return (float)area->left + (float)(share * area->width);
}

static float middle(const struct hud_area *area) {
  return (float)area->top + (float)area->height / 2;
}

static bool press(const struct hud_area *area, double share) {
  return face_press(&grip, &places, &content, &panel, &live, across(area, share), middle(area), 0);
}

static void drag(const struct hud_area *area, double share) {
  face_drag(&grip, &places, &content, &panel, &live, across(area, share), middle(area), 0);
}

static void release(void) {
  face_release(&grip, &places, &content, &panel, &live, 0);
}

/* Each widget is found at its four corners, and nothing is found between two widgets. */
static void places_are_found(void **state) {
  (void)state;
  const struct {
    const struct hud_area *area;
    int count;
    enum face_part part;
  } parts[] = {{places.states, FACE_STATES, FACE_STATE},
               {places.bars, FACE_BARS, FACE_BAR},
               {places.scenes, FACE_SCENES, FACE_SCENE},
               {places.prompts, FACE_PROMPTS, FACE_PROMPT},
               {&places.clip, 1, FACE_CLIP},
               {&places.list, 1, FACE_LIST},
               {&places.typed, 1, FACE_LINE},
               {&places.picture, 1, FACE_PICTURE}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (int j = 0; j < parts[i].count; j++) {
      const struct hud_area *area = &parts[i].area[j];
      const float left = (float)area->left, top = (float)area->top, right = left + (float)area->width - 1,
                  bottom = top + (float)area->height - 1;
      const float corners[][2] = {{left, top}, {right, top}, {left, bottom}, {right, bottom}};
      for (int k = 0; k < 4; k++) {
        struct face_hit hit = face_find(&places, corners[k][0], corners[k][1]);
        assert_true(hit.part == parts[i].part && hit.number == j);
      }
      assert_int_equal(face_find(&places, left - 1, top + 1).part, FACE_NOTHING);
    }
  assert_int_equal(face_find(&places, -5, 1e6f).part, FACE_NOTHING);
  assert_false(press(&places.picture, 0.5));
  assert_false(press(&places.graph, 0.5));
}

/* A press on a bar sets the value to that position, and the value follows the pointer until the button is released. */
static void bars_are_drawn_along(void **state) {
  (void)state;
  const struct parameters *values = &live.settings.values;
  assert_int_equal(content.bar[0].id, PARAMETER_STRENGTH);
  assert_true(press(&places.bars[0], 0.25));
  assert_float_equal(values->strength, 0.25, 0.005);
  drag(&places.bars[0], 0.9);
  assert_float_equal(values->strength, 0.9, 0.005);
  drag(&places.bars[0], 7);
  assert_float_equal(values->strength, 1, 0);
  drag(&places.bars[0], -7);
  assert_float_equal(values->strength, 0, 0);
  release();
  drag(&places.bars[0], 0.5);
  assert_float_equal(values->strength, 0, 0);
  for (int i = 0; i < content.bars; i++) {
    press(&places.bars[i], 0.5);
    release();
    assert_float_equal(parameter_list_share(values, content.bar[i]), 0.5, 0.1);
  }
  face_wheel(&places, &content, &panel, &live, &first_scene, across(&places.bars[0], 0.1), middle(&places.bars[0]), 1,
             0);
  assert_float_equal(values->strength, 0.55, 1e-9);
}

static void states_are_switched(void **state) {
  (void)state;
  const struct parameters *values = &live.settings.values;
  const bool *on[] = {&values->freeze, &values->blackout, &values->bypass, &values->recording};
  for (int i = 0; i < 4; i++) {
    press(&places.states[i], 0.5);
    release();
    assert_true(*on[i]);
  }
  press(&places.states[4], 0.5);
  assert_true(values->bypass && !values->freeze && !values->blackout && !values->modulation);
  press(&places.states[2], 0.5);
  assert_false(values->bypass);
}

/* A press shows a prompt alone; a movement along it blends it in with what is shown. */
static void prompts_are_blended(void **state) {
  (void)state;
  const struct parameters *values = &live.settings.values;
  press(&places.prompts[1], 0.2);
  assert_int_equal(values->shown_prompt, 1);
  release();
  assert_int_equal(values->shown_prompt, 2);
  press(&places.prompts[2], 0.1);
  drag(&places.prompts[2], 0.5);
  drag(&places.prompts[2], 0.6);
  release();
  assert_float_equal(values->blend[1], 1, 0);
  assert_float_equal(values->blend[2], 0.6, 0.005);
  assert_int_equal(values->shown_prompt, 2);
  press(&places.prompts[5], 0.1); /* this prompt has no text, so it is not blended in */
  drag(&places.prompts[5], 0.9);
  release();
  assert_float_equal(values->blend[5], 0, 0);
  press(&places.prompts[0], 0.5);
  release();
  assert_float_equal(values->blend[2], 0, 0);
  assert_int_equal(values->shown_prompt, 1);
}

static void scenes_are_taken(void **state) {
  (void)state;
  const struct parameters *values = &live.settings.values;
  press(&places.scenes[4], 0.5);
  release();
  assert_int_equal(values->saved_preset, 5);
  float x = across(&places.scenes[0], 0.5), y = middle(&places.scenes[0]);
  face_wheel(&places, &content, &panel, &live, &first_scene, x, y, 1, 0);
  assert_int_equal(first_scene, 1);
  face_wheel(&places, &content, &panel, &live, &first_scene, x, y, -1, 0);
  assert_int_equal(first_scene, 10);
  face_wheel(&places, &content, &panel, &live, &first_scene, x, y, -1, 0);
  assert_int_equal(first_scene, 10);
  content.first_scene = first_scene;
  press(&places.scenes[2], 0.5);
  assert_int_equal(values->saved_preset, 12);
  press(&places.scenes[3], 0.5); /* there is no preset 13 */
  assert_int_equal(values->saved_preset, 12);
}

/* A press on the clip's bar seeks when it ends; a press on the line opens the prompt; the list can be pressed, dragged,
 * scrolled by the wheel and filtered. */
static void the_rest_is_pressed(void **state) {
  (void)state;
  const struct parameters *values = &live.settings.values;
  press(&places.clip, 0.1);
  drag(&places.clip, 0.5);
  assert_float_equal(values->clip_position, 0, 0);
  release();
  assert_float_equal(values->clip_position, 40, 0.1);
  press(&places.typed, 0.5);
  release();
  assert_int_equal(live.panel_asked, PANEL_PROMPT);
  float label = places.box.left + 2, line = places.box.line, top = places.box.top;
  assert_true(face_press(&grip, &places, &content, &panel, &live, label, top + 5.5f * line, 0));
  assert_int_equal(panel.list.chosen, 5);
  face_drag(&grip, &places, &content, &panel, &live, label, top + 2.4f * line, 0);
  assert_int_equal(panel.list.first, 3);
  release();
  face_wheel(&places, &content, &panel, &live, &first_scene, label, top + line, 1, 0);
  assert_int_equal(panel.list.first, 0);
  assert_true(face_press(&grip, &places, &content, &panel, &live, label, top - line / 2, 0));
  release();
  assert_true(panel.types && panel.filters);
  panel_text(&panel, &live, "strength");
  panel_key(&panel, &live, KEY_ENTER, 0);
  parameter_list_update(&panel.list, values, places.list_rows);
  float half = (places.box.bar_left + places.box.bar_right) / 2;
  face_press(&grip, &places, &content, &panel, &live, half, top + line / 2, 0);
  assert_float_equal(values->strength, 0.5, 0.02);
  face_drag(&grip, &places, &content, &panel, &live, places.box.bar_right, top + line / 2, 0);
  release();
  assert_float_equal(values->strength, 1, 0);
  /* ends the filter, so all rows are listed again */
  face_press(&grip, &places, &content, &panel, &live, label, top - line / 2, 0);
  assert_true(!*panel.list.filter && !panel.types);
}

int main(void) {
#define LETTERS(function) cmocka_unit_test_setup_teardown(function, begin_letters, end_letters)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_overlaps),
      cmocka_unit_test(everything_is_there),
      cmocka_unit_test(alerts_move_nothing),
      cmocka_unit_test(alerts_can_be_read),
      LETTERS(own_texts_are_whole),
      LETTERS(long_texts_are_fitted),
      cmocka_unit_test_setup(places_are_found, begin),
      cmocka_unit_test_setup(bars_are_drawn_along, begin),
      cmocka_unit_test_setup(states_are_switched, begin),
      cmocka_unit_test_setup(prompts_are_blended, begin),
      cmocka_unit_test_setup(scenes_are_taken, begin),
      cmocka_unit_test_setup(the_rest_is_pressed, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
