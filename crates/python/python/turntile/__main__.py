"""The `turntile` command."""

import signal
import sys

from . import _core


def main():
    """Runs the command with the words of ``sys.argv`` and returns its exit code."""
    # Ctrl-C ends the process by the signal, unless it is ignored, as in a background job.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command(["turntile", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
