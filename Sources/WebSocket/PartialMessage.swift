/// A message whose last frame has not come yet.
struct PartialMessage: InflatedByteSink {
    let kind: MessageKind
    let isCompressed: Bool
    let policy: PayloadPolicy
    let maximumBytes: Int
    /// When its first frame came; monotonic, in ms.
    let began: UInt64
    var fragments = 0
    /// Payload bytes as the frames announced them.
    var wireBytes = 0
    /// Bytes of the message itself so far.
    private(set) var byteCount = 0
    private(set) var payload: [UInt8] = []
    private var text = UTF8Validator()

    init(kind: MessageKind, isCompressed: Bool, policy: PayloadPolicy, maximumBytes: Int, began: UInt64) {
        self.kind = kind
        self.isCompressed = isCompressed
        self.policy = policy
        self.maximumBytes = maximumBytes
        self.began = began
    }

    /// Appends bytes that were not compressed, `mask` laid over them; their frame's header was checked already.
    mutating func append(_ bytes: Span<UInt8>, mask: MaskKey) throws(WebSocketError) {
        precondition(bytes.count <= maximumBytes - byteCount, "a payload over the limit that its header kept")
        byteCount += bytes.count
        if kind == .text && text.consume(bytes, mask: mask) != nil { throw .invalidText }
        guard policy == .deliver else { return }
        // A message in one piece is allocated once at its size; what comes in pieces grows as arrays do.
        if payload.isEmpty { payload.reserveCapacity(bytes.count) }
        payload.append(bytes, mask: mask)
    }

    /// Appends inflated bytes, whose number nothing announced. Those within the limit are looked at first, so that
    /// the failure does not depend on how the data was cut.
    mutating func append(_ bytes: Span<UInt8>) throws(WebSocketError) {
        let room = maximumBytes - byteCount
        try append(bytes.extracting(0..<min(room, bytes.count)), mask: .zero)
        if bytes.count > room { throw .messageTooLarge(bytes: UInt64(maximumBytes) + 1, limit: maximumBytes) }
    }

    /// The event of the whole message. RFC 6455 §8.1: text that ends inside a character is not valid.
    consuming func finish() throws(WebSocketError) -> WebSocketEvent {
        guard kind == .binary || text.isComplete else { throw .invalidText }
        return policy == .deliver ? .message(kind, payload) : .discarded(kind, byteCount: byteCount)
    }
}
