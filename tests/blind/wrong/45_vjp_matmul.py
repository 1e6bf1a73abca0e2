# wrong: the gradient of B is reshaped into B's shape where it should be transposed
import torch


def vjp_matmul(g, A, B):
    grad_A = g @ B.mT
    grad_B = (g.mT @ A).reshape(B.shape)
    return grad_A, grad_B
