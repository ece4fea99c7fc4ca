/* Tests config files of schedulers: what they mean, and fields that are refused. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/rigs/config_case.h"

struct lines {
  int count;
  char last[512];
};

static void keep_line(void *opaque, enum log_level level, const char *text) {
  (void)level;
  struct lines *lines = opaque;
  lines->count++;
  snprintf(lines->last, sizeof lines->last, "%s", text);
}

static void test_scheduler(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum sampler sampler;
    enum spacing spacing;
    bool one;
    bool differs; /* the sampler is not the one of the file's class */
  } cases[] = {
      {"{\"_class_name\": \"EulerDiscreteScheduler\", \"beta_end\": 0.012, \"beta_schedule\": \"scaled_linear\","
       "\"beta_start\": 0.00085, \"clip_sample\": false, \"interpolation_type\": \"linear\", \"num_train_timesteps\":"
       "1000, \"prediction_type\": \"epsilon\", \"sigma_max\": null, \"sigma_min\": null, \"skip_prk_steps\": true,"
       "\"set_alpha_to_one\": false, \"steps_offset\": 1, \"timestep_spacing\": \"trailing\", \"timestep_type\":"
       "\"discrete\", \"trained_betas\": null, \"use_karras_sigmas\": false}",
       SAMPLER_EULER, SPACING_TRAILING, false, false},
      {"{\"_class_name\": \"PNDMScheduler\", \"clip_sample\": false, \"set_alpha_to_one\": false,"
       "\"skip_prk_steps\": true, \"steps_offset\": 1}",
       SAMPLER_PNDM, SPACING_LEADING, false, false},
      {"{\"_class_name\": \"EulerDiscreteScheduler\"}", SAMPLER_EULER, SPACING_LINSPACE, true, false},
      {"{\"_class_name\": \"PNDMScheduler\"}", SAMPLER_PNDM, SPACING_LEADING, false, true},
      {"{\"_class_name\": \"DDIMScheduler\", \"clip_sample\": false}", SAMPLER_DDIM, SPACING_LEADING, true, false},
      {"{\"_class_name\": \"LCMScheduler\", \"timestep_spacing\": \"leading\"}", SAMPLER_LCM, SPACING_LCM, true, false},
      {"{\"_class_name\": \"TCDScheduler\", \"timestep_spacing\": \"leading\"}", SAMPLER_TCD, SPACING_LCM, true, false},
      {"{\"_class_name\": \"UniPCMultistepScheduler\", \"solver_order\": 2, \"disable_corrector\": []}", SAMPLER_UNIPC,
       SPACING_LINSPACE, true, false},
      /* configs as diffusers 0.42 saves them */
      {"{\"_class_name\": \"UniPCMultistepScheduler\", \"_diffusers_version\": \"0.42.1\", \"beta_end\": 0.012,"
       "\"beta_schedule\": \"scaled_linear\", \"beta_start\": 0.00085, \"disable_corrector\": [],"
       "\"dynamic_thresholding_ratio\": 0.995, \"final_sigmas_type\": \"zero\", \"flow_shift\": 1.0,"
       "\"lower_order_final\": true, \"num_train_timesteps\": 1000, \"predict_x0\": true, \"prediction_type\":"
       "\"epsilon\", \"rescale_betas_zero_snr\": false, \"sample_max_value\": 1.0, \"shift_terminal\": null,"
       "\"solver_order\": 2, \"solver_p\": null, \"solver_type\": \"bh2\", \"steps_offset\": 0, \"thresholding\":"
       "false, \"time_shift_type\": \"exponential\", \"timestep_spacing\": \"linspace\", \"use_dynamic_shifting\":"
       "false, \"use_flow_sigmas\": false, \"use_karras_sigmas\": false}",
       SAMPLER_UNIPC, SPACING_LINSPACE, true, false},
      {"{\"_class_name\": \"DPMSolverMultistepScheduler\", \"_note\": \"\\\"-Infinity\", \"algorithm_type\":"
       "\"dpmsolver++\", \"euler_at_final\": false, \"lambda_min_clipped\": -Infinity, \"lower_order_final\": true,"
       "\"solver_type\": \"midpoint\", \"time_shift_type\": \"exponential\", \"use_lu_lambdas\": false,"
       "\"variance_type\": null, \"timestep_spacing\": \"trailing\"}",
       SAMPLER_DPM, SPACING_TRAILING, true, false},
      {"{\"_class_name\": \"EulerAncestralDiscreteScheduler\", \"timestep_spacing\": \"trailing\"}",
       SAMPLER_EULER_ANCESTRAL, SPACING_TRAILING, true, false},
      {"{\"_class_name\": \"DPMSolverMultistepScheduler\", \"algorithm_type\": \"sde-dpmsolver++\"}", SAMPLER_DPM_SDE,
       SPACING_LINSPACE, true, false},
      {"{\"_class_name\": \"DDPMScheduler\", \"_diffusers_version\": \"0.42.1\", \"clip_sample\": false,"
       "\"clip_sample_range\": 1.0, \"dynamic_thresholding_ratio\": 0.995, \"rescale_betas_zero_snr\": false,"
       "\"sample_max_value\": 1.0, \"steps_offset\": 0, \"thresholding\": false, \"timestep_spacing\": \"leading\","
       "\"trained_betas\": null, \"variance_type\": \"fixed_small\"}",
       SAMPLER_DDPM, SPACING_LEADING, true, false},
      {"{\"_class_name\": \"LMSDiscreteScheduler\", \"_diffusers_version\": \"0.42.1\", \"steps_offset\": 0,"
       "\"timestep_spacing\": \"linspace\", \"trained_betas\": null, \"use_beta_sigmas\": false,"
       "\"use_exponential_sigmas\": false, \"use_karras_sigmas\": true}",
       SAMPLER_LMS, SPACING_LINSPACE, true, false},
      {"{\"_class_name\": \"DEISMultistepScheduler\", \"_diffusers_version\": \"0.42.1\", \"algorithm_type\": \"deis\","
       "\"dynamic_thresholding_ratio\": 0.995, \"flow_shift\": 1.0, \"lower_order_final\": true, \"sample_max_value\":"
       "1.0, \"solver_order\": 3, \"solver_type\": \"logrho\", \"thresholding\": false, \"time_shift_type\":"
       "\"exponential\", \"use_beta_sigmas\": false, \"use_dynamic_shifting\": false, \"use_exponential_sigmas\":"
       "false, \"use_flow_sigmas\": false, \"use_karras_sigmas\": false}",
       SAMPLER_DEIS, SPACING_LINSPACE, true, false},
      {"{\"_class_name\": \"DPMSolverSinglestepScheduler\", \"solver_order\": 3}", SAMPLER_DDIM, SPACING_LINSPACE, true,
       true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    struct lines lines = {0};
    struct log log = {keep_line, &lines};
    if (scheduler_config_parse(&scheduler, cases[i].text, "s.json", &log, &err))
      fail_msg("%s", err.message);
    assert_int_equal(scheduler.sampler, cases[i].sampler);
    assert_int_equal(scheduler.spacing, cases[i].spacing);
    assert_int_equal(scheduler.set_alpha_to_one, cases[i].one);
    assert_int_equal(lines.count, 0); /* no warning yet: the user may choose another sampler */
    assert_int_equal(scheduler.stand_in || scheduler.warms_up, cases[i].differs);
  }
}

static void test_scheduler_refusals(void **state) {
  (void)state;
  static const char *const bad[][3] = {
      {"{}", "_class_name", "no name"},
      {"{\"_class_name\": \"FlowMatchEulerDiscreteScheduler\"}", "_class_name", "FlowMatch"},
#define EULER "{\"_class_name\": \"EulerDiscreteScheduler\", "
      {EULER "\"beta_schedule\": \"squaredcos_cap_v2\"}", "beta_schedule", "squaredcos"},
      {EULER "\"prediction_type\": \"flow\"}", "prediction_type", "flow"},
      {EULER "\"timestep_spacing\": \"karras\"}", "timestep_spacing", "karras"},
      {EULER "\"use_karras_sigmas\": true, \"use_exponential_sigmas\": true}", "use_exponential_sigmas", "true"},
      {EULER "\"use_beta_sigmas\": true}", "use_beta_sigmas", "true"},
      {EULER "\"sigma_min\": -1}", "sigma_min", "-1"},
      {EULER "\"steps_offset\": 1000000000}", "steps_offset", "1000000000"},
      {"{\"_class_name\": \"DDIMScheduler\", \"use_karras_sigmas\": true}", "use_karras_sigmas", "true"},
#define UNIPC "{\"_class_name\": \"UniPCMultistepScheduler\", "
      {UNIPC "\"solver_order\": 4}", "solver_order", "4"},
      {UNIPC "\"solver_type\": \"rk\"}", "solver_type", "rk"},
      {UNIPC "\"disable_corrector\": [-1]}", "disable_corrector", "-1"},
      {UNIPC "\"predict_x0\": false}", "predict_x0", "false"},
      {UNIPC "\"use_karras_sigmas\": true, \"final_sigmas_type\": \"sigma_min\"}", "final_sigmas_type", "sigma_min"},
#define DEIS "{\"_class_name\": \"DEISMultistepScheduler\", "
      {DEIS "\"solver_order\": 4}", "solver_order", "4"},
      {DEIS "\"solver_type\": \"rk\"}", "solver_type", "rk"},
      {DEIS "\"use_beta_sigmas\": true}", "use_beta_sigmas", "true"},
      {"{\"_class_name\": \"DDPMScheduler\", \"variance_type\": \"learned\"}", "variance_type", "learned"},
      {"{\"_class_name\": \"DDPMScheduler\", \"use_karras_sigmas\": true}", "use_karras_sigmas", "true"},
#define DPM "{\"_class_name\": \"DPMSolverMultistepScheduler\", "
      {DPM "\"algorithm_type\": \"sde-dpmsolver\"}", "algorithm_type", "sde-dpmsolver"},
      {DPM "\"algorithm_type\": \"dpmsolver\"}", "algorithm_type", "dpmsolver"},
      {DPM "\"lambda_min_clipped\": 0}", "lambda_min_clipped", "0"},
      {DPM "\"variance_type\": \"learned\"}", "variance_type", "learned"},
      {DPM "\"use_lu_lambdas\": true}", "use_lu_lambdas", "true"},
      {EULER "\"thresholding\": true}", "thresholding", "true"},
      {EULER "\"trained_betas\": [0.1]}", "trained_betas", "[0.1]"},
      {EULER "\"num_train_timesteps\": 4000}", "num_train_timesteps", "4000"},
      {EULER "\"interpolation_type\": \"log_linear\"}", "interpolation_type", "log_linear"},
      {EULER "\"timestep_type\": \"continuous\"}", "timestep_type", "continuous"},
      {EULER "\"final_sigmas_type\": \"none\"}", "final_sigmas_type", "none"},
      {EULER "\"beta_start\": 0}", "beta_start", "0"},
      {EULER "\"beta_end\": 2}", "beta_end", "2"},
      {EULER "\"steps_offset\": -1}", "steps_offset", "-1"},
      {EULER "\"original_inference_steps\": 0}", "original_inference_steps", "0"},
      {EULER "\"base_shift\": 0.5}", "base_shift", "0.5"},
      {EULER "\"beta_end\": Infinity}", "beta_end", "null"},
      {EULER "\"beta_end\": NaN}", "s.json", "not a JSON object"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    if (!scheduler_config_parse(&scheduler, bad[i][0], "s.json", NULL, &err))
      fail_msg("accepted: %s", bad[i][0]);
    check_message(&err, "s.json", bad[i][1], bad[i][2]);
  }
}

/* A field that --sampler or --spacing replaces is reported apart from fields that the model was trained with, which
 * always count. */
static void test_scheduler_lacks(void **state) {
  (void)state;
#define BETAS2 "\"beta_start\": 0.00085, \"beta_end\": 0.012, \"beta_schedule\": \"scaled_linear\""
#define V "\"prediction_type\": \"v_prediction\""
  static const struct {
    const char *text;
    unsigned lacks; /* the scheduler_lack bits that are expected; 0: the file's own sampler is used */
    enum spacing sigmas;
  } cases[] = {
      {"{\"_class_name\": \"HeunDiscreteScheduler\", \"use_karras_sigmas\": true, " BETAS2 ", " V "}", LACKS_SPACING,
       SPACING_KARRAS},
      {"{\"_class_name\": \"IPNDMScheduler\", " BETAS2 ", " V "}", LACKS_SAMPLER, SPACING_AUTO},
      {"{\"_class_name\": \"VQDiffusionScheduler\", \"odd\": 3, \"use_exponential_sigmas\": true, " BETAS2 ", " V "}",
       LACKS_SAMPLER | LACKS_SPACING, SPACING_EXPONENTIAL},
      {EULER "\"use_beta_sigmas\": true, " BETAS2 ", " V "}", LACKS_SPACING, SPACING_AUTO},
      {EULER "\"timestep_spacing\": \"karras\", " BETAS2 ", " V "}", LACKS_SPACING, SPACING_AUTO},
      {EULER "\"thresholding\": true, " BETAS2 ", " V "}", LACKS_SAMPLER, SPACING_AUTO},
      {EULER "\"something_new\": 1, " BETAS2 ", " V "}", LACKS_SAMPLER, SPACING_AUTO},
      {UNIPC "\"solver_order\": 4, " BETAS2 ", " V "}", LACKS_SAMPLER, SPACING_AUTO},
      {"{\"_class_name\": \"FlowMatchEulerDiscreteScheduler\", " BETAS2 "}", 0, SPACING_AUTO},
      {"{\"_class_name\": \"EDMEulerScheduler\", " BETAS2 "}", 0, SPACING_AUTO},
      {"{\"_class_name\": \"CMStochasticIterativeScheduler\", " BETAS2 "}", 0, SPACING_AUTO},
      {"{\"_class_name\": \"CosineDPMSolverMultistepScheduler\", " BETAS2 "}", 0, SPACING_AUTO},
      {EULER "\"use_flow_sigmas\": true, " BETAS2 "}", 0, SPACING_AUTO},
      {EULER "\"trained_betas\": [0.1], \"use_beta_sigmas\": true}", 0, SPACING_AUTO},
      {"{\"_class_name\": \"IPNDMScheduler\", \"num_train_timesteps\": 500}", 0, SPACING_AUTO},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    assert_int_equal(scheduler_config_parse(&scheduler, cases[i].text, "s.json", NULL, &err), -1);
    if (scheduler.lacks != cases[i].lacks)
      fail_msg("%s: lacks %u", cases[i].text, scheduler.lacks);
    if (cases[i].lacks)
      assert_true(scheduler.prediction == PREDICT_V && scheduler.beta_start == 0.00085 &&
                  scheduler.beta_schedule == BETAS_SCALED_LINEAR && scheduler.sigmas == cases[i].sigmas);
  }
}

/* A class that is not known has no default betas here: those of Stable Diffusion are used, with a warning. */
static void test_scheduler_betas(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double start, end;
    enum beta_schedule schedule;
    bool says;
  } cases[] = {
      {"{\"_class_name\": \"IPNDMScheduler\"}", 0.00085, 0.012, BETAS_SCALED_LINEAR, true},
      {"{\"_class_name\": \"VQDiffusionScheduler\", \"beta_end\": 0.01}", 0.00085, 0.01, BETAS_SCALED_LINEAR, true},
      {"{\"_class_name\": \"SCMScheduler\", \"beta_start\": 0.0001, \"beta_end\": 0.02, \"beta_schedule\":"
       "\"linear\"}",
       0.0001, 0.02, BETAS_LINEAR, false},
      {"{\"_class_name\": \"DDIMScheduler\", \"odd\": 1}", 0.0001, 0.02, BETAS_LINEAR, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    struct lines lines = {0};
    const struct log log = {keep_line, &lines};
    assert_int_equal(scheduler_config_parse(&scheduler, cases[i].text, "s.json", &log, &err), -1);
    assert_int_equal(scheduler.lacks, LACKS_SAMPLER);
    assert_true(scheduler.beta_start == cases[i].start && scheduler.beta_end == cases[i].end);
    assert_int_equal(scheduler.beta_schedule, cases[i].schedule);
    assert_int_equal(lines.count, cases[i].says);
    assert_int_equal(strstr(lines.last, "Stable Diffusion's are taken") != NULL, cases[i].says);
  }
}

/* Fields of files from 2022, whose meaning is also given by another field. */
static void test_scheduler_of_2022(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum prediction prediction;
  } cases[] = {
      {"{\"_class_name\": \"PNDMScheduler\", \"tensor_format\": \"pt\", \"trained_betas\": null, \"skip_prk_steps\":"
       "true, \"timestep_values\": null, \"clip_sample\": false}",
       PREDICT_EPSILON},
      {"{\"_class_name\": \"DDIMScheduler\", \"tensor_format\": \"pt\", \"predict_epsilon\": true, \"clip_sample\":"
       "false}",
       PREDICT_EPSILON},
      {"{\"_class_name\": \"DPMSolverMultistepScheduler\", \"denoise_final\": true, \"predict_epsilon\": false}",
       PREDICT_SAMPLE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    if (scheduler_config_parse(&scheduler, cases[i].text, "s.json", NULL, &err))
      fail_msg("%s", err.message);
    assert_int_equal(scheduler.prediction, cases[i].prediction);
  }
}

/* --- every field of diffusers' classes, with a value other than its default --- */

#define EULER_FIELDS                                                                                                   \
  {"num_train_timesteps", "500", REFUSED}, {"beta_start", "0.001", CHANGES}, {"beta_end", "0.03", CHANGES},            \
      {"beta_schedule", "\"scaled_linear\"", CHANGES}, {"beta_schedule", "\"squaredcos_cap_v2\"", REFUSED},            \
      {"trained_betas", "[0.1]", REFUSED}, {"prediction_type", "\"epsilon\"", CHANGES},                                \
      {"prediction_type", "\"flow\"", REFUSED}, {"timestep_spacing", "\"trailing\"", CHANGES},                         \
      {"timestep_spacing", "\"linspace\"", CHANGES}, {"steps_offset", "7", CHANGES}, {                                 \
    "rescale_betas_zero_snr", "true", CHANGES                                                                          \
  }
#define CLIPPING_FIELDS                                                                                                \
  {"thresholding", "true", REFUSED}, {"dynamic_thresholding_ratio", "0.5", NOTHING},                                   \
      {"clip_sample_range", "2.0", NOTHING}, {                                                                         \
    "sample_max_value", "2.0", NOTHING                                                                                 \
  }

static const struct field euler_fields[] = {EULER_FIELDS,
                                            {"interpolation_type", "\"log_linear\"", REFUSED},
                                            {"use_karras_sigmas", "true", CHANGES},
                                            {"use_exponential_sigmas", "true", CHANGES},
                                            {"use_beta_sigmas", "true", REFUSED},
                                            {"sigma_min", "0.1", NOTHING}, /* no effect without use_karras_sigmas */
                                            {"sigma_max", "10", NOTHING},
                                            {"timestep_type", "\"continuous\"", REFUSED},
                                            {"final_sigmas_type", "\"sigma_min\"", CHANGES},
                                            {NULL}};
static const struct field ancestral_fields[] = {EULER_FIELDS, {"prediction_type", "\"sample\"", CHANGES}, {NULL}};
static const struct field ddim_fields[] = {
    EULER_FIELDS, CLIPPING_FIELDS, {"set_alpha_to_one", "false", CHANGES}, {"clip_sample", "true", CHANGES}, {NULL}};
static const struct field pndm_fields[] = {
    EULER_FIELDS, {"thresholding", "true", REFUSED}, {"set_alpha_to_one", "true", CHANGES}, {NULL}};
/* Fields of multistep solvers. lower_order_final has no effect, because a last step that ends without noise is of first
 * order anyway. */
#define SOLVER_FIELDS                                                                                                  \
  {"solver_order", "1", CHANGES}, {"solver_order", "3", CHANGES}, {"solver_order", "0", REFUSED},                      \
      {"lower_order_final", "false", NOTHING}, {"use_karras_sigmas", "true", CHANGES},                                 \
      {"use_exponential_sigmas", "true", CHANGES}, {"use_beta_sigmas", "true", REFUSED},                               \
      {"use_flow_sigmas", "true", REFUSED}, {"flow_shift", "3.0", NOTHING}, {"thresholding", "true", REFUSED},         \
      {"sample_max_value", "2.0", NOTHING}, {"use_dynamic_shifting", "true", REFUSED}, {                               \
    "final_sigmas_type", "\"sigma_min\"", CHANGES                                                                      \
  }
static const struct field unipc_fields[] = {EULER_FIELDS,
                                            SOLVER_FIELDS,
                                            {"predict_x0", "false", REFUSED},
                                            {"solver_type", "\"bh1\"", CHANGES},
                                            {"solver_type", "\"midpoint\"", NOTHING},
                                            {"disable_corrector", "[0]", CHANGES},
                                            {"solver_p", "\"DDIM\"", REFUSED},
                                            {"shift_terminal", "0.1", REFUSED},
                                            {NULL}};
static const struct field dpm_fields[] = {EULER_FIELDS,
                                          SOLVER_FIELDS,
                                          {"algorithm_type", "\"sde-dpmsolver++\"", CHANGES},
                                          {"algorithm_type", "\"deis\"", NOTHING},
                                          {"solver_type", "\"heun\"", CHANGES},
                                          {"solver_type", "\"bh2\"", NOTHING},
                                          {"euler_at_final", "true", NOTHING},
                                          {"use_lu_lambdas", "true", REFUSED},
                                          {"lambda_min_clipped", "-5.1", NOTHING}, /* below all values, so no effect */
                                          {"lambda_min_clipped", "-1", REFUSED},
                                          {"variance_type", "\"learned\"", REFUSED},
                                          {NULL}};
/* LCM has its own spacing of timesteps, and its last step ends with the prediction. */
static const struct field lcm_fields[] = {{"num_train_timesteps", "500", REFUSED},
                                          {"beta_start", "0.001", CHANGES},
                                          {"beta_end", "0.03", CHANGES},
                                          {"beta_schedule", "\"linear\"", CHANGES},
                                          {"trained_betas", "[0.1]", REFUSED},
                                          {"prediction_type", "\"epsilon\"", CHANGES},
                                          {"timestep_spacing", "\"trailing\"", NOTHING},
                                          {"steps_offset", "7", NOTHING},
                                          {"rescale_betas_zero_snr", "true", CHANGES},
                                          {"set_alpha_to_one", "false", NOTHING},
                                          {"original_inference_steps", "100", CHANGES},
                                          {"timestep_scaling", "2.0", CHANGES},
                                          {"clip_sample", "true", CHANGES},
                                          CLIPPING_FIELDS,
                                          {NULL}};

static const struct field tcd_fields[] = {{"num_train_timesteps", "500", REFUSED},
                                          {"beta_start", "0.001", CHANGES},
                                          {"prediction_type", "\"epsilon\"", CHANGES},
                                          {"timestep_spacing", "\"trailing\"", NOTHING},
                                          {"steps_offset", "7", NOTHING},
                                          {"rescale_betas_zero_snr", "true", CHANGES},
                                          {"set_alpha_to_one", "false", NOTHING},
                                          {"original_inference_steps", "100", CHANGES},
                                          {"timestep_scaling", "2.0", NOTHING},
                                          {"thresholding", "true", REFUSED},
                                          {NULL}};

/* Writes a file of this class with the field, which replaces a usual field of the same name. */
static void write_scheduler(char *text, size_t size, const char *class, const struct field *field) {
  static const char *const usual[][2] = {
      {"clip_sample", "false"}, {"prediction_type", "\"v_prediction\""}, {"timestep_spacing", "\"leading\""}};
  int used = snprintf(text, size, "{\"_class_name\": \"%s\"", class);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (!field || strcmp(field->key, usual[i][0]))
      used += snprintf(text + used, size - (size_t)used, ", \"%s\": %s", usual[i][0], usual[i][1]);
  if (field)
    used += snprintf(text + used, size - (size_t)used, ", \"%s\": %s", field->key, field->value);
  snprintf(text + used, size - (size_t)used, "}");
}

/* Reads a scheduler's file into sampler settings; returns false if it is refused. */
static bool scheduler_effect(const char *class, const struct field *field, struct sampler_table *table,
                             bool *clip_sample) {
  char text[400];
  struct scheduler_config config;
  struct error err = {0};
  write_scheduler(text, sizeof text, class, field);
  if (scheduler_config_parse(&config, text, "s.json", NULL, &err)) {
    assert_true(field && strstr(err.message, field->key));
    return false;
  }
  struct sampling sampling = {config.sampler,    config.spacing,         7, 1, .text_to_image = true,
                              .quantised = true, .sigmas = config.sigmas};
  memset(table, 0, sizeof *table);
  sampler_table(&config, &sampling, table);
  *clip_sample = config.clip_sample;
  return true;
}

static void check_scheduler_fields(const char *class, const struct field *fields) {
  struct sampler_table usual, table;
  bool clips, clips_now;
  assert_true(scheduler_effect(class, NULL, &usual, &clips));
  for (; fields->key; fields++) {
    enum effect effect = REFUSED;
    if (scheduler_effect(class, fields, &table, &clips_now))
      effect = clips != clips_now || memcmp(&usual, &table, sizeof table) ? CHANGES : NOTHING;
    if (effect != fields->effect)
      fail_msg("%s: %s %s: effect %d, wanted %d", class, fields->key, fields->value, effect, fields->effect);
  }
}

static void test_scheduler_fields(void **state) {
  (void)state;
  check_scheduler_fields("EulerDiscreteScheduler", euler_fields);
  check_scheduler_fields("EulerAncestralDiscreteScheduler", ancestral_fields);
  check_scheduler_fields("DDIMScheduler", ddim_fields);
  check_scheduler_fields("LCMScheduler", lcm_fields);
  check_scheduler_fields("TCDScheduler", tcd_fields);
  check_scheduler_fields("PNDMScheduler", pndm_fields);
  check_scheduler_fields("UniPCMultistepScheduler", unipc_fields);
  check_scheduler_fields("DPMSolverMultistepScheduler", dpm_fields);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scheduler),         cmocka_unit_test(test_scheduler_refusals),
      cmocka_unit_test(test_scheduler_lacks),   cmocka_unit_test(test_scheduler_betas),
      cmocka_unit_test(test_scheduler_of_2022), cmocka_unit_test(test_scheduler_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
