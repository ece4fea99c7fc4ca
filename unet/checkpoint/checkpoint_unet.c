/* Opens a U-Net that replaces the model's own (--unet), and decides what a checkpoint's U-Net predicts (epsilon,
 * v). */
#include "unet/checkpoint/checkpoint_unet.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/config.h"
#include "unet/checkpoint/single.h"

/* --- a U-Net that replaces the model's own --- */

static bool has_index(const char *folder) {
  char *path = text_path(folder, "model_index.json");
  bool there = path && platform_exists(path);
  free(path);
  return there;
}

/* The U-Net of another model is used here, without the rest of that model. Reads what the other model's scheduler file
 * says about this U-Net. */
static int read_own_scheduler(const char *model, struct prediction_signs *signs, struct error *err) {
  char *path = text_path(model, "scheduler/scheduler_config.json");
  int result = path ? 0 : error_set(err, STATUS_FAILED, "%s: out of memory", model);
  if (!result && platform_exists(path))
    result = prediction_read_scheduler(signs, path, err);
  free(path);
  return result;
}

/* Replaces the weights and the config of a model's U-Net (the predictor) by those in this folder. */
static int open_unet_in(struct predictor *predictor, const char *folder, struct prediction_signs *signs,
                        struct error *err) {
  struct component *weights = &predictor->weights;
  char *text = NULL;
  free(weights->folder);
  free(weights->config);
  weights->folder = strdup(folder);
  weights->config = text_path(folder, "config.json");
  if (!weights->folder || !weights->config)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  if (!platform_exists(weights->config))
    return error_set(
        err, STATUS_MODEL,
        "%s: has no config.json; --unet takes a U-Net's folder with its config, a whole model's folder, or "
        "a file",
        folder);
  int result = text_read(weights->config, CONFIG_LIMIT, &text, NULL, err);
  result = result ? result : unet_config_parse(&predictor->config, text, weights->config, err);
  free(text);
  result = result ? result : safetensors_open(&weights->files, folder, "diffusion_pytorch_model", err);
  return result ? result : prediction_read(signs, weights->files, err);
}

/* Opens the folder of a U-Net, or of a model that has one. */
static int open_unet_folder(struct predictor *predictor, const char *unet, struct prediction_signs *signs,
                            struct error *err) {
  if (!has_index(unet))
    return open_unet_in(predictor, unet, signs, err);
  char *inside = text_path(unet, "unet");
  int result =
      inside ? open_unet_in(predictor, inside, signs, err) : error_set(err, STATUS_FAILED, "%s: out of memory", unet);
  free(inside);
  return result ? result : read_own_scheduler(unet, signs, err);
}

int checkpoint_open_unet(struct predictor *predictor, const char *unet, struct prediction_signs *signs,
                         struct error *err) {
  bool folder = platform_exists(unet) && !platform_can_read_file(unet);
  return folder ? open_unet_folder(predictor, unet, signs, err)
                : single_open_unet(&predictor->weights.files, unet, signs, err);
}

/* --- finding what the network predicts: noise, v or the clean latent --- */

/* Logs that epsilon is assumed, because neither the weights nor a scheduler's file says what the U-Net predicts. If the
 * scheduler's file lies in the model's own folder, a missing field means epsilon, the default of diffusers' scheduler
 * classes. For weights from elsewhere epsilon is a guess, and the line is a warning. */
static void tell_guess(const struct checkpoint *c, const struct checkpoint_sources *sources, const struct log *log) {
  bool own = !c->single && !sources->unet;
  if (c->scheduler.says_prediction)
    return;
  log_line(log, own ? LOG_INFO : LOG_WARNING, "%s: %s prediction, told by nothing but the scheduler's class%s",
           sources->unet ? sources->unet : sources->model, prediction_name(c->scheduler.prediction),
           own ? "" : ", so it is a guess: --prediction says otherwise where that is wrong");
}

/* Decides by signs in the weights what the network predicts. Called if the scheduler's file does not tell it, or
 * belongs to other weights: it is that of --config, or of the model whose U-Net --unet replaces. The signs overrule the
 * file, with one exception: metadata may be outdated, so it does not overrule a file of --config that names a
 * prediction. If signs contradict the file, the file's zero_snr is ignored, too. */
static void follow_signs(struct checkpoint *c, const struct checkpoint_sources *sources,
                         const struct prediction_signs *signs, const struct log *log) {
  const char *path = sources->unet ? sources->unet : sources->model;
  struct scheduler_config *scheduler = &c->scheduler;
  enum prediction file = scheduler->prediction, own = signs->first.prediction;
  bool follows = signs->first.witness < WITNESS_METADATA || sources->unet || !scheduler->says_prediction;
  prediction_tell(signs, path, log);
  if (signs->first.witness == WITNESS_NONE) {
    tell_guess(c, sources, log);
    return;
  }
  bool dropped = follows && own != file && scheduler->zero_snr && !signs->zero_snr;
  if (follows) {
    scheduler->zero_snr = (own == file && scheduler->zero_snr) || signs->zero_snr;
    scheduler->prediction = own;
  }
  if (own != file && scheduler->says_prediction)
    log_line(
        log, LOG_WARNING,
        "%s: predicts %s by %s, where the scheduler's config says %s; %s is followed%s, --prediction says otherwise",
        path, prediction_name(own), signs->first.by, prediction_name(file), prediction_name(follows ? own : file),
        dropped ? " without that config's rescale_betas_zero_snr" : "");
  else if (!scheduler->says_prediction)
    log_line(log, LOG_INFO, "%s: %s prediction, told by %s", path, prediction_name(own), signs->first.by);
}

static int refuse_zero_snr(const struct checkpoint_sources *sources, const char *folder, struct error *err) {
  if (sources->zero_snr == SWITCH_ON)
    return error_set(
        err, STATUS_MODEL,
        "%s: --zero-snr on: the model predicts epsilon, from which nothing follows where the schedule ends "
        "in noise alone; a model that predicts v wants --prediction v beside it",
        folder);
  return error_set(err, STATUS_MODEL,
                   "%s: --prediction epsilon: its schedule ends in noise alone (rescale_betas_zero_snr), from which "
                   "nothing follows then; --zero-snr off beside it takes the schedule without that",
                   folder);
}

int checkpoint_settle_prediction(struct checkpoint *c, const struct checkpoint_sources *sources, const char *folder,
                                 struct prediction_signs *signs, const struct log *log, struct error *err) {
  bool borrowed = c->single && sources->config && !sources->unet;
  bool silent = !c->single && !sources->unet && !c->scheduler.says_prediction;
  if (borrowed && single_prediction(c->single, signs, err))
    return -1;
  if (silent && prediction_read(signs, c->predictors[0].weights.files, err))
    return -1;
  bool asked = sources_prediction(sources, &c->scheduler.prediction);
  if (!asked && (borrowed || silent || sources->unet))
    follow_signs(c, sources, signs, log);
  else if (asked && c->scheduler.prediction != PREDICT_EPSILON)
    c->scheduler.zero_snr |= signs->zero_snr;
  if (sources->zero_snr != SWITCH_AUTO)
    c->scheduler.zero_snr = sources->zero_snr == SWITCH_ON;
  if (!c->scheduler.zero_snr || c->scheduler.prediction != PREDICT_EPSILON)
    return 0;
  if (asked || sources->zero_snr == SWITCH_ON)
    return refuse_zero_snr(sources, folder, err);
  log_line(log, LOG_WARNING,
           "%s: predicts epsilon, and its schedule ends in noise alone (rescale_betas_zero_snr), from which nothing "
           "follows: pictures begun there are poor; --zero-snr off takes the schedule without that",
           folder);
  return 0;
}

/* --- recognising what a U-Net was trained for by the name of its file --- */

static bool has_word(const char *path, const char *word) {
  size_t size = strlen(word);
  for (const char *at = text_last_part(path); strlen(at) >= size; at++)
    if (!strncasecmp(at, word, size))
      return true;
  return false;
}

/* Hyper-SD's U-Net for one step was trained at timestep 800 only, which nothing but the file's name shows. */
int checkpoint_named_timestep(const struct checkpoint_sources *sources, const struct log *log) {
  const char *path = sources->unet ? sources->unet : sources->model;
  bool one = has_word(path, "1step") || has_word(path, "1-step") || has_word(path, "1_step");
  if (!one || !has_word(path, "hyper"))
    return 0;
  log_line(log, LOG_WARNING,
           "%s: its name says Hyper-SD's network of one step, so it takes one, from timestep 800; another name leaves "
           "that out",
           path);
  return 800;
}
