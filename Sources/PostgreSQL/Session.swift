/// A connection that is made when it is needed, and made again when it was lost. For one thread.
package final class Session {
    package struct Settings: Sendable {
        /// A libpq URI.
        let uri: String
        /// Called for each connection: the password may have changed.
        let password: @Sendable () throws(PostgreSQLError) -> String?
        /// How long connecting may last, and a call of ``Session/run(_:)`` where statements have no limit of their own.
        let milliseconds: UInt64
        /// For each statement.
        let statementMilliseconds: UInt64?
        /// Whether a connection that was lost while it was not used is replaced without an error. Not where the session holds
        /// something, such as locks.
        let isReplaceable: Bool

        package init(
            uri: String, password: @escaping @Sendable () throws(PostgreSQLError) -> String?, milliseconds: UInt64,
            statementMilliseconds: UInt64? = nil, isReplaceable: Bool = true
        ) {
            self.uri = uri
            self.password = password
            self.milliseconds = milliseconds
            self.statementMilliseconds = statementMilliseconds
            self.isReplaceable = isReplaceable
        }
    }

    /// After a failure to connect there is no other attempt for so long.
    static let pauseMilliseconds: UInt64 = 200

    private let settings: Settings
    private let interruption: Interruption
    private let prepare: (Connection) throws -> Void
    /// How many were made: with a new one everything is gone that the one before held.
    package private(set) var connections = 0
    private var connection: Connection?
    private var failure: (error: any Error, at: UInt64)?

    /// - Parameter prepare: prepares each new connection.
    package init(
        _ settings: Settings, interruption: Interruption, prepare: @escaping (Connection) throws -> Void
    ) {
        self.settings = settings
        self.interruption = interruption
        self.prepare = prepare
    }

    /// Runs `body` on the connection, which is closed where it was lost or did not answer.
    package func run<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        let deadline = Connection.now + settings.milliseconds
        let connection = try opened(by: deadline)
        defer { if !connection.isUsable { self.connection = nil } }
        connection.deadline = deadline
        return try body(connection)
    }

    /// Sends a query on an existing connection, so that the server does not regard it as abandoned. The next ``run(_:)``
    /// reports a failure.
    package func speak() {
        guard let connection, !connection.hasEnded else { return }
        connection.deadline = Connection.now + settings.milliseconds
        try? connection.command("SELECT 1")
    }

    private func opened(by deadline: UInt64) throws -> Connection {
        if let connection {
            guard connection.hasEnded else { return connection }
            self.connection = nil
            guard settings.isReplaceable else { throw PostgreSQLError(message: "the server has ended the session") }
        }
        if let failure, Connection.now < failure.at + Self.pauseMilliseconds { throw failure.error }
        do {
            let made = try connect(by: deadline)
            try prepare(made)
            made.statementMilliseconds = settings.statementMilliseconds
            (connection, failure) = (made, nil)
            connections += 1
            return made
        } catch {
            failure = (error, Connection.now)
            throw error
        }
    }

    /// Both sides notice within seconds that the server or the network is gone; parameters of the URI have precedence.
    private func connect(by deadline: UInt64) throws(PostgreSQLError) -> Connection {
        var words = [
            ("keepalives_idle", "1"), ("keepalives_interval", "1"), ("keepalives_count", "2"),
            ("tcp_user_timeout", "2000"), ("fallback_application_name", "livegate"), ("dbname", settings.uri),
        ]
        if let password = try settings.password() { words.append(("password", password)) }
        return try Connection(
            words.map { (key: $0.0, value: $0.1) }, deadline: deadline, interruption: interruption)
    }
}
