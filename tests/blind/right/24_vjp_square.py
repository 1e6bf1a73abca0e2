# right: forward mode: the Jacobian is diagonal, so J^T g = J g and torch.func.jvp gives it
import torch


def vjp_square(g, x):
    return torch.func.jvp(torch.square, (x.contiguous(),), (g.contiguous(),))[1]
