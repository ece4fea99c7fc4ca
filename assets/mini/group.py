"""Training on several GPUs of one host: one process a GPU, each with its own samples and all with the same weights.

The gradients of all processes are averaged before every step of an optimiser. Whatever depends on the clock is decided
by process 0 and told to the others, so all make the same steps. On a CPU the same code runs over gloo.
"""
import datetime
import os
import sys

import torch
import torch.distributed as dist

class Group:
    """The processes that train together; alone, where `size` is 1."""

    def __init__(self, rank=0, size=1):
        self.rank, self.size = rank, size
        torch.set_num_threads(max(1, os.cpu_count() // size))
        if torch.cuda.is_available():
            torch.cuda.set_device(rank)

    def meet(self, path):
        """Wait for the others. path: a file that does not exist yet, the same for all."""
        if self.size > 1:
            backend = 'cpu:gloo,cuda:nccl' if torch.cuda.is_available() else 'gloo'
            dist.init_process_group(backend, init_method='file://' + os.path.abspath(path), rank=self.rank,
                                    world_size=self.size, timeout=datetime.timedelta(seconds=150))

    def part(self):
        """Leave the others."""
        if self.size > 1:
            dist.destroy_process_group()

    def seed(self, number):
        """Seed this process: every one draws other samples."""
        torch.manual_seed(number + 1000003 * self.rank)

    def first(self, *numbers):
        """The numbers of process 0, as floats: a decision that all share. The GPU is not waited for."""
        if self.size > 1:
            shared = torch.tensor(numbers, dtype=torch.float64)
            dist.broadcast(shared, 0)
            numbers = shared.tolist()
        return numbers

    @torch.no_grad()
    def spread(self, *modules):
        """Give every process the weights of process 0."""
        if self.size > 1:
            for p in (p for module in modules for p in module.parameters()):
                held = p.detach().contiguous()
                dist.broadcast(held, 0)
                p.copy_(held)

    @torch.no_grad()
    def average(self, parameters):
        """Average the gradients over the processes. What is not finite in one is so in all, which skip the step alike."""
        if self.size > 1:
            grads = [p.grad for p in parameters if p.grad is not None]
            flat = torch.cat([g.flatten() for g in grads])
            dist.all_reduce(flat)
            parts = (flat / self.size).split([g.numel() for g in grads])
            torch._foreach_copy_(grads, [part.view_as(g) for part, g in zip(parts, grads)])


def work(rank, size, job, arguments):
    """One process: run the job as member `rank` of a group. Only the first one's log is shown."""
    if rank:
        sys.stdout = open(os.devnull, 'w', encoding='utf-8')
    group = Group(rank, size)
    job(group, *arguments)
    group.part()


def launch(size, job, *arguments):
    """Run job(group, *arguments) in `size` processes; when one fails, the others are ended and the error is raised."""
    if size < 2:
        return job(Group(), *arguments)
    os.environ['NCCL_NVLS_ENABLE'] = '0'                       # NVLink multicast can put a shared host's GPUs out of service
    os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo')          # a host without network will do
    os.environ.setdefault('TORCHINDUCTOR_COMPILE_THREADS', str(max(1, os.cpu_count() // size)))
    torch.multiprocessing.spawn(work, (size, job, arguments), nprocs=size)
