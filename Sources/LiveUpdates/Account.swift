/// The account that an event belongs to and that a connection may see: a name that is compared byte by byte.
///
/// Never compare accounts as Strings: two names that only look alike are two accounts.
package struct Account: Hashable, Sendable, CustomStringConvertible {
    /// As many bytes as an account's name may have, in a record and in a token.
    package static let maximumBytes = 255

    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { text }

    package static func == (left: Account, right: Account) -> Bool { left.text.isBytewiseEqual(to: right.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
