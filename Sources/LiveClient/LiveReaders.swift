import LiveState

/// The readers of one client, by their number.
struct LiveReaders {
    private var buffers: [Int: UpdateBuffer] = [:]
    /// Whether there has ever been one: what it read was not given to others.
    private(set) var wereSome = false

    var isEmpty: Bool { buffers.isEmpty }
    var count: Int { buffers.count }
    var isBusy: Bool { buffers.values.contains(where: \.isFull) }

    mutating func add(_ number: Int, _ buffer: UpdateBuffer) {
        buffers[number] = buffer
        wereSome = true
    }

    mutating func remove(_ number: Int) { buffers[number] = nil }

    func push(_ update: LiveUpdate) { for buffer in buffers.values { buffer.push(update) } }

    /// Ends all of them, behind what they hold.
    mutating func finish(_ error: LiveClientError?) {
        for buffer in buffers.values { buffer.finish(error) }
        buffers = [:]
    }

    /// Drops what waits for those that are full. `standing`: what they have to know of the stream besides.
    func dropWaiting(at cursor: LiveCursor?, standing: [LiveUpdate]) {
        for buffer in buffers.values where buffer.isFull { buffer.overrun(at: cursor, standing: standing) }
    }
}

/// What is between the stream and its readers.
extension LiveSession {
    /// How long a busy reader holds back the stream where others read it too.
    private static let busyMilliseconds: UInt64 = 5_000

    /// - Parameter start: the cursor behind which it is to begin; nil: where the stream stands.
    func join(_ number: Int, _ buffer: UpdateBuffer, from start: LiveCursor? = nil) {
        if case .ended(let error) = machine.view.state { return buffer.finish(failure ?? LiveClientError(error)) }
        let bound = Confined(self, loop: loop)
        buffer.setRoom { bound.loop.execute { bound.value.goOn() } }
        // Who comes to a stream that is open knows nothing of what was before.
        let isConnected = machine.view.state == .connected
        // Alone, it says where the stream begins. Cursors cannot be compared: where others read, one that is not the
        // stream's own may be before it or behind it.
        if let start, readers.isEmpty, !isConnected { cursor = start }
        if isConnected { buffer.push(.connected) }
        // Before the stream is open, who names no start is the first of all, or comes to where others have read to.
        let isBehind = start.map { $0 != cursor } ?? (isConnected || readers.wereSome && cursor != nil)
        if isBehind { buffer.push(.resync(.start, cursor)) }
        for update in standing { buffer.push(update) }
        readers.add(number, buffer)
        if isPaused { beginPatience() }
        updateWish()
    }

    /// What an open stream says only once, and who did not hear it is told: that it is live, or has no source.
    private var standing: [LiveUpdate] {
        guard machine.view.state == .connected else { return [] }
        let live: LiveUpdate? = if isLive, let cursor { .live(cursor) } else { nil }
        return [live, stalled.map { .source($0) }].compactMap { $0 }
    }

    func leave(_ number: Int) {
        readers.remove(number)
        goOn()
        updateWish()
    }

    func push(_ update: LiveUpdate) {
        readers.push(update)
        if let newer = update.cursor { cursor = newer }
        guard readers.isBusy, !isPaused else { return }
        isPaused = true
        channel?.channel.pauseReading()
        beginPatience()
    }

    private func beginPatience() {
        guard busyTimer == nil else { return }
        busyTimer = loop.wait(milliseconds: Self.busyMilliseconds) { [weak self] in
            self?.busyTimer = nil
            self?.giveUpBusy()
        }
    }

    /// One who reads alone holds back nobody else: the server waits, and at last closes.
    private func giveUpBusy() {
        guard isPaused, readers.count > 1 else { return }
        readers.dropWaiting(at: cursor, standing: standing)
        goOn()
    }

    /// Reads on once nobody is busy.
    func goOn() {
        guard isPaused, !readers.isBusy else { return }
        isPaused = false
        busyTimer.take()?.cancel()
        channel?.channel.resumeReading()
        guard let held = heldPoll.take() else { return }
        handle(.polled(id: held.id, more: held.more))
    }
}
