import LiveState

/// A machine's reader of the stream. It outlives a loss, and resumes at its last position.
struct Following {
    let reader: Int
    let task: Task<Void, Never>
    /// The machine's number for it; nil: the stream was lost, and the machine does not follow it again yet.
    var number: Int?
    /// The newest cursor that it received.
    var cursor: LiveCursor
    /// The reason of a resync that came without a cursor. The next cursor is then the fresh one.
    var owedResync: LiveResync?
    /// The reader, while it waits for the machine to follow it again.
    var waiting: CheckedContinuation<Void, Never>?
}

extension LiveMachine {
    func follow(_ number: Int, _ since: LiveCursor) {
        if let known = following, known.number == nil, known.cursor == since {
            following?.number = number
            following?.waiting = nil
            known.waiting?.resume()
            return
        }
        unfollow()
        lastReader += 1
        let (id, reader) = (lastReader, feed.read(from: since))
        let task = Task { [weak self] in
            do {
                while let update = try await reader.next() {
                    guard await self?.receive(update, id) == true else { return }
                }
                await self?.ended(id, nil)
            } catch {
                await self?.ended(id, error)
            }
        }
        following = Following(reader: id, task: task, number: number, cursor: since)
    }

    func unfollow() {
        following?.task.cancel()
        following?.waiting?.resume()
        following = nil
    }

    /// Handles an update. False: this reader is no longer wanted.
    private func receive(_ update: LiveUpdate, _ reader: Int) async -> Bool {
        guard following?.reader == reader else { return false }
        if following?.number == nil {
            // The connection handles attempts that fail. The machine follows again when a stream is open.
            if case .disconnected = update { return true }
            await comeBack()
        }
        guard let known = following, known.reader == reader, let number = known.number else { return false }
        if let cursor = update.cursor {
            following?.cursor = cursor
            if let why = known.owedResync {
                following?.owedResync = nil
                handle(.resync(number: number, at: cursor.text, isEpoch: why == .epoch))
            }
        }
        switch update {
        case .connected, .read: break
        case .event(let event):
            handle(.events(number: number, events: [ThingEvent(event)], at: (event.cursor ?? known.cursor).text))
        case .beat(let cursor): handle(.events(number: number, events: [], at: cursor.text))
        case .live(let cursor): handle(.live(number: number, at: cursor.text))
        case .resync(let why, let cursor?):
            handle(.resync(number: number, at: cursor.text, isEpoch: why == .epoch))
        case .resync(let why, nil): following?.owedResync = why
        case .source(.stalled(let since)): handle(.source(number: number, stalledSince: since ?? now))
        case .source(.live): handle(.source(number: number, stalledSince: nil))
        case .disconnected(_, let retry):
            following?.number = nil
            handle(.lost(number: number, after: retry.wholeMilliseconds))
        }
        return following?.reader == reader
    }

    /// Waits until the machine follows this reader again, or releases it. A waiting machine tries again now.
    private func comeBack() async {
        if case .pollFailed = view.state { handle(.refresh) }
        guard let known = following, known.number == nil else { return }
        await withCheckedContinuation { following?.waiting = $0 }
    }

    private func ended(_ reader: Int, _ error: (any Error)?) {
        guard let known = following, known.reader == reader else { return }
        following = nil
        if let number = known.number { handle(.lost(number: number, after: nil)) }
        if case LiveClientError.unauthorized? = error { handle(.token(isValid: false)) }
    }
}
