#include "app/remote/osc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform_local.h"
#include "app/platform/datagram.h"
#include "app/remote/osc_talk.h"
#include "unet/base/platform.h"

enum {
  /* largest number of listeners (programs to which changes are sent); if another one subscribes, the one that
   * subscribed first is removed */
  LISTENERS_MAX = 32,
  TICK_MS = 20,    /* milliseconds between two attempts to send values that MOVING_NS (below) delays */
  BURST_MAX = 256, /* largest number of packets that are read before changes are sent */
  /* For this many nanoseconds after a program has set a parameter, the parameter's value is not sent to listeners on
   * that program's machine: it would make a fader there move under the user's hand. */
  MOVING_NS = 300000000,
  FIGURES_NS = 200000000,
  COMPLAINT_NS = 1000000000,
  /* Limits of the bytes sent as answers: how many in a burst, and how many per second on average. A small request can
   * cause a large answer, and its sender's address may be forged, so that another machine would be flooded. */
  ANSWERS_MAX = 512 << 10,
  ANSWERS_PER_S = 256 << 10,
  /* Limits of the work to compare patterns with all addresses, counted in compared pattern elements: how many in a
   * burst, and how many per second on average. A usual pattern takes some thousands. */
  MATCHING_MAX = 8 << 20,
  MATCHING_PER_S = 16 << 20,
};

struct listener {
  struct datagram_address address;
  int socket;
  bool fixed; /* true: the listener's address was given by --osc-to, and its subscription never ends */
  /* for each entry of osc.instances, true if its value has changed and was not sent to this listener yet */
  bool *owed;
  int64_t heard_ns; /* time of the last message from the listener's machine, from any port */
  /* points to the number of bytes that may still be sent as answers; NULL: no limit, because this listener gets changes
   * to which it has subscribed */
  int64_t *allowance;
  struct osc_packet packet;
};

/* The last OSC message that set an instance of a parameter: its sender's address, the number to which it set the
 * instance, and the time. */
struct origin {
  struct datagram_address address;
  double number;
  int64_t at_ns; /* time at which OSC last set the instance; 0: never */
};

struct instance {
  enum parameter id;
  int index;
  struct origin origin;
};

struct osc {
  /* The fields down to `socket` are set by osc_start, and only read afterwards. */
  struct hub *hub;
  const struct log *log;
  struct datagram_address own;
  int socket; /* the UDP socket; -1: no messages are received */

  /* The following fields are used only by the thread that exchanges OSC messages. */
  struct instance *instances;
  int instance_count;
  struct listener listeners[LISTENERS_MAX];
  int listener_count;
  struct parameters values, told;
  struct hub_figures figures;
  uint64_t seen;
  int64_t figures_ns, complained_ns;
  int complaints; /* number of error messages that were left out, because at most one is logged in a second */
  int64_t lease_ns;
  /* allowance: number of bytes that may still be sent as answers; allowed_ns: when this number was last increased */
  int64_t allowance, allowed_ns;
  long matching; /* number of comparisons of patterns with addresses (osc_pattern_each) that are still allowed */

  /* Only the OSC thread uses `figures_owed` (true: figures, that is measured values, have changed and were not sent
   * yet) and `bytes` (the packet that was received). The other fields from here on are also used by other threads.
   * `listened`: true: there is a listener. `rung`: true: a byte is in the pipe `alarm`, so that the OSC thread will
   * wake. `stop`: true: osc_stop has asked the OSC thread to end. */
  int alarm[2]; /* a pipe that wakes the OSC thread, when it has to stop or there are changes to send */
  struct hub_watch watch;
  atomic_bool listened, rung;
  bool figures_owed;
  atomic_bool stop;
  pthread_t thread;
  uint8_t bytes[DATAGRAM_MAX];
};

/* --- sending packets to listeners (programs that get changes) --- */

static void flush(struct listener *listener) {
  size_t size;
  const uint8_t *bytes = osc_bytes(&listener->packet, &size);
  if (size)
    datagram_send(listener->socket, &listener->address, bytes, size);
  if (listener->allowance)
    *listener->allowance -= (int64_t)size;
  listener->packet.size = 0;
  listener->packet.count = 0;
}

static void put(void *opaque, const struct osc_message *message) {
  struct listener *listener = opaque;
  if (osc_add(&listener->packet, message))
    return;
  flush(listener);
  osc_add(&listener->packet, message);
}

static struct osc_sink sink_of(struct listener *listener) {
  return (struct osc_sink){put, listener};
}

static int add_listener(struct osc *osc, const struct datagram_address *address, int socket, bool fixed) {
  struct listener *listener = &osc->listeners[osc->listener_count];
  bool *owed = calloc((size_t)osc->instance_count, sizeof *owed);
  if (!owed)
    return -1;
  *listener = (struct listener){
      .address = *address, .socket = socket, .fixed = fixed, .owed = owed, .heard_ns = platform_now_ns()};
  osc->listener_count++;
  return 0;
}

static void remove_listener(struct osc *osc, int number) {
  free(osc->listeners[number].owed);
  osc->listener_count--;
  memmove(&osc->listeners[number], &osc->listeners[number + 1],
          (size_t)(osc->listener_count - number) * sizeof *osc->listeners);
}

static int find_listener(const struct osc *osc, const struct datagram_address *address) {
  for (int i = 0; i < osc->listener_count; i++)
    if (datagram_equal(&osc->listeners[i].address, address))
      return i;
  return -1;
}

static void tell_all(struct osc *osc, struct listener *listener) {
  const struct osc_sink sink = sink_of(listener);
  for (int i = 0; i < osc->instance_count; i++)
    osc_tell_value(&osc->told, osc->instances[i].id, osc->instances[i].index, &sink);
  osc_tell_figures(&osc->figures, NULL, &sink);
  flush(listener);
}

/* Returns the index of the listener that subscribed first. The listeners that --osc-to names come before it in the
 * array; they take at most half of the array. */
static int first_subscriber(const struct osc *osc) {
  int number = 0;
  while (osc->listeners[number].fixed)
    number++;
  return number;
}

static void read_hub(struct osc *osc) {
  hub_get_values(osc->hub, &osc->values);
  hub_get_figures(osc->hub, &osc->figures);
  osc->told = osc->values;
}

static void subscribe(struct osc *osc, const struct datagram_address *address) {
  int number = find_listener(osc, address);
  /* the OSC thread's copy of the values is old while there is no listener, so it is updated for the first one */
  if (!osc->listener_count)
    read_hub(osc);
  if (number < 0 && osc->listener_count == LISTENERS_MAX)
    remove_listener(osc, first_subscriber(osc));
  if (number < 0 && osc->listener_count < LISTENERS_MAX && !add_listener(osc, address, osc->socket, false))
    number = osc->listener_count - 1;
  if (number < 0)
    return;
  osc->listeners[number].allowance = &osc->allowance;
  tell_all(osc, &osc->listeners[number]);
  osc->listeners[number].allowance = NULL;
}

/* Extends the subscriptions of all listeners on the machine that sent a message. Their ports are not compared, because
 * many programs send from another port than the one at which they receive. */
static void renew_leases(struct osc *osc, const struct datagram_address *from) {
  for (int i = 0; i < osc->listener_count; i++)
    if (datagram_same_host(&osc->listeners[i].address, from))
      osc->listeners[i].heard_ns = platform_now_ns();
}

/* Removes listeners whose subscription has ended. Returns in how many milliseconds the next subscription ends;
 * negative: none will end. */
static int end_leases(struct osc *osc, int64_t now_ns) {
  int64_t left_ns = -1;
  for (int i = osc->listener_count - 1; i >= 0; i--) {
    const struct listener *listener = &osc->listeners[i];
    int64_t left = listener->heard_ns + osc->lease_ns - now_ns;
    if (listener->fixed)
      continue;
    if (left <= 0)
      remove_listener(osc, i);
    else if (left_ns < 0 || left < left_ns)
      left_ns = left;
  }
  return left_ns < 0 ? -1 : (int)(left_ns / 1000000) + 1;
}

static void unsubscribe(struct osc *osc, const struct datagram_address *address) {
  int number = find_listener(osc, address);
  if (number >= 0 && !osc->listeners[number].fixed)
    remove_listener(osc, number);
}

/* --- receiving messages --- */

struct received {
  struct osc *osc;
  struct listener *answers; /* the sender of the packet, to whom the answers are sent */
};

/* Logs an error message, at most one in a second, because a sender may send many wrong messages. */
static void complain(struct osc *osc, const struct datagram_address *from, const char *text) {
  char name[DATAGRAM_NAME_MAX];
  int64_t now_ns = platform_now_ns();
  osc->complaints++;
  if (osc->complained_ns && now_ns - osc->complained_ns < COMPLAINT_NS)
    return;
  if (osc->complaints > 1)
    log_line(osc->log, LOG_WARNING, "OSC from %s: %s (and %d more)", datagram_name(from, name), text,
             osc->complaints - 1);
  else
    log_line(osc->log, LOG_WARNING, "OSC from %s: %s", datagram_name(from, name), text);
  osc->complaints = 0;
  osc->complained_ns = now_ns;
}

static void note_origin(struct osc *osc, const struct osc_name *name, const struct osc_message *message,
                        const struct datagram_address *from) {
  for (int i = 0; i < osc->instance_count; i++)
    if (osc->instances[i].id == name->id && osc->instances[i].index == name->index)
      osc->instances[i].origin = (struct origin){*from, message->argument[0].number, platform_now_ns()};
}

/* Returns the address to which a subscriber wants changes to be sent: the sender's host, with the port that the message
 * names or else the sender's port. */
static struct datagram_address subscriber(const struct osc_message *message, const struct datagram_address *from) {
  return message->count ? datagram_with_port(from, (int)message->argument[0].number) : *from;
}

/* Replaces the function that sends answers when their limit of bytes is reached. The received message is still carried
 * out, but its answer is dropped. Sets the bool at *opaque to true. */
static void put_nowhere(void *opaque, const struct osc_message *message) {
  (void)message;
  *(bool *)opaque = true;
}

static void take_subscriber(struct osc *osc, const struct osc_message *message, const struct datagram_address *from) {
  struct datagram_address asking = subscriber(message, from);
  /* if this program subscribed to itself, messages to its own socket would cause endless answers */
  if (datagram_reaches(&asking, &osc->own))
    complain(osc, from, "subscribes this program to itself");
  else
    subscribe(osc, &asking);
}

struct pattern_sender {
  struct osc *osc;
  const struct osc_message *message;
  const struct datagram_address *from;
};

static void note_pattern_origin(void *opaque, const struct osc_name *name) {
  const struct pattern_sender *sender = opaque;
  note_origin(sender->osc, name, sender->message, sender->from);
}

static void take_pattern(struct osc *osc, const struct osc_message *message, const struct osc_sink *answers,
                         const struct datagram_address *from) {
  struct pattern_sender sender = {osc, message, from};
  struct error err;
  if (osc_take_pattern(osc->hub, message, answers, &osc->matching, note_pattern_origin, &sender, &err) == OSC_REFUSED)
    complain(osc, from, err.message);
}

static void take(void *opaque, const struct osc_message *message) {
  const struct received *received = opaque;
  struct osc *osc = received->osc;
  const struct datagram_address *from = &received->answers->address;
  bool answered = osc->allowance > 0, unanswered = false;
  const struct osc_sink answers = answered ? sink_of(received->answers) : (struct osc_sink){put_nowhere, &unanswered};
  struct datagram_address asking;
  struct osc_name name;
  struct error err;
  if (osc_is_pattern(message->address)) {
    take_pattern(osc, message, &answers, from);
    return;
  }
  switch (osc_take(osc->hub, message, &answers, &name, &err)) {
  case OSC_DONE:
    break;
  case OSC_SET:
    note_origin(osc, &name, message, from);
    break;
  case OSC_REFUSED:
    complain(osc, from, err.message);
    return;
  case OSC_WANTS_ALL:
    if (answered)
      take_subscriber(osc, message, from);
    unanswered = !answered;
    break;
  case OSC_WANTS_NO_MORE:
    asking = subscriber(message, from);
    unsubscribe(osc, &asking);
    break;
  }
  if (unanswered)
    complain(osc, from, "asks for more at once than is answered");
}

static void allow_answers(struct osc *osc) {
  int64_t now_ns = platform_now_ns();
  int64_t more = (int64_t)((double)(now_ns - osc->allowed_ns) * 1e-9 * ANSWERS_PER_S);
  if (!more)
    return;
  osc->allowance = osc->allowance + more < ANSWERS_MAX ? osc->allowance + more : ANSWERS_MAX;
  int64_t matching = osc->matching + more * (MATCHING_PER_S / ANSWERS_PER_S);
  osc->matching = matching < MATCHING_MAX ? (long)matching : MATCHING_MAX;
  osc->allowed_ns = now_ns;
}

static void receive(struct osc *osc) {
  struct listener answers = {.socket = osc->socket, .allowance = &osc->allowance};
  struct received received = {osc, &answers};
  for (int i = 0; i < BURST_MAX; i++) {
    int64_t size = datagram_receive(osc->socket, osc->bytes, sizeof osc->bytes, &answers.address, 0);
    if (size < 0)
      return;
    if (datagram_reaches(&answers.address, &osc->own))
      continue;
    allow_answers(osc);
    renew_leases(osc, &answers.address);
    osc_read(osc->bytes, (size_t)size, take, &received);
    flush(&answers);
  }
}

/* --- sending changed values and figures (measured values) to listeners --- */

/* True if a program on the listener's machine has set this instance of a parameter within the last MOVING_NS. The new
 * value is then not sent to the listener yet. */
static bool moves(const struct listener *listener, const struct instance *instance, int64_t now_ns) {
  const struct origin *origin = &instance->origin;
  return origin->at_ns && now_ns - origin->at_ns < MOVING_NS &&
         datagram_same_host(&origin->address, &listener->address);
}

/* True if the parameter still has the value that this listener itself has set, so that the value need not be sent to
 * it. */
static bool knows(const struct osc *osc, const struct listener *listener, const struct instance *instance) {
  const struct origin *origin = &instance->origin;
  return origin->at_ns && datagram_equal(&origin->address, &listener->address) &&
         parameters_number(&osc->values, instance->id, instance->index) == origin->number;
}

/* Sends the value of instances[number] to the listener if it has not got the present one. changed: the value has
 * changed since the last call. Returns true if the value has to be sent later, because somebody on the listener's
 * machine is changing it. */
static bool tell_listener(struct osc *osc, struct listener *listener, int number, bool changed, int64_t now_ns) {
  const struct instance *instance = &osc->instances[number];
  const struct osc_sink sink = sink_of(listener);
  bool *owed = &listener->owed[number];
  *owed |= changed;
  if (!*owed || moves(listener, instance, now_ns))
    return *owed;
  *owed = false;
  if (!knows(osc, listener, instance))
    osc_tell_value(&osc->values, instance->id, instance->index, &sink);
  return false;
}

/* Sends changed values of parameters and changed figures (measured values) to all listeners. Returns in how many
 * milliseconds this function has to be called again even if nothing changes; negative: not before a change. */
static int tell_changes(struct osc *osc, int64_t now_ns) {
  const struct hub_figures before = osc->figures;
  bool owed = false;
  if (hub_wait(osc->hub, &osc->seen, 0)) {
    hub_get_values(osc->hub, &osc->values);
    osc->figures_owed = true;
  }
  bool figures = osc->figures_owed && now_ns - osc->figures_ns >= FIGURES_NS;
  if (figures) {
    hub_get_figures(osc->hub, &osc->figures);
    osc->figures_ns = now_ns;
    osc->figures_owed = false;
  }
  for (int i = 0; i < osc->instance_count; i++) {
    const struct instance *instance = &osc->instances[i];
    bool changed = !parameters_same(&osc->values, &osc->told, instance->id, instance->index);
    for (int j = 0; j < osc->listener_count; j++)
      owed |= tell_listener(osc, &osc->listeners[j], i, changed, now_ns);
  }
  osc->told = osc->values;
  for (int j = 0; j < osc->listener_count; j++) {
    const struct osc_sink sink = sink_of(&osc->listeners[j]);
    if (figures)
      osc_tell_figures(&osc->figures, &before, &sink);
    flush(&osc->listeners[j]);
  }
  if (owed)
    return TICK_MS;
  return osc->figures_owed ? (int)((FIGURES_NS - (now_ns - osc->figures_ns)) / 1000000) + 1 : -1;
}

/* --- the thread that exchanges OSC messages --- */

static void wake(void *opaque) {
  struct osc *osc = opaque;
  if (atomic_load(&osc->listened) && !atomic_exchange(&osc->rung, true))
    platform_ring(osc->alarm[1]);
}

static void wait_for(struct osc *osc, int wait_ms) {
  struct platform_wish wishes[] = {{.descriptor = osc->alarm[0], .read = true},
                                   {.descriptor = osc->socket, .read = true}};
  platform_wait_for(wishes, 2, wait_ms);
  if (!wishes[0].read)
    return;
  platform_clear_alarm(osc->alarm[0]);
  atomic_store(&osc->rung, false);
}

static void *work(void *opaque) {
  struct osc *osc = opaque;
  for (int i = 0; i < osc->listener_count; i++)
    tell_all(osc, &osc->listeners[i]);
  while (!atomic_load(&osc->stop)) {
    if (osc->socket >= 0)
      receive(osc);
    atomic_store(&osc->listened, osc->listener_count > 0);
    int lease_ms = end_leases(osc, platform_now_ns());
    int wait_ms = osc->listener_count ? tell_changes(osc, platform_now_ns()) : -1;
    wait_for(osc, wait_ms < 0 || (lease_ms >= 0 && lease_ms < wait_ms) ? lease_ms : wait_ms);
  }
  return NULL;
}

/* --- starting and stopping the OSC server --- */

static int list_instances(struct osc *osc, struct error *err) {
  int count = 0;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    count += parameter_instances(id);
  osc->instances = calloc((size_t)count, sizeof *osc->instances);
  if (!osc->instances)
    return error_set(err, STATUS_FAILED, "no memory for OSC");
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; i < parameter_instances(id); i++)
      osc->instances[osc->instance_count++] = (struct instance){.id = id, .index = parameter_row(id)->first + i};
  return 0;
}

static int open_own(struct osc *osc, const char *text, struct error *err) {
  char name[DATAGRAM_NAME_MAX];
  if (datagram_find(&osc->own, text, "--osc", err))
    return -1;
  osc->socket = datagram_open(&osc->own, true);
  if (osc->socket < 0)
    return error_set(err, STATUS_USAGE, "--osc %.100s: %s", text,
                     errno == EADDRINUSE ? "another program listens there; choose another port" : strerror(errno));
  hub_set_osc_port(osc->hub, datagram_port(&osc->own));
  log_line(osc->log, LOG_INFO, "OSC: listening at %s", datagram_name(&osc->own, name));
  return 0;
}

static int add_fixed(struct osc *osc, const char *text, struct error *err) {
  struct datagram_address address;
  if (datagram_find(&address, text, "--osc-to", err))
    return -1;
  if (osc->socket >= 0 && datagram_reaches(&address, &osc->own))
    return error_set(err, STATUS_USAGE, "--osc-to %.100s: that is where --osc listens", text);
  if (osc->listener_count == LISTENERS_MAX / 2)
    return error_set(err, STATUS_USAGE, "--osc-to: at most %d can be given", LISTENERS_MAX / 2);
  int handle = datagram_open(&address, false);
  if (handle >= 0 && !add_listener(osc, &address, handle, true))
    return 0;
  datagram_close(handle);
  return handle < 0 ? error_set(err, STATUS_USAGE, "--osc-to %.100s: %s", text, strerror(errno))
                    : error_set(err, STATUS_FAILED, "--osc-to: no memory");
}

static void free_all(struct osc *osc) {
  hub_unwatch(osc->hub, &osc->watch);
  platform_end_alarm(osc->alarm);
  for (int i = 0; i < osc->listener_count; i++) {
    if (osc->listeners[i].fixed)
      datagram_close(osc->listeners[i].socket);
    free(osc->listeners[i].owed);
  }
  datagram_close(osc->socket);
  free(osc->instances);
  free(osc);
}

static int open_all(struct osc *osc, const struct osc_params *params, struct error *err) {
  if (list_instances(osc, err) || (params->listen && open_own(osc, params->listen, err)))
    return -1;
  for (int i = 0; params->to && i < params->to->count; i++)
    if (add_fixed(osc, params->to->text[i], err))
      return -1;
  read_hub(osc);
  osc->watch = (struct hub_watch){.wake = wake, .opaque = osc};
  hub_watch(osc->hub, &osc->watch);
  if (pthread_create(&osc->thread, NULL, work, osc))
    return error_set(err, STATUS_FAILED, "no thread for OSC");
  return 0;
}

int osc_start(struct osc **out, const struct osc_params *params, struct error *err) {
  *out = NULL;
  if (!params->listen && (!params->to || !params->to->count))
    return 0;
  struct osc *osc = calloc(1, sizeof *osc);
  if (!osc)
    return error_set(err, STATUS_FAILED, "no memory for OSC");
  osc->hub = params->hub;
  osc->log = params->log;
  osc->lease_ns = params->lease_ms ? params->lease_ms * INT64_C(1000000) : OSC_LEASE_S * INT64_C(1000000000);
  osc->allowance = ANSWERS_MAX;
  osc->matching = MATCHING_MAX;
  osc->allowed_ns = platform_now_ns();
  osc->socket = -1;
  if (platform_make_alarm(osc->alarm)) {
    free(osc);
    return error_set(err, STATUS_FAILED, "OSC: %s", strerror(errno));
  }
  if (open_all(osc, params, err)) {
    free_all(osc);
    return -1;
  }
  *out = osc;
  return 0;
}

bool osc_stop(struct osc **pointer, int wait_ms) {
  struct osc *osc = *pointer;
  if (!osc)
    return true;
  atomic_store(&osc->stop, true);
  platform_ring(osc->alarm[1]);
  if (!platform_join(osc->thread, wait_ms))
    return false;
  free_all(osc);
  *pointer = NULL;
  return true;
}
