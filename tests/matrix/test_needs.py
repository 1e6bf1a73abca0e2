"""Every check is needed: something wrong is rejected by it alone. A check without such a case is explained here."""

from __future__ import annotations

import pytest

from grader.battery import checks_of
from grader.matrix import all_exercises
from tests.matrix.known import everything, row

# check -> an implementation that it alone rejects
NEEDED = {
    "value": "vjp_matmul:missing_transposes",
    "forward": "cube:instance_call",
    "forward_at_kinks": "sign_clipped:torch_sign",
    "differentiable": "scale_by:one_value_returned",
    "gradcheck": "corpus/square:drifting_backward",
    "kinks": "relu:counted_twice_at_kink",
    "upstream_linearity": "corpus/square:clips_large_gradients",
    "forward_elsewhere": "leaky_relu:larger_of_the_two",
    "vjp_elsewhere": "linear:transpose_until_it_fits",
    "no_grad": "corpus/sigmoid:cheaper_for_inference",
    "inputs_untouched": "corpus/xent:flat_index_in_place",
    "upstream_untouched": "corpus/layernorm:scratch_in_grad_output",
    "upstream_layout": "corpus/square:views_the_gradient",
    "input_layout": "corpus/matmul:data_ptr_layout",
    "unused_outputs": "corpus/sincos:none_unhandled",
    "returned_gradients": "linear:bias_unsummed",
    "frozen_inputs": "corpus/matmul:stops_when_first_is_frozen",
    "edited_inputs": "cube:kept_on_ctx",
    "edited_outputs": "exp:detached_output_on_ctx",
    "freed": "relu:output_kept_for_its_shape",
    "backward_twice": "relu:frees_its_mask",
    "independent_calls": "scale_by:factor_on_class",
    "fresh_call": "corpus/sigmoid:remembers_last_input",
    "fresh_value": "vjp_square:remembers_last_input",
    "no_side_effects": "linear:grad_filled_by_hand",
    "shared_input": "corpus/sigmoid:negates_and_restores",
    "own_backward": "corpus/swish:autograd_does_it",
    "saved_memory": "relu_mask:saves_input",
    "second_order": "cube:detached",
    "low_precision": "corpus/np_sin:float64_promotes",
    "forward_extreme": "corpus/softplus:naive_log",
    "forward_nonfinite": "corpus/logsumexp:neg_inf_row",
    "extreme_gradient": "corpus/sigmoid:naive_backward",
    "device": "corpus/amax:cpu_zeros",
    "vmap": "corpus/tanh:claims_vmap_without_setup_context",
    "jvp": "corpus/tanh:jvp_wrong",
    "gradient_identity": "ste_detach:no_detach",
    "repeats": "train_binary:seed_ignored",
    "rejects_nan": "my_gradcheck:nan_compares_false",
    "looks_everywhere": "my_gradcheck:one_element_only",
    "needs_more_than_ones": "my_gradcheck:ones_upstream",
    "sees_one_percent": "my_gradcheck:tolerance_too_wide",
    "honours_eps_and_atol": "my_gradcheck:one_sided",
    "leaves_inputs_alone": "my_gradcheck:steps_inside_inputs",
    "does_it_itself": "my_gradcheck:hands_it_to_torch",
    "exposes_clamp": "choose_inputs:one_side_of_the_clamp",
    "exposes_mul": "choose_inputs:equal_shapes",
    "exposes_matmul": "choose_inputs:square_matrices",
    "rejects_nonlinear": "upstream_linear:multiples_only",
    "ties_along_dim": "corpus/amax:all_ties_in_full",
    "ties_of_two": "corpus/maximum:both_at_ties",
    "dropped_or_scaled": "corpus/dropout:keeps_p",
    "same_mask": "corpus/dropout:new_mask_in_backward",
}
# check -> why it stays although others reject whatever it rejects
EXPLAINED = {
    "vjp": "the plain statement of the fault: checks that vary the conditions reject too, and with words about those",
    "surrogate": "proves that the exercise's own inputs tell the surrogate from the true derivative, and says so",
    "reduces_added": "says which reduction of fix_mul is missing; returned_gradients sees all of them at once",
    "reduces_stretched": "as reduces_added",
    "reduces_the_first_factor": "as reduces_added",
    "second_order_allowed": "tells a refused second derivative of fix_norm from a wrong one",
    "rejects_wrong": "the first thing asked of my_gradcheck; the later checks are finer cases of it",
}


def test_every_check_is_listed_once() -> None:
    applying = {check.id for exercise in all_exercises().values() for check in checks_of(exercise)}
    assert applying == {*NEEDED, *EXPLAINED}
    assert not set(NEEDED) & set(EXPLAINED)


@pytest.mark.parametrize("check", NEEDED)
def test_something_is_rejected_by_this_check_alone(check: str) -> None:
    known = [k for k in everything() if k.name == NEEDED[check] and not k.right]
    assert known, f"there is no implementation {NEEDED[check]}"
    assert (check,) in [row(k).rejected_by for k in known]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("check", EXPLAINED)
def test_the_others_reject_something_and_nothing_alone(check: str) -> None:
    rejected = [row(k).rejected_by for k in everything() if not k.right]
    assert any(check in checks for checks in rejected)
    assert (check,) not in rejected, "it is needed now: give it a line in NEEDED"
