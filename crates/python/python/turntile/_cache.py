"""Cache of plans, so that a repeated call is not planned again."""

import threading
from collections import OrderedDict

#: Number of plans that are cached. Each takes a few kilobytes, without a workspace.
PLANS = 256


class Plans:
    """Mapping that drops the least recently used entry."""

    def __init__(self, most=PLANS):
        self._most = most
        self._plans = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key):
        """Returns the plan, or None."""
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
            return plan

    def put(self, key, plan):
        """Stores the plan and returns it."""
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > self._most:
                self._plans.popitem(last=False)
            return plan

    def forget(self):
        """Drops all plans, and the lock, which a thread of the parent process may have held."""
        self._lock = threading.Lock()
        self._plans = OrderedDict()
