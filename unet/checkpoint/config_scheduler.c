/* Reads scheduler/scheduler_config.json. Defaults are those of the diffusers class that the file names. Noise schedules
 * that are not supported are refused. A sampler or a spacing that is not supported is only recorded in `lacks`, because
 * the user may choose another one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/config.h"

struct scheduler_class {
  const char *name;
  enum spacing spacing;
  bool clip_sample, set_alpha_to_one;
  double beta_start, beta_end;
  enum beta_schedule beta_schedule;
};

/* All scheduler classes of diffusers that are known. A class is named by the identifier of its sampler in
 * unet/base/samplers.h. If its sampler is not built in, the class has an identifier of its own, and DDIM runs in the
 * sampler's place. */
#define CLASS_TABLE(S)                                                                                                 \
  S(euler, .name = "EulerDiscreteScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,                    \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(euler_ancestral, .name = "EulerAncestralDiscreteScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true, \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(ddim, .name = "DDIMScheduler", .spacing = SPACING_LEADING, .clip_sample = true, .set_alpha_to_one = true,          \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(lcm, .name = "LCMScheduler", .spacing = SPACING_LCM, .set_alpha_to_one = true, .beta_start = 0.00085,              \
    .beta_end = 0.012, .beta_schedule = BETAS_SCALED_LINEAR)                                                           \
  S(tcd, .name = "TCDScheduler", .spacing = SPACING_LCM, .set_alpha_to_one = true, .beta_start = 0.00085,              \
    .beta_end = 0.012, .beta_schedule = BETAS_SCALED_LINEAR)                                                           \
  S(pndm, .name = "PNDMScheduler", .spacing = SPACING_LEADING, .beta_start = 0.0001, .beta_end = 0.02,                 \
    .beta_schedule = BETAS_LINEAR)                                                                                     \
  S(unipc, .name = "UniPCMultistepScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,                   \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(dpm, .name = "DPMSolverMultistepScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,                 \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(ddpm, .name = "DDPMScheduler", .spacing = SPACING_LEADING, .clip_sample = true, .set_alpha_to_one = true,          \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(lms, .name = "LMSDiscreteScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true, .beta_start = 0.0001,  \
    .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                                                   \
  S(deis, .name = "DEISMultistepScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,                     \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(dpm_single, .name = "DPMSolverSinglestepScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,         \
    .beta_start = 0.0001, .beta_end = 0.02, .beta_schedule = BETAS_LINEAR)                                             \
  S(dpm_brownian, .name = "DPMSolverSDEScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,              \
    .beta_start = 0.00085, .beta_end = 0.012, .beta_schedule = BETAS_LINEAR)                                           \
  S(heun, .name = "HeunDiscreteScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,                      \
    .beta_start = 0.00085, .beta_end = 0.012, .beta_schedule = BETAS_LINEAR)                                           \
  S(kdpm2, .name = "KDPM2DiscreteScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true,                    \
    .beta_start = 0.00085, .beta_end = 0.012, .beta_schedule = BETAS_LINEAR)                                           \
  S(kdpm2_ancestral, .name = "KDPM2AncestralDiscreteScheduler", .spacing = SPACING_LINSPACE, .set_alpha_to_one = true, \
    .beta_start = 0.00085, .beta_end = 0.012, .beta_schedule = BETAS_LINEAR)

#define CLASS_ID(identifier, ...) class_##identifier,
#define CLASS_ROW(identifier, ...) {__VA_ARGS__},
#define CLASS_OF(ID, identifier, ...) [SAMPLER_##ID] = class_##identifier,
/* class_dpm and class_dpm_sde are one class in diffusers, whose algorithm_type tells them apart. */
enum { CLASS_TABLE(CLASS_ID) CLASSES, class_dpm_sde = class_dpm };
static const struct scheduler_class classes[CLASSES] = {CLASS_TABLE(CLASS_ROW)};
static const int class_of[SAMPLERS] = {SAMPLER_TABLE(CLASS_OF)};
#undef CLASS_ID
#undef CLASS_ROW
#undef CLASS_OF

/* Fields that may be left unread: they concern solvers, thresholding or other schedulers, so the file's sampler does
 * not use them. read_solver and read_variance read some of them for the samplers that do. */
static const char *const no_matter[] = {"skip_prk_steps",
                                        "solver_order",
                                        "solver_type",
                                        "algorithm_type",
                                        "lower_order_final",
                                        "euler_at_final",
                                        "variance_type",
                                        "sample_max_value",
                                        "disable_corrector",
                                        "lambda_min_clipped",
                                        "clip_sample_range",
                                        "solver_p",
                                        "predict_x0",
                                        "dynamic_thresholding_ratio",
                                        "flow_shift",
                                        "time_shift_type",
                                        "tensor_format", /* from this line on: fields in files of 2022 */
                                        "timestep_values",
                                        "denoise_final",
                                        NULL};

static const char *const other_noise[] = {"trained_betas", "use_flow_sigmas", NULL};
static const char *const other_steps[] = {"thresholding", NULL};
static const char *const other_sigmas[] = {
    "use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", "sigma_min", "sigma_max", "use_lu_lambdas", NULL};

/* Returns true if the scheduler's class in diffusers has the fields use_karras_sigmas and final_sigmas_type. */
static bool takes_sigmas(const struct scheduler_config *scheduler) {
  return !scheduler->stand_in && sampler_takes_sigmas(scheduler->sampler);
}

/* Defaults for unknown classes. Files with such a class usually belong to latent diffusion models, which were trained
 * with these betas. */
static const struct scheduler_class unknown_class = {.name = "",
                                                     .spacing = SPACING_LEADING,
                                                     .set_alpha_to_one = true,
                                                     .beta_start = 0.00085,
                                                     .beta_end = 0.012,
                                                     .beta_schedule = BETAS_SCALED_LINEAR};

static void refuse_class(const struct scheduler_config *scheduler, struct config *config) {
  config_refuse(config, "_class_name", *scheduler->class_name ? scheduler->class_name : "no name",
                "the classes of the samplers that --help lists are");
}

/* Returns true for scheduler classes with another formulation than diffusion from noise to a picture. No sampler of
 * this program fits these classes. */
static bool is_other_formulation(const char *class) {
  static const char *const words[] = {"Flow",     "EDM",       "Consistency", "CMStochastic", "ScoreSde",
                                      "KarrasVe", "CosineDPM", "Cogvideo",    "CogVideo"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(class, words[i]))
      return true;
  return false;
}

/* Returns the built-in sampler of a scheduler class (class_IDENTIFIER); SAMPLERS: there is none. */
static enum sampler find_sampler(int class) {
  int sampler = SAMPLER_AUTO + 1;
  while (sampler < SAMPLERS && class_of[sampler] != class)
    sampler++;
  return (enum sampler)sampler;
}

static const struct scheduler_class *read_class(struct scheduler_config *scheduler, struct config *config) {
  int found = 0;
  config_string(config, "_class_name", "", scheduler->class_name, sizeof scheduler->class_name);
  while (found < CLASSES && strcmp(scheduler->class_name, classes[found].name))
    found++;
  enum sampler sampler = find_sampler(found);
  scheduler->sampler = sampler == SAMPLERS ? SAMPLER_DDIM : sampler;
  scheduler->stand_in = found < CLASSES && sampler == SAMPLERS;
  if (found < CLASSES)
    return &classes[found];
  refuse_class(scheduler, config);
  return &unknown_class;
}

/* The words that a field of the file may have, in the order of the values that they stand for. NULL: no word stands for
 * this value. */
struct choices {
  const char *const *words;
  int count;
  const char *hint;
};
#define CHOICES(list, hint) (&(struct choices){list, (int)(sizeof(list) / sizeof *(list)), hint})

static int read_choice(struct config *config, const char *key, const struct choices *choices, int absent) {
  char value[64];
  config_string(config, key, choices->words[absent], value, sizeof value);
  for (int i = 0; i < choices->count; i++)
    if (choices->words[i] && !strcmp(value, choices->words[i]))
      return i;
  config_refuse(config, key, value, choices->hint);
  return absent;
}

static void read_betas(struct scheduler_config *scheduler, const struct scheduler_class *class, struct config *config) {
  static const char *const schedules[] = {[BETAS_SCALED_LINEAR] = "scaled_linear", [BETAS_LINEAR] = "linear"};
  scheduler->beta_schedule = (enum beta_schedule)read_choice(
      config, "beta_schedule", CHOICES(schedules, "scaled_linear and linear are"), (int)class->beta_schedule);
  scheduler->beta_start = config_number(config, "beta_start", class->beta_start, 1e-6, 0.1);
  scheduler->beta_end = config_number(config, "beta_end", class->beta_end, 1e-6, 0.1);
  scheduler->zero_snr = config_bool(config, "rescale_betas_zero_snr", false);
  config_only_number(config, "num_train_timesteps", TIMESTEPS);
}

static void read_spacing(struct scheduler_config *scheduler, const struct scheduler_class *class,
                         struct config *config) {
  static const char *const spacings[] = {
      [SPACING_TRAILING] = "trailing", [SPACING_LEADING] = "leading", [SPACING_LINSPACE] = "linspace"};
  scheduler->spacing = class->spacing;
  if (class->spacing == SPACING_LCM) /* LCM and TCD have a spacing of their own and do not read timestep_spacing */
    config_ignore(config, (const char *const[]){"timestep_spacing", NULL});
  else
    scheduler->spacing = (enum spacing)read_choice(
        config, "timestep_spacing", CHOICES(spacings, "trailing, leading and linspace are"), (int)class->spacing);
  scheduler->steps_offset = config_int(config, "steps_offset", 0, 0, TIMESTEPS - 1);
  scheduler->original_inference_steps = config_int(config, "original_inference_steps", 50, 1, TIMESTEPS);
  scheduler->timestep_scaling = config_number(config, "timestep_scaling", 10, 1e-6, 1e6);
  config_only_string(config, "interpolation_type", "linear");
  config_only_string(config, "timestep_type", "discrete");
}

static double read_sigma(struct config *config, const char *key) {
  return config_has(config, key) ? config_number(config, key, 0, 1e-4, 1e4) : 0;
}

/* Reads the spacing of noise levels from a file whose scheduler class is not built in. The spacing applies to the
 * sampler that is used instead. */
static void read_other_sigmas(struct scheduler_config *scheduler, struct config *config) {
  bool other = scheduler->stand_in || (scheduler->lacks & LACKS_SAMPLER);
  if (other && config_bool(config, "use_karras_sigmas", false)) {
    scheduler->sigmas = SPACING_KARRAS;
    config_refuse(config, "use_karras_sigmas", "true", "it is with samplers that take noise levels");
  } else if (other && config_bool(config, "use_exponential_sigmas", false)) {
    scheduler->sigmas = SPACING_EXPONENTIAL;
    config_refuse(config, "use_exponential_sigmas", "true", "it is with samplers that take noise levels");
  }
  config_only_string(config, "final_sigmas_type", "zero");
}

/* Reads final_sigmas_type, the noise level at which the last step ends, and use_karras_sigmas and similar fields, which
 * choose a spacing of noise levels instead of one of timesteps. */
static void read_sigmas(struct scheduler_config *scheduler, struct config *config) {
  static const char *const finals[] = {"zero", "sigma_min"};
  scheduler->sigmas = SPACING_AUTO;
  if (!takes_sigmas(scheduler)) {
    read_other_sigmas(scheduler, config);
    return;
  }
  bool karras = config_bool(config, "use_karras_sigmas", false),
       exponential = config_bool(config, "use_exponential_sigmas", false);
  if (karras && exponential)
    config_refuse(config, "use_exponential_sigmas", "true", "one spacing is, beside use_karras_sigmas");
  scheduler->sigmas = karras ? SPACING_KARRAS : exponential ? SPACING_EXPONENTIAL : SPACING_AUTO;
  scheduler->final_sigma_min = read_choice(config, "final_sigmas_type", CHOICES(finals, "zero and sigma_min are"), 0);
  if (scheduler->sampler == SAMPLER_UNIPC && scheduler->sigmas && scheduler->final_sigma_min)
    config_refuse(config, "final_sigmas_type", "sigma_min", "zero is, with levels of their own spacing");
  if (scheduler->sampler != SAMPLER_EULER && scheduler->sampler != SAMPLER_UNIPC)
    return;
  scheduler->sigma_min = read_sigma(config, "sigma_min");
  scheduler->sigma_max = read_sigma(config, "sigma_max");
}

static uint64_t read_uncorrected(struct config *config) {
  int steps[STEPS_MAX], count = config_length(config, "disable_corrector");
  uint64_t bits = 0;
  if (count > STEPS_MAX) {
    config_refuse_field(config, "disable_corrector", "a shorter list is");
    return 0;
  }
  config_ints(config, "disable_corrector", 0, 0, TIMESTEPS - 1, steps, count);
  for (int i = 0; i < count; i++)
    bits |= steps[i] < 64 ? UINT64_C(1) << steps[i] : 0;
  return bits;
}

static void read_unipc(struct scheduler_config *scheduler, struct config *config) {
  scheduler->uncorrected = read_uncorrected(config);
  if (!config_bool(config, "predict_x0", true))
    config_refuse(config, "predict_x0", "false", "true is");
  config_only_null(config, (const char *const[]){"solver_p", NULL});
}

/* Refuses a lambda_min_clipped that would leave out timesteps. lambda is the logarithm of the root of the
 * signal-to-noise ratio; diffusers leaves out the noisiest timesteps, whose lambda is below this bound. A bound below
 * all of them changes nothing. */
static void read_clipped_lambda(const struct scheduler_config *scheduler, struct config *config) {
  double abar[TIMESTEPS];
  if (!config_has(config, "lambda_min_clipped"))
    return;
  sampler_abar(scheduler, abar);
  double last = fmax(abar[TIMESTEPS - 1], 0x1p-24);
  config_number(config, "lambda_min_clipped", 0, -1e300, 0.5 * log(last / (1 - last)));
}

static void read_dpm(struct scheduler_config *scheduler, struct config *config) {
  enum { PLUS_PLUS, DEIS, SDE_PLUS_PLUS, EPSILON };
  static const char *const algorithms[] = {
      [PLUS_PLUS] = "dpmsolver++", [DEIS] = "deis", [SDE_PLUS_PLUS] = "sde-dpmsolver++", [EPSILON] = "dpmsolver"};
  int algorithm = read_choice(config, "algorithm_type",
                              CHOICES(algorithms, "dpmsolver++, sde-dpmsolver++ and dpmsolver are"), PLUS_PLUS);
  scheduler->solver_epsilon = algorithm == EPSILON;
  if (algorithm == SDE_PLUS_PLUS)
    scheduler->sampler = SAMPLER_DPM_SDE;
  if (algorithm == EPSILON && !scheduler->final_sigma_min)
    config_refuse(config, "algorithm_type", "dpmsolver", "it is with final_sigmas_type sigma_min");
  scheduler->euler_at_final = config_bool(config, "euler_at_final", false);
  read_clipped_lambda(scheduler, config);
  config_only_null(config, (const char *const[]){"variance_type", NULL});
}

static void read_deis(struct config *config) {
  static const char *const algorithms[] = {"deis", "dpmsolver", "dpmsolver++"},
                           *const types[] = {"logrho", "midpoint", "heun", "bh1",
                                             /* diffusers' class also accepts the names that follow logrho here, and
                                              * treats them as logrho */
                                             "bh2"};
  read_choice(config, "algorithm_type", CHOICES(algorithms, "deis is"), 0);
  read_choice(config, "solver_type", CHOICES(types, "logrho is"), 0);
}

/* Reads the solver's fields if the file names a multistep solver (DPM-Solver++, UniPC, DEIS). If the file names another
 * sampler, these fields get their defaults, in case the user chooses such a solver. */
static void read_solver(struct scheduler_config *scheduler, struct config *config) {
  static const char *const types[] = {
      [SOLVER_MIDPOINT] = "midpoint", [SOLVER_HEUN] = "heun", [SOLVER_BH1] = "bh1", [SOLVER_BH2] = "bh2"};
  bool unipc = scheduler->sampler == SAMPLER_UNIPC, deis = scheduler->sampler == SAMPLER_DEIS;
  scheduler->solver_order = 2;
  scheduler->lower_order_final = true;
  if (!unipc && !deis && scheduler->sampler != SAMPLER_DPM)
    return;
  scheduler->solver_order = config_int(config, "solver_order", 2, 1, SOLVER_ORDER_MAX);
  scheduler->lower_order_final = config_bool(config, "lower_order_final", true);
  if (deis) {
    read_deis(config);
    return;
  }
  scheduler->solver_type = (enum solver_type)read_choice(
      config, "solver_type", CHOICES(types, "midpoint, heun, bh1 and bh2 are"), unipc ? SOLVER_BH2 : SOLVER_MIDPOINT);
  if (unipc)
    read_unipc(scheduler, config);
  else
    read_dpm(scheduler, config);
}

static void read_variance(const struct scheduler_config *scheduler, struct config *config) {
  static const char *const variances[] = {"fixed_small", "fixed_small_log"};
  if (scheduler->sampler == SAMPLER_DDPM)
    read_choice(config, "variance_type", CHOICES(variances, "fixed_small is"), 0);
}

/* Logs a warning if the class is unknown and its file leaves out some of the betas: those of Stable Diffusion are then
 * used. */
static void log_betas(const struct scheduler_class *class, const struct config *config, const char *name,
                      const struct log *log) {
  bool whole =
      config_has(config, "beta_start") && config_has(config, "beta_end") && config_has(config, "beta_schedule");
  if (class == &unknown_class && !config->failed && !whole)
    log_line(log, LOG_WARNING,
             "%s: leaves betas to %s, whose own are not known here: Stable Diffusion's are taken for what is missing "
             "(beta_start 0.00085, beta_end 0.012, beta_schedule scaled_linear)",
             config->path, name);
}

/* Moves an error from the config to scheduler->lacks, because it is about a feature that the user may replace by
 * choosing another sampler. Reading of the config can then go on. *first becomes the first such error. */
static void put_off(struct scheduler_config *scheduler, struct config *config, enum scheduler_lack lack,
                    struct error *first) {
  if (!config->failed)
    return;
  if (!scheduler->lacks)
    *first = config->error;
  scheduler->lacks |= lack;
  config->failed = false;
}

static void read_prediction(struct scheduler_config *scheduler, struct config *config) {
  static const char *const predictions[] = {
      [PREDICT_EPSILON] = "epsilon", [PREDICT_V] = "v_prediction", [PREDICT_SAMPLE] = "sample"};
  scheduler->says_prediction = config_has(config, "prediction_type") || config_has(config, "predict_epsilon");
  /* files of 2022 have this field in place of prediction_type */
  bool epsilon = config_bool(config, "predict_epsilon", true);
  scheduler->prediction = (enum prediction)read_choice(config, "prediction_type",
                                                       CHOICES(predictions, "epsilon, v_prediction and sample are"),
                                                       epsilon ? PREDICT_EPSILON : PREDICT_SAMPLE);
}

/* Reads how the model was trained: its noise schedule, and what it predicts. No choice of a sampler can replace
 * this. */
static void read_noise(struct scheduler_config *scheduler, const struct scheduler_class *class, struct config *config) {
  read_betas(scheduler, class, config);
  read_prediction(scheduler, config);
  config_only_null(config, other_noise);
}

static void read_steps(struct scheduler_config *scheduler, const struct scheduler_class *class, struct config *config,
                       struct error *first) {
  read_spacing(scheduler, class, config);
  put_off(scheduler, config, LACKS_SPACING, first);
  read_sigmas(scheduler, config);
  put_off(scheduler, config, LACKS_SPACING, first);
  config_only_null(config, other_sigmas);
  put_off(scheduler, config, LACKS_SPACING, first);
  read_solver(scheduler, config);
  read_variance(scheduler, config);
  if (!scheduler->stand_in && scheduler->sampler == SAMPLER_PNDM)
    scheduler->warms_up = !config_bool(config, "skip_prk_steps", false);
  scheduler->set_alpha_to_one = config_bool(config, "set_alpha_to_one", class->set_alpha_to_one);
  scheduler->clip_sample = config_bool(config, "clip_sample", class->clip_sample);
  config_only_null(config, other_steps);
  put_off(scheduler, config, LACKS_SAMPLER, first);
}

int scheduler_config_parse(struct scheduler_config *scheduler, const char *text, const char *path,
                           const struct log *log, struct error *err) {
  struct config config;
  struct error first;
  *scheduler = (struct scheduler_config){0};
  config_start(&config, text, path);
  if (config.failed)
    return config_finish(&config, err);
  const struct scheduler_class *class = read_class(scheduler, &config);
  if (!is_other_formulation(scheduler->class_name))
    put_off(scheduler, &config, LACKS_SAMPLER, &first);
  log_betas(class, &config, scheduler->class_name, log);
  read_noise(scheduler, class, &config);
  if (config.failed) {
    scheduler->lacks = 0;
    return config_finish(&config, err);
  }
  read_steps(scheduler, class, &config, &first);
  config_ignore(&config, no_matter);
  if (config_finish(&config, scheduler->lacks ? NULL : &first))
    /* if the file has unknown fields, its sampler counts as not supported, because it may need them */
    scheduler->lacks |= LACKS_SAMPLER;
  if (scheduler->lacks && err)
    *err = first;
  return scheduler->lacks ? -1 : 0;
}
