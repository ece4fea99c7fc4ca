/* Memory of the CPU device: limited allocations, resources, temporaries and scratch. */
#ifndef UNET_CPU_CPU_MEMORY_H
#define UNET_CPU_CPU_MEMORY_H

#include "unet/cpu/cpu_device.h"

enum { CPU_ALIGN = 64 };

/* Smaller allocations are not compared with the free memory, because this takes longer than the allocation. */
enum { CPU_ROOM_LEAST = 16 << 20 };

/* Returns 0 if this many bytes are free on the machine, else -1 with err set. On a device for sizes only, the bytes
 * counted so far are subtracted from the free ones, although nothing uses them. */
int cpu_check_room(struct cpu_device *device, size_t bytes, const char *what, struct error *err);

/* Allocates bytes, zeroed and aligned to 64, within the device's memory limit and the machine's free memory; `what`
 * names their use in the error. Returns NULL with err set on failure. A device for sizes only counts the bytes and
 * returns an address that must not be read or written. */
void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err);
void cpu_free(struct cpu_device *device, void *data, size_t bytes); /* takes NULL */

/* Replaces the number of bytes that counters.bytes includes for the device's pictures, which outlive the device.
 * Returns -1, with the number unchanged, if the limit does not allow it. Called on the thread that prepares
 * programs. */
int cpu_count_pictures(struct cpu_device *device, size_t bytes, struct error *err);

/* Opens an arena that all programs share. If no addresses can be reserved each program gets its own memory. */
void cpu_arena_open(struct cpu_device *device, struct arena *arena);
void cpu_arena_close(struct arena *arena);

/* Allocates a resource's FP32 data if it has none: a weight is read from its file, a state is zero. cpu_load takes the
 * lock base.weights. */
int cpu_load(struct cpu_device *device, struct tensor resource, struct error *err);
/* Does the same for a caller that holds the lock base.weights. */
int cpu_load_held(struct cpu_device *device, int index, struct error *err);
/* Returns a weight's FP32 data for the time of a call: its loaded data, or data that is read now and stored in
 * *temporary. The caller sets *temporary to NULL before and frees it after. Returns NULL with err set on failure. */
const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err);
/* Makes sure that the program's scratch will have at least this many bytes. */
void cpu_reserve(struct cpu_program *program, size_t bytes);
/* While an op plans its scratch: adds `bytes` to *total, aligned, and returns the offset at which they begin. */
size_t cpu_bump(size_t *total, size_t bytes);

/* Return the address of a tensor's first element, or NULL for a tensor that was left out. cpu_f32 is for tensors that
 * are known to be FP32. */
void *cpu_data(const struct cpu_program *program, struct tensor t);
float *cpu_f32(const struct cpu_program *program, struct tensor t);
struct element cpu_element(const struct cpu_program *program, struct tensor t);
enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t); /* the type of a tensor without a scale */

#endif
