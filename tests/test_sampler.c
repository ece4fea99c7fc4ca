/* Compares schedules and samplers with diffusers: tests/goldens/sampler.py writes data/sampler.json.gz, and
 * sampler_walks.py data/sampler_walks.json.gz. */
#include "tests/rigs/cmocka_all.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "unet/checkpoint/checkpoint.h"

static cJSON *goldens, *walks;

static cJSON *read_json(const char *path) {
  char *text = fixture_unpack(path, NULL);
  assert_non_null(text);
  cJSON *json = cJSON_Parse(text);
  free(text);
  return json;
}

static int setup(void **state) {
  (void)state;
  goldens = read_json(SOURCE_DIR "/tests/data/sampler.json.gz");
  walks = read_json(SOURCE_DIR "/tests/data/sampler_walks.json.gz");
  assert_true(cJSON_GetArraySize(goldens) > 500 && cJSON_GetArraySize(walks) > 100);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  cJSON_Delete(goldens);
  cJSON_Delete(walks);
  return 0;
}

static struct scheduler_config parse(const char *text) {
  struct scheduler_config config;
  struct error err;
  if (scheduler_config_parse(&config, text, "scheduler_config.json", NULL, &err))
    fail_msg("%s", err.message);
  return config;
}

/* Returns Stable Diffusion's noise schedule with the Euler sampler, trailing spacing, and epsilon prediction. */
static struct scheduler_config usual_config(void) {
  return parse("{\"_class_name\": \"EulerDiscreteScheduler\", \"beta_start\": 0.00085, \"beta_end\": 0.012, "
               "\"beta_schedule\": \"scaled_linear\", \"timestep_spacing\": \"trailing\"}");
}

static double number(const cJSON *list, int index) {
  return cJSON_GetArrayItem(list, index)->valuedouble;
}

/* Returns the error in units of max(1, |wanted|). */
static double error_of(double got, double wanted) {
  return fabs(got - wanted) / fmax(1, fabs(wanted));
}

/* Returns the largest error of a table against a golden; 1e9 if the timesteps differ. */
static double table_error(const struct sampler_table *table, const cJSON *golden) {
  const cJSON *start = cJSON_GetObjectItem(golden, "start"), *rows = cJSON_GetObjectItem(golden, "rows");
  if (table->steps != cJSON_GetArraySize(rows))
    return 1e9;
  double worst = fmax(error_of(table->start_latent, number(start, 0)), error_of(table->start_noise, number(start, 1)));
  for (int i = 0; i < table->steps; i++) {
    const cJSON *row = cJSON_GetArrayItem(rows, i);
    const struct step_params *step = &table->step[i];
    if (fabs((double)step->timestep - number(row, 0)) > 1e-4)
      return 1e9;
    worst = fmax(worst, error_of(step->x, number(row, 1)));
    worst = fmax(worst, error_of(step->model, number(row, 2)));
    worst = fmax(worst, error_of(step->noise, number(row, 3)));
  }
  return worst;
}

enum { ELEMENTS = 4 };

/* Executes a sampler table like OP_STEP, on a few elements. */
struct walker {
  double x[ELEMENTS], earlier[EARLIER_MAX][ELEMENTS];
};

static void walker_begin(struct walker *w, const struct sampler_table *table) {
  static const double latent[] = {0.5, -1, 0.25, 2}, noise[] = {1, -0.5, -2, 0.1};
  *w = (struct walker){0};
  for (int k = 0; k < ELEMENTS; k++)
    w->x[k] = table->start_latent * latent[k] + table->start_noise * noise[k];
}

static void walker_step(struct walker *w, const struct step_params *step, int k, double model, double noise) {
  double x = step->x * w->x[k] + step->model * model + step->noise * noise;
  for (int j = 0; j < EARLIER_MAX; j++)
    x += step->earlier[j] * w->earlier[j][k];
  for (int j = EARLIER_MAX - 1; j > 0 && (step->keep_x != 0 || step->keep_model != 0); j--)
    w->earlier[j][k] = w->earlier[j - 1][k];
  if (step->keep_x != 0 || step->keep_model != 0)
    w->earlier[0][k] = step->keep_x * w->x[k] + step->keep_model * model;
  w->x[k] = x;
}

/* Runs the table with the function that the golden's script uses in place of a network. Returns the largest error of
 * the final state, which is in `list` from `first` on, relative to its largest element. */
static double walk_error(const struct sampler_table *table, const cJSON *list, int first) {
  struct walker w;
  double worst = 0, largest = 0;
  walker_begin(&w, table);
  for (int i = 0; i < table->steps; i++)
    for (int k = 0; k < ELEMENTS; k++) {
      double model = 0.3 * w.x[k] + 0.2 * cos((double)table->step[i].timestep / 100.0 + k);
      walker_step(&w, &table->step[i], k, model, 0.5);
    }
  for (int k = 0; k < ELEMENTS; k++) {
    worst = fmax(worst, fabs(w.x[k] - number(list, first + k)));
    largest = fmax(largest, fabs(number(list, first + k)));
  }
  return worst / largest;
}

static struct sampling golden_sampling(const cJSON *golden, const struct scheduler_config *config) {
  return (struct sampling){.sampler = config->sampler,
                           .spacing = config->spacing,
                           .steps = cJSON_GetObjectItem(golden, "steps")->valueint,
                           .strength = cJSON_GetObjectItem(golden, "strength")->valuedouble,
                           .text_to_image = cJSON_IsTrue(cJSON_GetObjectItem(golden, "from_noise")),
                           .lcm_pipeline = cJSON_IsTrue(cJSON_GetObjectItem(golden, "lcm_pipeline")),
                           .quantised = true};
}

/* True if continuous strength must give the same table: at strength 1, except for DDIM's steps that are not on the
 * grid. */
static bool is_same_continuous(const struct sampling *s) {
  return s->strength == 1 && (s->sampler != SAMPLER_DDIM || TIMESTEPS % s->steps == 0) &&
         s->spacing != SPACING_LINSPACE;
}

/* Checks that only the steps that should add noise do, and that all of these do in samplers that always add some. */
static void check_noise_samples(const struct sampler_table *table, enum sampler sampler, int steps) {
  int samples = sampler_noise_samples(sampler, steps);
  assert_true(sampler_table_noise(table) <= samples);
  for (int i = 0; i < table->steps && !sampler_has_eta(sampler); i++)
    if (table->steps == steps && sampler != SAMPLER_DPM_SDE)
      assert_int_equal(table->step[i].noise != 0, i < samples);
}

/* Timesteps are real numbers: at those of the training values are exact, between them sigma is interpolated. */
static void test_abar_between(void **state) {
  (void)state;
  double abar[TIMESTEPS];
  struct scheduler_config config = usual_config();
  sampler_abar(&config, abar);
  for (int t = 0; t < TIMESTEPS; t++)
    assert_true(sampler_abar_at(abar, t) == abar[t]);
  for (int t = 0; t + 1 < TIMESTEPS; t += 37)
    for (int quarter = 1; quarter < 4; quarter++) {
      double between = sampler_abar_at(abar, t + 0.25 * quarter), sigma = sqrt((1 - between) / between);
      double low = sqrt((1 - abar[t]) / abar[t]), high = sqrt((1 - abar[t + 1]) / abar[t + 1]);
      assert_true(fabs(sigma - (low + 0.25 * quarter * (high - low))) < 1e-12 * high);
    }
}

/* A model that predicts epsilon may come with a schedule that ends in pure noise, as some published files do. Every
 * sampler must have finite numbers for each step, and must find the picture if the prediction is the true noise. */
static void test_epsilon_of_noise_alone(void **state) {
  (void)state;
  static const enum sampler exact[] = {SAMPLER_EULER, SAMPLER_DDIM, SAMPLER_DPM};
  static const double picture = 0.7, noise = -1.2;
  struct scheduler_config config =
      parse("{\"_class_name\": \"EulerDiscreteScheduler\", \"timestep_spacing\": \"trailing\", "
            "\"prediction_type\": \"epsilon\", \"rescale_betas_zero_snr\": true}");
  double abar[TIMESTEPS];
  sampler_abar(&config, abar);
  assert_true(abar[TIMESTEPS - 1] == 0);
  struct sampling sampling = {.spacing = SPACING_TRAILING, .steps = 4, .strength = 1, .text_to_image = true};
  for (int i = SAMPLER_AUTO + 1; i < SAMPLERS; i++) {
    struct sampler_table table;
    sampling.sampler = (enum sampler)i;
    sampler_table(&config, &sampling, &table);
    for (int j = 0; j < table.steps; j++)
      if (!isfinite(table.step[j].x) || !isfinite(table.step[j].model) || !isfinite(table.step[j].earlier[0]))
        fail_msg("%s: step %d has no number", sampler_name(sampling.sampler), j);
  }
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
    struct sampler_table table;
    struct walker w = {.x = {noise}};
    sampling.sampler = exact[i];
    sampler_table(&config, &sampling, &table);
    for (int j = 0; j < table.steps; j++) {
      double level = fmax(sampler_abar_at(abar, (double)table.step[j].timestep), 0x1p-24);
      walker_step(&w, &table.step[j], 0, (w.x[0] - sqrt(level) * picture) / sqrt(1 - level), 0);
    }
    if (fabs(w.x[0] - picture) > 0.01)
      fail_msg("%s: %f instead of %f", sampler_name(exact[i]), w.x[0], picture);
  }
}

static struct scheduler_config group_config(const cJSON *group) {
  char *text = cJSON_PrintUnformatted(cJSON_GetObjectItem(group, "config"));
  struct scheduler_config config = parse(text);
  cJSON_free(text);
  return config;
}

static void test_goldens(void **state) {
  (void)state;
  double worst_table = 0, worst_walk = 0;
  int continuous = 0, compared[SAMPLERS] = {0};
  const cJSON *golden;
  cJSON_ArrayForEach(golden, goldens) {
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItem(golden, "config"));
    struct scheduler_config config = parse(text);
    struct sampling sampling = golden_sampling(golden, &config);
    struct sampler_table table;
    compared[sampling.sampler]++;
    sampler_table(&config, &sampling, &table);
    check_noise_samples(&table, sampling.sampler, table.steps);
    double error = table_error(&table, golden), walk = walk_error(&table, cJSON_GetObjectItem(golden, "walk"), 0);
    /* at a zero signal-to-noise ratio diffusers' Euler multiplies x by 4096 in FP32, which loses precision */
    double walk_bound = config.zero_snr && config.sampler == SAMPLER_EULER ? 2e-3 : 2e-5;
    if (error > 1e-6 || walk > walk_bound)
      fail_msg("%s, %d steps, strength %g: table error %.3g, end state error %.3g", text, sampling.steps,
               sampling.strength, error, walk);
    worst_table = fmax(worst_table, error);
    if (walk_bound < 1e-4)
      worst_walk = fmax(worst_walk, walk);
    if (is_same_continuous(&sampling)) {
      sampling.quantised = false;
      sampler_table(&config, &sampling, &table);
      if (table_error(&table, golden) > 1e-6)
        fail_msg("%s, %d steps: continuous strength 1 differs", text, sampling.steps);
      continuous++;
    }
    cJSON_free(text);
  }
  print_message("%d tables, largest error %.2g; end states %.2g; %d also continuous\n", cJSON_GetArraySize(goldens),
                worst_table, worst_walk, continuous);
  assert_true(continuous > 100);
  const cJSON *group;
  cJSON_ArrayForEach(group, walks) compared[group_config(group).sampler]++;
  for (int i = SAMPLER_AUTO + 1; i < SAMPLERS; i++)
    if (!compared[i])
      fail_msg("%s is compared with nothing", sampler_name((enum sampler)i));
}

/* Returns the sampling of a case in sampler_walks.json, which has steps, strength, eta, timesteps, two projections, and
 * the final state. */
static struct sampling walk_sampling(const cJSON *item, const struct scheduler_config *config) {
  double strength = number(item, 1);
  return (struct sampling){.sampler = config->sampler,
                           .spacing = config->spacing,
                           .sigmas = config->sigmas,
                           .steps = (int)number(item, 0),
                           .strength = strength,
                           .text_to_image = strength == 0,
                           .eta = number(item, 2),
                           .quantised = true};
}

/* Returns the largest error of the projections, relative to what was summed up; 1e9 if the timesteps differ (they may
 * be real numbers rounded to FP32). */
static double projection_error(const struct sampler_table *table, const cJSON *item, bool real) {
  double timesteps = 0, sum[2] = {0}, size[2] = {0};
  struct walker w;
  walker_begin(&w, table);
  for (int i = 0; i < table->steps; i++) {
    timesteps += (i + 1) * (double)table->step[i].timestep;
    for (int k = 0; k < 2; k++) {
      double noise = (k ? -0.25 : 0.5) * (1 + 0.1 * i);
      walker_step(&w, &table->step[i], k, k ? sin(2 + 0.7 * i) : cos(1 + 1.3 * i), noise);
      sum[k] += cos(i + 1) * w.x[k];
      size[k] += fabs(cos(i + 1) * w.x[k]);
    }
  }
  if (fabs(timesteps - number(item, 3)) > real * (1e-5 * timesteps + 1e-2))
    return 1e9;
  return fmax(fabs(sum[0] - number(item, 4)) / size[0], fabs(sum[1] - number(item, 5)) / size[1]);
}

static void test_walks(void **state) {
  (void)state;
  double worst = 0, worst_walk = 0;
  int count = 0;
  const cJSON *group, *item;
  cJSON_ArrayForEach(group, walks) {
    struct scheduler_config config = group_config(group);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(group, "cases")) {
      struct sampling sampling = walk_sampling(item, &config);
      struct sampler_table table;
      sampler_table(&config, &sampling, &table);
      check_noise_samples(&table, config.sampler, sampling.steps);
      bool real = config.sampler == SAMPLER_EULER || config.sampler == SAMPLER_LMS;
      double error = projection_error(&table, item, real), walk = walk_error(&table, item, 6);
      char *text = cJSON_PrintUnformatted(cJSON_GetObjectItem(group, "config"));
      if (error > 1e-6 || walk > 2e-5)
        fail_msg("%s, %d steps, strength %g, eta %g: error %.3g, end state %.3g\n", text, sampling.steps,
                 sampling.strength, sampling.eta, error, walk);
      cJSON_free(text);
      worst = fmax(worst, error);
      worst_walk = fmax(worst_walk, walk);
      count++;
    }
  }
  print_message("%d walks, largest error %.2g; end states %.2g\n", count, worst, worst_walk);
}

/* a_t and b_t of Stable Diffusion's schedule, to the six digits that were published. */
static void test_abar(void **state) {
  (void)state;
  static const struct {
    int t;
    double a, b;
  } known[] = {
      {999, 0.068265, 0.997667}, {799, 0.192860, 0.981226}, {749, 0.237957, 0.971276}, {599, 0.402185, 0.915559},
      {499, 0.526944, 0.849900}, {399, 0.652753, 0.757571}, {359, 0.701071, 0.713092}, {299, 0.769534, 0.638605},
      {249, 0.821847, 0.569708}, {199, 0.869045, 0.494734}, {99, 0.946289, 0.323322},  {19, 0.991082, 0.133252},
  };
  struct scheduler_config config = usual_config();
  double abar[TIMESTEPS];
  sampler_abar(&config, abar);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_true(fabs(sqrt(abar[known[i].t]) - known[i].a) < 1e-6);
    assert_true(fabs(sqrt(1 - abar[known[i].t]) - known[i].b) < 1e-6);
  }
}

static void check_timesteps(enum sampler sampler, enum spacing spacing, double strength, bool snap, int steps,
                            const int *wanted) {
  struct scheduler_config config = usual_config();
  struct sampling sampling = {sampler, spacing, steps, strength, .snap = snap};
  struct sampler_table table;
  sampler_table(&config, &sampling, &table);
  assert_int_equal(table.steps, steps);
  for (int i = 0; i < steps; i++)
    if (table.step[i].timestep != (float)wanted[i])
      fail_msg("%s, strength %g, %d steps: timestep %d is %g, expected %d", spacing_name(spacing), strength, steps, i,
               (double)table.step[i].timestep, wanted[i]);
}

#define CHECK_GRID(sampler, spacing, strength, snap, ...)                                                              \
  check_timesteps(sampler, spacing, strength, snap, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)),                 \
                  (int[]){__VA_ARGS__})

static void test_spacings(void **state) {
  (void)state;
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 1, false, 999);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 1, false, 999, 499);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 1, false, 999, 666, 332);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 1, false, 999, 749, 499, 249);
  CHECK_GRID(SAMPLER_LCM, SPACING_LCM, 1, false, 999);
  CHECK_GRID(SAMPLER_LCM, SPACING_LCM, 1, false, 999, 679, 339);
  CHECK_GRID(SAMPLER_LCM, SPACING_LCM, 1, false, 999, 759, 499, 259);
  CHECK_GRID(SAMPLER_LCM, SPACING_LCM, 1, false, 999, 839, 679, 499, 339, 179);
  CHECK_GRID(SAMPLER_LCM, SPACING_LCM, 1, false, 999, 879, 759, 639, 499, 379, 259, 139);
  /* with continuous strength s the first timestep is round(1000 s) - 1, and the others follow the spacing's rule */
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.5, false, 499);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.337, false, 336);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.6, false, 599, 299);
  CHECK_GRID(SAMPLER_EULER, SPACING_LEADING, 0.6, false, 300, 0);
  CHECK_GRID(SAMPLER_DDIM, SPACING_LINSPACE, 0.5, false, 499, 250, 0);
  CHECK_GRID(SAMPLER_LCM, SPACING_LCM, 0.5, false, 499, 379, 249, 129);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.0001, false, 0, 0, 0);
  /* rounded to the timesteps at which adversarially distilled models were trained */
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.6, true, 499);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.63, true, 749, 374);
  CHECK_GRID(SAMPLER_EULER, SPACING_TRAILING, 0.05, true, 249);
}

/* Strengths below 1 as in LCM's own pipeline. */
static void test_lcm_strength(void **state) {
  (void)state;
  static const struct {
    double strength;
    int wanted[4];
  } cases[] = {{0.5, {499, 379, 259, 139}}, {0.8, {799, 599, 399, 199}}, {0.3, {299, 239, 159, 79}}};
  struct scheduler_config config = usual_config();
  for (int c = 0; c < 3; c++) {
    struct sampling sampling = {SAMPLER_LCM,       SPACING_LCM,       4,
                                cases[c].strength, .quantised = true, .lcm_pipeline = true};
    struct sampler_table table;
    sampler_table(&config, &sampling, &table);
    for (int i = 0; i < 4; i++)
      assert_true(table.step[i].timestep == (float)cases[c].wanted[i]);
  }
}

/* If the model always predicts the true x0 and eps, every sampler must end at x0 from any strength, and each state on
 * the way must be a_t x0 + b_t eps. */
static void check_truth(const struct sampling *sampling, enum prediction prediction) {
  static const double x0[] = {0.5, -1, 0.25, 2}, eps[] = {1, -0.5, -2, 0.1}; /* eps: the noise that walker_begin adds */
  struct scheduler_config config = usual_config();
  config.prediction = prediction;
  config.set_alpha_to_one = true;
  double abar[TIMESTEPS];
  sampler_abar(&config, abar);
  struct sampler_table table;
  struct walker w;
  sampler_table(&config, sampling, &table);
  walker_begin(&w, &table);
  for (int i = 0; i < table.steps; i++)
    for (int k = 0; k < ELEMENTS; k++) {
      const struct step_params *step = &table.step[i];
      double a = sqrt(abar[(int)step->timestep]), b = sqrt(1 - abar[(int)step->timestep]);
      const double model[] = {
          [PREDICT_EPSILON] = eps[k], [PREDICT_V] = a * eps[k] - b * x0[k], [PREDICT_SAMPLE] = x0[k]};
      if (fabs(w.x[k] - (a * x0[k] + b * eps[k])) > 1e-4)
        fail_msg("%s, %d steps, strength %g, %s: call %d starts %g away", sampler_name(sampling->sampler),
                 sampling->steps, sampling->strength, sampling->quantised ? "quantised" : "continuous", i,
                 w.x[k] - (a * x0[k] + b * eps[k]));
      walker_step(&w, step, k, model[prediction], eps[k]);
    }
  /* LCM mixes x into the result at low timesteps, and TCD and DEIS end at timestep 0, so they have larger errors. */
  double bound = sampling->sampler == SAMPLER_LCM ? 1e-2 : 1e-4;
  if (sampling->sampler == SAMPLER_TCD || sampling->sampler == SAMPLER_DEIS)
    bound = 0.07;
  for (int k = 0; k < ELEMENTS; k++)
    if (fabs(w.x[k] - x0[k]) > bound)
      fail_msg("%s, %d steps, strength %g: %g is left", sampler_name(sampling->sampler), sampling->steps,
               sampling->strength, w.x[k] - x0[k]);
}

static void check_samplers(int steps, double strength, enum prediction prediction) {
  static const struct sampling cases[] = {
      {SAMPLER_EULER, SPACING_TRAILING}, {SAMPLER_DDIM, SPACING_LEADING},   {SAMPLER_DDIM, SPACING_LINSPACE},
      {SAMPLER_LCM, SPACING_TRAILING},   {SAMPLER_TCD, SPACING_TRAILING},   {SAMPLER_PNDM, SPACING_LEADING},
      {SAMPLER_PNDM, SPACING_TRAILING},  {SAMPLER_UNIPC, SPACING_TRAILING}, {SAMPLER_UNIPC, SPACING_LINSPACE},
      {SAMPLER_DPM, SPACING_TRAILING},   {SAMPLER_DPM, SPACING_LEADING},    {SAMPLER_LMS, SPACING_TRAILING},
      {SAMPLER_LMS, SPACING_LEADING},    {SAMPLER_DEIS, SPACING_TRAILING},  {SAMPLER_DEIS, SPACING_LINSPACE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sampling sampling = cases[i];
    sampling.steps = steps > 4 && (sampling.sampler == SAMPLER_LCM || sampling.sampler == SAMPLER_TCD) ? 4 : steps;
    sampling.strength = strength;
    check_truth(&sampling, prediction);
    /* Once more with strength rounded as in diffusers, if 1000 is a multiple of the steps; for PNDM see keeps_outputs
     * in pndm.c. */
    sampling.quantised = true;
    if (sampling.sampler == SAMPLER_PNDM && prediction == PREDICT_V)
      continue;
    if (TIMESTEPS % sampling.steps == 0 && sampling.spacing != SPACING_LINSPACE)
      check_truth(&sampling, prediction);
  }
}

static void test_truth(void **state) {
  (void)state;
  static const int counts[] = {1, 2, 3, 4, 7, 20, 50};
  static const double strengths[] = {0.05, 0.3, 0.5, 0.77, 1};
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
    for (size_t s = 0; s < sizeof strengths / sizeof *strengths; s++)
      for (int prediction = PREDICT_EPSILON; prediction <= PREDICT_SAMPLE; prediction++)
        check_samplers(counts[n], strengths[s], (enum prediction)prediction);
}

/* Models that read the input picture start from pure noise at strength 1, and from the noised picture below it. */
static void test_start(void **state) {
  (void)state;
  struct scheduler_config config = usual_config();
  struct sampling sampling = {SAMPLER_EULER, SPACING_TRAILING, 1, 1, .image_condition = true};
  struct sampler_table table;
  sampler_table(&config, &sampling, &table);
  assert_true(table.start_latent == 0);
  assert_true(fabs(table.start_noise - 0.997667) < 1e-6);
  sampling.image_condition = false;
  sampler_table(&config, &sampling, &table);
  assert_true(fabs(table.start_latent - 0.068265) < 1e-6);
  sampling.image_condition = true;
  sampling.strength = 0.5;
  sampler_table(&config, &sampling, &table);
  assert_true(fabs(table.start_latent - 0.526944) < 1e-6);
  sampling.text_to_image = true; /* strength has no effect in text to image */
  sampler_table(&config, &sampling, &table);
  assert_true(table.step[0].timestep == 999);
  assert_true(table.start_latent == 0);
}

/* The one step of the model mini: x0 = a x - b v. */
static void test_one_step_v(void **state) {
  (void)state;
  struct scheduler_config config = usual_config();
  config.prediction = PREDICT_V;
  struct sampling sampling = {SAMPLER_EULER, SPACING_TRAILING, 1, 1, .image_condition = true};
  struct sampler_table table;
  sampler_table(&config, &sampling, &table);
  assert_true(fabs(table.step[0].x - 0.0682649) < 1e-6);
  assert_true(fabs(table.step[0].model + 0.9976672) < 1e-6);
}

static void test_pad(void **state) {
  (void)state;
  struct scheduler_config config = usual_config();
  struct sampling sampling = {SAMPLER_EULER, SPACING_TRAILING, 4, 0.5, .quantised = true};
  struct sampler_table table, padded;
  sampler_table(&config, &sampling, &table);
  assert_int_equal(table.steps, 2);
  padded = table;
  sampler_pad(&padded, 4);
  assert_int_equal(padded.steps, 4);
  assert_memory_equal(padded.step, table.step, 2 * sizeof *table.step);
  for (int i = 2; i < 4; i++) {
    assert_true(padded.step[i].x == 1 && padded.step[i].model == 0 && padded.step[i].noise == 0);
    assert_true(padded.step[i].timestep == table.step[1].timestep);
  }
}

/* A one-step network that was trained at a timestep below pure noise is called at that timestep, or at a lower one for
 * lower strengths. */
static void test_noisiest(void **state) {
  (void)state;
  static const struct {
    enum sampler sampler;
    enum spacing spacing;
    double strength;
    bool text_to_image;
    float timestep;
  } cases[] = {{SAMPLER_LCM, SPACING_LCM, 1, true, 800},        {SAMPLER_TCD, SPACING_LCM, 1, false, 800},
               {SAMPLER_EULER, SPACING_TRAILING, 1, true, 800}, {SAMPLER_LCM, SPACING_LCM, 0.9, false, 800},
               {SAMPLER_LCM, SPACING_LCM, 0.5, false, 499},     {SAMPLER_DDIM, SPACING_TRAILING, 0.25, false, 249}};
  const struct scheduler_config config = {
      .beta_start = 0.00085, .beta_end = 0.012, .original_inference_steps = 50, .timestep_scaling = 10};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sampling sampling = {.sampler = cases[i].sampler,
                                      .spacing = cases[i].spacing,
                                      .steps = 1,
                                      .strength = cases[i].strength,
                                      .text_to_image = cases[i].text_to_image,
                                      .noisiest = 800};
    struct sampler_table table;
    sampler_table(&config, &sampling, &table);
    assert_true(table.step[0].timestep == cases[i].timestep);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_noisiest),
      cmocka_unit_test(test_abar_between),
      cmocka_unit_test(test_epsilon_of_noise_alone),
      cmocka_unit_test(test_goldens),
      cmocka_unit_test(test_walks),
      cmocka_unit_test(test_abar),
      cmocka_unit_test(test_spacings),
      cmocka_unit_test(test_lcm_strength),
      cmocka_unit_test(test_truth),
      cmocka_unit_test(test_start),
      cmocka_unit_test(test_one_step_v),
      cmocka_unit_test(test_pad),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
