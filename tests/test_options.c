/* Tests the command line: what is accepted, what is refused and with which message. test_option_texts.c tests the texts
 * that are made from the same table, test_options_config.c options that a file gives. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/settings.h"
#include "app/options/options.h"
#include "app/options/options_table.h"

enum { WORDS_MAX = 64 };

static char line_buffer[512];

/* Parses a line such as "render a b --steps 3". Words are separated by single spaces; ~ stands for a space inside a
 * word. */
static int parse(const char *line, struct options *options, struct options_request *request, struct error *err) {
  static char name[] = "reverie";
  char *argv[WORDS_MAX] = {name};
  int argc = 1;
  snprintf(line_buffer, sizeof line_buffer, "%s", line);
  for (char *word = strtok(line_buffer, " "); word && argc < WORDS_MAX; word = strtok(NULL, " ")) {
    for (char *tilde = word; (tilde = strchr(tilde, '~'));)
      *tilde = ' ';
    argv[argc++] = word;
  }
  return options_parse(options, request, argc, argv, err);
}

static struct options accept(const char *line) {
  struct options options;
  struct options_request request;
  struct error err = {0};
  if (parse(line, &options, &request, &err))
    fail_msg("'%s' refused: %s", line, err.message);
  assert_int_equal(request.action, ACTION_RUN);
  return options;
}

static void refuse(const char *line, const char *wanted) {
  struct options options;
  struct options_request request;
  struct error err = {0};
  if (!parse(line, &options, &request, &err))
    fail_msg("'%s' accepted", line);
  assert_int_equal(err.status, STATUS_USAGE);
  assert_null(strchr(err.message, '\n'));
  if (!strstr(err.message, wanted))
    fail_msg("'%s': '%s' is not in '%s'", line, wanted, err.message);
}

static void test_defaults(void **state) {
  (void)state;
  struct options options = accept("render in.mp4 out.mp4");
  assert_int_equal(options.command, COMMAND_RENDER);
  assert_string_equal(options.input, "in.mp4");
  assert_string_equal(options.output, "out.mp4");
  const struct parameters *values = &options.values;
  assert_true(values->guidance == 1 && values->image_guidance == 1.5 && options.quality < 0);
  assert_false(parameters_marked(values, PARAMETER_STRENGTH, 0) || parameters_marked(values, PARAMETER_STEPS, 0));
  assert_true(values->seed == 1 && values->hud && !values->split && options.values.size.width == 0 &&
              options.frames == 0);
  assert_true(options.warmup == -1 && options.verbose == 0 && !options.overwrite && options.prompt_count == 0);
  assert_string_equal(options.device.name, "auto");
  assert_null(accept("live").input);
  assert_string_equal(accept("info sd-turbo").input, "sd-turbo");
  options = accept("render a b --negative=");
  assert_string_equal(parameters_text(&options.values, PARAMETER_NEGATIVE, 0), "");
}

static void test_values(void **state) {
  (void)state;
  struct options options =
      accept("render a b --model m --vae v -p oil~painting --prompt=neon --negative blur -g 7.5 --image-guidance 2 "
             "-s0.25 --steps 4 --seed 9007199254740991 --size 512x288 --fit letterbox --sampler lcm "
             "--spacing leading --strength-grid trained --text-to-image");
  assert_string_equal(parameters_text(&options.values, PARAMETER_MODEL, 0), "m");
  assert_string_equal(parameters_text(&options.values, PARAMETER_VAE, 0), "v");
  assert_int_equal(options.prompt_count, 2);
  const struct parameters *values = &options.values;
  assert_string_equal(parameters_text(values, PARAMETER_PROMPT, 1), "oil painting");
  assert_string_equal(parameters_text(values, PARAMETER_PROMPT, 2), "neon");
  assert_null(parameters_text(values, PARAMETER_PROMPT, 3));
  assert_string_equal(parameters_text(values, PARAMETER_NEGATIVE, 0), "blur");
  assert_true(values->guidance == 7.5 && values->image_guidance == 2 && values->strength == 0.25);
  assert_true(parameters_marked(values, PARAMETER_STRENGTH, 0) && parameters_marked(values, PARAMETER_STEPS, 0));
  assert_true(values->steps == 4 && values->seed == INT64_C(9007199254740991));
  assert_true(values->size.width == 512 && values->size.height == 288);
  assert_true(values->fit == FIT_LETTERBOX && values->sampler == SAMPLER_LCM && values->spacing == SPACING_LEADING);
  assert_true(values->strength_grid == STRENGTH_TRAINED && values->text_to_image);
  options = accept("-v render -vyq a -- -odd-name-");
  assert_string_equal(options.output, "-odd-name-");
  assert_true(options.overwrite && options.verbose == -1);
  options = accept("render a b --device cuda:1 -t 3 --precision bf16 --memory-limit 1.5G --input-options a=b:c=d "
                   "--start 1.5 --duration 2 --frames 9 -c ffv1 --crf 0 -vvv");
  assert_string_equal(options.device.name, "cuda:1");
  assert_true(options.device.threads == 3 && options.device.precision == PRECISION_BF16);
  assert_int_equal(options.device.memory_limit, 3ul << 29);
  assert_true(options.start == 1.5 && options.duration == 2 && options.frames == 9 && options.quality == 0);
  assert_int_equal(options.verbose, 2);
  options = accept("live /dev/video0 --budget 33.3 -f --window 800x600 --display 1 --no-hud --split --loop "
                   "--snapshot-dir shots --input-size 640x480 --input-fps 29.97");
  assert_true(options.budget_ms == 33.3 && options.values.fullscreen && options.window_width == 800 &&
              !strcmp(options.display, "1"));
  assert_true(!options.values.hud && options.values.split && options.loop && options.input_height == 480);
  /* a decimal number means the film rate that was rounded to it, a fraction is exact */
  assert_true(accept("render a b --fps 23.98").fps == 24000 / 1001.0 &&
              accept("render a b --fps 2398/100").fps == 23.98);
  options = accept("live --budget display --budget-floor 256x256");
  assert_true(options.budget_floor_width == 256);
  options = accept("bench --json - --warmup 0 --size 8x8192");
  assert_string_equal(options.json, "-");
  assert_true(options.warmup == 0 && options.values.size.width == 8 && options.values.size.height == 8192);
}

/* A weight follows the last colon; if no number follows it, the colon is part of the name. */
static void test_adapters(void **state) {
  (void)state;
  struct options options = accept("render a b --lora one.safetensors --lora two:0.5 --lora a:b:-1.25 --lora c:0x:d "
                                  "--lora-lenient");
  static const char *const files[] = {"one.safetensors", "two", "a:b", "c:0x:d"};
  static const double weights[] = {1, 0.5, -1.25, 1};
  assert_int_equal(options.lora_count, 4);
  for (int i = 0; i < 4; i++) {
    assert_string_equal(parameters_text(&options.values, PARAMETER_LORA, i + 1), files[i]);
    assert_true(parameters_number(&options.values, PARAMETER_LORA_WEIGHT, i + 1) == weights[i]);
  }
  assert_true(options.values.lora_lenient);
  refuse("render a b --lora x:1e9", "lora[1].weight");
  refuse("render a b --lora x:nan", "lora[1].weight");
  refuse("render a b --lora :0.5", "FILE or FILE:WEIGHT");
  refuse("live --lora 1 --lora 2 --lora 3 --lora 4 --lora 5 --lora 6 --lora 7 --lora 8 --lora 9", "at most 8");
}

/* The kind comes before the first colon, a weight after the last one; between them is the model, which may contain
 * colons. */
static void test_controls(void **state) {
  (void)state;
  struct options options =
      accept("render a b --control canny --control-with low=50,high=80.5 --control depth:C:\\cn.safetensors "
             "--control tile:ORG/NAME:0.8 --control-with weight=0.25,start=0.1,end=0.5,guess=1,cell=4 "
             "--control map:https://host/cn:1.5 --show beside");
  static const char *const models[] = {NULL, "C:\\cn.safetensors", "ORG/NAME", "https://host/cn"};
  static const enum map_kind kinds[] = {MAP_CANNY, MAP_DEPTH, MAP_TILE, MAP_PICTURE};
  static const double weights[] = {1, 1, 0.25, 1.5};
  const struct parameters *values = &options.values;
  struct controls controls;
  assert_int_equal(options.control_count, 4);
  for (int i = 0; i < 4; i++) {
    const char *model = parameters_text(values, PARAMETER_CONTROL_MODEL, i + 1);
    assert_int_equal(values->control[i], kinds[i] + 1);
    assert_true(models[i] ? model && !strcmp(model, models[i]) : !model);
    assert_true(parameters_number(values, PARAMETER_CONTROL_WEIGHT, i + 1) == weights[i]);
  }
  values_controls(values, &controls);
  assert_true(controls.control[0].param[0] == 50 && controls.control[0].param[1] == 80.5f);
  assert_true(controls.control[2].start == 0.1f && controls.control[2].end == 0.5f && controls.control[2].guess);
  assert_true(controls.control[2].param[0] == 4 && controls.control[1].param[0] == 0.05f);
  assert_true(controls.show == SHOW_BOTH && controls.show_control == 0);
  refuse("live --budget-floor 64x64", "there is no --budget");
  refuse("live --control edges", "canny|lineart|softedge|depth|color|tile|blur|gray|mask|map");
  refuse("live --control cann:x", "there is no such map");
  refuse("live --control :x", "there is no such map");
  refuse("live --control canny:", "a model is missing");
  refuse("live --control canny::0.5", "canny:MODEL:0.8");
  refuse("live --control canny:0.5", "canny:MODEL:0.8");
  refuse("live --control canny:x:11", "control[1].weight");
  refuse("live --control canny:x:nan", "control[1].weight");
  options = accept("live --control-source cam --control canny@source:x --control gray");
  assert_true(options.values.control_source[0] && !options.values.control_source[1]);
  assert_string_equal(options.control_source, "cam");
  accept("info model --control canny@source:x");
  refuse("live --control canny@source:x", "--control canny@source: --control-source");
  refuse("live --control canny@sources:x", "there is no such map");
  refuse("live --control canny --control-source cam", "no control sees it");
  refuse("live --control gray --control gray --control gray --control gray --control gray", "at most 4");
  options = accept("live --control canny:x --spare-control gray:y:0.5 --control-with end=0.5 --control blur");
  assert_int_equal(options.control_count, 3);
  assert_int_equal(values_controls_there(&options.values), 7);
  assert_int_equal(values_controls_on(&options.values), 5);
  values_controls(&options.values, &controls);
  assert_true(controls.control[0].weight == 1 && controls.control[1].weight == 0 && controls.control[1].end == 0.5f);
  assert_true(options.values.control_weight[1] == 0.5);
  refuse("live --spare-control canny:0.5", "--spare-control KIND:0.5: a model is missing");
  refuse("live --spare-control cann", "--spare-control cann: there is no such map");
  refuse("render a b --spare-control gray", "--spare-control");
  refuse("live --control-with low=1 --control canny", "follows the --control");
  refuse("live --control canny --control-with low", "low, high");
  refuse("live --control canny --control-with weight=1", "low, high");
  refuse("live --control canny:x --control-with radius=1", "weight, start, end, guess, low, high");
  refuse("live --control gray --control-with low=1", "nothing, without a model");
  refuse("live --control canny --control-with low=", "a number is needed");
  refuse("live --control canny --control-with low=9999", "from -1 to 2040");
  refuse("live --show mop", "picture|map|beside");
}

static void test_spare_loras(void **state) {
  (void)state;
  struct options options = accept("live --lora one:0.5 --spare-lora two --spare-lora c:/three");
  assert_int_equal(options.lora_count, 1);
  assert_int_equal(options.spare_loras.count, 2);
  assert_string_equal(options.spare_loras.text[0], "two");
  assert_string_equal(options.spare_loras.text[1], "c:/three");
  refuse("live --spare-lora=", "--spare-lora: an empty FILE");
  refuse("render a b --spare-lora one", "--spare-lora");
}

static void test_spare_styles(void **state) {
  (void)state;
  struct options options =
      accept("live --ip-adapter x --style one.png:0.5 --spare-style two.png --spare-style c:/3.png");
  assert_int_equal(options.style_count, 1);
  assert_int_equal(options.spare_styles.count, 2);
  assert_string_equal(options.spare_styles.text[1], "c:/3.png");
  refuse("live --spare-style=", "--spare-style: an empty PICTURE");
  assert_string_equal(parameters_text(&options.values, PARAMETER_IP_ADAPTER, 0), "x");
  assert_int_equal(options.prompt_count, 0);
}

/* Without --ip-adapter a style picture is for the model's own, and without --prompt it decides the look alone. */
static void test_own_styles(void **state) {
  (void)state;
  struct options options = accept("render a b --style one.png:0.5 --style two.png");
  assert_string_equal(parameters_text(&options.values, PARAMETER_IP_ADAPTER, 0), PARAMETER_IP_ADAPTER_OWN);
  assert_int_equal(options.prompt_count, 1);
  assert_string_equal(parameters_text(&options.values, PARAMETER_PROMPT, 1), PARAMETER_PROMPT_STYLED);
  options = accept("bench --style one.png --prompt oil --prompt ink");
  assert_int_equal(options.prompt_count, 2);
  assert_string_equal(parameters_text(&options.values, PARAMETER_PROMPT, 1), "oil");
  options = accept("live --spare-style one.png");
  assert_null(parameters_text(&options.values, PARAMETER_IP_ADAPTER, 0));
  assert_int_equal(options.prompt_count, 0);
  refuse("render a b --spare-style one", "--spare-style");
}

static void test_waves(void **state) {
  (void)state;
  struct options options = accept("live --lfo strength=sine*0.2@4b --lfo mix=random*1@2s+0.5");
  assert_int_equal(options.lfo_count, 2);
  assert_string_equal(parameters_text(&options.values, PARAMETER_LFO, 2), "mix");
  assert_true(options.values.lfo_period[0] == 4 && options.values.lfo_phase[1] == 0.5);
  refuse("live --lfo strength=sine*0.2", "--lfo strength=sine*0.2: PARAMETER=WAVE*AMOUNT@PERIOD");
  refuse("live --lfo mix=saw*1@1s --lfo mix=saw*1@1s --lfo mix=saw*1@1s --lfo mix=saw*1@1s --lfo mix=saw*1@1s",
         "--lfo: at most 4 can be given");
  refuse("render a b --lfo mix=saw*1@1s", "--lfo");
}

/* The first model is used at the start; keys change to the others. */
static void test_several_models(void **state) {
  (void)state;
  struct options options = accept("live --model one -m two --vae own --model three");
  assert_string_equal(parameters_text(&options.values, PARAMETER_MODEL, 0), "one");
  assert_string_equal(parameters_text(&options.values, PARAMETER_VAE, 0), "own");
  assert_int_equal(options.models.count, 3);
  assert_string_equal(options.models.text[1], "two");
  assert_string_equal(options.models.text[2], "three");
  assert_int_equal(options.vaes.count, 1);
  refuse("render a b --model one --model two", "render takes one --model");
  refuse("bench --vae one --vae two", "bench takes one --vae");
  refuse("live --model one --model=", "--model: an empty MODEL");
  refuse("live -m1 -m2 -m3 -m4 -m5 -m6 -m7 -m8 -m9 -m10 -m11 -m12 -m13 -m14 -m15 -m16 -m17", "at most 16");
}

static void test_blends(void **state) {
  (void)state;
  struct options options = accept("live --blend 1:0.25,3,9:1e-3");
  const double *blend = options.values.blend;
  assert_true(blend[0] == 0.25 && blend[1] == 0 && blend[2] == 1 && blend[8] == 0.001);
  options = accept("render a b -p x -p y --blend 1,2 --blend 2:0.5"); /* the last option counts */
  assert_true(blend[0] == 0 && blend[1] == 0.5);
  static const char *const wrong[] = {"",        ",",  "1,", "0",   "10",   "1:",    "1x",       "x",
                                      "1:0.5:2", "-1", " 1", "1:2", "1:-1", "1:nan", "1:0.5,,2", "99999999999999999999",
                                      "1: 0.5"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char *argv[] = {"reverie", "live", "--blend", (char *)(uintptr_t)wrong[i]};
    struct options_request request;
    struct error err = {0};
    if (!options_parse(&options, &request, 4, argv, &err))
      fail_msg("--blend '%s' is accepted", wrong[i]);
    assert_int_equal(err.status, STATUS_USAGE);
    assert_non_null(strstr(err.message, "--blend"));
  }
  refuse("render a b --blend 1:1,2:0.5", "--blend 2: there is 1 prompt: give another");
  refuse("bench -p x -p y --blend 4", "--blend 4: there are 2 prompts");
}

/* Times in the forms that FFmpeg, mpv and people use. */
static void test_times(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double seconds;
  } right[] = {{"2", 2},
               {"2.5", 2.5},
               {".5", 0.5},
               {"2s", 2},
               {"1.5s", 1.5},
               {"500ms", 0.5},
               {"250000us", .25},
               {"0:02", 2},
               {"1:02:03.5", 3723.5},
               {"90:00", 5400},
               {"00:00:00.25", .25},
               {"0", 0},
               {"100:00:00", 360000}};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    char line[80];
    snprintf(line, sizeof line, "render a b --start %s", right[i].text);
    double start = accept(line).start;
    if (start < right[i].seconds - 1e-9 || start > right[i].seconds + 1e-9)
      fail_msg("--start %s is %g s", right[i].text, start);
  }
  static const char *const wrong[] = {
      "",      "x",      "2x",   "2 s",    "-1",     "-0:01", "nan",     "1:60",          "1:2:3:4",
      ":05",   "1:",     "1::2", "1.5:00", "0:1.5s", "1:02s", "1:60:00", "inf:1",         "0:-1",
      "0: 01", "0:1e1s", "2sec", "0x2:01", "1:0x2",  "1:inf", "1m",      "99999999999:00"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct options options;
    struct options_request request;
    struct error err = {0};
    char *argv[] = {"reverie", "render", "a", "b", "--start", (char *)(uintptr_t)wrong[i]};
    if (!options_parse(&options, &request, 6, argv, &err))
      fail_msg("--start '%s' is taken for %g s", wrong[i], options.start);
    assert_int_equal(err.status, STATUS_USAGE);
    if (!strstr(err.message, "--start") || !strstr(err.message, "1:02:03.5"))
      fail_msg("--start '%s': %s", wrong[i], err.message);
  }
  assert_true(accept("live --duration 0:10").duration == 10);
  refuse("live --duration 0", "from 0.001");
}

static void test_several_sources(void **state) {
  (void)state;
  struct options options = accept("live a.mp4 b.mp4 /dev/video0 --playlist show.m3u --still 0:05");
  assert_string_equal(options.input, "a.mp4");
  assert_true(options.file_count == 2 && options.still == 5);
  assert_string_equal(options.files[1], "/dev/video0");
  assert_string_equal(options.playlist, "show.m3u");
  options = accept("live");
  assert_true(!options.input && !options.file_count && !options.playlist && options.still == 0);
  options = accept("render a.mp4 b.mp4 c.mp4 {name}.mkv");
  assert_string_equal(options.input, "a.mp4");
  assert_string_equal(options.output, "{name}.mkv");
  assert_int_equal(options.file_count, 2);
  assert_string_equal(options.files[1], "c.mp4");
  refuse("render a b --playlist c", "belongs to live");
  refuse("live a --still 0", "from 0.01");
}

static void test_named_sizes(void **state) {
  (void)state;
  struct options options = accept("live --input-size hd720 --window vga --size qvga");
  assert_true(options.input_width == 1280 && options.input_height == 720);
  assert_true(options.window_width == 640 && options.window_height == 480);
  assert_true(options.values.size.width == 320 && options.values.size.height == 240);
  refuse("live --input-size hd72", "WIDTHxHEIGHT");
  refuse("live --input-size ntsc~", "WIDTHxHEIGHT");
  refuse("render a b --size hd2160x", "WIDTHxHEIGHT");
}

/* --web, or --web=PLACE: a word after a space is another argument. */
static void test_left_out_value(void **state) {
  (void)state;
  assert_null(accept("live clip.mp4").web);
  assert_string_equal(accept("live --web").web, "");
  assert_string_equal(accept("live --web=0.0.0.0:81 clip.mp4").web, "0.0.0.0:81");
  struct options options = accept("live --web clip.mp4");
  assert_string_equal(options.web, "");
  assert_string_equal(options.input, "clip.mp4");
  refuse("render a b --web", "belongs to live");
}

/* A source where the command should be gives a message that names the command. */
static void test_forgotten_command(void **state) {
  (void)state;
  static const char *const sources[] = {
      "clip.mp4", "/dev/video0", "rtsp://host/path", "x11grab::0.0", "./clip", "a.b/c", "-"};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    char wanted[120];
    snprintf(wanted, sizeof wanted, "reverie live %s", sources[i]);
    refuse(sources[i], wanted);
    snprintf(wanted, sizeof wanted, "reverie render %s OUT", sources[i]);
    refuse(sources[i], wanted);
  }
  refuse("my~clip.mp4", "reverie live 'my clip.mp4'");
  refuse("clip.mp4 out.mp4", "reverie render clip.mp4 OUT");
  refuse("lives", "did you mean live?");
  refuse("xyzzy", "unknown command 'xyzzy': the commands are");
}

static void test_refusals(void **state) {
  (void)state;
  refuse("", "command is needed");
  refuse("rendr a b", "did you mean render?");
  refuse("render a b --stpes 4", "did you mean --steps?");
  refuse("render a b --negative-prompt x", "did you mean --negative?");
  refuse("render a b --cfg=7", "did you mean --guidance?");
  refuse("render a b --width 512", "did you mean --size?");
  refuse("render -x.mp4 b", "if a file is meant, write ./-x.mp4");
  refuse("render a -y.mp4", "if a file is meant, write ./-y.mp4");
  refuse("render --take.mp4 b", "if a file is meant, write ./--take.mp4");
  refuse("render a b -j", "see reverie --help");
  refuse("render a b --xyzzy", "unknown option --xyzzy (see");
  refuse("render a b --op x", "unknown option --op (see"); /* an incomplete option name is not accepted */
  refuse("render a b -Z", "unknown option -Z");
  refuse("live --budget 0", "a number from 0.1");
  refuse("live --budget displays", "a number from 0.1");
  refuse("live --budget-floor 256", "WIDTHxHEIGHT");
  refuse("render a b --budget 3", "it belongs to live");
  refuse("info --yes", "it belongs to live");
  refuse("render a", "needs IN... OUT");
  refuse("bench x", "a clip is for bench --live or --steadiness");
  refuse("bench --live x y", "--live shows one clip");
  refuse("bench --live x y", "too many arguments");
  refuse("info m --model n", "twice");
  refuse("live --record a.mp4 --record=b.mp4", "--record b.mp4: it can be given once, and is a.mp4 already");
  refuse("live --input-options a=1 --input-options b=2", "given once");
  refuse("live --web --web=8081", "--web 8081: it can be given once, and is there already");
  refuse("live --unet a --unet b", "given once");
  refuse("bench --json a --trace b --json c", "given once");
  accept("live --record a.mp4 --record a.mp4 -d cpu -d cuda --to a --to b --strength 0.2 --strength 0.3");
  refuse("render a b --quiet=1", "takes no value");
  refuse("live --split=1", "--split=1: yes or no is needed");
  struct options off = accept("live --fullscreen --fullscreen=no --no-hud --no-hud=no --loop=yes --awake --awake=no");
  assert_true(!off.values.fullscreen && off.values.hud && off.loop && !off.awake);
  refuse("render a b --model", "--model needs a value");
  refuse("render a b --model=", "empty");
  const char *const whole[] = {"0", "51", "-1", "3x", "x", "1.5", "99999999999999999999", "0x10", "~3", "="};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    char line[80];
    snprintf(line, sizeof line, "render a b --steps %s", whole[i]);
    refuse(line, "from 1 to 50");
  }
  const char *const real[] = {"-0.1", "1.01", "nan", "inf", "0.5x", "x", "1e400"};
  for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
    char line[80];
    snprintf(line, sizeof line, "render a b --strength %s", real[i]);
    refuse(line, "from 0 to 1");
  }
  const char *const size[] = {"0x0",  "512",  "512x",     "x512",  "512x0",  "9000x9000",
                              "-1x5", "5x-1", "64x64x64", "64X64", "64x64~", "99999999999999999999x64",
                              "+5x5"};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    char line[80];
    snprintf(line, sizeof line, "render a b --size %s", size[i]);
    refuse(line, "WIDTHxHEIGHT");
  }
  refuse("render a b --seed -1", "--seed -1: a whole number from 0 to 9007199254740991 is needed");
  refuse("render a b --seed 9007199254740992", "from 0 to 9007199254740991");
  refuse("render a b --seed 18446744073709551615", "from 0 to 9007199254740991");
  refuse("render a b --config=", "--config: an empty");
  refuse("render a b --memory-limit 2T", "bytes are needed");
  refuse("render a b --memory-limit 0", "bytes are needed");
  refuse("render a b --memory-limit -1G", "bytes are needed");
  refuse("render a b --fit cro", "crop|letterbox|stretch");
  refuse("render a b --fit crop|letterbox", "crop|letterbox|stretch");
  refuse("--generate pdf", "man|bash|zsh|fish");
  refuse("render a b -p 1 -p 2 -p 3 -p 4 -p 5 -p 6 -p 7 -p 8 -p 9 -p 10", "at most 9");
}

static void test_long_arguments_fit(void **state) {
  (void)state;
  static char name[] = "reverie", option[3000];
  char *argv[] = {name, option};
  struct options options;
  struct options_request request;
  struct error err;
  memset(option, 'a', sizeof option - 1);
  assert_int_equal(options_parse(&options, &request, 2, argv, &err), -1);
  option[0] = option[1] = '-';
  assert_int_equal(options_parse(&options, &request, 2, argv, &err), -1);
  assert_true(strlen(err.message) < 200);
}

static void test_requests(void **state) {
  (void)state;
  struct options options;
  struct options_request request;
  struct error err;
  assert_int_equal(parse("render --help", &options, &request, &err), 0);
  assert_true(request.action == ACTION_HELP && options.command == COMMAND_RENDER);
  assert_int_equal(parse("-h", &options, &request, &err), 0);
  assert_true(request.action == ACTION_HELP && options.command == COMMAND_NONE);
  assert_int_equal(parse("help bench", &options, &request, &err), 0);
  assert_true(request.action == ACTION_HELP && options.command == COMMAND_BENCH);
  assert_int_equal(parse("--version", &options, &request, &err), 0);
  assert_int_equal(request.action, ACTION_VERSION);
  assert_int_equal(parse("--list-devices", &options, &request, &err), 0);
  assert_int_equal(request.action, ACTION_DEVICES);
  assert_int_equal(parse("live --list-devices --input-size vga", &options, &request, &err), 0);
  assert_true(request.action == ACTION_DEVICES && options.input_width == 640);
  assert_int_equal(parse("--generate zsh", &options, &request, &err), 0);
  assert_true(request.action == ACTION_GENERATE && !strcmp(request.generate, "zsh"));
}

/* The positions of choices in the table are the values of the enums. */
static void test_table_is_consistent(void **state) {
  (void)state;
  assert_int_equal(accept("bench --fit crop").values.fit, FIT_CROP);
  assert_int_equal(accept("bench --fit stretch").values.fit, FIT_STRETCH);
  assert_int_equal(accept("bench --sampler auto").values.sampler, SAMPLER_AUTO);
  assert_int_equal(accept("bench --sampler euler").values.sampler, SAMPLER_EULER);
  assert_int_equal(accept("bench --sampler ddim").values.sampler, SAMPLER_DDIM);
  assert_int_equal(accept("bench --sampler euler-a").values.sampler, SAMPLER_EULER_ANCESTRAL);
  assert_int_equal(accept("bench --spacing auto").values.spacing, SPACING_AUTO);
  assert_int_equal(accept("bench --spacing trailing").values.spacing, SPACING_TRAILING);
  assert_int_equal(accept("bench --spacing lcm").values.spacing, SPACING_LCM);
  assert_int_equal(accept("bench --spacing karras").values.spacing, SPACING_KARRAS);
  assert_int_equal(accept("bench --sampler dpm++-sde").values.sampler, SAMPLER_DPM_SDE);
  assert_true(accept("bench --sampler tcd --eta 1").values.eta == 1);
  assert_int_equal(accept("bench --precision auto").device.precision, PRECISION_AUTO);
  assert_int_equal(accept("bench --precision f32").device.precision, PRECISION_F32);
  assert_int_equal(accept("bench --strength-grid diffusers").values.strength_grid, STRENGTH_DIFFUSERS);
  assert_int_equal(accept("bench --graph off").device.graph, GRAPH_OFF);
  assert_int_equal(accept("bench").device.graph, GRAPH_ON);
  for (int i = 0; i < command_count; i++)
    assert_int_equal(command_table[i].command, COMMAND_LIVE + i);
  for (int i = 0; i < option_count; i++)
    for (int j = 0; j < i; j++) {
      assert_string_not_equal(option_table[i].name, option_table[j].name);
      assert_true(!option_table[i].letter || option_table[i].letter != option_table[j].letter);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_adapters),
      cmocka_unit_test(test_controls),
      cmocka_unit_test(test_spare_loras),
      cmocka_unit_test(test_spare_styles),
      cmocka_unit_test(test_own_styles),
      cmocka_unit_test(test_waves),
      cmocka_unit_test(test_several_models),
      cmocka_unit_test(test_blends),
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_several_sources),
      cmocka_unit_test(test_named_sizes),
      cmocka_unit_test(test_left_out_value),
      cmocka_unit_test(test_forgotten_command),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_long_arguments_fit),
      cmocka_unit_test(test_requests),
      cmocka_unit_test(test_table_is_consistent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
