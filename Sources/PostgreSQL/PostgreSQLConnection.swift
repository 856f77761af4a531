import CPostgreSQL

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A connection that has begun; closed exactly once.
@safe
struct ConnectionHandle: ~Copyable {
    let pointer: OpaquePointer

    /// The corresponding C function is `PQconnectStartParams`: later entries of the list override earlier ones.
    init(_ words: [(key: String, value: String)]) throws(PostgreSQLError) {
        let started = unsafe Self.withCStrings(words.map(\.key)) { keys in
            unsafe Self.withCStrings(words.map(\.value)) { values in unsafe PQconnectStartParams(keys, values, 1) }
        }
        guard let pointer = unsafe started else { throw PostgreSQLError(message: "no memory for a connection") }
        unsafe self.pointer = pointer
        // Notices of the server would go to standard error.
        unsafe _ = PQsetNoticeProcessor(pointer, { _, _ in }, nil)
    }

    deinit { unsafe PQfinish(pointer) }

    /// Gives C a list of strings that ends with null.
    private static func withCStrings<Value>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        var bytes: [CChar] = []
        var offsets: [Int] = []
        for string in strings {
            offsets.append(bytes.count)
            bytes += string.utf8CString
        }
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            var pointers: [UnsafePointer<CChar>?] = unsafe offsets.map { unsafe buffer.baseAddress?.advanced(by: $0) }
            unsafe pointers.append(nil)
            return unsafe body(pointers)
        }
    }
}

/// A session with a server of PostgreSQL.
///
/// Every call waits for the server, so it belongs to a thread of its own. No call waits within libpq: each wait ends by the
/// deadline or an ``Interruption``, even if the server is stopped or the network is gone. After that the connection cannot be
/// used any more (``isUsable``).
package final class Connection {
    /// More texts of statements than a program has.
    static let maximumStatements = 256

    /// A message from another session (``notifications(waitingMilliseconds:)``).
    package struct Notification: Equatable, Sendable {
        package let channel: String
        package let payload: String
    }

    private let handle: ConnectionHandle
    private let interruption: Interruption
    private var isBroken = false
    /// Names of prepared statements, by their texts.
    private var statements: [String: String] = [:]
    /// Monotonic, in ms: no wait is longer.
    package var deadline: UInt64
    /// With it, each statement has a deadline of its own.
    package var statementMilliseconds: UInt64?

    /// Connects.
    ///
    /// - Parameters:
    ///   - words: libpq's parameters; later entries override earlier ones.
    init(
        _ words: [(key: String, value: String)], deadline: UInt64, interruption: Interruption
    ) throws(PostgreSQLError) {
        self.deadline = deadline
        self.interruption = interruption
        handle = try ConnectionHandle(words)
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED, unsafe PQstatus(handle.pointer) != CONNECTION_BAD else {
                throw failure(nil)
            }
            _ = try wait(for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT, nil)
            state = unsafe PQconnectPoll(handle.pointer)
        }
        unsafe _ = PQsetnonblocking(handle.pointer, 1)
    }

    package static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
    }

    package var isUsable: Bool {
        let status = unsafe PQstatus(handle.pointer)
        return !isBroken && status == CONNECTION_OK
    }

    /// Such as 150004 for 15.4.
    package var serverVersion: Int { unsafe Int(PQserverVersion(handle.pointer)) }

    /// Whether the server has ended the session between two statements.
    package var hasEnded: Bool {
        // Its last messages arrive before its end.
        while isUsable {
            var entry = pollfd(fd: unsafe PQsocket(handle.pointer), events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, 0) > 0 else { return false }
            guard unsafe PQconsumeInput(handle.pointer) == 1 else { return true }
        }
        return true
    }

    // MARK: - Statements

    /// Runs statements without values, and drops their rows.
    package func command(_ sql: String) throws(PostgreSQLError) {
        begin()
        _ = try finish(unsafe PQsendQuery(handle.pointer, sql), sql)
    }

    /// Runs one statement that is not prepared. Its columns are text, whatever their type.
    package func query(_ sql: String) throws(PostgreSQLError) -> Rows {
        begin()
        return try finish(unsafe PQsendQuery(handle.pointer, sql), sql)
    }

    /// Runs one statement, which is prepared at its first use and kept as long as the connection.
    package func run(_ sql: String, _ values: [Parameter] = []) throws(PostgreSQLError) -> Rows {
        begin()
        let name = try prepared(sql, values)
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for value in values {
            value.append(to: &bytes)
            ends.append(bytes.count)
        }
        // An empty value needs an address too.
        bytes.append(0)
        let sent = unsafe bytes.withUnsafeBytes { buffer in
            var (pointers, lengths): ([UnsafePointer<CChar>?], [Int32]) = unsafe ([], [])
            var start = 0
            for (value, end) in zip(values, ends) {
                let pointer = unsafe buffer.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self)
                if case .null = value { unsafe pointers.append(nil) } else { unsafe pointers.append(pointer) }
                lengths.append(Int32(clamping: end - start))
                start = end
            }
            let formats = [Int32](repeating: 1, count: values.count)
            return unsafe PQsendQueryPrepared(
                handle.pointer, name, Int32(values.count), pointers, lengths, formats, 1)
        }
        return try finish(sent, sql)
    }

    /// Does all of it or nothing. Where the connection is lost with the last call, it is unknown which.
    package func transaction<Value>(_ begin: String = "BEGIN", _ body: () throws -> Value) throws -> Value {
        try command(begin)
        do {
            let value = try body()
            try command("COMMIT")
            return value
        } catch {
            if isUsable { try? command("ROLLBACK") }
            throw error
        }
    }

    private func prepared(_ sql: String, _ values: [Parameter]) throws(PostgreSQLError) -> String {
        if let name = statements[sql] { return name }
        precondition(
            statements.count < Self.maximumStatements, "statements are texts of the program, not made at each call")
        let name = "livegate_\(statements.count)"
        let types = values.map(\.type)
        _ = try finish(unsafe PQsendPrepare(handle.pointer, name, sql, Int32(types.count), types), sql)
        statements[sql] = name
        return name
    }

    // MARK: - Other sessions' messages

    /// Waits so long for messages of the channels that it listens to, unless some have arrived already.
    package func notifications(waitingMilliseconds: UInt64) throws(PostgreSQLError) -> [Notification] {
        guard isUsable else { throw failure(nil) }
        let known = received
        guard known.isEmpty else { return known }
        var entry = pollfd(fd: unsafe PQsocket(handle.pointer), events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, Int32(clamping: waitingMilliseconds)) > 0 else { return [] }
        try read(nil)
        return received
    }

    /// Removes and returns what was read already.
    private var received: [Notification] {
        var notifications: [Notification] = []
        while let notification = unsafe PQnotifies(handle.pointer) {
            notifications.append(
                Notification(
                    channel: unsafe String(cString: notification.pointee.relname),
                    payload: unsafe String(cString: notification.pointee.extra)))
            unsafe PQfreemem(notification)
        }
        return notifications
    }

    // MARK: - Waiting

    private func begin() {
        if let statementMilliseconds { deadline = Self.now + statementMilliseconds }
    }

    /// Reads all that a statement gives. Returns the last result, or throws the first refusal.
    private func finish(_ sent: Int32, _ sql: String) throws(PostgreSQLError) -> Rows {
        guard sent == 1 else { throw failure(sql) }
        while true {
            let left = unsafe PQflush(handle.pointer)
            guard left >= 0 else { throw failure(sql) }
            guard left > 0 else { break }
            // A server that first needs its output to be read would never accept the rest.
            if try wait(for: POLLIN | POLLOUT, sql) & POLLIN != 0 { try read(sql) }
        }
        var last: Rows?
        var refusal: PostgreSQLError?
        while true {
            while unsafe PQisBusy(handle.pointer) == 1 {
                _ = try wait(for: POLLIN, sql)
                try read(sql)
            }
            guard let result = unsafe PQgetResult(handle.pointer) else { break }
            switch unsafe PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            default:
                let state = unsafe PQresultErrorField(result, 67).map { unsafe String(cString: $0) }
                let error = unsafe PostgreSQLError(PQresultErrorMessage(result), state: state, statement: sql)
                refusal = refusal ?? error
            }
            last = unsafe Rows(result)
        }
        if let refusal { throw refusal }
        guard let last else { throw failure(sql) }
        return last
    }

    private func read(_ sql: String?) throws(PostgreSQLError) {
        guard unsafe PQconsumeInput(handle.pointer) == 1 else { throw failure(sql) }
    }

    /// libpq's message; the connection is not used again.
    private func failure(_ sql: String?) -> PostgreSQLError {
        isBroken = true
        return unsafe PostgreSQLError(PQerrorMessage(handle.pointer), statement: sql)
    }

    /// Waits until the socket may be read or written. Returns what it may be.
    private func wait(for events: Int32, _ sql: String?) throws(PostgreSQLError) -> Int32 {
        while true {
            let now = Self.now
            guard !interruption.isSet, now < deadline else {
                isBroken = true
                let why = interruption.isSet ? "the connection is being closed" : "the server does not answer"
                throw PostgreSQLError(message: why, statement: sql)
            }
            var entry = pollfd(fd: unsafe PQsocket(handle.pointer), events: Int16(events), revents: 0)
            let ready = unsafe poll(&entry, 1, Int32(min(deadline - now, Interruption.sliceMilliseconds)))
            if ready > 0 { return Int32(entry.revents) | (entry.revents & Int16(POLLHUP | POLLERR) != 0 ? POLLIN : 0) }
        }
    }
}
