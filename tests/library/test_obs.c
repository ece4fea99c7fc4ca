/* The filter of OBS in libobs without a window: what it hands to the engine, what is drawn before the first picture,
 * after it and after a failure, that OBS goes on drawing while a picture is made, and its properties.
 *
 *     test_obs PLUGIN
 *
 * Needs an X server. The library's functions that submit and collect are replaced here, so that a picture can be held
 * back, made to fail, and have known colours. */
#include "tests/rigs/cmocka_all.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <X11/Xlib.h>
#include <obs-module.h>
#include <obs-nix-platform.h>
#include <util/bmem.h>

#include "app/library/reverie.h"

enum { SIDE = 64, PIXELS = SIDE * SIDE };
#define SIZE "64x64"

/* Colours of the upper and the lower half of a frame or a picture, 0xBBGGRR. */
struct halves {
  uint32_t upper, lower;
};

static const struct halves first_source = {0x2040c0, 0x808080}, second_source = {0xf0a010, 0x0a3c64},
                           painted = {0x1ec80a, 0x003cfa};

/* Shared between the test, OBS's graphics thread and the filter's thread; protected by the lock. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct halves source;    /* what the source draws */
  struct halves drawn;     /* what was drawn of the source with its filter last */
  struct halves submitted; /* what the engine got last */
  double strength;         /* the parameter of the engine that got it */
  int frames;              /* number of frames that were drawn */
  int submits;             /* number of frames that the engine got */
  int lines;               /* number of warnings of the filter */
  bool held;               /* true: submitting waits */
  bool fails;              /* true: submitting fails */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool same(struct halves one, struct halves other) {
  return one.upper == other.upper && one.lower == other.lower;
}

/* Waits until a condition on `shared` holds, which is looked at with the lock held. */
#define wait_for(condition)                                                                                            \
  do {                                                                                                                 \
    pthread_mutex_lock(&shared.lock);                                                                                  \
    while (!(condition))                                                                                               \
      pthread_cond_wait(&shared.changed, &shared.lock);                                                                \
    pthread_mutex_unlock(&shared.lock);                                                                                \
  } while (0)

/* Changes `shared` with the lock held. */
#define change(statement)                                                                                              \
  do {                                                                                                                 \
    pthread_mutex_lock(&shared.lock);                                                                                  \
    statement;                                                                                                         \
    pthread_cond_broadcast(&shared.changed);                                                                           \
    pthread_mutex_unlock(&shared.lock);                                                                                \
  } while (0)

/* Waits for further frames, of which the first may have been begun before the call. */
static void wait_for_frames(int count) {
  pthread_mutex_lock(&shared.lock);
  int until = shared.frames + count;
  while (shared.frames < until)
    pthread_cond_wait(&shared.changed, &shared.lock);
  pthread_mutex_unlock(&shared.lock);
}

/* --- functions of the library that are replaced --- */

static uint32_t colour_at(const uint8_t *pixels, int pitch, int y) {
  const uint8_t *at = pixels + (ptrdiff_t)y * pitch + 4 * (SIDE / 2);
  return (uint32_t)(at[0] | at[1] << 8 | at[2] << 16);
}

int reverie_submit(struct reverie *reverie, const struct reverie_frame *frame, struct reverie_error *error) {
  int (*submit)(struct reverie *, const struct reverie_frame *, struct reverie_error *);
  char strength[32] = "";
  *(void **)&submit = dlsym(RTLD_NEXT, "reverie_submit");
  reverie_get(reverie, "strength", strength, sizeof strength, NULL);
  pthread_mutex_lock(&shared.lock);
  shared.submitted = (struct halves){colour_at(frame->plane[0], frame->pitch[0], SIDE / 4),
                                     colour_at(frame->plane[0], frame->pitch[0], 3 * SIDE / 4)};
  shared.strength = strtod(strength, NULL);
  shared.submits++;
  pthread_cond_broadcast(&shared.changed);
  while (shared.held)
    pthread_cond_wait(&shared.changed, &shared.lock);
  bool fails = shared.fails;
  pthread_mutex_unlock(&shared.lock);
  if (!fails)
    return submit(reverie, frame, error);
  strcpy(error->message, "the device is gone");
  return error->status = REVERIE_DEVICE;
}

/* Replaces the picture's pixels with those of two colours, unless the engine made what it got. */
int reverie_collect(struct reverie *reverie, struct reverie_picture *picture, struct reverie_error *error) {
  static uint32_t pixels[PIXELS];
  int (*collect)(struct reverie *, struct reverie_picture *, struct reverie_error *);
  *(void **)&collect = dlsym(RTLD_NEXT, "reverie_collect");
  int status = collect(reverie, picture, error);
  if (status || !picture->plane[0])
    return status;
  assert_int_equal(picture->width, SIDE);
  assert_int_equal(picture->height, SIDE);
  assert_int_not_equal(colour_at(picture->plane[0], picture->pitch[0], SIDE / 4), shared.submitted.upper);
  for (int i = 0; i < PIXELS; i++)
    pixels[i] = (i < PIXELS / 2 ? painted.upper : painted.lower) | 0xff000000;
  picture->plane[0] = pixels;
  picture->pitch[0] = 4 * SIDE;
  return 0;
}

/* --- a source of two colours, which OBS draws when it likes or is given frames of --- */

static const char *source_name(void *type) {
  (void)type;
  return "two colours";
}

static void *source_create(obs_data_t *settings, obs_source_t *source) {
  (void)settings;
  return source;
}

static void source_destroy(void *source) {
  (void)source;
}

static uint32_t source_side(void *source) {
  (void)source;
  return SIDE;
}

static void draw_half(uint32_t colour, int y) {
  gs_effect_t *solid = obs_get_base_effect(OBS_EFFECT_SOLID);
  struct vec4 value;
  vec4_from_rgba(&value, colour | 0xff000000);
  gs_effect_set_vec4(gs_effect_get_param_by_name(solid, "color"), &value);
  gs_matrix_push();
  gs_matrix_translate3f(0, (float)y, 0);
  while (gs_effect_loop(solid, "Solid"))
    gs_draw_sprite(NULL, 0, SIDE, SIDE / 2);
  gs_matrix_pop();
}

static void source_render(void *source, gs_effect_t *effect) {
  (void)source, (void)effect;
  pthread_mutex_lock(&shared.lock);
  struct halves now = shared.source;
  pthread_mutex_unlock(&shared.lock);
  draw_half(now.upper, 0);
  draw_half(now.lower, SIDE / 2);
}

static void register_sources(void) {
  struct obs_source_info info = {.id = "two_colours",
                                 .type = OBS_SOURCE_TYPE_INPUT,
                                 .output_flags = OBS_SOURCE_VIDEO | OBS_SOURCE_CUSTOM_DRAW,
                                 .get_name = source_name,
                                 .create = source_create,
                                 .destroy = source_destroy,
                                 .get_width = source_side,
                                 .get_height = source_side,
                                 .video_render = source_render};
  obs_register_source(&info);
  info = (struct obs_source_info){.id = "two_colours_async",
                                  .type = OBS_SOURCE_TYPE_INPUT,
                                  .output_flags = OBS_SOURCE_ASYNC_VIDEO,
                                  .get_name = source_name,
                                  .create = source_create,
                                  .destroy = source_destroy};
  obs_register_source(&info);
}

/* Gives an asynchronous source a frame of its colours. */
static void output_frame(obs_source_t *source, struct halves colours) {
  static uint32_t pixels[PIXELS];
  struct obs_source_frame frame = {.data = {(uint8_t *)pixels},
                                   .linesize = {4 * SIDE},
                                   .width = SIDE,
                                   .height = SIDE,
                                   .format = VIDEO_FORMAT_RGBA,
                                   .full_range = true};
  for (int i = 0; i < PIXELS; i++)
    pixels[i] = (i < PIXELS / 2 ? colours.upper : colours.lower) | 0xff000000;
  obs_source_output_video(source, &frame);
}

/* --- what is drawn --- */

struct screen {
  obs_source_t *source;
  gs_texrender_t *render;
  gs_stagesurf_t *stage;
};

/* Draws the source with its filter on the graphics thread, as OBS draws it on the canvas, and notes its colours. */
static void draw_source(void *opaque, uint32_t width, uint32_t height) {
  struct screen *screen = opaque;
  uint8_t *pixels;
  uint32_t pitch;
  struct vec4 black = {0};
  (void)width, (void)height;
  gs_texrender_reset(screen->render);
  if (!gs_texrender_begin(screen->render, SIDE, SIDE))
    return;
  gs_clear(GS_CLEAR_COLOR, &black, 0, 0);
  gs_ortho(0, SIDE, 0, SIDE, -100, 100);
  obs_source_video_render(screen->source);
  gs_texrender_end(screen->render);
  gs_stage_texture(screen->stage, gs_texrender_get_texture(screen->render));
  if (!gs_stagesurface_map(screen->stage, &pixels, &pitch))
    return;
  pthread_mutex_lock(&shared.lock);
  shared.drawn = (struct halves){colour_at(pixels, (int)pitch, SIDE / 4), colour_at(pixels, (int)pitch, 3 * SIDE / 4)};
  shared.frames++;
  pthread_cond_broadcast(&shared.changed);
  pthread_mutex_unlock(&shared.lock);
  gs_stagesurface_unmap(screen->stage);
}

static void begin_screen(struct screen *screen, const char *id) {
  screen->source = obs_source_create_private(id, "source", NULL);
  assert_non_null(screen->source);
  obs_enter_graphics();
  screen->render = gs_texrender_create(GS_RGBA, GS_ZS_NONE);
  screen->stage = gs_stagesurface_create(SIDE, SIDE, GS_RGBA);
  obs_leave_graphics();
  change(shared.source = first_source; shared.held = shared.fails = false; shared.submits = shared.lines = 0);
  obs_source_inc_showing(screen->source);
  obs_add_main_render_callback(draw_source, screen);
}

static void end_screen(struct screen *screen) {
  obs_remove_main_render_callback(draw_source, screen);
  obs_enter_graphics();
  gs_texrender_destroy(screen->render);
  gs_stagesurface_destroy(screen->stage);
  obs_leave_graphics();
  obs_source_dec_showing(screen->source);
  obs_source_release(screen->source);
}

static obs_source_t *add_filter(obs_source_t *source) {
  obs_data_t *settings = obs_data_create();
  obs_data_set_string(settings, "size", SIZE);
  obs_data_set_string(settings, "prompt[1]", "ink drawing");
  obs_data_set_string(settings, "device", "cpu");
  obs_data_set_int(settings, "threads", 1);
  obs_source_t *filter = obs_source_create_private("reverie_restyle", "filter", settings);
  assert_non_null(filter);
  obs_source_filter_add(source, filter);
  obs_data_release(settings);
  return filter;
}

/* --- the tests --- */

static void test_pictures(void **state) {
  struct screen screen;
  (void)state;
  begin_screen(&screen, "two_colours");
  change(shared.held = true);
  obs_source_t *filter = add_filter(screen.source);
  /* The engine gets the source as it is, and OBS goes on drawing that while the picture is made. */
  wait_for(shared.submits == 1);
  assert_true(same(shared.submitted, first_source));
  wait_for_frames(5);
  assert_true(same(shared.drawn, first_source));
  /* The next frame that the engine gets is the newest one. */
  change(shared.source = second_source);
  wait_for_frames(5);
  assert_int_equal(shared.submits, 1);
  change(shared.held = false);
  wait_for(shared.submits >= 2);
  assert_true(same(shared.submitted, second_source));
  wait_for(same(shared.drawn, painted));
  obs_source_filter_remove(screen.source, filter);
  wait_for(same(shared.drawn, second_source));
  obs_source_release(filter);
  end_screen(&screen);
}

static void test_failure(void **state) {
  struct screen screen;
  (void)state;
  begin_screen(&screen, "two_colours");
  obs_source_t *filter = add_filter(screen.source);
  wait_for(same(shared.drawn, painted));
  /* The source is drawn as it is, one line is logged, and the engine gets nothing more. */
  change(shared.fails = true);
  wait_for(same(shared.drawn, first_source));
  int submits = shared.submits;
  wait_for_frames(5);
  assert_int_equal(shared.submits, submits);
  assert_int_equal(shared.lines, 1);
  /* Other settings have the engine opened again. */
  change(shared.fails = false);
  obs_data_t *settings = obs_data_create();
  obs_data_set_double(settings, "strength", 0.5);
  obs_source_update(filter, settings);
  obs_data_release(settings);
  wait_for(same(shared.drawn, painted));
  wait_for(shared.strength == 0.5);
  assert_int_equal(shared.lines, 1);
  obs_source_filter_remove(screen.source, filter);
  obs_source_release(filter);
  end_screen(&screen);
}

static void test_asynchronous_source(void **state) {
  struct screen screen;
  (void)state;
  begin_screen(&screen, "two_colours_async");
  output_frame(screen.source, first_source);
  wait_for(same(shared.drawn, first_source));
  obs_source_t *filter = add_filter(screen.source);
  wait_for(same(shared.drawn, painted));
  assert_true(same(shared.submitted, first_source));
  obs_source_filter_remove(screen.source, filter);
  obs_source_release(filter);
  end_screen(&screen);
}

/* A property has the parameter's name, type, range and help. */
static void check_property(obs_properties_t *view, const char *name, const struct reverie_parameter *about) {
  static const enum obs_property_type types[] = {
      [REVERIE_REAL] = OBS_PROPERTY_FLOAT,  [REVERIE_WHOLE] = OBS_PROPERTY_INT, [REVERIE_SWITCH] = OBS_PROPERTY_BOOL,
      [REVERIE_CHOICE] = OBS_PROPERTY_LIST, [REVERIE_SIZE] = OBS_PROPERTY_TEXT, [REVERIE_TEXT] = OBS_PROPERTY_TEXT};
  obs_property_t *property = obs_properties_get(view, name);
  assert_non_null(property);
  assert_int_equal(obs_property_get_type(property), types[about->type]);
  assert_non_null(strstr(obs_property_long_description(property), about->help));
  if (about->type == REVERIE_REAL) {
    assert_true(obs_property_float_min(property) == about->least);
    assert_true(obs_property_float_max(property) == about->most);
  }
  if (about->type == REVERIE_CHOICE) {
    size_t words = 1;
    for (const char *at = about->choices; (at = strchr(at, '|')); at++)
      words++;
    assert_int_equal(obs_property_list_item_count(property), words);
  }
}

static bool is_visible(obs_properties_t *view, const char *name) {
  return obs_property_visible(obs_properties_get(view, name));
}

static void test_properties(void **state) {
  struct reverie_parameter about = {.size = sizeof about};
  obs_properties_t *view = obs_get_source_properties("reverie_restyle");
  obs_data_t *settings = obs_get_source_defaults("reverie_restyle");
  (void)state;
  int checked = 0;
  for (int i = 0; i < reverie_parameter_count(); i++) {
    assert_int_equal(reverie_describe_parameter(i, &about, NULL), 0);
    if (about.instances || !obs_properties_get(view, about.name))
      continue;
    check_property(view, about.name, &about);
    checked++;
  }
  assert_true(checked > 30);
  assert_non_null(obs_properties_get(view, "lora[8].weight"));
  assert_non_null(obs_properties_get(view, "prompt[9]"));
  assert_null(obs_properties_get(view, "fit"));
  assert_string_equal(obs_property_int_suffix(obs_properties_get(view, "steps")), " steps");
  obs_properties_apply_settings(view, settings);
  assert_true(is_visible(view, "prompt[1]") && is_visible(view, "strength") && !is_visible(view, "prompt[2]"));
  obs_data_set_bool(settings, "all", true);
  obs_properties_apply_settings(view, settings);
  assert_true(is_visible(view, "prompt[1]") && is_visible(view, "prompt[2]"));
  obs_data_release(settings);
  obs_properties_destroy(view);
}

/* --- libobs --- */

static const char *plugin; /* path of the plug-in */

static void count_lines(int level, const char *format, va_list arguments, void *opaque) {
  char line[1024];
  (void)opaque;
  vsnprintf(line, sizeof line, format, arguments);
  fprintf(stderr, "%s\n", line);
  if (level <= LOG_WARNING && !strncmp(line, "[reverie]", 9))
    change(shared.lines++);
}

static int start_obs(void **state) {
  struct obs_video_info video = {.graphics_module = "libobs-opengl",
                                 .fps_num = 60,
                                 .fps_den = 1,
                                 .base_width = SIDE,
                                 .base_height = SIDE,
                                 .output_width = SIDE,
                                 .output_height = SIDE,
                                 .output_format = VIDEO_FORMAT_RGBA};
  obs_module_t *module;
  (void)state;
  base_set_log_handler(count_lines, NULL);
  obs_set_nix_platform(OBS_NIX_PLATFORM_X11_EGL);
  obs_set_nix_platform_display(XOpenDisplay(NULL));
  assert_true(obs_startup("en-US", NULL, NULL));
  assert_int_equal(obs_reset_video(&video), OBS_VIDEO_SUCCESS);
  register_sources();
  assert_int_equal(obs_open_module(&module, plugin, NULL), MODULE_SUCCESS);
  assert_true(obs_init_module(module));
  return 0;
}

/* Ends libobs, which then has none of the filter's memory left. */
static int end_obs(void **state) {
  (void)state;
  obs_wait_for_destroy_queue();
  obs_shutdown();
  assert_int_equal(bnum_allocs(), 0);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_properties),
      cmocka_unit_test(test_pictures),
      cmocka_unit_test(test_failure),
      cmocka_unit_test(test_asynchronous_source),
  };
  if (argc != 2)
    return 2;
  plugin = argv[1];
  return cmocka_run_group_tests_name("OBS", tests, start_obs, end_obs);
}
