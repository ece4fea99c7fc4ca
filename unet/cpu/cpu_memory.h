/* Memory of the CPU device: counted and limited, resources and temporaries, scratch. */
#ifndef UNET_CPU_CPU_MEMORY_H
#define UNET_CPU_CPU_MEMORY_H

#include "unet/cpu/cpu_device.h"

enum { CPU_ALIGN = 64 };

/* Less than this is not compared with what is free, which takes longer than to take it. */
enum { CPU_ROOM_LEAST = 16 << 20 };

/* Returns 0 where so many bytes are free on this machine, and -1 with err set where they are not. On a device for sizes
 * only, what it has counted so far is not free, though nothing has used it. */
int cpu_check_room(struct cpu_device *device, size_t bytes, const char *what, struct error *err);

/* Memory, counted and held against the limit and against what is free. Zeroed; aligned to 64 bytes. NULL with err set
 * when there is none left. A device for sizes only counts the bytes and returns an address that nothing may read or
 * write. */
void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err);
void cpu_free(struct cpu_device *device, void *data, size_t bytes); /* takes NULL */

/* Counts the memory of the device's pictures, which outlive it, as so many bytes from now on. -1: more than the limit
 * allows, and as many as before. On the thread that prepares. */
int cpu_count_pictures(struct cpu_device *device, size_t bytes, struct error *err);

/* Working memory that all programs share. Without room for its addresses each has its own. */
void cpu_arena_open(struct cpu_device *device, struct arena *arena);
void cpu_arena_close(struct arena *arena);

/* Makes a resource's FP32 data (a state's are zero). */
int cpu_load(struct cpu_device *device, struct tensor resource, struct error *err);
int cpu_load_held(struct cpu_device *device, int index, struct error *err); /* with the lock of weights held */
/* A weight's FP32 data for the moment: those that are kept, or *temporary, which the caller frees. NULL with err set
 * when there is no memory. */
const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err);
/* The program's scratch gets at least this size. */
void cpu_reserve(struct cpu_program *program, size_t bytes);
/* Plans scratch: returns the aligned place of the next so many bytes. */
size_t cpu_bump(size_t *total, size_t bytes);

/* First element of a tensor; NULL for one left out. cpu_f32 where it is known to be FP32. */
void *cpu_data(const struct cpu_program *program, struct tensor t);
float *cpu_f32(const struct cpu_program *program, struct tensor t);
struct element cpu_element(const struct cpu_program *program, struct tensor t);
enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t); /* its type, for what knows no scales */

#endif
