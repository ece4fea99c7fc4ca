/* The driver's version, and the GPU's clocks, power and energy. They are read from the driver's management library,
 * NVML, if that is installed. */
#ifndef CUDA_LIBRARIES_NVML_H
#define CUDA_LIBRARIES_NVML_H

#include <stddef.h>

struct nvml;

/* opens NVML for the GPU with this PCI address; returns NULL if the library cannot be used */
struct nvml *nvml_open(const char *pci_bus_id);
void nvml_close(struct nvml *nvml); /* closes NVML; `nvml` may be NULL */
/* Writes the driver's version, such as "580.159.04"; "unknown" if it cannot be read or `nvml` is NULL. */
void nvml_driver(struct nvml *nvml, char *out, size_t size);
/* Writes the GPU's clocks, performance state and power as "SM 1980 of 1980 MHz, memory 3201 MHz, P0, 210 W", or "" if
 * they are unknown or `nvml` is NULL. */
void nvml_state(struct nvml *nvml, char *out, size_t size);
/* Returns the energy, in joules, that the GPU has used since the driver was loaded; 0: unknown, or `nvml` is NULL. */
double nvml_energy(struct nvml *nvml);

#endif
