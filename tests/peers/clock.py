"""How long calls take on the GPU, by its own clock."""
import torch


def call_times(call, runs):
    """Milliseconds of each of so many calls, one after the other."""
    times = []
    for _ in range(runs):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return times
