"""Plans that are run on many arrays."""

import numpy as np
import numpy.typing as npt
import turntile


def transposed(matrices: list[npt.NDArray[np.float32]]) -> list[npt.NDArray[np.float32]]:
    plan = turntile.Plan((300, 200), (1, 0), dtype=np.float32, threads=2, workspace_limit=1 << 20)
    print(plan, plan.device, plan.shape, plan.axes, plan.itemsize)
    workspace = turntile.Workspace(plan.workspace_bytes)
    return [plan(matrix, workspace=workspace) for matrix in matrices]


def of_bytes(device: str) -> turntile.Plan:
    return turntile.Plan([2, 3, 5], itemsize=12, device=device)


transposed([np.zeros((300, 200), np.float32)])
print(of_bytes("cuda:1").run(bytearray(360)).size)
turntile.Plan((2, 3), itemsize="f8")  # type: ignore[arg-type]
