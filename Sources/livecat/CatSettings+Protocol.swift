import HTTP
import LiveClientReactor
import Options

/// The options that ask for Livegate's protocol, and those that make no sense for a stream that only receives.
extension CatSettings {
    mutating func setProtocol(_ arguments: Arguments) throws(StartProblem) {
        let table = LivecatCommand.self
        try setForm(arguments)
        verifies = arguments[table.verify]
        var since = arguments[table.since]
        if let path = arguments[table.cursorFile] {
            let file = CursorFile(path)
            since = try file.read() ?? since
            cursorFile = file
        }
        cursor = since.map(LiveCursor.init)
        var parameters: [(name: String, value: String)] = []
        if let with = with(arguments[table.with]) { parameters.append(("with", with)) }
        if let entities = arguments[table.entities] { parameters.append(("ent", entities)) }
        if let mode = arguments[table.mode] { parameters.append(("mode", mode)) }
        if let beat = arguments[table.beat] { parameters.append(("beat", String(beat))) }
        if let upTo = arguments[table.upTo] { parameters.append(("upto", upTo)) }
        if let wait = syncWaitSeconds { parameters.append(("wait", String(wait))) }
        if document != .sync { parameters = try archiveParameters(arguments) }
        connection.url = connection.url.setting(parameters)
        hasCursors = connection.form != .webSocket || cursor != nil || asksForCursors
    }

    /// Adds `at`, because a cursor file needs cursors.
    private func with(_ words: String?) -> String? {
        guard cursorFile != nil, connection.form == .webSocket else { return words }
        let list = words?.split(separator: ",").map(String.init) ?? []
        return (list.contains("at") ? list : ["at"] + list).joined(separator: ",")
    }

    /// Whether the address, with its options, makes a Livegate send cursors and control messages (the protocol's table of
    /// parameters). Other addresses may belong to a server that uses the same words with another meaning.
    private var asksForCursors: Bool {
        let url = connection.url
        if ["since", "beat"].contains(where: { url.parameter($0) != .absent }) { return true }
        if url.parameter("mode") == .one(Array("changed".utf8)) { return true }
        guard case .one(let with) = url.parameter("with") else { return false }
        return with.split(separator: UInt8(ascii: ",")).contains { $0.elementsEqual("at".utf8) }
    }

    private mutating func setForm(_ arguments: Arguments) throws(StartProblem) {
        let table = LivecatCommand.self
        let (sse, sync) = (arguments[table.sse], arguments[table.sync])
        let forms = [
            ("--sse", sse), ("--sync", sync), ("--archive", arguments[table.archive]),
            ("--inbox", arguments[table.inbox]), ("--mark-read", arguments[table.markRead] != nil),
        ].filter(\.1).map(\.0)
        guard forms.count < 2 else { throw .wrongUse("\(forms[0]) and \(forms[1]) exclude one another") }
        connection.form = sse ? .eventStream : forms.isEmpty ? .webSocket : .document
        try setDocument(arguments)
        if arguments[table.upTo] != nil, !sync { throw .wrongUse("option '--upto' has no meaning without --sync") }
        guard let name = forms.first else { return }
        let isPast = document != .sync
        let sending: [(name: String, isGiven: Bool)] = [
            ("execute", !execute.isEmpty), ("subprotocol", !arguments[table.subprotocol].isEmpty), ("binary", isBinary),
            ("deflate", connection.deflate != nil), ("ping", connection.pingMilliseconds != nil),
            ("slash", readsSlashCommands), ("protocol", arguments[table.version] != nil),
            ("show-ping-pong", showsPingPong), ("wait", sse && arguments[table.wait] != nil),
            ("wait", isPast && arguments[table.wait] != nil), ("with", isPast && arguments[table.with] != nil),
            ("mode", !sse && arguments[table.mode] != nil), ("beat", !sse && arguments[table.beat] != nil),
            ("since", isPast && arguments[table.since] != nil), ("count", isPast && count != nil),
            ("cursor-file", isPast && arguments[table.cursorFile] != nil),
            ("verify", isPast && arguments[table.verify]),
        ]
        if let other = sending.first(where: \.isGiven) {
            throw .wrongUse("option '--\(other.name)' has no meaning with \(name)")
        }
        guard sync else { return }
        connection.url = connection.url.replacing(pathSuffix: "/live/v1", with: "/sync/v1")
        switch arguments[table.wait] {
        case nil, .milliseconds(0): break
        case .forever: syncWaitSeconds = Self.longWaitSeconds
        case .milliseconds(let milliseconds): syncWaitSeconds = Int((milliseconds + 999) / 1000)
        }
        connection.limits.patienceMilliseconds = UInt64(syncWaitSeconds ?? 0) * 1000
    }

    /// What a server allows by default (`max_wait`).
    private static let longWaitSeconds = 55
}
