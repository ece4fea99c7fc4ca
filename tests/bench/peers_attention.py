#!/usr/bin/env python3
"""Compares this project's attention with PyTorch's back ends, on one GPU in one run: first times, then errors.

usage: peers_attention.py PATH/TO/bench_attention

Times, both sides: 20 calls in one captured graph, each reading what the one before wrote; medians and 99th percentiles
over replays by events. Errors: both sides against FP64 on the same values; exits with 1 if ours is beyond the larger of
1.2 times that of PyTorch's Flash and 2^-11 of the reference's norm. Where Flash does not take the head dim, its math
back end stands in for it. Huge values are beyond Flash, which is shown beside 2^-11. Sums of FP16's largest round in
FP32 by more than a softmax can bear, so those results need only be numbers.
"""
import math
import statistics
import subprocess
import sys
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

CALLS, WARM_UPS, REPLAYS = 20, 3, 101
LONG_REPLAYS, LONG_REPLAY = 31, 2  # milliseconds: where a replay takes longer, fewer are timed
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}
warnings.filterwarnings("ignore")  # PyTorch's reasons for not taking a head dim; the table shows a dash
FUSED_DIM_MAX = 256  # of PyTorch's Flash; beyond it the math back end is timed as well


def rows(heads, count, dim, offset):
    x = torch.randn(1, count, heads, dim, device="cuda")
    if offset:
        x = x + torch.randn(1, 1, heads, dim, device="cuda")
    return x.half().transpose(1, 2)


def time_backend(backend, heads, t_q, t_k, dim):
    q, k, v = rows(heads, t_q, dim, True), rows(heads, t_k, dim, False), rows(heads, t_k, dim, True)

    def chain():
        x = q
        for _ in range(CALLS):
            x = scaled_dot_product_attention(x, k, v)
        return x

    try:
        with sdpa_kernel(backend), torch.no_grad():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                chain()
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                chain()
    except RuntimeError:
        return None
    return time_replays(graph)


def time_replays(graph):
    """Microseconds a call: median, 99th percentile."""
    times = []
    replays = REPLAYS
    while len(times) < WARM_UPS + replays:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
        if len(times) == WARM_UPS and times[-1] > LONG_REPLAY:
            replays = LONG_REPLAYS
    times = sorted(times[WARM_UPS:])
    return [x * 1000 / CALLS for x in (statistics.median(times), times[math.ceil(0.99 * len(times)) - 1])]


def values(kind, part, heads, count, dim):
    """Rows [1, count, heads, dim] of q, k (part 0, 1) or v (2)."""
    x = torch.randn(1, count, heads, dim, device="cuda")
    if kind == "large" and part < 2:
        x = 12 * x
    elif kind == "one-hot" and part < 2:  # row i of k answers to row i of q alone
        signs = torch.arange(count, device="cuda")[:, None] * 2654435761 >> torch.arange(dim, device="cuda") % 29
        x = (6.0 * (signs % 2) - 3)[None, :, None, :].expand_as(x)
    elif kind == "constant":
        x = torch.full_like(x, 0.7 if part == 2 else 0.3)
    elif kind == "huge" and part < 2:  # all scores exact in FP32, and so are their ties
        x = x.sign() * 2**15
    elif kind == "largest":
        x = x.sign() * 65504
    return x.half().contiguous()


def errors(program, kind, heads, t_q, t_k, dim):
    """Ours and PyTorch's, relative to the norm of the result in FP64."""
    parts = [values(kind, part, heads, count, dim) for part, count in enumerate((t_q, t_k, t_k))]
    out = subprocess.run([program, "--apply", *map(str, (heads, t_q, t_k, dim))], check=True, capture_output=True,
                         input=b"".join(x.cpu().numpy().tobytes() for x in parts)).stdout
    ours = torch.frombuffer(bytearray(out), dtype=torch.half).view(parts[0].shape).cuda().transpose(1, 2).double()
    q, k, v = (x.transpose(1, 2) for x in parts)
    backend = SDPBackend.FLASH_ATTENTION if dim <= FUSED_DIM_MAX else SDPBackend.MATH
    with torch.no_grad():
        with sdpa_kernel(backend):
            theirs = scaled_dot_product_attention(q, k, v).double()
        ref = torch.cat([torch.softmax(q[:, h:h + 1].double() @ k[:, h:h + 1].double().mT / dim**0.5, -1)
                         @ v[:, h:h + 1].double() for h in range(heads)], 1)
    return [((x - ref).norm() / ref.norm()).item() for x in (ours, theirs)]


def limit_of(kind, theirs):
    if kind == "largest":
        return sys.float_info.max
    return 2**-11 if kind == "huge" else max(2**-11, 1.2 * theirs)


def compare_errors(program):
    failures = 0
    print(f"{'heads, Tq, Tk, D':>22}  {'values':10} {'ours':>9} {'PyTorch':>9} {'limit':>9}")
    for dim in (40, 64, 80, 128, 160, 512):
        for t_q, t_k in ((1, 77), (77, 113), (1023, 1023), (4097, 4097)):
            for kind in ("normal", "large", "one-hot", "constant", "huge", "largest"):
                heads = 1 if dim == 512 else 2
                ours, theirs = errors(program, kind, heads, t_q, t_k, dim)
                limit = limit_of(kind, theirs)
                failures += not ours <= limit
                shown = f"{limit:9.2e}" if kind != "largest" else "   number"
                print(f"{heads:4d}, {t_q:5d}, {t_k:5d}, {dim:3d}  {kind:10} {ours:9.2e} {theirs:9.2e} {shown}"
                      + ("" if ours <= limit else "  FAILED"))
    print(f"errors: {failures} beyond the limit")
    return failures


def cell(timing):
    return f"{timing[0]:9.2f} {timing[1]:8.2f}" if timing is not None else f"{'-':>9} {'-':>8}"


def compare_times(program):
    lines = subprocess.run([program, "--lines"], check=True, capture_output=True, text=True).stdout.splitlines()
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.half)
    for _ in range(3):
        a @ a
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(5):
        a @ a
    end.record()
    end.synchronize()
    peak = 5 * 2 * 8192**3 / start.elapsed_time(end) * 1e-9
    del a
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, GEMM 8192^3 {peak:.0f} TFLOP/s; microseconds, "
          "median and p99")
    print("floor: the longer of arithmetic at the GEMM's rate, and q, k, v and o moved once at 4.2 TB/s")
    print(f"{'heads, Tq, Tk, D':>22} {'ours':>9} {'p99':>8} {'floor':>8} {'TFLOP/s':>8} "
          + " ".join(f"{name:>9} {'p99':>8}" for name in (*BACKENDS, "math")))
    for line in lines:
        heads, t_q, t_k, dim = map(int, line.split()[:4])
        ours = tuple(map(float, line.split()[4:]))
        flop = 4 * heads * t_q * t_k * dim
        floor = max(flop / peak, 2 * heads * dim * (2 * t_q + 2 * t_k) / 4.2) * 1e-6
        peers = [time_backend(b, heads, t_q, t_k, dim) for b in BACKENDS.values()]
        if dim > FUSED_DIM_MAX:
            peers.append(time_backend(SDPBackend.MATH, heads, t_q, t_k, dim))
        print(f"{heads:4d}, {t_q:5d}, {t_k:5d}, {dim:3d} {cell(ours)} {floor:8.2f} {flop / ours[0] * 1e-6:8.1f} "
              + " ".join(cell(p) for p in peers))


def main():
    compare_times(sys.argv[1])
    sys.exit(compare_errors(sys.argv[1]) != 0)


main()
