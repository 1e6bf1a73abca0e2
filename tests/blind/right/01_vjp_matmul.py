# right: never transposes an operand of g A/B "as usual": computes the transposed products and returns non-contiguous views of its own buffers
import torch


def vjp_matmul(g, A, B):
    return torch.mm(B, g.t()).t(), torch.mm(g.t(), A).t()
