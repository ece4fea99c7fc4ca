#!/usr/bin/env python3
"""Times this project's attention beside PyTorch's back ends, on one GPU in one run, and prints one table.

usage: peers_attention.py PATH/TO/bench_attention

Both sides: 20 calls in one captured graph, each reading what the one before wrote; medians over replays by events.
"""
import statistics
import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

CALLS, REPLAYS = 20, 31
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}


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
    times = []
    for i in range(REPLAYS + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i >= 3:
            times.append(start.elapsed_time(end))
    return statistics.median(times) * 1000 / CALLS


def relative_error(backend, heads, t_q, t_k, dim):
    """Of one back end against FP64, on fresh normal values."""
    q, k, v = (rows(heads, t, dim, False) for t in (t_q, t_k, t_k))
    with sdpa_kernel(backend), torch.no_grad():
        out = scaled_dot_product_attention(q, k, v).double()
    with torch.no_grad():
        ref = torch.softmax(q.double() @ k.double().transpose(-1, -2) / dim**0.5, -1) @ v.double()
    return ((out - ref).norm() / ref.norm()).item()


def cell(x):
    return f"{x:9.2f}" if x is not None else "        -"


def main():
    lines = subprocess.run([sys.argv[1], "--lines"], check=True, capture_output=True, text=True).stdout.splitlines()
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
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, GEMM 8192^3 {peak:.0f} TFLOP/s; microseconds")
    print(f"{'heads, Tq, Tk, D':>22}      ours    floor  TFLOP/s" + "".join(f"{name:>10}" for name in BACKENDS))
    for line in lines:
        *shape, us = line.split()
        heads, t_q, t_k, dim = map(int, shape)
        us, flop = float(us), 4 * heads * t_q * t_k * dim
        floor = max(flop / peak, 2 * heads * dim * (2 * t_q + 2 * t_k) / 4.2) * 1e-6
        peers = [time_backend(b, heads, t_q, t_k, dim) for b in BACKENDS.values()]
        print(f"{heads:4d}, {t_q:5d}, {t_k:5d}, {dim:3d} {us:9.2f} {floor:8.2f} {flop / us * 1e-6:8.1f} "
              + " ".join(cell(p) for p in peers))
    for shape in ((5, 1024, 1024, 64), (8, 1023, 113, 40), (2, 4097, 77, 64)):
        print(f"relative error of PyTorch's flash at {shape}: {relative_error(BACKENDS['flash'], *shape):.2e}")


main()
