/* The CPU device's memory: allocations within the user's limit, and the memory of resources (weights and other tensors
 * that plans share), of temporaries and of scratch data. */
#ifndef UNET_CPU_CPU_MEMORY_H
#define UNET_CPU_CPU_MEMORY_H

#include "unet/cpu/cpu_device.h"

enum { CPU_ALIGN = 64 };

/* Allocations of fewer bytes are not compared with the machine's free memory, because asking for it takes longer than
 * the allocation. */
enum { CPU_ROOM_LEAST = 16 << 20 };

/* Checks that the machine has `bytes` bytes of free memory. If not, returns -1 with err set; `what` names their use in
 * the message. Returns 0 if there is room, if the free memory is unknown, or if `bytes` is less than CPU_ROOM_LEAST. A
 * device that only counts sizes subtracts the bytes counted so far from the free ones, although it allocates
 * nothing. */
int cpu_check_room(struct cpu_device *device, size_t bytes, const char *what, struct error *err);

/* Allocates bytes, zeroed and aligned to 64, within the device's memory limit and the machine's free memory; `what`
 * names their use in the error. Returns NULL with err set on failure. A device that only counts sizes returns an
 * address that must not be read or written. */
void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err);
/* frees memory of cpu_alloc, and subtracts its bytes from the counters; accepts NULL */
void cpu_free(struct cpu_device *device, void *data, size_t bytes);

/* Sets the number of bytes that the device's pictures take; it replaces that of the last call, and is a part of
 * counters.bytes. Returns -1, with the number unchanged, if the memory limit does not allow it. Called on the thread
 * that prepares programs. */
int cpu_count_pictures(struct cpu_device *device, size_t bytes, struct error *err);

/* Opens an arena: working memory that all programs (prepared plans) share, since they run one after another. If no
 * addresses can be reserved for it, each program gets memory of its own. */
void cpu_arena_open(struct cpu_device *device, struct arena *arena);
void cpu_arena_close(struct arena *arena);

/* Makes the FP32 data of a weight or state (a resource) available: a weight is read from its file; the memory of a
 * state (a tensor that outlives a run) is allocated and zeroed. Does nothing if that was done before. cpu_load takes
 * the lock base.weights. */
int cpu_load(struct cpu_device *device, struct tensor resource, struct error *err);
/* Does the same as cpu_load, for a caller that holds the lock base.weights. */
int cpu_load_held(struct cpu_device *device, int index, struct error *err);
/* Returns a weight's FP32 data for use at this moment: the loaded data, or, if there is none, data that is read now and
 * stored in *temporary. The caller sets *temporary to NULL before the call, and frees it after use. Returns NULL with
 * err set on failure. */
const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err);
/* Makes sure that the scratch memory of the program (prepared plan), which one op after another uses, will have at
 * least this many bytes. */
void cpu_reserve(struct cpu_program *program, size_t bytes);
/* For dividing an op's scratch memory while it is prepared: returns the offset of the next `bytes` bytes, and adds
 * them, aligned, to *total. */
size_t cpu_bump(size_t *total, size_t bytes);

/* cpu_data returns the address of a tensor's first element, or NULL for a tensor that was left out; cpu_f32 returns the
 * same for a tensor that is known to be FP32. */
void *cpu_data(const struct cpu_program *program, struct tensor t);
float *cpu_f32(const struct cpu_program *program, struct tensor t);
struct element cpu_element(const struct cpu_program *program, struct tensor t);
/* returns the type of a tensor's elements, for tensors whose scale is 1 */
enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t);

#endif
