/// What one connection may cost a client, in bytes and in time.
package struct ClientLimits: Sendable, Equatable {
    /// A message of the server. Over it the connection is closed with 1009.
    package var maximumMessageBytes = 64 << 20
    /// Frames of one message: 64 MiB in frames of 64 bytes.
    package var maximumFragments = 1 << 20
    /// Pings and pongs of the server in a second; each costs an answer.
    package var maximumControlFramesPerSecond = 1000
    /// From the first step of connecting to the whole answer, absolute: bytes that trickle in do not prolong it.
    package var connectMilliseconds: UInt64 = 10_000
    /// How much longer an answer may take than ``connectMilliseconds``: the wait of a long poll.
    package var patienceMilliseconds: UInt64 = 0
    /// An event stream that brings nothing for so long is lost: a server writes a comment every 25 s.
    package var silenceMilliseconds: UInt64 = 75_000
    /// What is kept of the body of a document.
    package var maximumDocumentBytes = 16 << 20
    /// From our close frame to the server's.
    package var closeMilliseconds: UInt64 = 5_000
    /// From the exchange of close frames to the server's closing of the connection, which RFC 6455 §7.1.1 wants to come
    /// first; afterwards we do it.
    package var lingerMilliseconds: UInt64 = 1_000
    /// What is kept of the body of a refusal.
    package var maximumRefusalBytes = 4 << 10
    /// From a ping to its pong; without one by then the connection is lost.
    package var pongMilliseconds: UInt64 = 10_000
    /// What is read no further from while a send is under way: over it the answers to pings wait.
    package var maximumPendingBytes = 256 << 10

    package init() {}
}
