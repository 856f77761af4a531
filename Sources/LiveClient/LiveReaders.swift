import LiveState

/// The readers of one client, by their number.
struct LiveReaders {
    private var buffers: [Int: UpdateBuffer] = [:]
    /// Whether there has ever been a reader. Others do not get what it has read.
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

    /// Ends all of them, after the updates that they hold.
    mutating func finish(_ error: LiveClientError?) {
        for buffer in buffers.values { buffer.finish(error) }
        buffers = [:]
    }

    /// Drops the updates that wait for full readers. `standing`: what they also have to know about the stream.
    func dropWaiting(at cursor: LiveCursor?, standing: [LiveUpdate]) {
        for buffer in buffers.values where buffer.isFull { buffer.overrun(at: cursor, standing: standing) }
    }
}

/// The part of the session between the stream and its readers.
extension ClientSession {
    /// How long a busy reader may pause the stream where there are other readers.
    private static let busyMilliseconds: UInt64 = 5_000

    /// - Parameter start: the cursor after which it begins; nil: the stream's position.
    func join(_ number: Int, _ buffer: UpdateBuffer, from start: LiveCursor? = nil) {
        if case .ended(let error) = machine.view.state { return buffer.finish(failure ?? LiveClientError(error)) }
        let bound = Confined(self, loop: loop)
        buffer.setRoom { bound.loop.execute { bound.value.goOn() } }
        // A reader that joins an open stream knows nothing of what was before.
        let isConnected = machine.view.state == .connected
        // The only reader decides where the stream begins. Cursors cannot be compared: if there are other readers, a cursor that
        // is not the stream's own may be before or after it.
        if let start, readers.isEmpty, !isConnected { cursor = start }
        if isConnected { buffer.push(.connected) }
        // Before the stream is open, a reader without a start is the first of all, or joins where others have read to.
        let isBehind = start.map { $0 != cursor } ?? (isConnected || readers.wereSome && cursor != nil)
        if isBehind { buffer.push(.resync(.start, cursor)) }
        for update in standing { buffer.push(update) }
        readers.add(number, buffer)
        if isPaused { beginPatience() }
        updateWish()
    }

    /// What an open stream sends only once and a new reader has missed: that it is live, or that its source is stalled.
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

    /// A reader that is the only one pauses no other readers: the server waits, and at last closes the stream.
    private func giveUpBusy() {
        guard isPaused, readers.count > 1 else { return }
        readers.dropWaiting(at: cursor, standing: standing)
        goOn()
    }

    /// Continues to read once no reader is busy.
    func goOn() {
        guard isPaused, !readers.isBusy else { return }
        isPaused = false
        busyTimer.take()?.cancel()
        channel?.channel.resumeReading()
        guard let held = heldPoll.take() else { return }
        handle(.polled(id: held.id, more: held.more))
    }
}
