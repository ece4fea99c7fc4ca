"""What the U-Net is trained on: batches of frames and targets of every style, with style pictures, and their prompts."""
import random

import torch

import data
import exemplars
import targets
import text
from model import CUDA, DEVICE

# Styles that are hard or matter most come twice in a batch
TWICE = ('photo', 'ink', 'mosaic', 'neon', 'charcoal', 'pixelart', 'blueprint')
# Hard lines and thresholds flicker most
CALM = dict(ink=6., mosaic=4., pixelart=4., watercolor=4., popart=3., pencil=5., cartoon=3., charcoal=2., blueprint=5., neon=2.,
            comic=3., stainedglass=4., linocut=5., riso=4., gold=4.)
# Styles whose marks are painted over a painting's colours, and how often
PAINTED = ('oil', 'oil', 'oil', 'watercolor')


def shown_pairs(each):
    """(style of the marks, its row, style that the picture shows or 'art', is it seen smaller, does the prompt name the
    style) of every sample that has a style picture."""
    names = list(targets.STYLES)
    pairs = [(style, 0, style, False, False) for style in names] + [(style, 1, style, True, False) for style in names]
    pairs += [(style, 2, names[(i + 7) % len(names)], False, True) for i, style in enumerate(names) if i % 2 == 0]
    return pairs + [(style, row, 'art', False, False) for style in PAINTED for row in (0, 1)]


class Maker:
    """Makes batches (clean frame, damaged frame, target, noise, style picture).

    First come `each` samples of every style, styles side by side. Samples 2 and 3 of a style are twins of 0 and 1: the
    next video frame of the same scene under the same noise. The last four samples of a style that shows moods have one
    mood each, those of pop art one palette each. The last `shown` samples of the batch have a style picture each; their
    frames and noise are those of earlier samples, and their targets those samples' in the picture's colours. On a GPU
    all of it is one CUDA graph.
    """

    def __init__(self, images, each=9, size=256, more=()):
        """more: styles that come once more each."""
        self.styles = list(targets.STYLES) + list(TWICE) + list(more)
        self.each, self.size, self.images = each, size, images
        self.plain = len(self.styles) * each
        self.moods = [['none'] * (each - len(more)) + list(more) for more in map(targets.variants, self.styles)]
        first = torch.arange(self.plain, device=DEVICE).view(-1, each)
        twin = first.clone()
        twin[:, 2:4] = first[:, :2]
        self.pairs = torch.stack([first[:, :2].flatten(), first[:, 2:4].flatten()], 1)
        calm = torch.tensor([CALM.get(style, 1.) for style in self.styles], device=DEVICE)
        self.calm = calm[self.pairs[:, 0] // each]                        # weight of each pair's unsteadiness
        self.strong = torch.zeros(self.plain, dtype=torch.bool, device=DEVICE)
        self.strong[:each] = True                                         # the first photo group: restore
        self._plan_pictures(first, twin)
        self.usual = self._usual()
        self.graph = None
        if CUDA:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    self.make()
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.made = self.make()
            self.graph = graph

    def _plan_pictures(self, first, twin):
        """Which rows the samples with a style picture take their frames and pictures from."""
        pairs, place = shown_pairs(self.each), self.styles.index
        self.named = [style if named else None for style, _, _, _, named in pairs]
        self.shown, self.count = len(pairs), self.plain + len(pairs)
        long = lambda rows: torch.tensor(rows, device=DEVICE)
        self.content = long([place(style) * self.each + row for style, row, *_ in pairs])
        self.marks = long([place(style) for style, *_ in pairs])
        small, art = [i for i, p in enumerate(pairs) if p[3]], [i for i, p in enumerate(pairs) if p[2] == 'art']
        near = [i for i in range(len(pairs)) if i not in small + art]
        row = lambda i, k: place(pairs[i][2]) * self.each + k
        self.near_rows = long([row(i, 3 + i % 2) for i in near])
        self.small_rows = long([row(i, k) for i in small for k in range(self.each - 4, self.each)])
        self.art_count = len(art)
        self.order = long(near + small + art).argsort()                    # from (near, small, art) to the order of pairs
        self.twin = torch.cat([twin.flatten(), torch.arange(self.plain, self.count, device=DEVICE)])
        self.singles = torch.cat([first[:, 4:].flatten(), torch.arange(self.plain, self.count, device=DEVICE)])

    @torch.no_grad()
    def _plain(self):
        """The samples without a style picture: (frame, target, noise)."""
        twin = self.twin[:self.plain]
        frames = self.images.batch(self.plain, self.size, twin)
        noise = torch.randn(self.plain, 16, self.size // 8, self.size // 8, device=DEVICE)[twin]
        made = [targets.apply(style, self.moods[i], frames[i * self.each:(i + 1) * self.each],
                              noise[i * self.each:(i + 1) * self.each]) for i, style in enumerate(self.styles)]
        return frames, torch.cat(made), noise

    def _usual(self):
        """The colours that the pictures of each style have in general, from a few batches that are always the same."""
        torch.manual_seed(7)
        made = torch.stack([self._plain()[1].view(len(self.styles), self.each, 3, self.size, self.size)[..., ::4, ::4]
                            for _ in range(4)], 1).flatten(1, 2)
        means, spreads = zip(*map(exemplars.usual, made))
        return torch.stack(means), torch.stack(spreads)

    @torch.no_grad()
    def make(self):
        frames, made, noise = self._plain()
        alone = lambda count: torch.arange(count, device=DEVICE)
        near = exemplars.cropped(exemplars.graded(made[self.near_rows]))
        small = exemplars.graded(exemplars.seen_smaller(made[self.small_rows]))
        art = exemplars.graded(self.images.batch(self.art_count, exemplars.SIDE, alone(self.art_count), art=True), .6)
        pictures = torch.cat([near, small, art])[self.order]
        usual = self.usual[0][self.marks], self.usual[1][self.marks]
        shown = exemplars.moved(made[self.content], usual, exemplars.colours(pictures))
        damaged = data.flutter(data.degrade(frames, self.strong))
        with_shown = lambda x, more: torch.cat([x, more])
        return (with_shown(frames, frames[self.content]), with_shown(damaged, damaged[self.content]),
                with_shown(made, shown), with_shown(noise, noise[self.content]), pictures)

    def __call__(self):
        """The tensors belong to the maker: the next call overwrites them."""
        if self.graph:
            self.graph.replay()
            return self.made
        return self.make()


class Prompts:
    """Token ids for a maker's batch, drawn from pools made once.

    A sample with a style picture has the prompt that the program gives to a prompt without a style, the photo's, or
    one that names the style of its marks.
    """

    def __init__(self, tokenizer, maker, seed=1):
        rng, self.pools, self.maker = random.Random(seed), {}, maker
        for style, moods in zip(maker.styles, maker.moods):
            for mood in moods:
                if (style, mood) not in self.pools:
                    pool = text.training_prompts(style, mood, rng)
                    self.pools[style, mood] = torch.tensor([tokenizer(p) for p in pool], device=DEVICE)

    def _draw(self, style, mood='none', count=1):
        pool = self.pools[style, mood]
        return pool[torch.randint(len(pool), (count,), device=DEVICE)]

    def __call__(self):
        rows = []
        for style, moods in zip(self.maker.styles, self.maker.moods):
            plain = moods.count('none')
            rows.append(self._draw(style, count=plain))
            rows += [self._draw(style, mood) for mood in moods[plain:]]
        rows += [self._draw(style or 'photo') for style in self.maker.named]
        return torch.cat(rows)[self.maker.twin]
