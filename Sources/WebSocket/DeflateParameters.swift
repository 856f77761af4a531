/// The agreed parameters of permessage-deflate on one connection (RFC 7692 §7.1).
package struct DeflateParameters: Hashable, Sendable {
    /// The extension's registered name.
    package static let extensionName = "permessage-deflate"
    package static let windowBitsRange = 8...15

    /// Whether a message of the server may refer to the message before it; the next property is the same for the client.
    package var serverContextTakeover: Bool
    package var clientContextTakeover: Bool
    /// How far back each side may refer: 2 to the power of this many bytes.
    package var serverWindowBits: Int
    package var clientWindowBits: Int

    package init(
        serverContextTakeover: Bool = true, clientContextTakeover: Bool = true,
        serverWindowBits: Int = 15, clientWindowBits: Int = 15
    ) {
        self.serverContextTakeover = serverContextTakeover
        self.clientContextTakeover = clientContextTakeover
        self.serverWindowBits = serverWindowBits
        self.clientWindowBits = clientWindowBits
    }

    func direction(from sender: Role) -> DeflateDirection {
        sender == .server
            ? DeflateDirection(contextTakeover: serverContextTakeover, windowBits: serverWindowBits)
            : DeflateDirection(contextTakeover: clientContextTakeover, windowBits: clientWindowBits)
    }
}

/// How one of the two sides compresses.
struct DeflateDirection: Hashable {
    let contextTakeover: Bool
    private let bits: UInt8
    var windowBits: Int { Int(bits) }

    init(contextTakeover: Bool, windowBits: Int) {
        self.contextTakeover = contextTakeover
        bits = UInt8(windowBits)
    }
}
