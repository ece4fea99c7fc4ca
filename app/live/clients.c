/* Opens and closes the clients of the live window (IPC socket, web page, OSC and MIDI), through which values can be set
 * from outside. */
#include "app/live/live_impl.h"

/* longest time in ms to wait for a client's thread to end. The web page's thread may wait for a picture for a browser,
 * and if the GPU hangs, that picture never comes. */
enum { CLIENT_WAIT_MS = 3000 };

static int open_web(struct live *live, struct error *err) {
  const char *where = live->options->web;
  if (!where)
    return 0;
  const struct web_key *before = live->came && live->came->web.port ? &live->came->web : NULL;
  if (web_open(&live->web, where, before, NULL, live->hub, err))
    return -1;
  log_verbatim(&live->log, LOG_WARNING, "the page is at %s", web_url(live->web));
  return 0;
}

int live_open_clients(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const struct osc_params osc = {.listen = options->osc, .to = &options->osc_to, .hub = live->hub, .log = &live->log};
  const struct midi_params midi = {.source = options->midi,
                                   .target = options->midi_out,
                                   .bindings = live->show.midi_bindings,
                                   .hub = live->hub,
                                   .log = &live->log};
  /* state.midi is set before the clients exist, because their threads read it without a lock */
  live->state.midi = options->midi != NULL;
  live->state.page = options->web != NULL;
  int status = options->ipc ? ipc_open(&live->ipc, options->ipc, live->hub, IPC_PATIENCE_MS, err) : 0;
  if (live_allow_failure(live, status, err) || live_allow_failure(live, open_web(live, err), err) ||
      live_allow_failure(live, osc_start(&live->osc, &osc, err), err))
    return -1;
  return live_allow_failure(live, midi_start(&live->midi, &midi, err), err);
}

void live_close_clients(struct live *live) {
  bool ended = midi_stop(&live->midi, CLIENT_WAIT_MS);
  ended &= osc_stop(&live->osc, CLIENT_WAIT_MS);
  ended &= web_close(&live->web, CLIENT_WAIT_MS);
  ended &= ipc_close(&live->ipc, CLIENT_WAIT_MS);
  live->clients_stay = !ended;
  if (!ended)
    log_line(&live->log, LOG_WARNING, "a client's thread does not come back: the program ends without it");
}
