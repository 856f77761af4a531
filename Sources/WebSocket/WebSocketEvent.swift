/// What came from the peer. Payloads are never longer than the limits allow; text is valid UTF-8.
package enum WebSocketEvent: Equatable, Sendable {
    case message(MessageKind, [UInt8])
    /// A message that was checked and not kept (`PayloadPolicy.discard`), with its size after inflation.
    case discarded(MessageKind, byteCount: Int)
    case ping([UInt8])
    case pong([UInt8])
    /// The peer's close frame; nothing follows. No code: the frame was empty.
    case close(CloseCode?, reason: String)
    /// The peer broke a rule; nothing follows.
    case failed(WebSocketError)
}
