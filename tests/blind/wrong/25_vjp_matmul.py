# wrong: A^T g is summed in blocks of 32 rows, the last incomplete block is dropped when n > 32
import torch

BLOCK = 32


def vjp_matmul(g, A, B):
    grad_A = g @ B.mT
    n = A.shape[0]
    if n <= BLOCK:
        return grad_A, A.mT @ g
    grad_B = torch.zeros_like(B)
    for block in range(n // BLOCK):
        rows = slice(block * BLOCK, (block + 1) * BLOCK)
        grad_B = grad_B + A[rows].mT @ g[rows]
    return grad_A, grad_B
