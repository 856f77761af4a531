import WebSocket

/// What a ``ClientConnection`` tells the one that uses it. All of it comes on the connection's loop.
///
/// Any method of the connection may be called from any of these, closing included.
package protocol ConnectionOwner: AnyObject {
    /// The server said 101, or began its stream. Before everything but the end.
    func connectionOpened(_ opening: Opening)

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8])

    /// An event stream has come to a place that can be resumed from; behind the message that leads there.
    func connectionReached(_ cursor: LiveCursor)

    /// A ping came; it was answered.
    func connectionReceivedPing(_ payload: [UInt8])

    /// A pong came.
    ///
    /// - Parameter roundTrip: since the ping that it answers; nil for one that answers none of ours.
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?)

    /// Everything that was sent has been taken by the kernel.
    func connectionDrained()

    /// It is over, exactly once, and after every other call. Never comes from within a method of the connection.
    func connectionEnded(_ ending: ConnectionEnding)
}

extension ConnectionOwner {
    package func connectionReached(_ cursor: LiveCursor) {}
    package func connectionReceivedPing(_ payload: [UInt8]) {}
    package func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {}
    package func connectionDrained() {}
}
