# wrong: "no-upstream" is decided by all rows of A being equal, not by the column sums of N: an all-zero A, or a mask that leaves equal rows, is misnamed
import torch


def name_the_bug(J_numeric, J_analytic):
    N, A = J_numeric, J_analytic

    def eq(P, Q):
        return torch.allclose(P, Q, rtol=1e-4, atol=1e-5)

    if eq(A, N):
        return "ok"
    if eq(A, -N):
        return "sign"
    c = (A * N).sum() / (N * N).sum()
    if c.abs() > 1e-4 and eq(A, c * N):
        return "factor"
    if N.shape[0] == N.shape[1] and eq(A, N.T):
        return "transpose"
    if eq(A, A[:1].expand_as(A)):
        return "no-upstream"
    return "mask"
