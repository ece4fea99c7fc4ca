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

/* Allocates memory that counts against the limit and is checked against the free memory. It is zeroed and aligned to 64
 * bytes. Returns NULL with err set on failure. A device for sizes only counts the bytes and returns an address that
 * must not be read or written. */
void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err);
void cpu_free(struct cpu_device *device, void *data, size_t bytes); /* takes NULL */

/* Sets the number of bytes that are counted for the device's pictures, which outlive it. Returns -1, with the number
 * unchanged, if it exceeds the limit. Called on the thread that prepares. */
int cpu_count_pictures(struct cpu_device *device, size_t bytes, struct error *err);

/* Opens an arena that all programs share. If no addresses can be reserved each program gets its own memory. */
void cpu_arena_open(struct cpu_device *device, struct arena *arena);
void cpu_arena_close(struct arena *arena);

/* Makes a resource's FP32 data; a state's data is zero. */
int cpu_load(struct cpu_device *device, struct tensor resource, struct error *err);
int cpu_load_held(struct cpu_device *device, int index, struct error *err); /* the caller holds the lock of weights */
/* Returns a weight's FP32 data for temporary use: the loaded data, or *temporary, which the caller frees. Returns NULL
 * with err set if memory runs out. */
const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err);
/* Makes the program's scratch at least this large. */
void cpu_reserve(struct cpu_program *program, size_t bytes);
/* Reserves the next `bytes` of scratch while it is planned: returns their aligned offset and increases *total. */
size_t cpu_bump(size_t *total, size_t bytes);

/* cpu_data returns the first element of a tensor, or NULL for a tensor that was left out; cpu_f32 does so for tensors
 * that are known to be FP32. */
void *cpu_data(const struct cpu_program *program, struct tensor t);
float *cpu_f32(const struct cpu_program *program, struct tensor t);
struct element cpu_element(const struct cpu_program *program, struct tensor t);
enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t); /* the type of a tensor without a scale */

#endif
