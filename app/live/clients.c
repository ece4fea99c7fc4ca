/* Those who set values from outside. */
#include "app/live/live_impl.h"

int live_open_clients(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const struct osc_params osc = {options->osc, &options->osc_to, live->hub, &live->log};
  if (options->ipc && ipc_open(&live->ipc, options->ipc, live->hub, IPC_PATIENCE_MS, err))
    return -1;
  return osc_start(&live->osc, &osc, err);
}

void live_close_clients(struct live *live) {
  osc_stop(&live->osc);
  ipc_close(&live->ipc);
}
