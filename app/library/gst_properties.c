/* The element's properties: one for each of the library's parameters, and for a parameter with several instances one
 * for each instance. Names of properties cannot have brackets; so the property of the parameter "lora[1].weight" is
 * called lora-1-weight. */
#include <string.h>

#include "app/library/gst_restyle.h"

/* Properties that set no parameter of the library. A property's id is its value in this enum plus the number of rows
 * (properties that set a parameter). */
enum { DEVICE = 1, THREADS, IN_FLIGHT, SMOOTH };

/* --- making the names of properties and of their types --- */

/* Returns the name of an instance of a parameter: "prompt[]" and instance 2 become "prompt[2]". `instance` 0: the
 * parameter has no instances, and its name is returned as it is. */
static char *instance_name(const char *name, int instance) {
  const char *bracket = strstr(name, "[]");
  if (!bracket || !instance)
    return g_strdup(name);
  return g_strdup_printf("%.*s[%d]%s", (int)(bracket - name), name, instance, bracket + 2);
}

/* Returns the property's name: "lora[1].weight" becomes "lora-1-weight". */
static char *property_name(const char *parameter) {
  char *name = g_strdup(parameter), *to = name;
  for (const char *from = parameter; *from; from++)
    if (*from != ']')
      *to++ = *from == '[' || *from == '.' ? '-' : *from;
  *to = 0;
  return name;
}

/* Returns the name of the GEnum type for a parameter with a list of choices: "guidance-mode" becomes
 * "GstReverieGuidanceMode". */
static char *type_name(const char *parameter) {
  GString *name = g_string_new("GstReverie");
  gboolean begins = TRUE;
  for (; *parameter; parameter++) {
    if (g_ascii_isalnum(*parameter))
      g_string_append_c(name, begins ? g_ascii_toupper(*parameter) : *parameter);
    begins = !g_ascii_isalnum(*parameter);
  }
  return g_string_free(name, FALSE);
}

/* --- making properties from the library's parameters --- */

/* Returns the GEnum type for a parameter with a list of choices; registers the type at the first call. Its list of
 * values is never freed, because GLib uses it as long as the process runs. */
static GType choice_type(const struct reverie_parameter *parameter) {
  char *name = type_name(parameter->name);
  GType type = g_type_from_name(name);
  char **words = type ? NULL : g_strsplit(parameter->choices, "|", -1);
  if (!type) {
    GEnumValue *values = g_new0(GEnumValue, g_strv_length(words) + 1);
    for (int i = 0; words[i]; i++)
      values[i] = (GEnumValue){.value = i, .value_name = words[i], .value_nick = words[i]};
    type = g_enum_register_static(name, values);
  }
  g_free(words); /* frees the array but not the words in it, which the type's values still use */
  g_free(name);
  return type;
}

/* Returns flags that tell applications when the property may be set, and whether it may be animated by a
 * GstControlSource. */
static GParamFlags flags_of(const struct reverie_parameter *parameter) {
  int flags = G_PARAM_READWRITE;
  flags |= parameter->when == REVERIE_AT_OPENING ? GST_PARAM_MUTABLE_READY : GST_PARAM_MUTABLE_PLAYING;
  if (parameter->when == REVERIE_AT_FRAME && parameter->type != REVERIE_TEXT)
    flags |= GST_PARAM_CONTROLLABLE;
  return (GParamFlags)flags;
}

static GParamSpec *make_spec(const struct reverie_parameter *parameter, const char *name) {
  char *about = g_strconcat(parameter->help, parameter->from ? "; if not set: " : NULL, parameter->from, NULL);
  GParamFlags flags = flags_of(parameter);
  GParamSpec *spec;
  switch (parameter->type) {
  case REVERIE_REAL:
    spec = g_param_spec_double(name, name, about, parameter->least, parameter->most, parameter->standard, flags);
    break;
  case REVERIE_WHOLE:
    spec = g_param_spec_int64(name, name, about, (gint64)parameter->least, (gint64)parameter->most,
                              (gint64)parameter->standard, flags);
    break;
  case REVERIE_SWITCH:
    spec = g_param_spec_boolean(name, name, about, parameter->standard != 0, flags);
    break;
  case REVERIE_CHOICE:
    spec = g_param_spec_enum(name, name, about, choice_type(parameter), (int)parameter->standard, flags);
    break;
  default:
    spec = g_param_spec_string(name, name, about, NULL, flags);
  }
  g_free(about);
  return spec;
}

static void add_row(ReverieRestyleClass *class, const struct reverie_parameter *parameter, int instance) {
  struct restyle_row *row = &class->rows[class->count++];
  row->parameter = instance_name(parameter->name, instance);
  char *name = property_name(row->parameter);
  row->spec = make_spec(parameter, name);
  row->type = parameter->type;
  row->when = parameter->when;
  g_object_class_install_property(G_OBJECT_CLASS(class), (guint) class->count, row->spec);
  g_free(name);
}

static void add_others(ReverieRestyleClass *class) {
  GObjectClass *object = G_OBJECT_CLASS(class);
  guint after = (guint) class->count;
  GParamFlags at_start = (GParamFlags)(G_PARAM_READWRITE | GST_PARAM_MUTABLE_READY);
  GParamFlags playing = (GParamFlags)(G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      object, after + DEVICE,
      g_param_spec_string("device", "device", "auto, cpu, cuda or cuda:N; if not set: auto", NULL, at_start));
  g_object_class_install_property(
      object, after + THREADS,
      g_param_spec_int("threads", "threads", "threads of a CPU; 0: one for each core", 0, G_MAXINT, 0, at_start));
  g_object_class_install_property(
      object, after + IN_FLIGHT,
      g_param_spec_int("in-flight", "in-flight",
                       "frames that are under way at the same time; with 2 a GPU has no pause between two frames, and "
                       "pictures come a frame later",
                       1, REVERIE_IN_FLIGHT_MOST, 1, playing));
  g_object_class_install_property(
      object, after + SMOOTH,
      g_param_spec_boolean("smooth", "smooth",
                           "a new prompt is prepared beside the frames, which show the former one until it is ready",
                           FALSE, at_start));
}

/* --- setting and reading properties --- */

/* Sets the row's parameter to a property's value. Returns 0, or a status of the library with `error`. */
static int set_parameter(struct reverie *engine, const struct restyle_row *row, const GValue *value,
                         struct reverie_error *error) {
  switch (row->type) {
  case REVERIE_REAL:
    return reverie_set_number(engine, row->parameter, g_value_get_double(value), error);
  case REVERIE_WHOLE:
    return reverie_set_number(engine, row->parameter, (double)g_value_get_int64(value), error);
  case REVERIE_SWITCH:
    return reverie_set_number(engine, row->parameter, g_value_get_boolean(value), error);
  case REVERIE_CHOICE:
    return reverie_set_number(engine, row->parameter, g_value_get_enum(value), error);
  default:
    return reverie_set(engine, row->parameter, g_value_get_string(value), error);
  }
}

int restyle_apply(ReverieRestyle *restyle, struct reverie *engine, int row, struct reverie_error *error) {
  const struct restyle_row *its = &RESTYLE_CLASS(restyle)->rows[row];
  const GValue *value = &restyle->given[row];
  return G_VALUE_TYPE(value) && its->type != REVERIE_SIZE ? set_parameter(engine, its, value, error) : 0;
}

char *restyle_given_size(ReverieRestyle *restyle) {
  const ReverieRestyleClass *class = RESTYLE_CLASS(restyle);
  int row = 0;
  while (row < class->count && class->rows[row].type != REVERIE_SIZE)
    row++;
  g_mutex_lock(&restyle->lock);
  char *size = G_VALUE_TYPE(&restyle->given[row]) ? g_value_dup_string(&restyle->given[row]) : NULL;
  g_mutex_unlock(&restyle->lock);
  return size;
}

/* Converts the text of a parameter's value, as reverie_get returns it, to the type of the row's property. */
static void read_text(const struct restyle_row *row, const char *text, GValue *value) {
  const GEnumValue *word;
  switch (row->type) {
  case REVERIE_REAL:
    g_value_set_double(value, g_ascii_strtod(text, NULL));
    break;
  case REVERIE_WHOLE:
    g_value_set_int64(value, g_ascii_strtoll(text, NULL, 10));
    break;
  case REVERIE_SWITCH:
    g_value_set_boolean(value, !strcmp(text, "on"));
    break;
  case REVERIE_CHOICE:
    word = g_enum_get_value_by_nick(G_PARAM_SPEC_ENUM(row->spec)->enum_class, text);
    g_value_set_enum(value, word ? word->value : 0);
    break;
  default:
    g_value_set_string(value, *text ? text : NULL);
  }
}

/* Stores the value that an application sets. If the engine is open, the value also takes effect in the engine, with two
 * exceptions: the engine reads some parameters only when it is opened, and a new size is negotiated as caps. */
static void set_row(ReverieRestyle *restyle, int number, const GValue *value) {
  struct restyle_row *row = &RESTYLE_CLASS(restyle)->rows[number];
  struct reverie_error error = {.size = sizeof error};
  GValue *given = &restyle->given[number];
  g_mutex_lock(&restyle->lock);
  if (!G_VALUE_TYPE(given))
    g_value_init(given, G_VALUE_TYPE(value));
  g_value_copy(value, given);
  gboolean now = restyle->engine && row->when != REVERIE_AT_OPENING;
  int status = now ? restyle_apply(restyle, restyle->engine, number, &error) : 0;
  g_mutex_unlock(&restyle->lock);
  if (status)
    restyle_post(restyle, GST_MESSAGE_WARNING, &error);
  else if (now && row->type == REVERIE_SIZE)
    gst_base_transform_reconfigure_src(&restyle->parent);
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
  ReverieRestyle *restyle = (ReverieRestyle *)object;
  int rows = RESTYLE_CLASS(object)->count;
  if ((int)id <= rows) {
    set_row(restyle, (int)id - 1, value);
    return;
  }
  g_mutex_lock(&restyle->lock);
  switch ((int)id - rows) {
  case DEVICE:
    g_free(restyle->device);
    restyle->device = g_value_dup_string(value);
    break;
  case THREADS:
    restyle->threads = g_value_get_int(value);
    break;
  case IN_FLIGHT:
    restyle->in_flight = g_value_get_int(value);
    break;
  case SMOOTH:
    restyle->smooth = g_value_get_boolean(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  g_mutex_unlock(&restyle->lock);
  if ((int)id - rows == IN_FLIGHT)
    gst_element_post_message(GST_ELEMENT(object), gst_message_new_latency(GST_OBJECT(object)));
}

/* Reads the value of a property. If an engine is open, it is asked first, because it also knows values that follow from
 * the model. If no engine is open, the value is what the application has set, or else the default. */
static void get_row(ReverieRestyle *restyle, int number, GValue *value) {
  struct restyle_row *row = &RESTYLE_CLASS(restyle)->rows[number];
  const GValue *given = &restyle->given[number];
  char text[4096];
  if (restyle->engine && !reverie_get(restyle->engine, row->parameter, text, sizeof text, NULL))
    read_text(row, text, value);
  else if (G_VALUE_TYPE(given))
    g_value_copy(given, value);
  else
    g_param_value_set_default(row->spec, value);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
  ReverieRestyle *restyle = (ReverieRestyle *)object;
  int rows = RESTYLE_CLASS(object)->count;
  g_mutex_lock(&restyle->lock);
  switch ((int)id <= rows ? 0 : (int)id - rows) {
  case 0:
    get_row(restyle, (int)id - 1, value);
    break;
  case DEVICE:
    g_value_set_string(value, restyle->device);
    break;
  case THREADS:
    g_value_set_int(value, restyle->threads);
    break;
  case IN_FLIGHT:
    g_value_set_int(value, restyle->in_flight);
    break;
  case SMOOTH:
    g_value_set_boolean(value, restyle->smooth);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  g_mutex_unlock(&restyle->lock);
}

void restyle_free_given(ReverieRestyle *restyle) {
  for (int i = 0; i < RESTYLE_CLASS(restyle)->count; i++)
    if (G_VALUE_TYPE(&restyle->given[i]))
      g_value_unset(&restyle->given[i]);
  g_free(restyle->given);
}

void restyle_init_properties(ReverieRestyleClass *class) {
  int count = 0;
  struct reverie_parameter parameter = {.size = sizeof parameter};
  G_OBJECT_CLASS(class)->set_property = set_property;
  G_OBJECT_CLASS(class)->get_property = get_property;
  for (int i = 0; i < reverie_parameter_count() && !reverie_describe_parameter(i, &parameter, NULL); i++)
    count += parameter.instances ? parameter.instances : 1;
  class->rows = g_new0(struct restyle_row, (gsize)count);
  for (int i = 0; i < reverie_parameter_count() && !reverie_describe_parameter(i, &parameter, NULL); i++)
    for (int j = 0; j < (parameter.instances ? parameter.instances : 1); j++)
      add_row(class, &parameter, parameter.instances ? j + 1 : 0);
  add_others(class);
}
