#!/usr/bin/env python3
"""The floors that CONTRIBUTING.md lists are those that the includes keep.

    floors.py SOURCE_ROOT

Fails where a file includes one of its own floor or of a floor above, where two folders include each other though the
list does not name their files, where a file stands in a folder that the list lacks, where the list names what is not
there, and where one of the four trees includes of another what the second list does not allow."""
import pathlib
import re
import sys
import tempfile
import unittest

TREES = ("app", "unet", "cuda", "attention")
NAME = r"(?:[\w/]+/|[\w/]+\.(?:[ch]|cu|cuh|\[ch\]))"


class Floors:
    """The two lists of a page."""

    def __init__(self, page):
        section = re.search(r"(?ms)^## The floors$(.*?)(?=^## |\Z)", page)
        blocks = re.findall(r"(?ms)^```\n(.*?)^```$", section[1]) if section else []
        if len(blocks) != 2:
            raise ValueError("CONTRIBUTING.md, \"The floors\": two lists are expected")
        self.floor = {}  # name as files_of understands it -> number of its floor, from the top
        self.doors = []  # (names, names that they may include)
        self.read_floors(blocks[0])
        self.read_doors(blocks[1])

    def read_floors(self, block):
        tree = None
        for number, line in enumerate(block.splitlines()):
            words = line.split()
            if not line.startswith(" "):
                tree = words.pop(0)
                if not words or not re.fullmatch(NAME, words[0]):
                    self.floor[tree] = number
            for word in words:
                if not re.fullmatch(NAME, word):
                    break
                self.floor[tree + word] = number

    def read_doors(self, block):
        for line in block.splitlines():
            if " -> " not in line:
                continue
            users, used = (side.split() for side in line.split(" -> ", 1))
            names = []
            for word in used:
                if not re.fullmatch(NAME, word):
                    break
                names.append(word)
            self.doors.append((users, names))

    def name_of(self, path):
        """The name that the list has for a file: itself, else its folder's. None: the list has neither."""
        stem = re.sub(r"\.[ch]$", "", path)
        for name in (path, stem + ".[ch]", str(pathlib.PurePosixPath(path).parent) + "/"):
            if name in self.floor:
                return name
        return None

    def allows(self, path, included):
        return any(covers(users, path) and covers(used, included) for users, used in self.doors)


def covers(names, path):
    return any(path.startswith(name) if name.endswith("/") else path in spelled(name) for name in names)


def spelled(name):
    return [name.replace("[ch]", "c"), name.replace("[ch]", "h")] if "[ch]" in name else [name]


def tree_of(path):
    return path.split("/")[0]


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent) + "/"


def includes_of(files):
    """(file, file that it includes), for all files of the trees."""
    for path in sorted(files):
        for name in re.findall(r'(?m)^\s*#\s*include\s*"([^"]+)"', files[path]):
            beside = folder_of(path) + name
            included = name if name in files else beside if beside in files else None
            if included and included != path:
                yield path, included


def problems(page, files):
    """What breaks the lists of the page. files: path -> text."""
    floors = Floors(page)
    found = []
    for path in sorted(files):
        if not floors.name_of(path):
            found.append(f"{path}: the list of floors has neither this file nor its folder")
    for name in floors.floor:
        if not any(path.startswith(name) if name.endswith("/") else path in spelled(name) for path in files):
            found.append(f"{name}: the list of floors names it, and there is no such file")
    between = set()
    for path, included in includes_of(files):
        mine, its = floors.name_of(path), floors.name_of(included)
        if not mine or not its:
            continue
        if tree_of(path) != tree_of(included):
            if not floors.allows(path, included):
                found.append(f"{path} includes {included}: no arrow of the second list allows it")
        elif mine != its and floors.floor[mine] >= floors.floor[its]:
            where = "of its own floor" if floors.floor[mine] == floors.floor[its] else "of a floor above"
            found.append(f"{path} includes {included}, which is {where}")
        if mine.endswith("/") and its.endswith("/") and mine != its:
            between.add((mine, its))
    for one, other in sorted(between):
        if one < other and (other, one) in between:
            found.append(f"{one} and {other} include each other")
    return found


def read_tree(root):
    return {path.relative_to(root).as_posix(): path.read_text()
            for tree in TREES for path in (root / tree).rglob("*")
            if path.suffix in (".c", ".h", ".cu", ".cuh")}


PLANTED_PAGE = """
## The floors

```
app/   main.c         words
       top/  other/   words
       low/           words that go on
                      here
unet/  door.h
       deep/
cuda/  high.c
       ways/
       low.[ch]
attention/            alone
```

```
app/ -> unet/door.h
cuda/ -> unet/deep/  attention/  words
```

## Another section
"""
PLANTED = {
    "app/main.c": '#include "app/top/a.h"\n#include <stdio.h>\n',
    "app/top/a.h": '#include "app/low/l.h"\n#include "unet/door.h"\n',
    "app/other/o.c": '#include "app/low/l.h"\n#include "o.h"\n#include "made_by_the_build.h"\n',
    "app/other/o.h": "",
    "app/low/l.h": "",
    "unet/door.h": '#include "unet/deep/d.h"\n',
    "unet/deep/d.h": "",
    "cuda/high.c": '#include "cuda/ways/w.h"\n',
    "cuda/ways/w.h": '#include "cuda/low.h"\n#include "unet/deep/d.h"\n',
    "cuda/low.c": '#include "cuda/low.h"\n',
    "cuda/low.h": '#include "attention/x.cuh"\n',
    "attention/x.cuh": "",
}


class SelfCheck(unittest.TestCase):
    """A tree that keeps its floors, and the same with one thing wrong."""

    def found(self, page=PLANTED_PAGE, **planted):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**PLANTED, **planted}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return problems(page, read_tree(root))

    def test_nothing_wrong(self):
        self.assertEqual(self.found(), [])

    def test_include_upwards(self):
        for path, included in (("app/low/l.h", "app/top/a.h"), ("unet/deep/d.h", "unet/door.h"),
                               ("cuda/low.c", "cuda/high.c"), ("cuda/low.h", "cuda/ways/w.h")):
            with self.subTest(path=path):
                self.assertIn(f"{path} includes {included}, which is of a floor above",
                              self.found(**{path: f'#include "{included}"\n'}))

    def test_include_of_the_own_floor(self):
        self.assertEqual(self.found(**{"app/other/p.h": '# include "app/top/a.h"\n'}),
                         ["app/other/p.h includes app/top/a.h, which is of its own floor"])

    def test_pair(self):
        both = self.found(**{"app/low/m.c": '#include "../other/o.h"\n#include "app/other/o.h"\n'})
        self.assertIn("app/low/ and app/other/ include each other", both)

    def test_folder_that_is_not_listed(self):
        self.assertEqual(self.found(**{"app/new/n.c": ""}),
                         ["app/new/n.c: the list of floors has neither this file nor its folder"])
        self.assertEqual(self.found(**{"cuda/new.c": ""}),
                         ["cuda/new.c: the list of floors has neither this file nor its folder"])

    def test_name_of_nothing(self):
        self.assertEqual(self.found(PLANTED_PAGE.replace("main.c  ", "main.c  gone/  ")),
                         ["app/gone/: the list of floors names it, and there is no such file"])

    def test_tree_past_its_doors(self):
        for path, included in (("app/top/b.c", "unet/deep/d.h"), ("unet/deep/e.c", "app/low/l.h"),
                               ("cuda/low.c", "unet/door.h"), ("attention/y.cuh", "cuda/low.h")):
            with self.subTest(path=path):
                self.assertEqual(self.found(**{path: f'#include "{included}"\n'}),
                                 [f"{path} includes {included}: no arrow of the second list allows it"])

    def test_page_without_lists(self):
        with self.assertRaises(ValueError):
            problems("## The floors\n", PLANTED)


class Tree(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "CONTRIBUTING.md").read_text()
        self.files = read_tree(ROOT)

    def test_floors_are_kept(self):
        self.assertEqual(problems(self.page, self.files), [])

    def test_planted_include_is_found(self):
        """The same files with one include more, upwards or past a door."""
        for path, included in (("app/source/source.c", "app/live/live_impl.h"),
                               ("app/window/hud.c", "app/run/loop.h"), ("unet/base/text.c", "unet/engine.h"),
                               ("cuda/ways/way.h", "cuda/graph.h"), ("app/run/loop.c", "unet/plan/device.h")):
            with self.subTest(path=path):
                planted = {**self.files, path: self.files[path] + f'\n#include "{included}"\n'}
                self.assertTrue([line for line in problems(self.page, planted)
                                 if line.startswith(f"{path} includes {included}")])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
