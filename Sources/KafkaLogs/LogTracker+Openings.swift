// Where reading begins, for partitions for which that is not known yet.
extension LogTracker {
    /// In how many refreshes the first record of a log, and the one before the start, are requested; then they stay unknown.
    static let maximumFirstRecordAttempts = 3
    /// If a leader refuses this often to report where the window begins, it has a batch there that it cannot read itself. Then
    /// reading begins at the log start.
    static let maximumWindowRefusals = 3
    /// How far before the start the last record is searched for at most: the marker of a transaction uses one offset (KIP-98).
    static let maximumDistanceBefore: Int64 = 2

    /// The ends were requested before. A record that comes between the two requests then lies behind the end, and is read in any
    /// case. A partition whose window is empty is read from its end.
    mutating func beginOpenings(_ now: Moment) -> Probe? {
        guard let ends = refresh?.ends else { return nil }
        let names = allPartitions.filter { self[$0]?.opening == nil && ends[$0] != nil && !isOfAnotherTopic($0) }
        guard !names.isEmpty else { return finish(now) }
        refresh?.openingsBegan = now.wall
        refresh?.deadline = now.monotonic + Self.openingTimeout
        return ask(.openingLogStarts(names), .offsets(names, .logStart), timeout: timeLeft(now))
    }

    mutating func receiveLogStarts(_ names: [PartitionName], _ answers: [OffsetAnswer], _ now: Moment) -> Probe? {
        guard let refresh else { return nil }
        var windowed: [PartitionName] = []
        for (name, answer) in zip(names, answers) {
            guard let origin = self[name]?.origin, let end = refresh.ends[name], let logStart = answer.offset else {
                continue
            }
            self.refresh?.openings[name] = OpeningAnswers(origin: origin, end: end, logStart: logStart)
            // The embedded broker knows no times and answers −1 to all of them: its window is empty.
            if origin == .window, window != nil { windowed.append(name) }
        }
        guard let window, !windowed.isEmpty else { return askFirstRecords(now) }
        let start = refresh.openingsBegan - window
        return ask(
            .windowStarts(windowed), .offsets(windowed, .times(windowed.map { _ in start })),
            timeout: timeLeft(now))
    }

    mutating func receiveWindowStarts(_ names: [PartitionName], _ answers: [OffsetAnswer], _ now: Moment) -> Probe? {
        for (name, answer) in zip(names, answers) {
            if answer.isAnswer {
                refresh?.openings[name]?.windowStart = answer
            } else if answer == .refused, self[name]?.windowRefusals ?? 0 >= Self.maximumWindowRefusals {
                refresh?.openings[name]?.isWindowRefused = true
            } else {
                // Requested again in the next refresh.
                if answer == .refused { self[name]?.windowRefusals += 1 }
                refresh?.openings[name] = nil
            }
        }
        return askFirstRecords(now)
    }

    /// Reads the first record of each log for which the consumer will not do so. It shows how old the log is, and whether a
    /// record lies between the log start and the start of the window.
    private mutating func askFirstRecords(_ now: Moment) -> Probe? {
        guard let openings = refresh?.openings, let began = refresh?.openingsBegan, window != nil, !isEmbedded
        else { return askRecordsBefore(1, now) }
        let names = openings.filter { $0.value.start != $0.value.logStart && isFirstRecordWanted($0.key) }
            .map(\.key).sorted()
        guard !names.isEmpty else { return askRecordsBefore(1, now) }
        let questions = names.map {
            RecordQuestion(partition: $0, offset: openings[$0]?.logStart ?? 0, stampedUntil: began)
        }
        return ask(.firstRecords(names), .records(questions), timeout: timeLeft(now))
    }

    /// Reads the last record before the start. With it a new leader shows that it has the same log, if nothing was read yet. A
    /// leader that lost it in an unclean election may have other records there, and at our position too.
    mutating func askRecordsBefore(_ distance: Int64, _ now: Moment) -> Probe? {
        guard let openings = refresh?.openings, !isEmbedded, distance <= Self.maximumDistanceBefore
        else { return open(now) }
        let names = openings.filter { $0.value.lacksRecordBefore(distance) && isFirstRecordWanted($0.key) }
            .map(\.key).sorted()
        guard !names.isEmpty else { return open(now) }
        let questions = names.map {
            RecordQuestion(partition: $0, offset: (openings[$0]?.start ?? distance) - distance)
        }
        return ask(.recordsBefore(names, distance: distance), .records(questions), timeout: timeLeft(now))
    }

    private func isFirstRecordWanted(_ name: PartitionName) -> Bool {
        self[name].map { $0.failedFirstRecords < Self.maximumFirstRecordAttempts } ?? false
    }

    /// Begins to read what has been answered in full.
    mutating func open(_ now: Moment) -> Probe? {
        guard let refresh else { return nil }
        for (name, answers) in refresh.openings.sorted(by: { $0.key < $1.key }) {
            // Retention moved the start meanwhile, or its record did not arrive: it is opened in the next refresh.
            if answers.first == .outOfRange { continue }
            if answers.first == .silent || answers.before == .silent {
                self[name]?.failedFirstRecords += 1
                if isFirstRecordWanted(name) { continue }
            }
            // The broker that reported the end has another log than the present leader.
            if answers.endsBeforeStart { continue }
            open(name, answers, asked: refresh.openingsBegan, now)
        }
        return finish(now)
    }

    private mutating func open(_ name: PartitionName, _ answers: OpeningAnswers, asked: Int64, _ now: Moment) {
        guard let lost = self[name]?.lostOpening else {
            let opening = answers.opening(window: window, now: asked)
            self[name]?.open(opening, before: answers.recordBefore)
            let began = refresh?.began
            self[name]?.openedRefresh = began
            let id = reportedID(name)
            self[name]?.provedID = id
            // What its leader has reported now is what is known of this log. If another log gets the name before the first fetch,
            // that log is younger.
            self[name]?.prove(at: asked)
            self[name]?.isAssigned = true
            self[name]?.isOutdated = true
            assignments.append(.read(name, at: opening.start))
            // It was created while the node was running, and what was deleted before it was found was never delivered.
            if opening.start > 0, self[name]?.origin == .logStart { note(.recordsLost(name, .retention)) }
            change(name)
            // Cursors state until when everything was read. Before the end is requested again, that is less than what was found
            // unread. For a log that was found to be another one in this refresh it is nothing.
            if opening.unread != nil || self[name]?.end == nil { wantsRefresh = true }
            return
        }
        self[name]?.lostOpening = nil
        self[name]?.opening = lost
        let leader = self[name]?.leader
        self[name]?.anchor = LogAnchor(next: answers.logStart, broker: leader)
        self[name]?.check = LogCheck(start: answers.logStart, windowStart: LogCheck.sinceEver)
        lose(name, .retention, readingAt: answers.logStart, now)
        // As for a partition that was added: its stamps do not show when the rest arrived.
        self[name]?.opening?.liveFrom = answers.logStart
        self[name]?.opening?.logStart = answers.logStart
        resume(name, at: answers.logStart, now)
        self[name]?.prove(at: asked)
    }
}

extension OpeningAnswers {
    /// Where the window begins, as its leader reported.
    fileprivate var windowOffset: Int64 {
        switch (origin, windowStart) {
        case (.logStart, _): logStart
        case (.window, _) where isWindowRefused: logStart
        case (.window, .offset(let first)?): min(first, end)
        case (.window, _): end
        }
    }

    /// Where reading begins: at the log start, if no record lies between it and the start of the window.
    var start: Int64 {
        switch first {
        case .firstRecord(let mark, _)? where mark.offset >= windowOffset: logStart
        case .end?: logStart
        default: windowOffset
        }
    }

    /// The last record before the start, where it is known.
    fileprivate var recordBefore: RecordMark? {
        if case .record(let mark)? = before, mark.offset < start { return mark }
        return nil
    }

    /// Whether to request what is at this distance before the start. Farther back is requested only behind a hole.
    fileprivate func lacksRecordBefore(_ distance: Int64) -> Bool {
        guard start - distance >= logStart else { return false }
        return distance == 1 || before?.isBehind(start - 1) == true
    }

    /// Whether the log is found to end before the start.
    fileprivate var endsBeforeStart: Bool {
        switch before {
        case .outOfRange: true
        case .end(let end): end < start
        case .record, .firstRecord, .unreadable, .silent, nil: false
        }
    }

    /// If a log was not there when its topic was first found, cursors may be from a moment at which nothing of it was known. What
    /// an added partition holds already then counts as arrived now: its stamps do not show when it arrived. All other logs are
    /// opened before the node is ready, also those whose leaders are late.
    fileprivate func opening(window: Int64?, now: Int64) -> Opening {
        let start = start
        var opening = Opening(
            start: start, logStart: logStart, loadUntil: origin == .window ? end : start, unread: nil,
            liveFrom: origin == .logStart ? start : end, born: nil,
            readsFirst: start == logStart, windowStart: nil, opened: now)
        if start > 0 {
            var stampedBefore: Int64?
            // What was deleted came before the first record that is left, whose stamp must show when that was.
            let isBounded = logStart == 0 || first.flatMap(\.timestamp).map { $0 >= 0 } ?? false
            if let window, windowStart != nil, start > logStart, isBounded { stampedBefore = now - window }
            opening.unread = LogFacts.Unread(stampedBefore: stampedBefore, arrivedBefore: now)
        }
        // No record of any time is before the log start.
        if start == logStart, start > 0 {
            opening.windowStart = LogCheck.sinceEver
        } else if let window, windowStart != nil {
            opening.windowStart = now - window
        }
        if case .firstRecord(let mark, let stamp)? = first, mark.offset == 0 {
            (opening.born, opening.firstStamp) = (stamp, mark.timestamp)
        }
        return opening
    }
}
