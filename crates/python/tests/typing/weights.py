"""Layouts of weights: of one array and of a state dict."""

import numpy as np
from turntile.weights import LAYOUTS, Layout, convert, convert_state_dict

layout: Layout = LAYOUTS["block_major_k"]
w = convert(np.zeros((4, 256)), "block_major_k", block=64)
state = convert_state_dict({"w": np.zeros((2, 256))}, {"w": ("block_major_k", {"block": 64})}, progress=print)
print(layout.pattern, w.shape, state["w"].shape)
convert(w, "block_major_k", block="64")  # type: ignore[arg-type]
convert_state_dict([w], {})  # type: ignore[arg-type]
