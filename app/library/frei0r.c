/* A frei0r plug-in, which works as a filter in FFmpeg (-vf frei0r), Kdenlive, Shotcut, Olive, Pitivi, Flowblade and
 * melt. Its output has the size of its input. The model's pictures have at most `side` pixels (a parameter) on the
 * longer side, and are scaled to the output's size. The header frei0r.h is under the GNU General Public License 2 or
 * later, and so is the compiled plug-in, which includes it; this source file itself is under reverie's licence.
 *
 * MLT makes an instance for each of its threads. Instances with the same model and device share an engine, which the
 * first frame opens. An instance holds the engine's lock while it makes a frame. The last instance frees the engine;
 * f0r_deinit cannot, because MLT calls it before it destroys the instances. */
#include <frei0r.h>

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/library/reverie.h"

enum { PROMPT, STRENGTH, SEED, SIDE, MODEL, DEVICE, PARAMETERS };
/* Parameters of frei0r go from 0 to 1. A seed parameter of 1 stands for the seed SEED_SCALE, a side parameter of 1 for
 * SIDE_SCALE pixels. */
enum { SEED_SCALE = 1000, SIDE_SCALE = 2048 };

static const struct {
  const char *name, *text; /* name: the parameter's name; text: default of a string parameter */
  double number;           /* default of a parameter that is a number, from 0 to 1 */
  const char *help;
} table[PARAMETERS] = {
    [PROMPT] = {"prompt", "neon", 0, "what to make of the picture"},
    [STRENGTH] = {"strength", NULL, 1, "0 keeps the input; models that do not see the input want about 0.5"},
    [SEED] = {"seed", NULL, 0.001, "the seed of the noise, divided by 1000"},
    [SIDE] = {"side", NULL, 0.25, "longest side that the model makes, in pixels, divided by 2048"},
    [MODEL] = {"model", "mini", 0, "a model's folder, file or name"},
    [DEVICE] = {"device", "auto", 0, "auto, cpu, cuda or cuda:N"},
};

/* An engine of the library, which all instances of the plug-in with the same model and device use. */
struct shared {
  struct shared *next;
  char *model, *device; /* values of the parameters `model` and `device` */
  int users;            /* number of instances that use the engine; protected by the mutex `sharing` */

  /* The following fields are protected by `lock`, which an instance holds while it makes a picture. */
  pthread_mutex_t lock;
  struct reverie *engine;      /* the engine; NULL: it is not open yet */
  struct reverie_error told;   /* the error that was printed last; it is not printed again */
  const struct instance *last; /* the instance to whose parameters the engine is set; NULL: none */
};

/* List of the engines that instances in this process use. It is static because instances have no access to each other.
 * Protected by `sharing`. */
static struct shared *engines;
static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;

struct instance {
  int width, height;
  /* the engine that the instance uses; NULL: none, because no frame came yet, or none since the host changed model
   * or device */
  struct shared *shared;
  char *text[PARAMETERS];
  double number[PARAMETERS];
  bool given[PARAMETERS]; /* true: the host has set the parameter */
  bool changed;           /* true: a parameter has changed since the engine was set to the instance's parameters */
  bool failed;            /* true: the engine has failed, so frames pass unchanged until a parameter changes */
};

/* --- functions by which the host asks for descriptions of the plug-in and its parameters, and sets their values --- */

int f0r_init(void) {
  return 1;
}

void f0r_deinit(void) {}

void f0r_get_plugin_info(f0r_plugin_info_t *info) {
  int major = 0, minor = 0;
  sscanf(reverie_version(), "%d.%d", &major, &minor);
  *info = (f0r_plugin_info_t){.name = "reverie",
                              .author = "reverie",
                              .plugin_type = F0R_PLUGIN_TYPE_FILTER,
                              .color_model = F0R_COLOR_MODEL_RGBA8888,
                              .frei0r_version = FREI0R_MAJOR_VERSION,
                              .major_version = major,
                              .minor_version = minor,
                              .num_params = PARAMETERS,
                              .explanation = "Restyles the picture with a diffusion network"};
}

void f0r_get_param_info(f0r_param_info_t *info, int index) {
  if (index < 0 || index >= PARAMETERS)
    return;
  info->name = table[index].name;
  info->type = table[index].text ? F0R_PARAM_STRING : F0R_PARAM_DOUBLE;
  info->explanation = table[index].help;
}

/* --- finding, sharing and closing engines --- */

static void free_shared(struct shared *shared) {
  free(shared->model);
  free(shared->device);
  free(shared);
}

static struct shared *make_shared(const char *model, const char *device) {
  struct shared *shared = calloc(1, sizeof *shared);
  if (!shared)
    return NULL;
  shared->model = strdup(model);
  shared->device = strdup(device);
  if (shared->model && shared->device && !pthread_mutex_init(&shared->lock, NULL))
    return shared;
  free_shared(shared);
  return NULL;
}

/* Returns the entry for this model and device in the list of engines, and counts one more instance that uses it. If the
 * list has no such entry, it gets one, whose engine is not open yet. The caller passes the entry to give_back later.
 * NULL: out of memory. */
static struct shared *share(const char *model, const char *device) {
  pthread_mutex_lock(&sharing);
  struct shared *shared = engines;
  while (shared && (strcmp(shared->model, model) || strcmp(shared->device, device)))
    shared = shared->next;
  if (!shared && (shared = make_shared(model, device))) {
    shared->next = engines;
    engines = shared;
  }
  if (shared)
    shared->users++;
  pthread_mutex_unlock(&sharing);
  return shared;
}

/* Called when an instance no longer uses the engine. If no other instance uses this engine, removes it from the list of
 * engines and returns true. */
static bool leave(struct shared *shared) {
  struct shared **at = &engines;
  pthread_mutex_lock(&sharing);
  bool unused = !--shared->users;
  while (unused && *at != shared)
    at = &(*at)->next;
  if (unused)
    *at = shared->next;
  pthread_mutex_unlock(&sharing);
  return unused;
}

/* Ends an instance's use of its engine, and closes the engine if no other instance uses it. Does nothing if the
 * instance has no engine. */
static void give_back(struct instance *own) {
  struct shared *shared = own->shared;
  own->shared = NULL;
  if (!shared)
    return;
  pthread_mutex_lock(&shared->lock);
  if (shared->last == own)
    shared->last = NULL;
  pthread_mutex_unlock(&shared->lock);
  if (!leave(shared))
    return;
  reverie_destroy(&shared->engine);
  pthread_mutex_destroy(&shared->lock);
  free_shared(shared);
}

/* --- instances of the plug-in, and the values of their parameters --- */

f0r_instance_t f0r_construct(unsigned width, unsigned height) {
  struct instance *own = calloc(1, sizeof *own);
  if (!own)
    return NULL;
  own->width = (int)width;
  own->height = (int)height;
  for (int i = 0; i < PARAMETERS; i++) {
    own->text[i] = table[i].text ? strdup(table[i].text) : NULL;
    own->number[i] = table[i].number;
  }
  return own;
}

void f0r_destruct(f0r_instance_t instance) {
  struct instance *own = instance;
  give_back(own);
  for (int i = 0; i < PARAMETERS; i++)
    free(own->text[i]);
  free(own);
}

/* Called when the host has given a parameter another value. A new model or device needs another engine. */
static void note_change(struct instance *own, int index) {
  if (index == MODEL || index == DEVICE)
    give_back(own);
  own->changed = true;
  own->failed = false;
}

static void set_text(struct instance *own, int index, const char *text) {
  char *copy = text ? strdup(text) : NULL;
  if (!copy || (own->text[index] && !strcmp(copy, own->text[index]))) {
    free(copy);
    return;
  }
  free(own->text[index]);
  own->text[index] = copy;
  note_change(own, index);
}

void f0r_set_param_value(f0r_instance_t instance, f0r_param_t value, int index) {
  struct instance *own = instance;
  if (index < 0 || index >= PARAMETERS || !value)
    return;
  bool new = !own->given[index];
  own->given[index] = true;
  if (table[index].text)
    set_text(own, index, *(f0r_param_string *)value);
  else if (new || own->number[index] != *(double *)value) {
    own->number[index] = *(double *)value;
    note_change(own, index);
  }
}

void f0r_get_param_value(f0r_instance_t instance, f0r_param_t value, int index) {
  const struct instance *own = instance;
  if (index < 0 || index >= PARAMETERS)
    return;
  if (table[index].text)
    *(f0r_param_string *)value = own->text[index];
  else
    *(double *)value = own->number[index];
}

/* --- opening the engine, and passing it the parameters that the host has set --- */

static int open_engine(struct shared *shared, struct reverie_error *error) {
  const struct reverie_config config = {.size = sizeof config, .device = shared->device};
  if (!reverie_create(&shared->engine, &config, error) && !reverie_set(shared->engine, "fit", "stretch", error) &&
      !reverie_set(shared->engine, "model", shared->model, error) && !reverie_open(shared->engine, error))
    return 0;
  reverie_destroy(&shared->engine);
  return -1;
}

/* Sets the size of the model's pictures: the frame's size, made smaller if the frame's longer side exceeds the
 * parameter `side`, and rounded to a size that the model can make. Returns 0, or another number with error. */
static int choose_size(const struct instance *own, struct reverie *engine, struct reverie_error *error) {
  double longest = fmax(own->width, own->height), most = fmax(64, own->number[SIDE] * SIDE_SCALE);
  double scale = longest > most ? most / longest : 1;
  int width = (int)lrint(own->width * scale), height = (int)lrint(own->height * scale);
  return reverie_nearest_size(engine, &width, &height, error) || reverie_prepare(engine, width, height, error);
}

/* Sets a parameter of the engine to the number that the host has set, from 0 to 1, multiplied by `scale`; if the host
 * has set none, to the parameter's default. Returns 0, or another number with error. */
static int set_number(const struct instance *own, struct reverie *engine, int index, double scale,
                      struct reverie_error *error) {
  const char *name = table[index].name;
  return own->given[index] ? reverie_set_number(engine, name, scale * own->number[index], error)
                           : reverie_set(engine, name, NULL, error);
}

/* Opens the engine if necessary. If the engine has the parameters of another instance, or older ones of this instance,
 * sets it to this instance's parameters. Called with the engine's lock held. Returns 0, or -1 with error. */
static int follow_host(struct instance *own, struct reverie_error *error) {
  struct shared *shared = own->shared;
  if (!shared->engine && open_engine(shared, error))
    return -1;
  if (shared->last == own && !own->changed)
    return 0;
  shared->last = NULL;
  if (choose_size(own, shared->engine, error) || reverie_set(shared->engine, "prompt[1]", own->text[PROMPT], error) ||
      set_number(own, shared->engine, STRENGTH, 1, error) || set_number(own, shared->engine, SEED, SEED_SCALE, error))
    return -1;
  shared->last = own;
  own->changed = false;
  return 0;
}

/* --- restyling a frame, and scaling its picture to the host's size --- */

/* For linear interpolation along a row or a column: indices of the two neighbouring samples, and the weight of the
 * second one in 1/256. */
struct between {
  int first, second, share;
};

static struct between between(int place, int size, int from) {
  double at = fmin(fmax((place + 0.5) * from / size - 0.5, 0), from - 1);
  int first = (int)at;
  return (struct between){first, first + 1 < from ? first + 1 : first, (int)lrint((at - first) * 256)};
}

static uint8_t mix(const uint8_t *top, const uint8_t *bottom, const struct between *x, int down, int channel) {
  int left = 4 * x->first + channel, right = 4 * x->second + channel;
  int upper = top[left] * (256 - x->share) + top[right] * x->share;
  int lower = bottom[left] * (256 - x->share) + bottom[right] * x->share;
  return (uint8_t)((upper * (256 - down) + lower * down + (1 << 15)) >> 16);
}

/* Writes the picture to `out`, scaled to the frame's size unless it has that size, with the alpha of the frame `in`. */
static void write_picture(const struct instance *own, const struct reverie_picture *picture, const uint8_t *in,
                          uint8_t *out) {
  for (int j = 0; j < own->height; j++) {
    struct between y = between(j, own->height, picture->height);
    const uint8_t *top = (const uint8_t *)picture->plane[0] + (ptrdiff_t)y.first * picture->pitch[0];
    const uint8_t *bottom = (const uint8_t *)picture->plane[0] + (ptrdiff_t)y.second * picture->pitch[0];
    for (int i = 0; i < own->width; i++) {
      struct between x = between(i, own->width, picture->width);
      size_t at = 4 * ((size_t)j * (size_t)own->width + (size_t)i);
      for (int c = 0; c < 3; c++)
        out[at + (size_t)c] = mix(top, bottom, &x, y.share, c);
      out[at + 3] = in[at + 3];
    }
  }
}

/* Makes the picture of a frame and writes it to `out`. Called with the engine's lock held. Returns 0, or -1 with
 * error. */
static int restyle(struct instance *own, double time, const uint32_t *in, uint32_t *out, struct reverie_error *error) {
  struct reverie_picture picture = {.size = sizeof picture};
  const struct reverie_frame frame = {.size = sizeof frame,
                                      .format = REVERIE_RGBA,
                                      .width = own->width,
                                      .height = own->height,
                                      .plane = {in},
                                      .pitch = {4 * own->width},
                                      .time_ns = (int64_t)(time * 1e9)};
  if (follow_host(own, error) || reverie_submit(own->shared->engine, &frame, error) ||
      reverie_collect(own->shared->engine, &picture, error))
    return -1;
  write_picture(own, &picture, (const uint8_t *)in, (uint8_t *)out);
  reverie_release(&picture);
  return 0;
}

/* Prints an error, because frei0r has no way to report it to the host. If several instances that share the engine fail
 * with the same error, it is printed only once. */
static void tell(struct shared *shared, const struct reverie_error *error) {
  if (!strcmp(shared->told.message, error->message))
    return;
  shared->told = *error;
  fprintf(stderr, "reverie: %s\n", error->message);
}

/* Makes the picture of a frame with the shared engine. The caller must not hold the engine's lock. Returns false after
 * an error. */
static bool make(struct instance *own, double time, const uint32_t *in, uint32_t *out) {
  struct reverie_error error = {.size = sizeof error};
  if (!own->shared)
    own->shared = share(own->text[MODEL], own->text[DEVICE]);
  if (!own->shared)
    return false;
  pthread_mutex_lock(&own->shared->lock);
  int status = restyle(own, time, in, out, &error);
  if (status)
    tell(own->shared, &error);
  pthread_mutex_unlock(&own->shared->lock);
  return !status;
}

void f0r_update(f0r_instance_t instance, double time, const uint32_t *in, uint32_t *out) {
  struct instance *own = instance;
  own->failed = own->failed || !make(own, time, in, out);
  if (own->failed)
    memcpy(out, in, 4 * (size_t)own->width * (size_t)own->height);
}
