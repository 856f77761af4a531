/// A network of addresses, a single address, or the peers of Unix sockets.
package struct Network: Hashable, Sendable {
    /// The first address; all bits after the prefix are 0.
    let base: ClientAddress
    /// The length of the prefix in bits.
    let bits: Int

    /// Reads `10.0.0.0/8`, `fd00::/8`, `192.0.2.1`, `2001:db8::1` or `unix`. A network within the mapped IPv4 addresses,
    /// `::ffff:10.0.0.0/104`, is the IPv4 network.
    /// - Throws: also where bits after the prefix are set. `10.1.2.3/8` may mean one machine or sixteen million. The network
    ///   decides whose statements are trusted, so its meaning must not be guessed.
    package init(_ text: String) throws(NetworkError) {
        let bytes = Array(text.utf8)
        if text == "unix" {
            (base, bits) = (.unix, 0)
            return
        }
        let slash = bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        guard let address = ClientAddress(bytes[..<slash]) else { throw .notAnAddress }
        guard slash < bytes.endIndex else {
            (base, bits) = (address, address.width)
            return
        }
        // The prefix of a mapped address includes 96 bits that the IPv4 address does not have.
        let isMapped = address.width == 32 && bytes[..<slash].contains(.colon)
        let range = isMapped ? 96...128 : 0...address.width
        let digits = bytes[(slash + 1)...]
        guard AddressText.isPort(digits), let length = Int(String(decoding: digits, as: UTF8.self)),
            range.contains(length)
        else { throw .prefix(range) }
        let bits = isMapped ? length - 96 : length
        let base = address.masked(to: bits)
        guard base == address else { throw .hostBits(network: "\(base)/\(bits)", address: "\(address)") }
        (self.base, self.bits) = (base, bits)
    }

    package func contains(_ address: ClientAddress) -> Bool {
        address.width == base.width && address.masked(to: bits) == base
    }

    /// Whether the Internet routes none of its addresses: loopback, link-local, private (RFC 1918), shared (RFC 6598) or
    /// unique local (RFC 4193). A Unix socket counts as one of them.
    package var isPrivate: Bool {
        Self.privateNetworks.contains { $0.contains(base) && $0.bits <= bits }
    }

    private static let privateNetworks: [Network] = [
        Network(.ipv4(0x7F00_0000), 8), Network(.ipv4(0x0A00_0000), 8), Network(.ipv4(0xAC10_0000), 12),
        Network(.ipv4(0xC0A8_0000), 16), Network(.ipv4(0xA9FE_0000), 16), Network(.ipv4(0x6440_0000), 10),
        Network(.ipv6(high: 0, low: 1), 128), Network(.ipv6(high: 0xFC00 << 48, low: 0), 7),
        Network(.ipv6(high: 0xFE80 << 48, low: 0), 10), Network(.unix, 0),
    ]

    private init(_ base: ClientAddress, _ bits: Int) { (self.base, self.bits) = (base, bits) }
}

extension Network: CustomStringConvertible {
    /// The text that ``init(_:)`` reads.
    package var description: String { bits == base.width ? "\(base)" : "\(base)/\(bits)" }
}

/// Why a text is not a network.
package enum NetworkError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAnAddress
    /// The length of a prefix must be in this range.
    case prefix(ClosedRange<Int>)
    /// Bits after the prefix are set. The values are what may have been meant.
    case hostBits(network: String, address: String)

    package var description: String {
        switch self {
        case .notAnAddress: "an IPv4 or IPv6 address, perhaps with /BITS, or unix is expected"
        case .prefix(let range): "behind the slash a number from \(range.lowerBound) to \(range.upperBound) is expected"
        case .hostBits(let network, let address):
            "bits behind the prefix are set: write \(network) for the network or \(address) for one address"
        }
    }
}
