"""A CuPy matrix brought into Fortran's order, as solvers want it, in place and on a stream.

    cupy_fortran.py [ROWS COLS]
"""

import sys

import cupy
import turntile


def main(rows=20011, cols=16381):
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a = cupy.random.random((rows, cols), dtype=cupy.float32)
        some = a[:7, :5].copy()
        used = cupy.get_default_memory_pool().used_bytes()
        a = turntile.asfortranarray(a)
        more = cupy.get_default_memory_pool().used_bytes() - used
    stream.synchronize()
    assert a.flags.f_contiguous and a.shape == (rows, cols) and bool((a[:7, :5] == some).all())
    print(f"{rows} x {cols}, strides {a.strides}; {more} bytes more are in use")


if __name__ == "__main__":
    if not turntile.cuda_available():
        sys.exit("there is no GPU")
    main(*map(int, sys.argv[1:]))
