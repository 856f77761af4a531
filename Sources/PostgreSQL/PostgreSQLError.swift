import CPostgreSQL

/// A refusal of PostgreSQL, or why it cannot be reached.
package struct PostgreSQLError: Error, Equatable, CustomStringConvertible {
    /// Five characters (postgresql.org/docs/15/errcodes-appendix.html). Nil where the server has not sent them: there is no
    /// connection, or no answer arrived in time.
    package let state: String?
    package let message: String
    package let statement: String?

    package init(state: String? = nil, message: String, statement: String? = nil) {
        self.state = state
        self.message = message
        self.statement = statement
    }

    package var description: String {
        "PostgreSQL error\(state.map { " \($0)" } ?? ""): \(message)" + (statement.map { ", in: \($0)" } ?? "")
    }

    /// The message of a connection or a result, on one line.
    init(_ text: UnsafePointer<CChar>?, state: String? = nil, statement: String?) {
        let words = unsafe text.map { unsafe String(cString: $0) } ?? ""
        let lines = words.split(separator: "\n").map { $0.drop { $0 == " " || $0 == "\t" } }
        self.init(state: state, message: lines.joined(separator: "; "), statement: statement)
    }
}
