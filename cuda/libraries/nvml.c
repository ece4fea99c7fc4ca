#include "cuda/libraries/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The declarations of NVIDIA's management library (NVML) that this file needs, as its documentation gives them, so that
 * no header is needed. */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
typedef void *nvml_device;

struct nvml {
  void *library;
  nvml_device device;
  int (*init)(void);
  int (*shutdown)(void);
  int (*by_bus)(const char *id, nvml_device *device);
  int (*driver_version)(char *out, unsigned size);
  int (*clock)(nvml_device device, int which, unsigned *mhz);
  int (*clock_max)(nvml_device device, int which, unsigned *mhz);
  int (*power_state)(nvml_device device, int *state);
  int (*power)(nvml_device device, unsigned *milliwatts);
  /* NVML's function that returns the energy used, in millijoules; NULL: this version of the library has none */
  int (*energy)(nvml_device device, unsigned long long *millijoules);
};

static int load(struct nvml *nvml) {
  const struct {
    void *pointer;
    const char *name;
  } symbols[] = {
      {&nvml->init, "nvmlInit_v2"},
      {&nvml->shutdown, "nvmlShutdown"},
      {&nvml->by_bus, "nvmlDeviceGetHandleByPciBusId_v2"},
      {&nvml->driver_version, "nvmlSystemGetDriverVersion"},
      {&nvml->clock, "nvmlDeviceGetClockInfo"},
      {&nvml->clock_max, "nvmlDeviceGetMaxClockInfo"},
      {&nvml->power_state, "nvmlDeviceGetPerformanceState"},
      {&nvml->power, "nvmlDeviceGetPowerUsage"},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
    if (!(*(void **)symbols[i].pointer = dlsym(nvml->library, symbols[i].name)))
      return -1;
  *(void **)&nvml->energy = dlsym(nvml->library, "nvmlDeviceGetTotalEnergyConsumption");
  return nvml->init() == 0 ? 0 : -1;
}

struct nvml *nvml_open(const char *pci_bus_id) {
  struct nvml *nvml = calloc(1, sizeof *nvml);
  if (!nvml)
    return NULL;
  nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml->library && load(nvml) == 0) {
    if (nvml->by_bus(pci_bus_id, &nvml->device) == 0)
      return nvml;
    nvml->shutdown();
  }
  if (nvml->library)
    dlclose(nvml->library);
  free(nvml);
  return NULL;
}

void nvml_close(struct nvml *nvml) {
  if (!nvml)
    return;
  nvml->shutdown();
  dlclose(nvml->library);
  free(nvml);
}

void nvml_driver(struct nvml *nvml, char *out, size_t size) {
  if (!nvml || nvml->driver_version(out, (unsigned)size) != 0)
    snprintf(out, size, "unknown");
}

void nvml_state(struct nvml *nvml, char *out, size_t size) {
  unsigned sm = 0, sm_max = 0, memory = 0, milliwatts = 0;
  int state = 0;
  out[0] = 0;
  if (!nvml || nvml->clock(nvml->device, NVML_CLOCK_SM, &sm) || nvml->clock_max(nvml->device, NVML_CLOCK_SM, &sm_max) ||
      nvml->clock(nvml->device, NVML_CLOCK_MEMORY, &memory) || nvml->power_state(nvml->device, &state) ||
      nvml->power(nvml->device, &milliwatts))
    return;
  snprintf(out, size, "SM %u of %u MHz, memory %u MHz, P%d, %u W", sm, sm_max, memory, state, milliwatts / 1000);
}

double nvml_energy(struct nvml *nvml) {
  unsigned long long millijoules = 0;
  return nvml && nvml->energy && nvml->energy(nvml->device, &millijoules) == 0 ? (double)millijoules * 1e-3 : 0;
}
