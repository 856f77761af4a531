/// The address of a client, without a port, as logs, limits and lists of connections name it.
///
/// One client has one value however its address is written. An IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2)
/// becomes the IPv4 address, and the zone of a link-local address is dropped.
package enum ClientAddress: Hashable, Sendable {
    /// In host order.
    case ipv4(UInt32)
    /// Two halves in host order; never a mapped IPv4 address when made by ``init(high:low:)``.
    case ipv6(high: UInt64, low: UInt64)
    /// The peer of a Unix socket, which has no address.
    case unix

    /// An IPv6 address, or the IPv4 address that is mapped into it.
    package init(high: UInt64, low: UInt64) {
        self =
            high == 0 && low >> 32 == 0xFFFF
            ? .ipv4(UInt32(truncatingIfNeeded: low)) : .ipv6(high: high, low: low)
    }

    /// Reads `192.0.2.1` or `2001:db8::1`: no port, no brackets, no zone, no leading zeros in IPv4.
    package init?(_ text: ArraySlice<UInt8>) {
        if let address = AddressText.ipv4(text) {
            self = .ipv4(address)
        } else if let address = AddressText.ipv6(text) {
            self.init(high: UInt64(truncatingIfNeeded: address >> 64), low: UInt64(truncatingIfNeeded: address))
        } else {
            return nil
        }
    }

    package init?(_ text: String) { self.init(Array(text.utf8)[...]) }

    /// Keeps the first `bits` bits and sets the others to 0. A Unix socket is not changed.
    package func masked(to bits: Int) -> ClientAddress {
        switch self {
        case .ipv4(let address): .ipv4(address & ~(UInt32.max >> bits))
        case .ipv6(let high, let low):
            .ipv6(high: high & ~(UInt64.max >> min(bits, 64)), low: low & ~(UInt64.max >> max(0, bits - 64)))
        case .unix: .unix
        }
    }

    /// How many bits an address of this family has; 0 for a Unix socket.
    package var width: Int {
        switch self {
        case .ipv4: 32
        case .ipv6: 128
        case .unix: 0
        }
    }
}

extension ClientAddress: CustomStringConvertible {
    /// The canonical text (RFC 5952): `192.0.2.1`, `2001:db8::1`, `unix`.
    package var description: String {
        switch self {
        case .ipv4(let address):
            "\(address >> 24).\(address >> 16 & 0xFF).\(address >> 8 & 0xFF).\(address & 0xFF)"
        case .ipv6(let high, let low): AddressText.canonical(high: high, low: low)
        case .unix: "unix"
        }
    }
}
