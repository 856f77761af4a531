/// Addresses as text. Reading needs no system call and no allocation.
enum AddressText {
    /// `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`
    private static let maximumBytes = 45

    /// Four numbers from 0 to 255. No leading zeros: some readers read such numbers as octal.
    static func ipv4(_ text: ArraySlice<UInt8>) -> UInt32? {
        var address: UInt32 = 0
        var parts = 0
        var digits = 0
        var part: UInt32 = 0
        for byte in text {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, parts < 3 else { return nil }
                address = address << 8 | part
                (parts, digits, part) = (parts + 1, 0, 0)
            } else {
                guard byte.isDigit, digits == 0 || part != 0 else { return nil }
                part = part * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard part <= 255 else { return nil }
            }
        }
        return parts == 3 && digits > 0 ? address << 8 | part : nil
    }

    /// RFC 4291 §2.2: groups of up to four hexadecimal digits, one `::` for at least one group of zeros, and perhaps an
    /// IPv4 address for the last two groups.
    static func ipv6(_ text: ArraySlice<UInt8>) -> UInt128? {
        guard text.count <= maximumBytes else { return nil }
        var groups = Groups()
        var rest = text
        if rest.starts(with: [.colon, .colon]) {
            groups.hasGap = true
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            guard let colon = rest.firstIndex(of: .colon) else {
                guard groups.append(last: rest) else { return nil }
                break
            }
            guard groups.append(rest[..<colon]) else { return nil }
            rest = rest[(colon + 1)...]
            // A single colon must not be the last character.
            guard let next = rest.first else { return nil }
            if next == .colon {
                guard !groups.hasGap else { return nil }
                groups.hasGap = true
                rest = rest.dropFirst()
            }
        }
        return groups.address
    }

    /// The groups before and after `::`.
    private struct Groups {
        var hasGap = false
        private var before: UInt128 = 0
        private var countBefore = 0
        private var behind: UInt128 = 0
        private var countBehind = 0

        private var count: Int { countBefore + countBehind }

        mutating func append(_ text: ArraySlice<UInt8>) -> Bool {
            guard (1...4).contains(text.count), count < 8 else { return false }
            var group: UInt128 = 0
            for byte in text {
                guard let digit = byte.hexadecimalValue else { return false }
                group = group << 4 | UInt128(digit)
            }
            append(group, groups: 1)
            return true
        }

        mutating func append(last text: ArraySlice<UInt8>) -> Bool {
            guard text.contains(UInt8(ascii: ".")) else { return append(text) }
            guard let address = AddressText.ipv4(text), count < 7 else { return false }
            append(UInt128(address), groups: 2)
            return true
        }

        private mutating func append(_ value: UInt128, groups: Int) {
            if hasGap {
                behind = behind << (16 * groups) | value
                countBehind += groups
            } else {
                before = before << (16 * groups) | value
                countBefore += groups
            }
        }

        var address: UInt128? {
            guard hasGap else { return count == 8 ? before : nil }
            return count < 8 ? before << (16 * (8 - countBefore)) | behind : nil
        }
    }

    /// RFC 5952 §4: lower case, no leading zeros, `::` for the longest run of at least two zero groups, the first of several.
    static func canonical(high: UInt64, low: UInt64) -> String {
        let groups = (0..<8).map { index in
            UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> (16 * UInt64(3 - index % 4)))
        }
        var gap = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(1, gap.count) { gap = start..<end }
            start = max(end, start + 1)
        }
        func text(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        return gap.isEmpty ? text(0..<8) : "\(text(0..<gap.lowerBound))::\(text(gap.upperBound..<8))"
    }

    /// A port's digits: no sign, no leading zeros, at most 65535.
    static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
        guard (1...5).contains(text.count), text.allSatisfy(\.isDigit) else { return false }
        if text.first == UInt8(ascii: "0") { return text.count == 1 }
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 65_535
    }
}

extension UInt8 {
    static var colon: UInt8 { UInt8(ascii: ":") }

    /// SP or HTAB (RFC 9110 §5.6.3, OWS).
    var isBlank: Bool { self == 0x20 || self == 0x09 }

    var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    var isLetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }

    var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
