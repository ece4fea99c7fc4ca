/* The driver's version and the GPU's clocks, from the driver's management library if that is installed. */
#ifndef CUDA_LIBRARIES_NVML_H
#define CUDA_LIBRARIES_NVML_H

#include <stddef.h>

struct nvml;

struct nvml *nvml_open(const char *pci_bus_id);              /* returns NULL if the library cannot be used */
void nvml_close(struct nvml *nvml);                          /* takes NULL */
void nvml_driver(struct nvml *nvml, char *out, size_t size); /* writes "580.159.04", or "unknown"; takes NULL */
/* Writes "SM 1980 of 1980 MHz, memory 3201 MHz, P0, 210 W", or "". Takes NULL. */
void nvml_state(struct nvml *nvml, char *out, size_t size);
/* Returns the energy in joules that the GPU has used since the driver was loaded; 0: unknown. Takes NULL. */
double nvml_energy(struct nvml *nvml);

#endif
