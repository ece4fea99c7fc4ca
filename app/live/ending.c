#include "app/live/ending.h"

enum status ending_status(const struct ending *ending) {
  if (ending->failed && ending->why == STATUS_OUTPUT)
    return STATUS_OUTPUT;
  if (ending->interrupted)
    return STATUS_INTERRUPTED;
  return ending->failed ? ending->why : ending->hangs ? STATUS_DEVICE : STATUS_OK;
}
