/// A message whose last frame has not come yet.
struct PartialMessage: InflatedByteSink {
    /// What becomes of its bytes.
    private enum Keeping {
        case nothing
        case everything
        /// Blanks alone have come; what comes next says whether it is an object. So many bytes are kept at most.
        case undecided(Int)
        case object(Int)
    }

    let kind: MessageKind
    let isCompressed: Bool
    /// The limit of messages that nobody asked for.
    let maximumBytes: Int
    /// When its first frame came; monotonic, in ms.
    let began: UInt64
    var fragments = 0
    /// Payload bytes as the frames announced them.
    var wireBytes = 0
    /// Bytes of the message itself so far.
    private(set) var byteCount = 0
    private(set) var payload: [UInt8] = []
    private var keeping: Keeping
    private var text = UTF8Validator()

    init(kind: MessageKind, isCompressed: Bool, policy: PayloadPolicy, maximumBytes: Int, began: UInt64) {
        self.kind = kind
        self.isCompressed = isCompressed
        self.maximumBytes = maximumBytes
        self.began = began
        switch policy {
        case .deliver: keeping = .everything
        case .discard: keeping = .nothing
        case .objects(let maximum): keeping = kind == .text ? .undecided(maximum) : .nothing
        }
    }

    /// How long the message may become, as far as is known of it.
    var limit: Int {
        switch keeping {
        case .nothing, .everything: maximumBytes
        case .undecided(let maximum), .object(let maximum): max(maximum, maximumBytes)
        }
    }

    /// Appends bytes that were not compressed, `mask` laid over them; their frame's header was checked already.
    mutating func append(_ bytes: Span<UInt8>, mask: MaskKey) throws(WebSocketError) {
        try decide(bytes, mask)
        precondition(bytes.count <= limit - byteCount, "a payload over the limit that its header kept")
        byteCount += bytes.count
        if kind == .text && text.consume(bytes, mask: mask) != nil { throw .invalidText }
        keep(bytes, mask)
    }

    /// Appends inflated bytes, whose number nothing announced. Those within the limit are looked at first, so that
    /// the failure does not depend on how the data was cut.
    mutating func append(_ bytes: Span<UInt8>) throws(WebSocketError) {
        try decide(bytes, .zero)
        let room = limit - byteCount
        try append(bytes.extracting(0..<min(room, bytes.count)), mask: .zero)
        if bytes.count > room { throw tooLarge(maximumBytes + 1) }
    }

    private func tooLarge(_ bytes: Int) -> WebSocketError {
        .messageTooLarge(bytes: UInt64(bytes), limit: maximumBytes)
    }

    /// Looks for the first byte that is no blank. Before any of them is checked as text, so that the failure of a message
    /// that is no object does not depend on how it was cut.
    private mutating func decide(_ bytes: Span<UInt8>, _ mask: MaskKey) throws(WebSocketError) {
        guard case .undecided(let maximum) = keeping else { return }
        for index in bytes.indices {
            switch bytes[index] ^ mask.byte(index) {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "{"): keeping = .object(maximum)
            default: try keepNothing()
            }
            return
        }
    }

    private mutating func keepNothing() throws(WebSocketError) {
        keeping = .nothing
        payload = []
        let announced = isCompressed ? byteCount : wireBytes
        guard announced <= maximumBytes else { throw tooLarge(announced) }
    }

    private mutating func keep(_ bytes: Span<UInt8>, _ mask: MaskKey) {
        switch keeping {
        case .nothing: return
        case .everything:
            // A message in one piece is allocated once at its size; what comes in pieces grows as arrays do.
            if payload.isEmpty { payload.reserveCapacity(bytes.count) }
        case .undecided(let maximum), .object(let maximum):
            guard byteCount <= maximum else {
                // It is within the limit of messages, and longer than what is asked for.
                keeping = .nothing
                payload = []
                return
            }
            // An array that grows by itself may take twice the room.
            let needed = payload.count + bytes.count
            if needed > payload.capacity { payload.reserveCapacity(min(maximum, max(needed, 2 * payload.count))) }
        }
        payload.append(bytes, mask: mask)
    }

    /// The event of the whole message. RFC 6455 §8.1: text that ends inside a character is not valid.
    consuming func finish() throws(WebSocketError) -> WebSocketEvent {
        guard kind == .binary || text.isComplete else { throw .invalidText }
        switch keeping {
        case .everything, .object: return .message(kind, payload)
        case .nothing: return .discarded(kind, byteCount: byteCount)
        case .undecided:
            guard byteCount <= maximumBytes else { throw tooLarge(byteCount) }
            return .discarded(kind, byteCount: byteCount)
        }
    }
}
