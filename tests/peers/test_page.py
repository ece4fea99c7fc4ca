#!/usr/bin/env python3
"""FIDELITY.md is what page.py makes of tests/peers/measured, and page.py says what holds and what nobody measured.

    test_page.py SOURCE_ROOT"""
import json
import pathlib
import sys
import tempfile
import unittest

from page import page

ROOT = pathlib.Path(sys.argv.pop(1))


def made_of(*files):
    """The page's table rows as lists of cells, of such rows in so many files."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for rows in files:
            paths.append(pathlib.Path(folder) / f"{len(paths)}.json")
            fields = ["table", "model", "name", "diffusers", "reverie"]
            content = {"machine": {"device": f"GPU {len(paths)}"}, "rows": [dict(zip(fields, row)) for row in rows]}
            paths[-1].write_text(json.dumps(content))
        return [[c.strip() for c in line.strip("|").split("|")] for line in page(paths).splitlines() if line[:1] == "|"]


class Page(unittest.TestCase):
    def row(self, table, name, theirs, ours, model="SD-Turbo"):
        return next(cells for cells in made_of([(table, model, name, theirs, ours)]) if cells[:2] == [model, name])

    def test_committed(self):
        made = page(sorted((ROOT / "tests/peers/measured").glob("*.json")))
        self.assertEqual((ROOT / "FIDELITY.md").read_text(), made, "run page.py again")

    def test_networks(self):
        self.assertEqual(self.row("networks", "unet", 1e-3, 2e-3)[2:], ["1.0e-3", "2.0e-3", "2.00", "yes", "1"])
        self.assertEqual(self.row("networks", "unet", 1e-3, 2.1e-3)[5], "no")
        self.assertEqual(self.row("networks", "unet", 1e-3, "overflows")[3:6], ["overflows", "", "no"])
        self.assertEqual(self.row("networks", "unet", "overflows", 1e-3)[5], "yes")

    def test_pictures(self):
        self.assertEqual(self.row("pictures", "20", 68.0, 41.0)[2:6], ["68.0 dB", "41.0 dB", "-27.0 dB", "yes"])
        self.assertEqual(self.row("pictures", "20", 68.0, 39.0)[5], "no")
        self.assertEqual(self.row("pictures", "20", 30.0, 29.5)[5], "yes")

    def test_merges(self):
        self.assertEqual(self.row("merges", "the worst weight", 9e-4, 1.1e-3)[5], "no")
        self.assertEqual(self.row("merges", "unet's output", 9e-4, 1.1e-3)[5], "yes")

    def test_not_run(self):
        cells = made_of([("networks", "SD-Turbo", "unet", 1e-3, 1e-3)])
        self.assertIn(["LCM (guidance embedded)", "unet", "not run", "not run", "", "", ""], cells)
        self.assertEqual(self.row("networks", "unet", None, 1e-3)[2:6], ["not run", "1.0e-3", "", ""])

    def test_later_counts(self):
        cells = made_of([("times", "other", "x", 1.0, 2.0)], [("times", "other", "x", 4.0, 2.0)])
        self.assertIn(["other", "x", "4.00 ms", "2.00 ms", "0.50", "1"], cells)
        self.assertIn(["1", "GPU 2"], cells)
        self.assertNotIn(["2", "GPU 1"], cells)


if __name__ == "__main__":
    unittest.main()
