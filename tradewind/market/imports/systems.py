"""Operating systems, as lists call them and as nodes do."""

from tradewind.market.pools import LINUX, WINDOWS

_USUAL = {"linux": LINUX, "linux/unix": LINUX, "windows": WINDOWS}
_ALSO = {"linux/unix": "linux", "red hat enterprise linux": "rhel", "suse linux": "suse"}


def os_of_system(name: str, wanted: str | None) -> str | None:
    """What nodes call it; None for a system that is not wanted.

    Nothing wanted: Linux as it is, and Windows. Others, such as RHEL, are Linux to a node, at a higher price;
    who runs them says so.
    """
    found = name.strip().lower()
    if wanted is None:
        return _USUAL.get(found)
    if _ALSO.get(found, found) != _ALSO.get(wanted.lower(), wanted.lower()):
        return None
    return WINDOWS if found.startswith("windows") else LINUX


def described(wanted: str | None) -> str:
    return f"the system {wanted}" if wanted else "Linux or Windows"
