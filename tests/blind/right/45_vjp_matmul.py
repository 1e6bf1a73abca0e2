# right: index notation with einsum, no transpose written
import torch


def vjp_matmul(g, A, B):
    grad_A = torch.einsum("nm,km->nk", g, B)
    grad_B = torch.einsum("nk,nm->km", A, g)
    return grad_A, grad_B
