#!/usr/bin/env python3
"""Writes ../data/maps/: ten photographs of scikit-image, grey and 160 pixels a side, one below the other, and what
OpenCV's Canny finds in them with two pairs of thresholds, for tests/test_maps.c (made with OpenCV 5.0.0).

    canny.py PICTURES    the folder skimage/data of Debian's package python3-skimage
"""
import os
import sys

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ('astronaut.png', 'brick.png', 'camera.png', 'chelsea.png', 'clock_motion.png', 'coffee.png', 'grass.png',
         'gravel.png', 'hubble_deep_field.jpg', 'rocket.jpg')
SIDE = 160
THRESHOLDS = (100, 200), (50, 150)


def picture(path):
    image = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    side = min(image.shape)
    top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
    return cv2.resize(image[top:top + side, left:left + side], (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def write(path, head, data):
    with open(path, 'wb') as file:
        file.write(head.encode())
        file.write(data)


def main():
    folder = os.path.join(HERE, '..', 'data', 'maps')
    os.makedirs(folder, exist_ok=True)
    pictures = [picture(os.path.join(sys.argv[1], name)) for name in NAMES]
    size = f'{SIDE} {SIDE * len(NAMES)}\n'
    write(os.path.join(folder, 'pictures.pgm'), f'P5\n{size}255\n', np.concatenate(pictures).tobytes())
    for low, high in THRESHOLDS:
        edges = np.concatenate([cv2.Canny(image, low, high) for image in pictures])
        write(os.path.join(folder, f'canny_{low}_{high}.pbm'), f'P4\n{size}', np.packbits(edges > 0, axis=1).tobytes())


if __name__ == '__main__':
    main()
