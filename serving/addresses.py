"""Host names and addresses."""

from ipaddress import ip_address


def in_address(host: str) -> str:
    """Return the host as addresses have it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether what goes there stays on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
