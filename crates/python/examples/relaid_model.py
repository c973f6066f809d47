"""A model whose weights are converted to a kernel's layout in place, and run under torch.compile.

    relaid_model.py [cpu | cuda]

Two layers with a gated activation. The checkpoint has the rows of gate before those of up, and weights as (out, in). The
program computes with gate and up in alternating rows, and with the second weight transposed. Its results are compared with
those of weights converted out of place.
"""

import sys

import torch
import turntile.weights

WIDTH, HIDDEN, LAYERS = 256, 512, 2
RULES = {"*.gate_up": "interleave_rows", "*.down": "transpose"}


def forward(x, state):
    for layer in range(LAYERS):
        gate, up = (x @ state[f"{layer}.gate_up"].t()).unflatten(-1, (HIDDEN, 2)).unbind(-1)
        x = x + (torch.nn.functional.silu(gate) * up) @ state[f"{layer}.down"]
    return x


def main(device):
    torch.manual_seed(0)
    shapes = {"gate_up": (2 * HIDDEN, WIDTH), "down": (WIDTH, HIDDEN)}
    state = {f"{layer}.{name}": torch.randn(shape, device=device) / 16 for layer in range(LAYERS) for name, shape in shapes.items()}
    wanted = {
        name: w.view(2, HIDDEN, WIDTH).transpose(0, 1).reshape(w.shape) if "gate_up" in name else w.t().contiguous()
        for name, w in state.items()
    }
    addresses = {name: w.data_ptr() for name, w in state.items()}
    turntile.weights.convert_state_dict(state, RULES, progress=lambda name, done, total: print(f"{name}: {done} of {total} bytes"))
    assert all(torch.equal(state[name], w) and w.shape == state[name].shape for name, w in wanted.items())
    assert {name: w.data_ptr() for name, w in state.items()} == addresses

    x = torch.randn(8, WIDTH, device=device)
    compiled = torch.compile(forward, fullgraph=True)
    torch.testing.assert_close(compiled(x, state), compiled(x, wanted))

    # The checkpoint's layout again, as for new weights that arrive in it.
    turntile.weights.convert_state_dict(state, RULES, inverse=True)
    print(f"{len(state)} weights converted in place and back, results of {tuple(x.shape)} compared on {device}")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["cuda" if torch.cuda.is_available() else "cpu"])
