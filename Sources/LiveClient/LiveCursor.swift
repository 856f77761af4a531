/// A place in an account's events: "read up to here". What it holds is the server's business; every node of a Livegate
/// understands it, and it carries no right to read anything.
public struct LiveCursor: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The server's text, to be kept and given back as it is.
    public let text: String

    /// Takes a text that was kept.
    public init(_ text: String) { self.text = text }

    public var description: String { text }
}
