"""Host names and addresses."""

from ipaddress import ip_address


def in_address(host: str) -> str:
    """Return a host in the form for addresses: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
