"""The plans made last, so that a call that comes again is not planned again."""

import threading
from collections import OrderedDict

#: How many are kept; each is some kilobytes, and holds no workspace.
PLANS = 256


class Plans:
    """A mapping that forgets what was not used for longest."""

    def __init__(self, most=PLANS):
        self._most = most
        self._plans = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key):
        """The plan, or None."""
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
            return plan

    def put(self, key, plan):
        """Keeps it, and answers it."""
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > self._most:
                self._plans.popitem(last=False)
            return plan

    def forget(self):
        """Keeps none, under a lock that no thread of a parent process holds."""
        self._lock = threading.Lock()
        self._plans = OrderedDict()
