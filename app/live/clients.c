/* Those who set values from outside. */
#include "app/live/live_impl.h"

static int open_web(struct live *live, struct error *err) {
  const char *where = live->options->web;
  if (!where)
    return 0;
  if (web_open(&live->web, where, live->hub, err))
    return -1;
  log_line(&live->log, LOG_WARNING, "the page is at %s", web_url(live->web));
  return 0;
}

int live_open_clients(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const struct osc_params osc = {options->osc, &options->osc_to, live->hub, &live->log};
  if (options->ipc && ipc_open(&live->ipc, options->ipc, live->hub, IPC_PATIENCE_MS, err))
    return -1;
  const struct midi_params midi = {options->midi, live->hub, &live->log};
  live->state.midi = options->midi != NULL;
  if (open_web(live, err) || osc_start(&live->osc, &osc, err))
    return -1;
  return midi_start(&live->midi, &midi, err);
}

void live_close_clients(struct live *live) {
  midi_stop(&live->midi);
  osc_stop(&live->osc);
  web_close(&live->web);
  ipc_close(&live->ipc);
}
