"""The contract battery: every check a Function or plain function can be held to, in the order they run."""

from __future__ import annotations

from grader.contract import context, gradients, plain, returns, second_order, transforms, upstream, values
from grader.contract.check import Check

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = (
    plain.value,
    plain.fresh_value,
    values.forward,
    values.forward_at_kinks,
    gradients.differentiable,
    gradients.vjp,
    gradients.gradcheck,
    gradients.surrogate,
    gradients.kinks,
    upstream.upstream_linearity,
    values.forward_elsewhere,
    gradients.vjp_elsewhere,
    values.no_grad,
    values.inputs_untouched,
    upstream.upstream_untouched,
    upstream.upstream_layout,
    upstream.input_layout,
    upstream.unused_outputs,
    returns.returned_gradients,
    gradients.frozen_inputs,
    context.edited_inputs,
    context.edited_outputs,
    context.freed,
    context.backward_twice,
    context.independent_calls,
    context.fresh_call,
    context.no_side_effects,
    context.shared_input,
    context.own_backward,
    context.saved_memory,
    second_order.second_order,
    values.low_precision,
    values.forward_extreme,
    values.forward_nonfinite,
    gradients.extreme_gradient,
    transforms.device,
    transforms.vmap,
    transforms.jvp,
)
