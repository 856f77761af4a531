extension SQLiteStore.Identity {
    /// File systems take names of 255 bytes, and SQLite and the store put endings behind them.
    private static let maximumNameBytes = 190

    /// A name for the file, which another account, or the same one on another server, has not: what one of them keeps is opened by
    /// no other. It has small letters, digits, `.`, `-`, `_`, `%` and `@`, and at most 214 bytes.
    public var fileName: String {
        let name = "\(Self.encoded(account))@\(Self.encoded(server))"
        guard name.utf8.count > Self.maximumNameBytes else { return name + ".sqlite" }
        // FNV-1a over all of it. Two that came to the same would be told apart by what is in the file.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return name.prefix(Self.maximumNameBytes) + "-" + String(hash, radix: 16) + ".sqlite"
    }

    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            // Capital letters too: some file systems do not tell them from small ones.
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return encoded
    }
}
