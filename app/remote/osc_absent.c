#include "app/remote/osc.h"

int osc_start(struct osc **osc, const struct osc_params *params, struct error *err) {
  *osc = NULL;
  if (!params->listen && (!params->to || !params->to->count))
    return 0;
  return error_set(err, STATUS_USAGE,
                   "--osc: this reverie was built without liblo; install its development files (liblo-dev) and build "
                   "it again");
}

bool osc_stop(struct osc **osc, int wait_ms) {
  (void)wait_ms;
  *osc = NULL;
  return true;
}
