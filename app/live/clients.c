/* Those who set values from outside. */
#include "app/live/live_impl.h"

int live_open_clients(struct live *live, struct error *err) {
  const struct options *options = live->options;
  if (options->ipc && ipc_open(&live->ipc, options->ipc, live->hub, IPC_PATIENCE_MS, err))
    return -1;
  return 0;
}

void live_close_clients(struct live *live) {
  ipc_close(&live->ipc);
}
