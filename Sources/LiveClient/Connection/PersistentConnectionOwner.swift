import HTTP
import WebSocket

/// What a ``PersistentConnection`` tells the one that uses it. All of it comes on its loop.
package protocol PersistentConnectionOwner: AnyObject {
    /// An attempt is about to be made: call ``PersistentConnection/proceed(headers:host:)``, now or later on the loop.
    ///
    /// - Parameter isSameOrigin: false where a redirect leads away from the server that credentials are meant for.
    func connectionPrepares(_ url: WebSocketURL, isSameOrigin: Bool)

    func connectionOpened(_ opening: Opening)
    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8])
    func connectionReached(_ cursor: LiveCursor)
    func connectionReceivedPing(_ payload: [UInt8])
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?)
    func connectionDrained()

    /// A server's redirect is followed.
    func connectionRedirected(to url: WebSocketURL)

    /// A document has come; says what follows.
    func connectionAnswered(_ answer: ServerAnswer) -> AfterAnswer

    /// An attempt, or the connection that came of it, has ended.
    ///
    /// - Parameter retryMilliseconds: after so long there is another attempt; nil: it is over, and nothing follows.
    func connectionEnded(_ ending: ConnectionEnding, retryMilliseconds: UInt64?)
}

/// What follows a document.
package enum AfterAnswer: Equatable, Sendable {
    /// The next one is asked for.
    case again(afterMilliseconds: UInt64)
    /// It was the last.
    case done
    /// It was none: an error, with which coming back is decided as for any refusal.
    case refused
}

extension PersistentConnectionOwner {
    package func connectionReached(_ cursor: LiveCursor) {}
    package func connectionAnswered(_ answer: ServerAnswer) -> AfterAnswer { .refused }
}
