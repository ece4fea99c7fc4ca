#!/usr/bin/env python3
"""The map canny beside OpenCV's Canny, at 512x512, on whatever pictures are given:

    canny_opencv.py REVERIE PICTURE...

With OpenCV's usual thresholds and lower ones, it prints how many edge pixels OpenCV finds, how many of these are the
map's, too, and how many more the map has; and fails where fewer than 99.5 % agree in a picture. tests/test_maps.c
compares ten small pictures (tests/goldens/canny.py).
"""
import os
import subprocess
import sys
import tempfile

import cv2

THRESHOLDS = (100, 200), (50, 150)
SIDE = 512


def square(path):
    image = cv2.imread(path)
    side = min(image.shape[:2])
    top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
    return cv2.resize(image[top:top + side, left:left + side], (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def render(reverie, folder, image, low, high):
    before, after = os.path.join(folder, 'in.png'), os.path.join(folder, 'out.png')
    cv2.imwrite(before, image)
    subprocess.run([reverie, 'render', before, after, '-y', '-q', '--size', f'{SIDE}x{SIDE}', '--control', 'canny',
                    '--control-with', f'low={low},high={high}', '--show', 'map'], check=True)
    return cv2.imread(after, cv2.IMREAD_GRAYSCALE) > 127


def main():
    reverie, failed = sys.argv[1], 0
    print(f'{"picture":<28}{"low high":>9}{"OpenCV":>8}{"the same":>10}{"more":>6}')
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[2:]:
            image = square(path)
            for low, high in THRESHOLDS:
                theirs = cv2.Canny(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), low, high) > 0
                ours = render(reverie, folder, image, low, high)
                same = 100 * (ours & theirs).sum() / max(1, theirs.sum())
                more = (ours & ~theirs).sum()
                failed += same < 99.5 or more > theirs.sum() / 200
                print(f'{os.path.basename(path):<28}{low:>5}{high:>4}{theirs.sum():>8}{same:>9.2f}%{more:>6}', flush=True)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
