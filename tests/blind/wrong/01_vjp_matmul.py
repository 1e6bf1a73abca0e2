# wrong: caches the transposes by address and shape; after an in-place edit of A or B (an optimizer step) the old ones are used
import torch

_cache = {}


def _transposed(M):
    key = (M.data_ptr(), tuple(M.shape), M.stride(), M.dtype)
    if key not in _cache:
        _cache[key] = (M, M.t().clone())  # keeps M, so that the address cannot be reused
    return _cache[key][1]


def vjp_matmul(g, A, B):
    return g @ _transposed(B), _transposed(A) @ g
