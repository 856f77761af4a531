import HTTP

/// Where redirects have led a client, and what it may show there.
package struct RedirectPath: Sendable {
    /// Why a redirect is not followed.
    package enum Problem: Error, Equatable, Sendable {
        case tooMany(limit: Int)
        case badLocation(URLFault)
    }

    /// Where the user wanted to go.
    package let first: WebSocketURL
    package private(set) var current: WebSocketURL
    private var count = 0

    package init(_ url: WebSocketURL) {
        first = url
        current = url
    }

    /// Whether what was meant for ``first`` may be shown to ``current``: credentials, and a `Host` that was set by hand.
    /// A redirect is the word of a server, and tokens are not given away on it.
    package var isSameOrigin: Bool { current.hasSameOrigin(as: first) }

    /// Goes on to `location`.
    package mutating func follow(_ location: [UInt8], maximum: Int) throws(Problem) {
        guard count < maximum else { throw .tooMany(limit: maximum) }
        do throws(URLFault) {
            current = try current.resolving(location)
        } catch {
            throw .badLocation(error)
        }
        count += 1
    }
}
