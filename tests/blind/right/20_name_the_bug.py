# right: a lazy table of tests, the first that fits by next(); least squares by vdot
import torch


def name_the_bug(J_numeric, J_analytic):
    N, A = J_numeric, J_analytic

    def same(P, Q):
        return P.shape == Q.shape and torch.allclose(P, Q.expand_as(P), rtol=1e-4, atol=1e-5)

    def factor():
        squares = torch.vdot(N.reshape(-1), N.reshape(-1)).item()
        if squares == 0:
            return False
        c = torch.vdot(A.reshape(-1), N.reshape(-1)).item() / squares
        return min(abs(c), abs(c - 1), abs(c + 1)) > 1e-4 and same(A, c * N)

    table = {
        "ok": lambda: same(A, N),
        "sign": lambda: same(A, -N),
        "factor": factor,
        "transpose": lambda: same(A, N.T),
        "no-upstream": lambda: same(A, N.sum(0, keepdim=True).repeat(len(N), 1)),
        "mask": lambda: True,
    }
    return next(name for name, fits in table.items() if fits())
