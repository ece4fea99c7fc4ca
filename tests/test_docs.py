#!/usr/bin/env python3
"""The pages in Markdown name what is there: files, links, functions, options, and each option with a command that takes it.

    test_docs.py SOURCE_ROOT [REVERIE]

Without the program, options are not looked at."""
import functools
import pathlib
import re
import subprocess
import sys
import unittest

REVERIE = sys.argv.pop(2) if len(sys.argv) > 2 else None
ROOT = pathlib.Path(sys.argv.pop(1))
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("cuda/*.md"), *ROOT.glob("attention/*.md")])
GUIDES = [page for page in PAGES if page.parent == ROOT and page.name not in ("CHANGELOG.md", "FIDELITY.md")]
FIRST_PAGE_LINES = 250
FOLDERS = "app|unet|cuda|attention|tests|assets|shaders|\\.ci"
# Options of schedulers, which this page tells how to call.
OF_OTHERS = {"FARM.md": {"--array", "--constraint", "--dependency", "--gres", "--joblog", "--kill-on-invalid-dep", "--mem",
                         "--parsable", "--prefix", "--quote", "--requeue", "--resume-failed", "--run-dependencies", "--step",
                         "--wrap"}}
# Paths in a checkpoint, which look like ours.
NOT_OURS = {"unet/config.json"}


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page):
    return {anchor(line.lstrip("#")) for line in page.read_text().splitlines() if re.match(r"#+ ", line)}


def alternatives(path):
    """a.[ch] is two files, a_*.c and a_NAME.c are any."""
    glob = re.sub(r"NAME|KIND", "*", path)
    return list(ROOT.glob(glob.rstrip("/")))


def commands_of(page):
    """Every command line of reverie's in the page's indented blocks: its command and its options."""
    text = re.sub(r"\\\n\s*", "", page.read_text())
    for line in text.splitlines():
        if not line.startswith("    ") or line.lstrip().startswith(("-", "|", "{")):
            continue
        for part in re.split(r"&&|\|", line.split(" #")[0]):
            words = re.search(r"(?:\./run|\breverie) (live|render|join|bench|info|fetch)\b(.*)", part)
            if words:
                yield line.strip(), words[1], re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*|-[a-z])\b", words[2])


@functools.cache
def printed(*arguments):
    return subprocess.run([REVERIE, *arguments], capture_output=True, text=True, check=True).stdout


class Docs(unittest.TestCase):
    def test_first_page_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), FIRST_PAGE_LINES)

    def test_links(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, part = link.partition("#")
                target = page.parent / path if path else page
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    if part:
                        self.assertIn(part, anchors(target))

    def test_files(self):
        for page in GUIDES:
            for path in re.findall(rf"`((?:{FOLDERS})/[\w./*%\[\]-]*)`", page.read_text()):
                with self.subTest(page=page.name, path=path):
                    self.assertTrue(path in NOT_OURS or alternatives(path))

    def test_functions(self):
        """A line of a frame's way: N FILE ... name(): the file has that function."""
        found = 0
        for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines():
            step = re.match(r"\s*\d+ ((?:app|unet|cuda)/[\w/]+\.c)", line)
            for name in re.findall(r"(\w+)\(\)", line) if step else ():
                found += 1
                with self.subTest(line=line):
                    self.assertTrue(re.search(rf"(?m)^[a-z].*\b{name}\(", (ROOT / step[1]).read_text()), name)
        self.assertGreater(found, 3)

    def test_words(self):
        """The list of words is in order, and the file of each word has it."""
        section = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Words\n")[1].split("\n## ")[0]
        rows = re.findall(r"(?m)^\| ([a-z ]+) \| .+ \| `([\w/.]+)` \|$", section)
        words = [word for word, _ in rows]
        self.assertGreaterEqual(len(words), 25)
        self.assertEqual(words, sorted(set(words)))
        self.assertEqual(len(rows), section.count("\n| ") - 1)
        for word, path in rows:
            with self.subTest(word=word):
                pattern = rf"(?<![a-z]){word.replace(' ', '[ _]')}(?![a-rt-z])"
                self.assertTrue(re.search(pattern, (ROOT / path).read_text().lower()), path)

    @unittest.skipUnless(REVERIE, "no program")
    def test_options(self):
        manual = printed("--generate", "man")
        known = set(re.findall(r"--[a-z][a-z0-9-]*", manual.replace("\\-", "-")))
        for page in GUIDES:
            allowed = known | OF_OTHERS.get(page.name, set())
            for option in set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", page.read_text())) - allowed:
                with self.subTest(page=page.name):
                    self.fail(option)

    @unittest.skipUnless(REVERIE, "no program")
    def test_commands(self):
        found = 0
        for page in GUIDES:
            for line, command, options in commands_of(page):
                found += 1
                help_text = printed(command, "--help")
                for option in options:
                    with self.subTest(page=page.name, line=line):
                        self.assertTrue(re.search(rf"(?m)^  (-\w, |    )?{option}\b", help_text), option)
        self.assertGreater(found, 30)


if __name__ == "__main__":
    unittest.main()
