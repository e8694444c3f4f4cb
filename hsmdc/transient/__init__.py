"""Below the minute: a trace resolved into windows at 1 ms and more, and the power of one node.

`engine` holds `resolve` and `stream`, `onenode` holds `simulate_node`; `windowfile` writes a window while it is
computed.
"""

from hsmdc.transient.engine import resolve, stream
from hsmdc.transient.onenode import simulate_node

__all__ = ["resolve", "simulate_node", "stream"]
