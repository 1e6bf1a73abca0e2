# right: class made by a call of type() from lambdas, no class statement at all
import torch
from torch.autograd import Function

RoundSTE = type(
    "RoundSTE",
    (Function,),
    {
        "__doc__": "Value: x rounded, halves to even. Declared gradient: that of y = x.",
        "forward": staticmethod(lambda ctx, x: x.clone().round_()),
        "backward": staticmethod(lambda ctx, g: g.view_as(g)),
    },
)
