"""`relu`: ReLU by hand."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.exercises.relu.common import LESSON, NOT_YOURS, RELU_INPUTS, TENSOR_ON_CTX, relu_forward, relu_vjp

__all__ = ["relu"]

relu = Exercise(
    id="relu",
    lesson=LESSON,
    title="ReLU by hand",
    symbol="MyReLU",
    kind="function",
    points=4,
    reference=Reference(forward=relu_forward, vjp=relu_vjp),
    inputs=RELU_INPUTS,
    stages={"gradient": 0.7, "contract": 0.3},
    not_derived=("in_place_upstream",),
    hints=(
        "Which of its inputs did ReLU let through? Only those may receive gradient.",
        "backward receives g = dL/dy and must return dL/dx: what is dy/dx for x > 0, and what for x < 0?",
        "Save what tells the two cases apart in forward, read it back with ctx.saved_tensors, and multiply "
        "g by that 0/1 mask into a new tensor.",
    ),
)


@relu.misconception("in_place_mask", NOT_YOURS)
class InPlaceMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0
        return grad_output


@relu.misconception(
    "nothing_blocked",
    "Your backward hands grad_output on unchanged, so nothing is ever blocked. If you do mask, ask for "
    "which inputs your condition is false: every output of ReLU is at least 0.",
)
class NothingBlocked(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y < 0, torch.zeros_like(grad_output), grad_output)


@relu.misconception(
    "no_upstream",
    "Your backward returns the slope of ReLU alone. The gradient that arrives from above is nowhere in it, "
    "so every loss would give the same answer.",
)
class MaskOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)


@relu.misconception(
    "mask_by_gradient",
    "You mask by the sign of the gradient. Whether ReLU let an element through was decided by the sign of "
    "the input.",
)
class MaskByGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output > 0)


@relu.misconception(
    "mask_inverted",
    "Your mask is the wrong way round: gradient flows where ReLU blocked the input, and none where it let "
    "it through.",
)
class MaskInverted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x <= 0)


@relu.misconception(
    "times_input",
    "Your backward multiplies by the value of ReLU. What belongs there is its slope: how much y changes "
    "when x does, not how large y is.",
)
class TimesInput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@relu.misconception(
    "counted_twice_at_kink",
    "At x = 0 both your pieces count, so the slope there is 2. Every element belongs to exactly one piece, "
    "and at a kink the slope lies between those of its two sides.",
)
class CountedTwiceAtKink(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x >= 0) + grad_output * (x == 0)


@relu.misconception(
    "output_over_input",
    "You get the slope by dividing the output by the input. At x = 0 that is 0 / 0, and the NaN spreads "
    "through the whole network. A comparison has no such hole.",
)
class OutputOverInput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * (y / x)


@relu.misconception("output_on_ctx", TENSOR_ON_CTX)
class OutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.clamp(min=0)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.y > 0)


@relu.misconception("kept_on_ctx", TENSOR_ON_CTX)
class InputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.x > 0)


@relu.misconception(
    "saved_tuple_not_unpacked",
    "ctx.saved_tensors is a tuple even when it holds one tensor, and a tuple cannot be compared with a "
    "number. Unpack it.",
)
class SavedTupleNotUnpacked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors
        return grad_output * (x > 0)


@relu.misconception(
    "nan_hidden",
    "Your forward turns NaN into 0. A comparison with NaN is always false, so NaN fell into your zero "
    "piece; a NaN that disappears is a bug nobody finds.",
)
class NanHidden(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


@relu.misconception(
    "input_overwritten",
    "Your forward changes x itself. The caller still owns that tensor and may use it again: compute the "
    "output into a new one.",
)
class InputOverwritten(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        x[~mask] = 0
        ctx.save_for_backward(mask)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu.misconception(
    "nothing_without_grad",
    "When no gradient is asked for, in evaluation say, your forward returns nothing: its return stands "
    "inside an `if`. The value is needed always; what to save may depend on who asks.",
)
class NothingWithoutGrad(Function):
    @staticmethod
    def forward(ctx, x):
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(x)
            return x.clamp(min=0)
        return None

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


@relu.misconception(
    "elements_left_open",
    "You fill in the gradient where x is positive and leave the other elements as they were when the tensor "
    "was made. Blocked elements have a gradient too, and its value is known.",
)
class ElementsLeftOpen(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        # Stands for torch.empty_like, whose content is different each time.
        grad_input = torch.full_like(grad_output, float("nan"))
        grad_input[x > 0] = grad_output[x > 0]
        return grad_input


@relu.misconception(
    "marked_dirty_not_returned",
    "You change x in place, tell autograd so, and then return a copy. A tensor marked dirty must be the one "
    "returned; and here x was not to be changed at all.",
)
class MarkedDirtyNotReturned(Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(min=0)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


@relu.variant(
    "save_input",
    "The obvious one: the mask is made from x when it is needed. Costs nothing more where x is kept by the layer "
    "before anyway.",
)
class SaveInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


@relu.variant(
    "save_output",
    "y > 0 exactly where x > 0. The next layer usually keeps y too, and then both share one tensor; this is what "
    "torch's own ReLU does.",
)
class SaveOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, torch.zeros_like(grad_output))


@relu.variant("clone_then_zero")
class CloneThenZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.clone()
        y[x < 0] = 0
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0] = 0
        return grad_input


@relu.variant("half_at_zero")
class HalfAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.maximum(x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.heaviside(x.detach(), x.new_full((), 0.5))


@relu.variant("setup_context")
class SetupContext(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.relu(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


@relu.variant(
    "mask_on_ctx",
    "Keeps one byte for each element instead of a whole number: the least, if nobody else keeps x or y.",
)
class MaskOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        # Neither an input nor an output: nothing can edit it and it makes no cycle.
        ctx.blocked = x <= 0
        return x.clamp_min(0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.masked_fill(ctx.blocked, 0)
