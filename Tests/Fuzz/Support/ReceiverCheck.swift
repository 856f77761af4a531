import WebSocket

private let limits = WebSocketLimits(
    maximumMessageBytes: 1000, maximumFragments: 8, maximumControlFramesPerSecond: 16)

/// Checks what a receiver makes of `input`, whose first byte chooses how it is set up.
package func checkReceiver(_ input: [UInt8], role: Role) {
    guard let choice = input.first else { return }
    let bytes = Array(input.dropFirst())
    // What comes is read with the largest window. With a smaller one a message that refers further back than was agreed is
    // read or refused depending on the cuts: see `Inflater`.
    let (received, sent) = (15, choice & 4 == 0 ? 15 : 9)
    let deflate =
        choice & 1 == 0
        ? nil
        : DeflateParameters(
            serverContextTakeover: choice & 2 == 0, clientContextTakeover: choice & 2 == 0,
            serverWindowBits: role == .server ? sent : received, clientWindowBits: role == .server ? received : sent)
    let whole = receive([bytes], role, deflate, .deliver)
    for pieces in cuts(of: bytes, seed: choice) {
        require(receive(pieces, role, deflate, .deliver) == whole, "the cuts change what frames mean")
    }
    require(
        receive([bytes], role, deflate, .discard) == whole.map(withoutPayload),
        "discarding changes more than the payload")
    for event in whole.dropLast() { checkGoesOn(event) }
    for event in whole { checkLimits(event) }
    checkReplies(bytes, whole, role, deflate)
}

private func receive(
    _ pieces: [[UInt8]], _ role: Role, _ deflate: DeflateParameters?, _ payloads: PayloadPolicy
) -> [WebSocketEvent] {
    var receiver = WebSocketReceiver(role: role, limits: limits, deflate: deflate, payloads: payloads)
    var events: [WebSocketEvent] = []
    for piece in pieces { receiver.receive(piece.span, now: 0, into: &events) }
    return events
}

private func withoutPayload(_ event: WebSocketEvent) -> WebSocketEvent {
    if case .message(let kind, let payload) = event { return .discarded(kind, byteCount: payload.count) }
    return event
}

private func checkGoesOn(_ event: WebSocketEvent) {
    switch event {
    case .close, .failed: require(false, "something follows the end")
    case .message, .discarded, .ping, .pong: break
    }
}

private func checkLimits(_ event: WebSocketEvent) {
    switch event {
    case .message(let kind, let payload):
        require(payload.count <= limits.maximumMessageBytes, "a message is within its limit")
        require(
            kind == .binary || String(validating: payload, as: UTF8.self) != nil, "text is what the library calls UTF-8"
        )
    case .ping(let payload), .pong(let payload): require(payload.count <= 125, "a control frame is short")
    case .close(let code, let reason):
        require(code?.mayBeSent ?? true && reason.utf8.count <= 123, "a close is one that may be sent")
    case .discarded, .failed: break
    }
}

/// What a session answers is read by the other end without a fault, and the messages come back as they were.
private func checkReplies(
    _ bytes: [UInt8], _ events: [WebSocketEvent], _ role: Role, _ deflate: DeflateParameters?
) {
    let session =
        role == .server
        ? WebSocketSession(server: limits, deflate: deflate)
        : WebSocketSession(client: limits, deflate: deflate, maskKeys: { MaskKey(0x9A3F_51C7) })
    var received: [WebSocketEvent] = []
    session.receive(bytes.span, now: 0, into: &received)
    require(received == events, "a session tells what its receiver does")
    var messages: [WebSocketEvent] = []
    for case .message(let kind, let payload) in received {
        session.send(kind, payload.span)
        messages.append(.message(kind, payload))
    }
    var peer = WebSocketReceiver(role: role == .server ? .client : .server, limits: limits, deflate: deflate)
    var answers: [WebSocketEvent] = []
    let output = session.takeOutput()
    peer.receive(output.span, now: 0, into: &answers)
    var echoed: [WebSocketEvent] = []
    for answer in answers {
        switch answer {
        case .message: echoed.append(answer)
        case .failed(let error): require(false, "an answer breaks a rule: \(error)")
        case .discarded, .ping, .pong, .close: break
        }
    }
    require(echoed == messages, "messages are echoed as they came")
}
