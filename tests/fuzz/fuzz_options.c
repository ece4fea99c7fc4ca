/* Fuzzes the command line, whose words are separated by '|', and all that reads its prompts: tokenizer, styles,
 * overlay. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "app/control/key_bindings.h"
#include "app/window/hud_text.h"
#include "app/options/options_table.h"
#include "unet/text/styles.h"
#include "unet/base/text.h"
#include "unet/text/tokenizer.h"

#define MINI SOURCE_DIR "/assets/mini/model/"

#define SEED(text)                                                                                                     \
  { text, sizeof(text) - 1 }

const struct fuzz_seed fuzz_seeds[] = {
    SEED("render|in.mp4|out.mkv|--prompt|oil painting at night|--strength=0.5|--seed|18446744073709551615|-y"),
    SEED("render|-|-|--output-format|matroska|--size|512x288|--memory-limit|1.5G|--threads|2|--crf|18|-vvq"),
    SEED("live|--prompt=neon|-p|caf\xC3\xA9 "
         "\xF0\x9F\x8E\xA8|--window|640x360|--display|1|--budget|33.3|--budget-floor|256x256|--budget|display|--loop"),
    SEED("bench|--frames|10|--warmup|0|--json|-|--steps|50|--guidance|7.5|--negative|\xC2\x9B"
         "31m blur\x1B[2J"),
    SEED("info|--model|m|--vae|v|--device|cpu:plain|--precision|bf16"),
    SEED("render|a\xFF\xED\xA0\x80|b\n|-s1e-300|--start|1e999|--duration|nan|--fps|0x10|--"),
    SEED("live|--promt|x|--spacing|leading|--sampler|lcm|--strength-grid|trained|--graph|off|--fit|letterbox"),
    SEED("=strength=0.2\nbudget = 33 # ms\npresets=\"a #1.json\"\nfullscreen\nlfo=mix=sine*1@4b\nprompt=x\n"),
    SEED("@F strength 0.25\nCtrl+b freeze on\nx strength += 0.1\nSHARP noise # next\nBS prompt[3] a\n1 prompt 2\n"),
    SEED("help|render|--help|--version|--generate|zsh"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

enum { WORDS_MAX = 256, TOKENS = 77 };

static bool has_control(const char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f)
      return true;
  return false;
}

static void check_error(const struct error *err) {
  FUZZ_CHECK(err->status == STATUS_USAGE && *err->message && !has_control(err->message));
}

static void check_number(const struct option *option, double value, double unset) {
  FUZZ_CHECK(isfinite(value) && ((value >= option->min && value <= option->max) || value == unset));
}

/* Checks a field against its row in the option table: a value is within the row's range; a field without an option on
 * the command line has its default, or the value that stands for "not given". */
static void check_field(const struct option *option, const struct options *options, const struct options *defaults) {
  const char *field = (const char *)options + option->offset, *unset = (const char *)defaults + option->offset;
  switch (option->kind) {
  case OPTION_INT:
    check_number(option, *(const int *)field, *(const int *)unset);
    break;
  case OPTION_LONG:
    check_number(option, (double)*(const long *)field, (double)*(const long *)unset);
    break;
  case OPTION_REAL:
  case OPTION_SECONDS:
    check_number(option, *(const double *)field, *(const double *)unset);
    break;
  case OPTION_BUDGET:
    if (*(const double *)field != BUDGET_DISPLAY)
      check_number(option, *(const double *)field, *(const double *)unset);
    break;
  case OPTION_BYTES:
    check_number(option, (double)*(const size_t *)field, (double)*(const size_t *)unset);
    break;
  case OPTION_SIZE:
    check_number(option, ((const int *)field)[0], ((const int *)unset)[0]);
    check_number(option, ((const int *)field)[1], ((const int *)unset)[1]);
    break;
  case OPTION_RANGE: {
    const struct option_range *range = (const struct option_range *)field;
    FUZZ_CHECK(!range->given ||
               (range->first >= 0 && range->step > 0 && (range->last < 0 || range->last >= range->first)));
    break;
  }
  case OPTION_TEXT: {
    const char *text = *(const char *const *)field;
    FUZZ_CHECK(!text || *text || option->optional); /* "": the option was given without a value */
    break;
  }
  default:
    break;
  }
}

/* Checks that any prompt gives ids of the vocabulary between a start and an end token. */
static void check_tokens(const char *prompt) {
  static struct tokenizer *tokenizer; /* kept from one input to the next, for speed */
  static int vocabulary;
  struct error err = {0};
  int ids[TOKENS];
  if (!tokenizer) {
    FUZZ_CHECK(!tokenizer_open(&tokenizer, MINI "tokenizer", &err));
    vocabulary = tokenizer_vocabulary(tokenizer);
  }
  int needed = tokenizer_encode(tokenizer, FIX_FAST, prompt, ids, TOKENS, &err);
  FUZZ_CHECK(needed >= 2 && ids[0] == tokenizer_start_id(tokenizer));
  for (int i = 0; i < TOKENS; i++)
    FUZZ_CHECK(ids[i] >= 0 && ids[i] < vocabulary);
}

static void check_styles(const char *prompt) {
  static struct styles *styles;
  struct error err = {0};
  if (!styles)
    FUZZ_CHECK(!styles_open(&styles, MINI "styles.json", &err) && styles);
  styles_match(styles, prompt);
}

/* Checks that a prompt cannot insert marks into the overlay's text. Marks are single bytes below 0x20, line ends among
 * them; there must be as many as without the prompt. */
static void check_overlay(const char *prompt) {
  static const struct hud_content plain = {
      .figures = true, .running = true, .prompts = {{"", 0.5f}, {"", 0.5f}}, .prompt_count = 2};
  struct hud_content content = plain;
  char text[HUD_TEXT_MAX], empty[HUD_TEXT_MAX];
  int marks = 0;
  content.prompts[0].words = content.prompts[1].words = prompt;
  hud_figures_text(text, &content);
  hud_figures_text(empty, &plain);
  FUZZ_CHECK(strnlen(text, HUD_TEXT_MAX) < HUD_TEXT_MAX);
  for (const char *c = text; *c; c++)
    marks += (unsigned char)*c < 0x20;
  for (const char *c = empty; *c; c++)
    marks -= (unsigned char)*c < 0x20;
  FUZZ_CHECK(!marks);
}

static void check_prompt(const char *prompt) {
  FUZZ_CHECK(prompt);
  check_tokens(prompt);
  check_styles(prompt);
  check_overlay(prompt);
  FUZZ_CHECK(!has_control(text_quote(prompt).text));
}

static void check_values(const struct parameters *values) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    if (row->type != TYPE_REAL && row->type != TYPE_WHOLE)
      continue;
    for (int i = row->first; i < row->first + parameter_instances(id); i++) {
      double value = parameters_number(values, id, i);
      FUZZ_CHECK(isfinite(value) && value >= row->min && value <= row->max);
    }
  }
}

static void check_accepted(const struct options *options, const struct options_request *request) {
  char *no_words[] = {(char[]){"reverie"}, (char[]){"live"}, NULL};
  struct options defaults;
  struct options_request ignored;
  struct error err;
  if (request->action == ACTION_GENERATE)
    FUZZ_CHECK(request->generate);
  if (request->action != ACTION_RUN)
    return;
  FUZZ_CHECK(options->command >= COMMAND_LIVE && options->command <= COMMAND_FETCH);
  FUZZ_CHECK(options->command != COMMAND_RENDER || (options->input && options->output));
  FUZZ_CHECK(!options_parse(&defaults, &ignored, 2, no_words, &err));
  for (int i = 0; i < option_count; i++)
    check_field(&option_table[i], options, &defaults);
  check_values(&options->values);
  FUZZ_CHECK(options->prompt_count >= 0 && options->prompt_count <= SLOT_PRESETS);
  for (int i = 0; i < options->prompt_count; i++)
    check_prompt(parameters_text(&options->values, PARAMETER_PROMPT, i + 1));
  if (options->values.negative.given)
    check_prompt(options->values.negative.words);
}

static void check_complaint(void *opaque, int line, const char *why) {
  (void)opaque;
  FUZZ_CHECK(line > 0 && *why);
}

/* Reads lines of reverie.conf; wrong lines must change nothing. */
static void read_config(char *text) {
  char *words[] = {(char[]){"reverie"}, (char[]){"live"}, NULL};
  const struct options_config config = {text, check_complaint, NULL};
  struct options options;
  struct options_request request;
  struct error err = {0};
  if (options_parse_with(&options, &request, 2, words, &config, &err))
    check_error(&err);
  else
    check_accepted(&options, &request);
}

/* Reads lines of keys.conf, and presses each key that they bind. */
static void read_keys(const char *text) {
  static struct key_bindings bindings;
  static struct live_state state;
  struct parameters values;
  bindings.count = 0;
  key_bindings_read(&bindings, text, check_complaint, NULL);
  FUZZ_CHECK(bindings.count >= 0 && bindings.count <= KEY_BINDINGS_MAX);
  parameters_init(&values);
  settings_begin(&state.settings, &values);
  state.ready = true;
  for (int i = 0; i < bindings.count; i++) {
    char name[KEY_NAME_MAX];
    FUZZ_CHECK(key_find(key_name(bindings.entry[i].key, name)) == bindings.entry[i].key);
    key_bindings_run(&bindings.entry[i], &state, false, 1);
    check_values(&state.settings.values);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct options options;
  struct options_request request;
  struct error err = {0};
  char *words[WORDS_MAX] = {(char[]){"reverie"}}, *line = malloc(size + 1);
  int count = 1;
  FUZZ_CHECK(line);
  memcpy(line, data, size);
  line[size] = 0;
  if (*line == '=' || *line == '@') {
    if (*line == '=')
      read_config(line + 1);
    else
      read_keys(line + 1);
    free(line);
    return 0;
  }
  for (char *at = line; at && count < WORDS_MAX - 1; count++) {
    words[count] = at;
    at = strchr(at, '|');
    if (at)
      *at++ = 0;
  }
  if (options_parse(&options, &request, count, words, &err))
    check_error(&err);
  else
    check_accepted(&options, &request);
  free(line);
  return 0;
}
