import LiveUpdates

/// From an account's events to the streams of one loop.
///
/// Messages of one account and one form are encoded once a wake and shared; a connection gets a reference to them.
/// Confined to its loop.
final class LoopFanOut {
    /// Bytes of recent slices on this loop, all forms together; over it those who are behind go on from the log.
    static let maximumRecentBytes = 32 * 1_048_576

    /// All events up to here that concern this loop have been handed out, or are told to those who are behind.
    private(set) var sequence: UInt64 = 0
    let encoder = FormEncoder()
    private var audiences: [Account: Audience] = [:]
    private var recentBytes = 0

    /// What ingest has just said holds everything up to `sequence`.
    func advance(to sequence: UInt64) {
        if sequence > self.sequence { self.sequence = sequence }
    }

    // MARK: - Who gets what

    /// From now on the stream is given what comes, with all others of its form.
    func join(_ connection: Connection, account: Account, _ form: StreamForm) {
        let group = audience(account).makeGroup(form)
        connection.placeInAudience = group.connections.count
        group.connections.append(connection)
    }

    /// O(1): the last connection of the group takes the place of the one that leaves.
    func leave(_ connection: Connection, account: Account, _ form: StreamForm) {
        let (audience, group) = place(account, form)
        Self.remove(connection, from: &group.connections)
        tidy(audience, group, account)
    }

    /// The stream has been given all up to ``sequence``, and takes no more for now.
    func fallBehind(_ connection: Connection, account: Account, _ form: StreamForm, now: UInt64) {
        let (_, group) = place(account, form)
        Self.remove(connection, from: &group.connections)
        group.behind += 1
        group.recent.keep(after: sequence, now: now)
    }

    /// A stream that begins behind: it asks for what it missed before it joins.
    func beginBehind(account: Account, _ form: StreamForm) {
        audience(account).makeGroup(form).behind += 1
    }

    /// It has caught up and joins, or it goes.
    func endBehind(account: Account, _ form: StreamForm) {
        let (audience, group) = place(account, form)
        precondition(group.behind > 0, "a stream caught up that had not been behind")
        group.behind -= 1
        if group.behind == 0 { dropRecent(of: group) }
        tidy(audience, group, account)
    }

    /// What the form was given after `sequence`; nil where the log has to tell.
    func recent(
        account: Account, _ form: StreamForm, after sequence: UInt64, limit: Int
    ) -> (slices: [[UInt8]], sequence: UInt64)? {
        place(account, form).group.recent.next(after: sequence, limit: limit)
    }

    func watch(_ connection: Connection, account: Account) {
        let audience = audience(account)
        connection.placeInAudience = audience.watchers.count
        audience.watchers.append(connection)
    }

    func unwatch(_ connection: Connection, account: Account) {
        guard let audience = audiences[account] else {
            preconditionFailure("a connection left an account that nobody had joined")
        }
        Self.remove(connection, from: &audience.watchers)
        if audience.isEmpty { audiences[account] = nil }
    }

    private func audience(_ account: Account) -> Audience {
        if let audience = audiences[account] { return audience }
        let audience = Audience()
        audiences[account] = audience
        return audience
    }

    private func place(_ account: Account, _ form: StreamForm) -> (audience: Audience, group: Audience.Group) {
        guard let audience = audiences[account], let group = audience.group(form) else {
            preconditionFailure("a connection left an account that nobody had joined")
        }
        return (audience, group)
    }

    private func tidy(_ audience: Audience, _ group: Audience.Group, _ account: Account) {
        guard group.isEmpty else { return }
        audience.groups.removeAll { $0 === group }
        if audience.isEmpty { audiences[account] = nil }
    }

    private static func remove(_ connection: Connection, from connections: inout [Connection]) {
        let place = connection.placeInAudience
        precondition(connections[place] === connection, "a connection's place in its audience is not its own")
        let last = connections.removeLast()
        guard last !== connection else { return }
        connections[place] = last
        last.placeInAudience = place
    }

    // MARK: - Handing out

    /// Hands `batch` to everybody whom it concerns; returns the number of messages handed out.
    ///
    /// `sequence` is the last one in the batch; `now` is monotonic, in milliseconds.
    func deliver(_ batch: [AccountEvents], sequence: UInt64, now: UInt64) -> Int {
        advance(to: sequence)
        var deliveries = 0
        for part in batch {
            // Everybody may have left since ingest looked.
            guard let audience = audiences[part.account] else { continue }
            // A connection that turns out to be too slow leaves while we walk: hence copies of the arrays.
            for group in audience.groups { deliveries += deliver(part.events, to: group, now: now) }
            for connection in audience.watchers { connection.eventsCame(part.events) }
        }
        return deliveries
    }

    private func deliver(_ events: [LoggedEvent], to group: Audience.Group, now: UInt64) -> Int {
        guard !group.connections.isEmpty || group.recent.isKept else { return 0 }
        let messages = encoder.messages(events, group.form)
        guard !messages.isEmpty else { return 0 }
        let connections = group.connections
        keepRecent(messages, first: events[0].sequence, in: group, now: now)
        for connection in connections { connection.deliver(messages) }
        return events.count * connections.count
    }

    private func keepRecent(_ messages: [UInt8], first: UInt64, in group: Audience.Group, now: UInt64) {
        guard group.recent.isKept else { return }
        recentBytes -= group.recent.bytes
        group.recent.append(messages, first: first, sequence: sequence, now: now)
        recentBytes += group.recent.bytes
        if recentBytes > Self.maximumRecentBytes { dropRecent(of: group) }
    }

    private func dropRecent(of group: Audience.Group) {
        recentBytes -= group.recent.bytes
        group.recent.drop()
    }

    /// What was kept has lost its meaning: ingest's logs begin anew.
    func reset() {
        for audience in audiences.values {
            for group in audience.groups { dropRecent(of: group) }
        }
    }
}

@available(*, unavailable)
extension LoopFanOut: Sendable {}
