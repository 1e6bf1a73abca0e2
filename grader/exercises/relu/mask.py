"""Lesson 02: ReLU for one byte an element."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.exercise import Contract, Exercise, Reference
from grader.exercises.relu.common import LESSON, NOT_YOURS, RELU_INPUTS, relu_forward, relu_vjp

__all__ = ["relu_mask"]

relu_mask = Exercise(
    id="relu_mask",
    lesson=LESSON,
    title="ReLU for one byte an element",
    symbol="MaskReLU",
    kind="function",
    points=4,
    reference=Reference(forward=relu_forward, vjp=relu_vjp),
    inputs=RELU_INPUTS,
    contract=Contract(saved_bytes=lambda x: x.numel()),
    stages={"forward": 0.1, "gradient": 0.4, "contract": 0.5},
    not_derived=("in_place_upstream",),
    hints=(
        "What does the backward of ReLU really have to know about each element of x? It is one yes or no.",
        "A comparison gives a tensor of dtype torch.bool, and that takes one byte an element. Build it in "
        "forward, while you still have x.",
        "Only the boolean tensor goes into ctx.save_for_backward: not x, not y, and no conversion of the "
        "mask to float.",
    ),
)


@relu_mask.misconception(
    "saves_input",
    "The gradient is right, but you keep x itself: 4 bytes an element in float32, 8 in float64. Backward "
    "asks each element only a yes-or-no question.",
)
class KeepsInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


@relu_mask.misconception(
    "saves_output",
    "The gradient is right, but you keep y itself: 4 bytes an element in float32, 8 in float64. Backward "
    "asks each element only a yes-or-no question.",
)
class KeepsOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


@relu_mask.misconception(
    "float_mask",
    "Your mask is a floating-point tensor, as large as x was. A yes or no needs no floating-point number.",
)
class FloatMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x > 0).to(x.dtype))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.misconception(
    "mask_and_input",
    "You save the mask and a full-sized tensor with it. The mask was meant to replace that one: now "
    "backward costs more memory than before.",
)
class MaskAndInput(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(x, mask)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        _, mask = ctx.saved_tensors
        return grad_output * mask


@relu_mask.misconception(
    "saves_indices",
    "You save the positions of the positive elements. Each of them is a 64-bit integer per dimension: for a "
    "half-positive matrix that is 8 bytes an element.",
)
class SavesIndices(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x.reshape(-1) > 0).nonzero().squeeze(-1))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        flat = grad_output.reshape(-1)
        return torch.zeros_like(flat).index_copy(0, index, flat[index]).reshape(grad_output.shape)


@relu_mask.misconception("in_place_mask", NOT_YOURS)
class MaskInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x <= 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (blocked,) = ctx.saved_tensors
        grad_output[blocked] = 0
        return grad_output


@relu_mask.misconception(
    "mask_inverted",
    "Your mask is the wrong way round: gradient flows where ReLU blocked the input, and none where it let "
    "it through.",
)
class SavedMaskInverted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x <= 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.misconception(
    "no_upstream",
    "Your backward returns the mask alone. The gradient that arrives from above is nowhere in it.",
)
class SavedMaskOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask.to(grad_output.dtype)


@relu_mask.misconception(
    "nan_hidden",
    "Your forward turns NaN into 0. A comparison with NaN is always false, so NaN fell into your zero "
    "piece; a NaN that disappears is a bug nobody finds.",
)
class MaskHidesNan(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        return torch.where(mask, x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.variant("bool_mask", "One comparison and one byte for each element: simple enough to be right.")
class BoolMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.variant("sign_in_int8")
class SignInInt8(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x >= 0).to(torch.int8))
        return torch.relu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (sign,) = ctx.saved_tensors
        return torch.where(sign > 0, grad_output, torch.zeros_like(grad_output))


@relu_mask.variant(
    "packed_bits",
    "Eight answers in a byte. An eighth of the memory, for more work in both directions and code that needs a "
    "test of its own.",
)
class PackedBits(Function):
    @staticmethod
    def forward(ctx, x):
        bits = F.pad((x > 0).reshape(-1).to(torch.uint8), (0, -x.numel() % 8)).reshape(-1, 8)
        weights = 2 ** torch.arange(8, dtype=torch.uint8, device=x.device)
        ctx.save_for_backward((bits * weights).sum(1, dtype=torch.uint8))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (packed,) = ctx.saved_tensors
        weights = 2 ** torch.arange(8, dtype=torch.uint8, device=packed.device)
        mask = (packed.unsqueeze(1) & weights).bool().reshape(-1)[: grad_output.numel()]
        return grad_output * mask.reshape(grad_output.shape)


@relu_mask.variant("setup_context")
class MaskSetupContext(Function):
    @staticmethod
    def forward(x):
        return x.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output == 0)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (blocked,) = ctx.saved_tensors
        return grad_output.masked_fill(blocked, 0)
