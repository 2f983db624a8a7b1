"""MONAI's UNet in three dimensions with its Dice loss, evaluated by its sliding windows: monai_unet.py [amp] [evaluate]."""
import sys

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceLoss
from monai.networks.nets import UNet

model = UNet(spatial_dims=3, in_channels=1, out_channels=1, channels=(16, 32, 64, 128), strides=(2, 2, 2), num_res_units=2).cuda()
loss_of, optimizer = DiceLoss(sigmoid=True), torch.optim.Adam(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler(enabled="amp" in sys.argv)
for epoch in range(4):
    model.train()
    for _ in range(5):
        x, y = torch.randn(2, 1, 64, 64, 64).cuda(), torch.randint(2, (2, 1, 64, 64, 64)).float().cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16, enabled="amp" in sys.argv):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    if "evaluate" in sys.argv and epoch % 2:
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                sliding_window_inference(torch.randn(1, 1, 96, 96, 96).cuda(), (64, 64, 64), 4, model)
