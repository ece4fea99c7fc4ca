/* The table of kernels for one instruction set. The file is compiled once for each instruction set (meson.build). */
#include "unet/cpu/cpu_kernels.h"

const struct cpu_kernels KERNEL(cpu_kernels) = {
    .name = KERNEL_NAME(CPU_ISA),
    .gather = KERNEL(cpu_gather),
    .attend_packed = KERNEL(cpu_attend_packed),
    .attend_tile = KERNEL(cpu_attend_tile),
    .attend = KERNEL(cpu_attend),
    .winograd_packed = KERNEL(cpu_winograd_packed),
    .winograd_pack = KERNEL(cpu_winograd_pack),
    .winograd_scratch = KERNEL(cpu_winograd_scratch),
    .winograd = KERNEL(cpu_winograd),
    .resize = KERNEL(cpu_resize),
    .compose = KERNEL(cpu_compose),
    .encode = KERNEL(cpu_encode),
    .soften = KERNEL(cpu_soften),
    .search = KERNEL(cpu_search),
    .pad = KERNEL(cpu_pad),
    .cost = KERNEL(cpu_cost),
    .copy = KERNEL(cpu_copy),
    .add = KERNEL(cpu_add),
};
