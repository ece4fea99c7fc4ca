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
  return open_web(live, err) || osc_start(&live->osc, &osc, err) ? -1 : 0;
}

void live_close_clients(struct live *live) {
  osc_stop(&live->osc);
  web_close(&live->web);
  ipc_close(&live->ipc);
}
