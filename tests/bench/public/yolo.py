"""Ultralytics' YOLO from its configuration, trained by its own trainer on random pictures: yolo.py [amp]."""
import os
import sys

import numpy
from PIL import Image

os.environ["YOLO_OFFLINE"] = "true"
from ultralytics import YOLO, settings

settings.update({"sync": False})
folder = os.path.abspath("yolo_data")
numbers = numpy.random.default_rng(1)
for part in ("images", "labels"):
    os.makedirs(os.path.join(folder, part), exist_ok=True)
for i in range(32):
    Image.fromarray(numbers.integers(0, 255, (160, 160, 3), dtype=numpy.uint8)).save(os.path.join(folder, "images", "%d.png" % i))
    with open(os.path.join(folder, "labels", "%d.txt" % i), "w") as file:
        file.writelines("%d 0.5 0.5 %.2f 0.3\n" % (box, 0.2 + 0.1 * box) for box in range(3))
with open(os.path.join(folder, "data.yaml"), "w") as file:
    file.write("path: %s\ntrain: images\nval: images\nnames: {0: a, 1: b, 2: c}\n" % folder)
YOLO("yolov8n.yaml").train(data=os.path.join(folder, "data.yaml"), epochs=3, imgsz=160, batch=4, workers=0, device=0, amp="amp" in sys.argv,
                           val="evaluate" in sys.argv, plots=False, save=False, nbs=4, project=folder, exist_ok=True, optimizer="AdamW", close_mosaic=0)
