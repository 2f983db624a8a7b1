"""A critic whose gradient between real and made samples is penalized, as of WGAN-GP: a backward pass within the loss."""
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1)).cuda()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)
for _ in range(12):
    real, made = torch.randn(64, 784).cuda(), torch.randn(64, 784).cuda()
    of_real, of_made = critic(real), critic(made)
    share = torch.rand(64, 1).cuda()
    between = (share * real + (1 - share) * made).requires_grad_(True)
    of_between = critic(between)
    (gradient,) = torch.autograd.grad(of_between, between, torch.ones_like(of_between), create_graph=True)
    loss = of_made.mean() - of_real.mean() + 10 * ((gradient.norm(2, dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
