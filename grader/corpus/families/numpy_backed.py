"""Cases: functions computed outside torch."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.corpus.case import right, wrong


@right("corpus/np_sin", "torch_backward", "numpy forward, differentiable torch backward")
class NpSinTorchBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = np.sin(x.detach().double().numpy())
        return torch.as_tensor(y).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)


@wrong("corpus/np_sin", "float64_promotes", "numpy float64 result returned as is: float32 in, float64 out")
class NpSinFloat64Promotes(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.asarray(np.sin(x.detach().to(torch.float64).numpy())))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)


@wrong("corpus/np_sin", "ndarray_returned", "forward returns a numpy array: not a tensor, no gradient")
class NpSinNdarrayReturned(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x.detach().numpy())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)


@wrong("corpus/np_sin", "degrees", "cos evaluated in degrees")
class NpSinDegrees(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.asarray(np.sin(x.detach().numpy())))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(torch.rad2deg(x))


@right("corpus/sp_erf", "torch_backward", "SciPy (or the math module) forward, differentiable torch backward")
class SpErfTorchBackward(Function):
    @staticmethod
    def forward(ctx, x):
        try:
            from scipy.special import erf
        except ImportError:
            erf = np.vectorize(math.erf, otypes=[np.float64])
        ctx.save_for_backward(x)
        return torch.as_tensor(np.asarray(erf(x.detach().double().numpy()))).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.exp(-x * x) * (2 / math.sqrt(math.pi))


@right("corpus/sp_erf", "numpy_refuses", "NumPy in backward too, and once_differentiable says so")
class SpErfNumpyRefuses(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        values = np.vectorize(math.erf, otypes=[np.float64])(x.detach().double().numpy())
        return torch.as_tensor(np.asarray(values)).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        slope = np.exp(-(x.detach().double().numpy() ** 2)) * 2 / math.sqrt(math.pi)
        return g * torch.as_tensor(np.asarray(slope)).to(g.dtype)


@wrong(
    "corpus/sp_erf",
    "normal_density",
    "the density of the normal distribution: another constant, another width",
)
class SpErfNormalDensity(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.erf(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@wrong(
    "corpus/sp_erf",
    "detached_numpy",
    "NumPy backward without once_differentiable: second derivative silently lost",
)
class SpErfDetachedNumpy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.erf(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        slope = np.exp(-(x.detach().double().numpy() ** 2)) * 2 / math.sqrt(math.pi)
        return g * torch.as_tensor(np.asarray(slope)).to(g.dtype)
