// Whether the logs are those that are read, as far as their leaders have answered.
extension LogTracker {
    /// Last records that a refresh reads once more without a suspicion: cheap for the broker, whose cache has them.
    static let rereadsPerRefresh = 4
    /// How many new leaders one refresh asks for the last record that was read. Where followers are read (`client.rack`), each
    /// partition that receives something asks for one in every refresh: those that were proved longest ago go first.
    static let maximumHandovers = 256

    mutating func beginChecks(_ now: Moment) -> Probe? {
        guard let refresh else { return nil }
        var checks: [Refresh.Check] = []
        for topic in topics.indices {
            for index in topics[topic].partitions.indices {
                let partitionName = name(topic, index)
                let partition = topics[topic].partitions[index]
                guard let end = refresh.ends[partitionName], partition.opening != nil, !isOfAnotherTopic(partitionName),
                    let anchor = anchor(of: partitionName, partition)
                else { continue }
                var check = Refresh.Check(
                    name: partitionName, incarnation: topics[topic].incarnation, anchor: anchor,
                    refused: partition.refused,
                    end: end, answers: .init(end: end, reached: anchor.next))
                topics[topic].partitions[index].check?.begin(with: anchor.first)
                if !isIdentified(partitionName), !isEmbedded {
                    check.questions = topics[topic].partitions[index].check?.questions(now: now.wall) ?? (nil, nil)
                }
                checks.append(check)
            }
        }
        self.refresh?.checks = checks
        // A request is sent after this moment, and so proves the log of this moment.
        self.refresh?.checksBegan = now.wall
        self.refresh?.deadline = now.monotonic + Self.checkTimeout
        let witnesses = checks.indices.filter { checks[$0].questions.witness != nil }
        guard !witnesses.isEmpty else { return askFloors(now) }
        return ask(
            .witnesses(witnesses),
            .offsets(
                witnesses.map { checks[$0].name }, .times(witnesses.map { checks[$0].questions.witness ?? 0 })),
            timeout: timeLeft(now))
    }

    /// What had been read of it when the refresh began; nil if it was not read then.
    private func anchor(of name: PartitionName, _ partition: TrackedPartition) -> LogAnchor? {
        guard let anchors = refresh?.anchors, Int(name.topic) < anchors.count,
            Int(name.number) < anchors[Int(name.topic)].count
        else { return nil }
        var anchor = anchors[Int(name.topic)][Int(name.number)]
        // Opened, or another log, since then.
        guard let start = partition.opening?.start, anchor.next >= start, partition.openedRefresh != refresh?.began
        else { return nil }
        if let leader = partition.leader, !isEmbedded { anchor.expect(leader: leader) }
        return anchor
    }

    /// Whether a new leader has yet to show that it has what was read from another: the same id does not prove that.
    private func isHandoverOpen(_ check: Refresh.Check, _ partition: TrackedPartition) -> Bool {
        guard !isEmbedded else { return false }
        if check.anchor.handover != nil, !check.isHandoverKept { return true }
        if check.anchor.isStartOpen, !check.isStartKept { return true }
        return check.anchor.broker != partition.leader && !check.isHandoverKept && !check.isStartKept
    }

    mutating func askFloors(_ now: Moment) -> Probe? {
        let checks = refresh?.checks ?? []
        let floors = checks.indices.filter { checks[$0].questions.floor != nil }
        guard !floors.isEmpty else { return checkLogs(now) }
        return ask(
            .floors(floors),
            .offsets(floors.map { checks[$0].name }, .times(floors.map { checks[$0].questions.floor ?? 0 })),
            timeout: timeLeft(now))
    }

    mutating func checkLogs(_ now: Moment) -> Probe? {
        guard let refresh else { return nil }
        for (index, check) in refresh.checks.enumerated() {
            guard var log = self[check.name]?.check, isOfNow(check) else { continue }
            let verdict =
                // The embedded broker knows no times.
                isEmbedded
                ? check.end >= check.anchor.next ? LogCheck.Verdict.holds : .open
                : log.verdict(check.answers, isIdentified: isIdentified(check.name), now: refresh.checksBegan)
            self[check.name]?.check = log
            self.refresh?.checks[index].verdict = verdict
        }
        let asked = refresh.checks.indices.filter {
            refresh.checks[$0].refused != nil || !isEmbedded && refresh.checks[$0].anchor.isStartOpen
        }
        guard !asked.isEmpty else { return askHandovers(now) }
        return ask(
            .logStarts(asked), .offsets(asked.map { refresh.checks[$0].name }, .logStart), timeout: timeLeft(now))
    }

    /// A position below the start of the log was lost to retention. Any other is not refused by the log that we read.
    mutating func receiveLogStarts(of indexes: [Int], _ answers: [OffsetAnswer], _ now: Moment) -> Probe? {
        for (index, answer) in zip(indexes, answers) {
            guard let check = refresh?.checks[index], let logStart = answer.offset, let partition = self[check.name]
            else { continue }
            guard let refused = check.refused else {
                compareStart(index, logStart, partition)
                continue
            }
            if refused < logStart {
                reopen(check.name)
                refresh?.checks[index].verdict = .open
            } else if check.verdict != .broken {
                refresh?.checks[index].verdict = partition.check?.held.last != nil ? .suspicious : .broken
            }
        }
        return askHandovers(now)
    }

    /// Nothing was read before the leader changed. If the new log begins before ours did, its broker never had what was deleted,
    /// and so may also lack what was before our position. If it begins at our position, nothing is before that.
    private mutating func compareStart(_ index: Int, _ logStart: Int64, _ partition: TrackedPartition) {
        guard let check = refresh?.checks[index], let opening = partition.opening else { return }
        if logStart < opening.logStart {
            refresh?.checks[index].verdict = .broken
        } else if logStart >= opening.start || check.anchor.last != nil {
            refresh?.checks[index].isStartKept = true
        }
    }

    /// The log no longer holds the position: reading continues where the log begins now.
    private mutating func reopen(_ name: PartitionName) {
        stop(name)
        self[name]?.origin = .logStart
        let opening = self[name]?.opening
        self[name]?.lostOpening = opening
        self[name]?.opening = nil
        self[name]?.refused = nil
    }

    /// Reads once more what was read last from the former broker. A leader that never had it has another record there, or will
    /// have. Nothing else need show that, if all that is missing was read after the last refresh, and the log was longer than our
    /// position before the first fetch.
    private mutating func askHandovers(_ now: Moment) -> Probe? {
        let checks = refresh?.checks ?? []
        let open = isEmbedded ? [] : checks.indices.filter { checks[$0].anchor.handover != nil }
        let proved = open.map { (index: $0, known: self[checks[$0].name]?.known ?? .min) }
        let chosen = proved.sorted { ($0.known, $0.index) < ($1.known, $1.index) }.prefix(Self.maximumHandovers)
            .map(\.index)
        guard !chosen.isEmpty else { return askLastRecords(now) }
        let questions = chosen.map {
            RecordQuestion(partition: checks[$0].name, offset: checks[$0].anchor.handover?.offset ?? 0)
        }
        return ask(.handovers(chosen), .records(questions), timeout: timeLeft(now))
    }

    mutating func receiveHandovers(_ indexes: [Int], _ answers: [RecordAnswer], _ now: Moment) -> Probe? {
        for (index, answer) in zip(indexes, answers) {
            guard let check = refresh?.checks[index], let mark = check.anchor.handover else { continue }
            switch mark.isKept(answer, end: check.end) {
            case true?: refresh?.checks[index].isHandoverKept = true
            case false?: refresh?.checks[index].verdict = .broken
            case nil: break
            }
        }
        return askLastRecords(now)
    }

    /// Reads once more the records that decide a suspicion. Without ids it also reads some others in turn: a log that was
    /// recreated with the same time stamps at the same offsets raises no suspicion.
    private mutating func askLastRecords(_ now: Moment) -> Probe? {
        let checks = refresh?.checks ?? []
        let chosen =
            checks.indices.filter { checks[$0].verdict == .suspicious && lastRecord(of: checks[$0]) != nil }
            + routineRereads(checks)
        guard !chosen.isEmpty else { return concludeChecks(now) }
        let questions = chosen.map {
            RecordQuestion(partition: checks[$0].name, offset: lastRecord(of: checks[$0])?.offset ?? 0)
        }
        return ask(.lastRecords(chosen), .records(questions), timeout: timeLeft(now))
    }

    private func lastRecord(of check: Refresh.Check) -> RecordMark? { self[check.name]?.check?.held.last }

    /// Some of the checks that are not in doubt, in turn.
    private mutating func routineRereads(_ checks: [Refresh.Check]) -> [Int] {
        guard !isEmbedded else { return [] }
        let willing = checks.indices.filter {
            checks[$0].verdict == .holds && !isIdentified(checks[$0].name) && lastRecord(of: checks[$0]) != nil
        }
        guard !willing.isEmpty else { return [] }
        let count = min(Self.rereadsPerRefresh, willing.count)
        defer { reread &+= count }
        return (0..<count).map { willing[(reread &+ $0) % willing.count] }
    }

    mutating func receiveLastRecords(_ indexes: [Int], _ answers: [RecordAnswer], _ now: Moment) -> Probe? {
        for (index, answer) in zip(indexes, answers) { refresh?.checks[index].found = answer }
        let checks = refresh?.checks ?? []
        let outOfRange = indexes.filter { checks[$0].found == .outOfRange }
        let settled = indexes.filter { checks[$0].found != .outOfRange }
        settle(settled, logStarts: settled.map { _ in nil })
        guard !outOfRange.isEmpty else { return concludeChecks(now) }
        return ask(
            .outOfRangeLogStarts(outOfRange), .offsets(outOfRange.map { checks[$0].name }, .logStart),
            timeout: timeLeft(now))
    }

    mutating func settle(_ indexes: [Int], logStarts: [Int64?]) {
        guard let began = refresh?.checksBegan else { return }
        for (index, logStart) in zip(indexes, logStarts) {
            guard let check = refresh?.checks[index], let found = check.found, var log = self[check.name]?.check else {
                continue
            }
            // Silence puts no log in doubt that was not in doubt before.
            if check.verdict == .holds, found == .silent || found == .unreadable { continue }
            refresh?.checks[index].verdict = log.settle(found, check.answers, logStart: logStart, now: began)
            self[check.name]?.check = log
        }
    }

    mutating func concludeChecks(_ now: Moment) -> Probe? {
        guard let refresh else { return nil }
        // If one log of a topic is another now, checks of its other logs prove nothing: nothing was read of the new ones yet.
        let broken = Set(refresh.checks.filter { $0.verdict == .broken && isOfNow($0) }.map { Int($0.name.topic) })
        if let again = askBrokenTopicIDs(broken, now) { return again }
        for check in refresh.checks where isOfNow(check) {
            guard var partition = self[check.name], partition.opening != nil else { continue }
            if check.isHandoverKept, partition.anchor.handover == check.anchor.handover {
                partition.anchor.handover = nil
            }
            if check.isStartKept { partition.anchor.isStartOpen = false }
            let isShown = (check.isHandoverKept || check.isStartKept) && !isHandoverOpen(check, partition)
            if isShown, partition.anchor.last == check.anchor.handover {
                partition.anchor.confirm(leader: partition.leader)
            }
            switch check.verdict {
            case .holds where !broken.contains(Int(check.name.topic)) && !isHandoverOpen(check, partition):
                if let gone = partition.check?.hold(check.anchor, check.answers, now: refresh.checksBegan) {
                    partition.anchor.removeWitness(gone)
                }
                // If nothing had been read of the log, what was read during the refresh may be of another one.
                if check.anchor.next > 0 || partition.next == 0 { partition.prove(at: refresh.checksBegan) }
                // For an id that is not the topic's yet, see below.
                if let id = reportedID(check.name), id == topics[Int(check.name.topic)].id { partition.provedID = id }
            case .holds, .broken, .open, .suspicious: break
            }
            self[check.name] = partition
            change(check.name)
            // The log is the same one and refused the position. The log was not the cause, so retry.
            if check.verdict == .holds, partition.refused != nil { tryAgain(check.name, now) }
        }
        for (topic, id) in refresh.firstIDs {
            let checks = refresh.checks.filter { Int($0.name.topic) == topic }
            guard !checks.isEmpty,
                checks.allSatisfy({ $0.verdict == .holds && reportedID($0.name) == id })
            else { continue }
            topics[topic].id = id
            topics[topic].identifiedAt = refresh.began.wall
            for check in checks { self[check.name]?.provedID = id }
        }
        for topic in broken.sorted() {
            recreate(topic, keepsID: refresh.identified.contains(topic), isBroken: true, now)
        }
        return beginOpenings(now)
    }

    /// Whether its topic has not been forgotten since.
    private func isOfNow(_ check: Refresh.Check) -> Bool {
        topics[Int(check.name.topic)].incarnation == check.incarnation
    }

    /// Continues where it was, at most once in a while.
    private mutating func tryAgain(_ name: PartitionName, _ now: Moment) {
        guard let partition = self[name] else { return }
        if let resumedAt = partition.resumedAt, now.monotonic - resumedAt < Self.resumePause { return }
        self[name]?.refused = nil
        resume(name, at: partition.next, now)
    }
}
