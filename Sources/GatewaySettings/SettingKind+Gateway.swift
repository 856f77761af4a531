import HTTP
import Kafka
import LiveUpdates
import Options
import Reactor
import Tokens

extension SettingKind where Value == SocketAddress {
    /// Where a listener listens. A relative path of a Unix socket starts where other relative paths do.
    static var address: Self {
        let expected = "an address (127.0.0.1:8080, [::1]:8080, :8080 or unix:/path)"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            let prefix = "unix:"
            let located = text.hasPrefix(prefix) ? prefix + reading.located(String(text.dropFirst(prefix.count))) : text
            do throws(ReactorError) {
                return try SocketAddress(parsing: located)
            } catch {
                guard case .invalidAddress(_, let why) = error else { return nil }
                reading.refuse(element, "'\(text)' is not \(expected): \(why)")
                return nil
            }
        }
    }
}

extension SettingKind where Value == String {
    /// A name of a host as browsers send it: lower case, without a port.
    static var hostName: Self {
        .text("the name of a host") { text in
            let isName =
                !text.isEmpty && text.utf8.count <= 253
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                    default: "-._".utf8.contains(byte)
                    }
                }
            return isName ? nil : "is not the name of a host, in lower case and without a port"
        }
    }
}

extension SettingKind where Value == Account? {
    /// An account, or nobody where the text is empty. A bare whole number is one, as it is in records and tokens.
    static var account: Self {
        let expected = "an account of at most \(Account.maximumBytes) bytes without control characters"
        return Self(expected) { element, reading in
            var text: String?
            if case .text(let digits, .plain) = element.content, Quantity.wholeNumber(digits) != nil {
                text = digits
            } else {
                text = reading.text(element, expected: expected)
            }
            guard let text else { return nil }
            if text.isEmpty { return .some(nil) }
            guard TokenClaims.isPlain(Array(text.utf8), maximumBytes: Account.maximumBytes) else {
                reading.refuse(element, "is not \(expected)")
                return nil
            }
            return .some(Account(text))
        }
    }
}

extension SettingKind where Value == [EventMapping.Translation] {
    /// A map of texts, in the order of the settings.
    static var translations: Self {
        let expected = "a map of names, {from: to}"
        return Self(expected, .structured) { element, reading in
            guard let entries = reading.map(element, expected: expected) else { return nil }
            let pairs = entries.compactMap { entry in
                reading.part(".\(entry.key)", entry.value) { element, reading in
                    reading.text(element, expected: "a name").map { EventMapping.Translation(from: entry.key, to: $0) }
                }
            }
            return pairs.count == entries.count ? pairs : nil
        }
    }
}

extension SettingKind where Value == [String] {
    /// The source of a part of an event: one source, or a list in which the first source with a text counts.
    static var sources: Self {
        .oneOrMore("a source or a list of sources", of: .text("a source (/pointer, header:NAME, key, topic:N)"))
    }
}

extension SettingKind where Value == OriginPattern {
    static var origin: Self {
        let expected = "an origin (https://app.example.com, https://*.example.com)"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            do throws(OriginFault) {
                let pattern = try OriginPattern(text)
                guard isShortest(text) else { throw .host }
                return pattern
            } catch {
                reading.refuse(element, "'\(text)' \(error)")
                return nil
            }
        }
    }

    /// Whether an IPv6 address, if there is one, has the form in which browsers write it (RFC 5952).
    private static func isShortest(_ text: String) -> Bool {
        guard let open = text.firstIndex(of: "["), let close = text.firstIndex(of: "]") else { return true }
        let host = String(text[text.index(after: open)..<close])
        return SocketAddress(numeric: host, port: 0)?.host == host
    }
}

extension SettingKind where Value == String? {
    /// The name of a cookie; nil for the empty text.
    static var cookieName: Self {
        let expected = "the name of a cookie"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            guard text.isEmpty || Cookies.isName(text) else {
                reading.refuse(element, "'\(text)' is not \(expected): letters, digits, - and _ are expected")
                return nil
            }
            return .some(text.isEmpty ? nil : text)
        }
    }
}
