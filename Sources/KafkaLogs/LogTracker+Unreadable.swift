// Batches that cannot be read. Each is read twice; then all clients must resync, and reading continues behind it.
extension LogTracker {
    /// Between two attempts to go on where the broker refused, in milliseconds.
    static let resumePause: Int64 = 1_000
    /// If a partition does not advance for this long, without an error, what is behind its position is requested. This is longer
    /// than the library waits for one answer (`socket.timeout.ms`, 10 s): whatever arrives at all has arrived by then.
    static let standstillPatience: Int64 = 30_000
    /// Partitions of a topic that we have no right to read are assigned again after this time. The library repeats the report of
    /// an end only to a new assignment. That report shows that the right is back.
    static let rightsPatience: Int64 = 30_000
    /// Questions about what is behind the position start within this time of a refresh.
    static let searchTime: Int64 = 500
    /// The time limit for the answer to one of them. What has not arrived by then is requested once more.
    static let searchTimeout: Int64 = 1_000
    /// Partitions that are asked about at once.
    static let maximumSearches = 8

    /// The library could not decode a batch, and continues behind it if it can. So the batch is read a second time from our
    /// position. What arrives until then is dropped.
    package mutating func fail(_ topic: Int, _ number: Int32, reason: String, _ now: Moment) {
        let name = PartitionName(topic: UInt16(topic), number: number)
        notices.append(.partitionTrouble(topic: topics[topic].name, partition: number, reason: reason))
        guard let partition = self[name], partition.opening != nil, partition.isAssigned, !partition.isOutdated else {
            return
        }
        switch partition.failure {
        case .reread(from: partition.next):
            self[name]?.failure = .confirmed(at: partition.next)
        case .confirmed(at: partition.next):
            // Nothing readable followed it: the library requests the same batch again and again.
            stopReading(name, now)
            wantsRefresh = true
        case .stopped: break
        case nil, .reread, .confirmed:
            self[name]?.failure = .reread(from: partition.next)
            resume(name, at: partition.next, now)
        }
    }

    /// Until it is known where to go on.
    mutating func stopReading(_ name: PartitionName, _ now: Moment) {
        guard let partition = self[name] else { return }
        // What was not read twice yet may be readable.
        let isUnreadable = partition.failure == .confirmed(at: partition.next)
        self[name]?.failure = .stopped(at: partition.next, since: now.monotonic)
        self[name]?.search = OffsetSearch(position: partition.next, isUnreadable: isUnreadable)
        stop(name)
    }

    /// Something was read at or behind the offset of the failure.
    mutating func endFailure(_ name: PartitionName, at offset: Int64, _ now: Moment) {
        guard case .confirmed = self[name]?.failure else {
            self[name]?.failure = nil
            return
        }
        lose(name, .unreadable, readingAt: offset, now)
    }

    // MARK: - Where to go on

    /// Its log goes on behind the position, and its leader answers. For some batches the library reports nothing, or nothing the
    /// second time, and requests them for ever. Such a batch has several records and an unknown magic byte, or a wrong length.
    mutating func noteStandstill(_ name: PartitionName, _ now: Moment) {
        guard let partition = self[name], let since = partition.watch.behindSince, partition.isAssigned,
            partition.search == nil, partition.refused == nil, !topics[Int(name.topic)].isUnreadable
        else { return }
        if case .confirmed = partition.failure {
            if now.monotonic - since >= AnswerWatch.patience { stopReading(name, now) }
        } else if now.monotonic - max(since, partition.searchedAt ?? .min) >= Self.standstillPatience {
            self[name]?.searchedAt = now.monotonic
            self[name]?.search = OffsetSearch(position: partition.next, isUnreadable: false)
        }
    }

    /// Checks whether we may read the topic again: reads it from where it stopped.
    mutating func tryRight(_ name: PartitionName, _ now: Moment) {
        guard topics[Int(name.topic)].isUnreadable, let partition = self[name], partition.isAssigned,
            now.monotonic - (partition.resumedAt ?? .min / 2) >= Self.rightsPatience
        else { return }
        resume(name, at: partition.next, now)
    }

    /// Requests what is behind batches that cannot be read; nil when there is nothing to request in this refresh.
    mutating func askBehind(_ now: Moment) -> Probe? {
        guard let refresh else { return nil }
        var questions: [RecordQuestion] = []
        for (name, end) in refresh.ends {
            guard let search = self[name]?.search else { continue }
            guard search.position == self[name]?.next else {
                self[name]?.search = nil
                continue
            }
            // The end was requested before that.
            if case .stopped(_, let since) = self[name]?.failure, since > refresh.began.monotonic { continue }
            if let offset = search.question(end: end) {
                questions.append(RecordQuestion(partition: name, offset: offset))
            } else {
                goOn(name, search, end: end, now)
            }
        }
        let began = refresh.searchBegan ?? now.monotonic
        guard !questions.isEmpty, now.monotonic - began <= Self.searchTime else { return nil }
        self.refresh?.searchBegan = began
        questions = Array(questions.sorted { $0.partition < $1.partition }.prefix(Self.maximumSearches))
        return ask(.recordsBehind(questions), .records(questions), timeout: Self.searchTimeout)
    }

    mutating func receiveBehind(_ questions: [RecordQuestion], _ answers: [RecordAnswer], _ now: Moment) -> Probe? {
        for (question, answer) in zip(questions, answers) {
            self[question.partition]?.search?.add(answer, at: question.offset)
        }
        return finish(now)
    }

    /// The search is over. If nothing could be read up to the log end, reading continues there, behind a batch that was found
    /// unreadable. A partition that merely does not advance keeps waiting.
    private mutating func goOn(_ name: PartitionName, _ search: OffsetSearch, end: Int64, _ now: Moment) {
        self[name]?.search = nil
        var offset = search.readable ?? search.position
        if case .stopped = self[name]?.failure {
            offset = search.readable ?? max(end, search.position)
            self[name]?.failure = nil
        } else if offset == search.position || !search.isDecided {
            return
        }
        if offset > search.position { lose(name, .unreadable, readingAt: offset, now) }
        resume(name, at: offset, now)
    }

    /// Records were lost: what is read from `offset` on counts as a log of its own.
    mutating func lose(_ name: PartitionName, _ loss: LogChange.Loss, readingAt offset: Int64, _ now: Moment) {
        guard let partition = self[name], var opening = partition.opening else { return }
        let topic = topics[Int(name.topic)].name
        let notice: LogNotice =
            switch loss {
            case .unreadable: .batchUnreadable(topic: topic, partition: name.number, offset: partition.next)
            case .retention: .positionOutOfRange(topic: topic, partition: name.number, offset: partition.next)
            case .passedOver:
                .recordsPassedOver(topic: topic, partition: name.number, offset: offset, position: partition.next)
            }
        notices.append(notice)
        opening.start = offset
        // What is left of the window is still to be loaded.
        opening.liveFrom = max(opening.liveFrom, offset)
        opening.unread = LogFacts.Unread(stampedBefore: nil, arrivedBefore: now.wall)
        // All that was lost is before what is read next, whose stamp is the upper bound for the stamps of the lost records.
        opening.readsFirst = true
        let wasLoaded = partition.isLoaded
        self[name]?.opening = opening
        self[name]?.next = offset
        self[name]?.handedOver = offset
        self[name]?.passedOver = nil
        self[name]?.anchor.next = offset
        self[name]?.failure = nil
        self[name]?.search = nil
        let isLoaded = self[name]?.isLoaded == true
        if wasLoaded != isLoaded { unloaded += isLoaded ? -1 : 1 }
        note(.recordsLost(name, loss))
        change(name)
        guard loss == .passedOver else { return }
        // Cursors and stores may have positions ahead of what was read: they count as positions in a log that was cut back.
        self[name]?.wrongUntil = now.wall
        wantsRefresh = true
    }

    /// Assigns the partition again; what arrives from the former assignment is dropped.
    mutating func resume(_ name: PartitionName, at offset: Int64, _ now: Moment) {
        stop(name)
        self[name]?.isAssigned = true
        self[name]?.isOutdated = true
        self[name]?.resumedAt = now.monotonic
        assignments.append(.read(name, at: offset))
    }

    mutating func stop(_ name: PartitionName) {
        guard self[name]?.isAssigned == true else { return }
        self[name]?.isAssigned = false
        assignments.append(.stop(name))
    }
}
