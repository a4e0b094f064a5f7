"""Accepted host names, as a defence against DNS rebinding.

A page of another site can point its own name at this machine. The browser then sends that name as Host, and
treats the answers as those of the page's own site.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address

from serving.addresses import is_loopback

_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(:[0-9]*)?")


@dataclass(frozen=True)
class Hosts:
    """Check of the Host headers of requests.

    Args:
        address: Address at which the server listens. On loopback only loopback names are accepted, elsewhere
            all names unless `names` are given.
        names: Additional accepted names.
    """

    address: str
    names: Collection[str] = ()

    def accepts(self, header: str | None) -> bool:
        """Return whether a Host header has a name of the server, with any port.

        An address cannot be pointed elsewhere, as a name can. So on other interfaces than loopback every
        address is accepted, because the health checks of Kubernetes send it.
        """
        local = is_loopback(self.address)
        match = _HOST.fullmatch(header or "")
        if not match:
            return False
        name = match[1].strip("[]").lower().removesuffix(".")
        if is_loopback(name) or name.endswith(".localhost") or name in self.names:
            return True
        return not local and (not self.names or _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
