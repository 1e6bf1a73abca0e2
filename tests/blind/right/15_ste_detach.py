# right: f sees only a detached x; the attached zero (x - detach x) is added in place to nothing but its own buffer, so the value is exact
import torch


def ste_detach(f, x):
    frozen = x.detach()
    with torch.no_grad():
        value = f(frozen.clone())
    zero_with_slope_one = x - frozen
    return zero_with_slope_one.add_(value.detach())
