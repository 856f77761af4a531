import CLinux

/// Where a socket listens, or where a peer is.
package enum SocketAddress: Hashable, Sendable {
    /// An IPv4 address in host order.
    case ipv4(UInt32, port: UInt16)
    /// An IPv6 address as two halves in host order; `scope` is the interface of a link-local one, else 0.
    case ipv6(high: UInt64, low: UInt64, scope: UInt32 = 0, port: UInt16)
    /// All addresses of the machine, IPv6 and IPv4: `:8080`. Only for listening.
    case any(port: UInt16)
    /// The bytes of a path, at most 107. Empty for the peer of a Unix socket, which has no name.
    case unix([UInt8])

    /// The port; nil for Unix sockets.
    package var port: UInt16? {
        switch self {
        case .ipv4(_, let port), .ipv6(_, _, _, let port), .any(let port): port
        case .unix: nil
        }
    }

    package var isUnix: Bool { if case .unix = self { true } else { false } }

    /// The same address with another port; Unix sockets stay as they are.
    package func withPort(_ port: UInt16) -> SocketAddress {
        switch self {
        case .ipv4(let address, _): .ipv4(address, port: port)
        case .ipv6(let high, let low, let scope, _): .ipv6(high: high, low: low, scope: scope, port: port)
        case .any: .any(port: port)
        case .unix: self
        }
    }

    /// `127.0.0.1` with a port.
    package static func loopback(port: UInt16) -> SocketAddress { .ipv4(0x7F00_0001, port: port) }

    /// The address that the kernel returned. IPv4 peers of a socket for both families arrive as IPv6 (RFC 4291 §2.5.5.2)
    /// and are converted to IPv4.
    init(_ raw: linux_address) {
        switch Int(raw.family) {
        case LINUX_FAMILY_IPV4: self = .ipv4(UInt32(truncatingIfNeeded: raw.low), port: raw.port)
        case LINUX_FAMILY_IPV6:
            if raw.high == 0 && raw.low >> 32 == 0xFFFF {
                self = .ipv4(UInt32(truncatingIfNeeded: raw.low), port: raw.port)
            } else {
                self = .ipv6(high: raw.high, low: raw.low, scope: raw.scope, port: raw.port)
            }
        default: self = .unix([])
        }
    }

    var family: Int32 {
        switch self {
        case .ipv4: Int32(LINUX_FAMILY_IPV4)
        case .ipv6, .any: Int32(LINUX_FAMILY_IPV6)
        case .unix: Int32(LINUX_FAMILY_UNIX)
        }
    }

    /// The address in the form of the C functions, and the bytes of its path.
    func withRaw(_ body: (UnsafePointer<linux_address>, UnsafePointer<UInt8>?, Int32) -> Int32) -> Int32 {
        var raw = linux_address()
        raw.family = family
        raw.port = port ?? 0
        var path: [UInt8] = []
        switch self {
        case .ipv4(let address, _): raw.low = UInt64(address)
        case .ipv6(let high, let low, let scope, _):
            raw.high = high
            raw.low = low
            raw.scope = scope
        case .any: break
        case .unix(let bytes): path = bytes
        }
        return unsafe path.withUnsafeBufferPointer { bytes in
            unsafe body(&raw, bytes.baseAddress, Int32(bytes.count))
        }
    }
}

/// Where a client wants to connect: a name to resolve, or an address.
package enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    case name(String, port: UInt16)
    case address(SocketAddress)

    /// A numeric host becomes an address, so that it needs no lookup.
    package init(host: String, port: UInt16) {
        self = SocketAddress(numeric: host, port: port).map(Endpoint.address) ?? .name(host, port: port)
    }

    package var description: String {
        switch self {
        case .name(let host, let port): "\(host):\(port)"
        case .address(let address): address.description
        }
    }
}
