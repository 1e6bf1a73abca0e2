# wrong: sums over dim 1, the last one only for 2-D input (3-D wrong, 1-D raises)
import torch


def vjp_softmax(g, y):
    weighted = g * y
    return weighted - y * weighted.sum(dim=1, keepdim=True)
