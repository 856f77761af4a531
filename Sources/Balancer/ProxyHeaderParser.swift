/// The result of the bytes of a connection so far.
package enum ProxyHeaderProgress: Equatable, Sendable {
    case needMore
    /// A complete header, which ends with the first `consumed` bytes of the input. The address is the client's. It is nil where
    /// the header names none; then the peer's own address is used.
    case header(ClientAddress?, consumed: Int)
    case rejected(ProxyHeaderFault)
}

/// Why the first bytes of a connection are not a PROXY header.
package enum ProxyHeaderFault: String, Sendable, CaseIterable {
    /// The connection begins with something else.
    case missing
    case malformed
    /// The header is over ``ProxyHeaderParser/maximumTextBytes`` or ``ProxyHeaderParser/maximumBinaryBytes``.
    case tooLong = "too long"
}

/// Reads the header with which a balancer begins a connection (HAProxy, "The PROXY protocol", versions 1 and 2).
///
/// The same bytes give the same answer however they are cut, and no byte after the header is consumed. After its answer
/// it must not be called again.
package struct ProxyHeaderParser: Sendable {
    /// §2.1: the longest line of version 1, including its CRLF.
    package static let maximumTextBytes = 107
    /// §2.2: the size of the smallest segment that every host accepts, including the first 16 bytes.
    package static let maximumBinaryBytes = 536

    private static let textSignature = Array("PROXY ".utf8)
    private static let binarySignature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    /// In version 2: the signature, version with command, family with transport, and the length of the rest.
    private static let fixedBytes = 16

    /// Never longer than the two lengths above.
    private var bytes: [UInt8] = []

    package init() {}

    /// Whether a byte of the header has arrived.
    package var hasBegun: Bool { !bytes.isEmpty }

    package mutating func consume(_ input: Span<UInt8>) -> ProxyHeaderProgress {
        for index in input.indices {
            bytes.append(input[index])
            switch answer() {
            case .pending: break
            case .done(let client): return .header(client, consumed: index + 1)
            case .fault(let fault): return .rejected(fault)
            }
        }
        return .needMore
    }

    private enum Answer {
        case pending
        case done(ClientAddress?)
        case fault(ProxyHeaderFault)
    }

    /// The result after the last byte.
    private func answer() -> Answer {
        let isText = bytes[0] == Self.textSignature[0]
        let signature = isText ? Self.textSignature : Self.binarySignature
        if bytes.count <= signature.count {
            return bytes[bytes.count - 1] == signature[bytes.count - 1] ? .pending : .fault(.missing)
        }
        return isText ? textAnswer() : binaryAnswer()
    }

    // MARK: - Version 1

    private func textAnswer() -> Answer {
        guard bytes[bytes.count - 1] == 0x0A, bytes[bytes.count - 2] == 0x0D else {
            return bytes.count < Self.maximumTextBytes ? .pending : .fault(.tooLong)
        }
        let line = bytes[Self.textSignature.count..<(bytes.count - 2)]
        // §2.1: anything after UNKNOWN is ignored.
        if line.elementsEqual("UNKNOWN".utf8) || line.starts(with: "UNKNOWN ".utf8) { return .done(nil) }
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 5, AddressText.isPort(words[3]), AddressText.isPort(words[4]) else {
            return .fault(.malformed)
        }
        let addresses = words[1...2]
        switch String(decoding: words[0], as: UTF8.self) {
        case "TCP4": guard addresses.allSatisfy({ AddressText.ipv4($0) != nil }) else { return .fault(.malformed) }
        case "TCP6": guard addresses.allSatisfy({ AddressText.ipv6($0) != nil }) else { return .fault(.malformed) }
        default: return .fault(.malformed)
        }
        return .done(ClientAddress(words[1]))
    }

    // MARK: - Version 2

    private func binaryAnswer() -> Answer {
        guard bytes.count >= Self.fixedBytes else { return .pending }
        let length = Self.fixedBytes + (Int(bytes[14]) << 8 | Int(bytes[15]))
        if bytes.count == Self.fixedBytes {
            guard let needed = neededBytes() else { return .fault(.malformed) }
            guard length <= Self.maximumBinaryBytes else { return .fault(.tooLong) }
            guard length >= Self.fixedBytes + needed else { return .fault(.malformed) }
        }
        return bytes.count < length ? .pending : .done(source)
    }

    private var isLocal: Bool { bytes[12] & 0x0F == 0 }

    /// The bytes of the addresses that the family requires. Nil for values that the specification does not define, and for
    /// datagrams, which a stream cannot carry.
    private func neededBytes() -> Int? {
        guard bytes[12] == 0x20 || bytes[12] == 0x21 else { return nil }
        // The balancer itself is the client, for example in its health checks: the family is ignored.
        if isLocal { return 0 }
        switch bytes[13] {
        case 0x00, 0x01: return 0
        case 0x11: return 12
        case 0x21: return 36
        case 0x31: return 216
        default: return nil
        }
    }

    /// The client's address. The TLVs after the addresses are skipped.
    private var source: ClientAddress? {
        guard !isLocal else { return nil }
        switch bytes[13] {
        case 0x11: return .ipv4(UInt32(truncatingIfNeeded: number(16..<20)))
        case 0x21: return ClientAddress(high: number(16..<24), low: number(24..<32))
        default: return nil
        }
    }

    /// Bytes in network order.
    private func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
}
