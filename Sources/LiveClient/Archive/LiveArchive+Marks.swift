import LiveState

// Read marks as deferrable actions: shown at once, stored on the device, sent when there is a network. A mark is a status of the
// kind "read" of its thing, and its value is the last event read. So the last one wins, and one is sent in place of many.
extension LiveActions {
    /// The kind of the statuses that are read marks.
    public static let readKind = "read"

    /// Marks a thing as read up to this event; nil marks everything. A mark that is not beyond the pending one or `before`
    /// changes nothing.
    ///
    /// - Parameter before: the last event that was read until now, for an undo; nil if it is not known.
    public func markRead(_ thing: Thing?, upTo: EventID, from before: EventID? = nil) async throws {
        let id = ReadMark.actionID(of: thing)
        if let before, before >= upTo { return }
        // Checked when its turn comes, because an earlier mark may not be stored yet.
        try await hand(.set(kind: Self.readKind, id: id, value: upTo.text, before: before?.text)) { pending in
            pending.contains { $0.kind == Self.readKind && $0.id == id && EventID($0.value) >= upTo }
        }
    }
}

extension ReadMark {
    /// Makes the mark of a deferrable action of the kind ``LiveActions/readKind``; nil if the id is not from ``actionID(of:)``.
    public init?(actionID: String, value: String) {
        let document = JSONNode(Array(actionID.utf8), maximumBytes: 1 << 16, maximumDepth: 2)
        guard let names = document?.elements?.map(\.string) else {
            return nil
        }
        switch names.count {
        case 0: self.init(of: nil, upTo: EventID(value))
        case 2:
            guard let entity = names[0], let id = names[1] else { return nil }
            self.init(of: Thing(entity: entity, id: id), upTo: EventID(value))
        default: return nil
        }
    }

    /// The id of the action that marks a thing, `["incident","PAM4FGS"]`. For everything it is `[]`.
    public static func actionID(of thing: Thing?) -> String {
        guard let thing else { return "[]" }
        var bytes = Array("[".utf8)
        JSONWriting.append(thing.entity, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        JSONWriting.append(thing.id, to: &bytes)
        return String(decoding: bytes + [UInt8(ascii: "]")], as: UTF8.self)
    }
}

extension LiveArchive {
    /// Sends actions of the kind ``LiveActions/readKind``, one after the other. Use it in ``LiveActions/Functions/send`` if the
    /// app sends the other actions to its own API. It neither waits nor renews a token, because ``LiveActions`` do. After 20 s it
    /// returns the results so far, before ``LiveActions`` cancel the whole batch. The rest is sent again.
    ///
    /// - Throws: ``RequestError`` if there is no result at all, because a token or an answer is missing.
    public func sendReadMarks(_ actions: [DeferredAction]) async throws -> [ActionResult] {
        var results: [ActionResult] = []
        let end = now() + Self.batchMilliseconds
        for action in actions where results.isEmpty || now() < end {
            guard let mark = ReadMark(actionID: action.id, value: action.value) else {
                results.append(ActionResult(key: action.key, status: 400))
                continue
            }
            do throws(ArchiveError) {
                let (answer, _) = try await askOnce("/inbox/v1/read", [], body: mark.body)
                let outcome = ActionOutcome(status: answer.status)
                // A missing sign-in is reported once, and not for each mark.
                if outcome == .unauthorized { throw .unauthorized }
                if outcome == .done, answer.status != Self.marked { throw ArchiveError(answer) }
                let retryAfter = answer.retryAfterMilliseconds.map(Milliseconds.init)
                results.append(ActionResult(key: action.key, status: answer.status, retryAfter: retryAfter))
                if outcome == .again { return results }
            } catch {
                // An action without a result is sent again.
                if results.isEmpty { throw error.requestError }
                return results
            }
        }
        return results
    }
}
