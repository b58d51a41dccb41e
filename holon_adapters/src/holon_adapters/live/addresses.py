"""Which addresses may be connected to: public ones, and what an operator allowed besides."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from attrs import frozen

from holon_adapters.records import ADDRESS_WORDS

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
_PRIVATE = (
    IPv4Network("10.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("100.64.0.0/10"),
    IPv6Network("fc00::/7"),
    # Site-local: out of use, and still routed within some networks.
    IPv6Network("fec0::/10"),
)
# Public by the registries, or by those that an older Python knows, and never a server of anybody.
_NEVER = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("224.0.0.0/4"),
    IPv6Network("3fff::/20"),
    IPv6Network("ff00::/8"),
)
# All that is assigned of IPv6 beside what is named above (IANA, "IPv6 Global Unicast").
_UNICAST = IPv6Network("2000::/3")


@frozen(kw_only=True)
class Allowed:
    """What a binding allows besides public addresses.

    ``words`` are of ``loopback``, ``private`` and ``link_local``. Without ``public`` there is
    nothing else: what is not encrypted stays within.
    """

    public: bool = True
    words: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def refusal(self, address: Address) -> str | None:
        """Say why an address may not be connected to; ``None`` where it may."""
        kind = kind_of(address)
        seen = unwrapped(address)
        if kind is None and not self.public:
            return f"the address {address} is public, and http is not encrypted; use https"
        if kind is None or kind in self.words:
            return None
        if kind != "never" and any(
            seen.version == each.version and seen in each for each in self.networks
        ):
            return None
        shown = "not a server's" if kind == "never" else kind.replace("_", "-")
        return f"the address {address} is {shown}"


def unwrapped(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for, else the address itself."""
    if not isinstance(address, IPv6Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if int(address) >> 32 == 0 and int(address) > 1:
        # IPv4-compatible addresses, out of use and still understood by some systems.
        return IPv4Address(int(address))
    return address


def kind_of(address: Address) -> str | None:
    """Say which kind of address that is not public this is; ``None`` for a public one."""
    seen = unwrapped(address)
    if seen.is_loopback:
        return "loopback"
    if _in(seen, _LINK_LOCAL):
        return "link_local"
    if _in(seen, _PRIVATE):
        return "private"
    elsewhere = seen.version == 6 and seen not in _UNICAST
    if elsewhere or seen.is_unspecified or seen.is_reserved or not seen.is_global:
        return "never"
    return "never" if _in(seen, _NEVER) else None


def _in(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address.version == each.version and address in each for each in networks)


def allowed(words: tuple[str, ...], *, public: bool = True) -> Allowed:
    """Read what a binding says.

    Raises:
        ValueError: One of them is no word and no network; the text says which form is meant.
    """
    networks = []
    for word in words:
        if word not in ADDRESS_WORDS:
            try:
                networks.append(ip_network(word))
            except ValueError:
                names = ", ".join(ADDRESS_WORDS)
                raise ValueError(f"one of {names}, or a network like 10.1.0.0/16") from None
    chosen = frozenset(word for word in words if word in ADDRESS_WORDS)
    return Allowed(public=public, words=chosen, networks=tuple(networks))


def parsed(text: str) -> Address:
    """Read an address as the system gives it, without its zone."""
    return ip_address(text.partition("%")[0])
