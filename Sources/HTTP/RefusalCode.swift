/// The refusals before the stream, each with the stable `code` that clients know. Each case is one row.
package enum RefusalCode: String, Sendable, CaseIterable {
    case badRequest = "bad_request"
    case badUpgrade = "bad_upgrade"
    case badParameter = "bad_parameter"
    case badCursor = "bad_cursor"
    case invalidToken = "invalid_token"
    case forbidden = "forbidden"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case timeout = "timeout"
    case resync = "resync"
    case targetTooLong = "target_too_long"
    case upgradeRequired = "upgrade_required"
    case tooMany = "too_many"
    case headerTooLarge = "header_too_large"
    case notReady = "not_ready"
    case draining = "draining"
    case overloaded = "overloaded"
    case version = "version"

    /// The status, and the `detail` for callers that give no better one.
    private var row: (status: Int, detail: String) {
        switch self {
        case .badRequest: (400, "The request is malformed.")
        case .badUpgrade: (400, "The upgrade to WebSocket is malformed.")
        case .badParameter: (400, "A parameter is malformed.")
        case .badCursor: (400, "The cursor cannot be read.")
        case .invalidToken: (401, "The token is missing or not valid.")
        case .forbidden: (403, "Pages of this origin may not ask here.")
        case .notFound: (404, "There is nothing at this address.")
        case .methodNotAllowed: (405, "This address does not answer this method.")
        case .timeout: (408, "The request did not arrive in time.")
        case .resync: (410, "What was missed cannot be given.")
        case .targetTooLong: (414, "The request line is too long.")
        case .upgradeRequired: (426, "This server speaks version 13 of WebSocket.")
        case .tooMany: (429, "Too many connections or requests.")
        case .headerTooLarge: (431, "The header is too large.")
        case .notReady: (503, "The server is not ready yet.")
        case .draining: (503, "The server is going out of service.")
        case .overloaded: (503, "The server is at a limit.")
        case .version: (505, "This server speaks HTTP/1.1.")
        }
    }

    package var status: Int { row.status }

    package var defaultDetail: String { row.detail }

    /// Whether the same request may be served later. Such a refusal states when to retry.
    package var passes: Bool { status == 429 || status == 503 }

    /// Whether the connection may serve another request afterwards. After all other refusals it is closed: either it is unknown
    /// where the next request begins, or no next request is wanted.
    package var keepsConnection: Bool { self == .badCursor || self == .resync }
}

/// The reason phrases of the statuses that are sent (RFC 9110 §15, RFC 6585).
package enum StatusTitle {
    package static func of(_ status: Int) -> String {
        switch status {
        case 101: "Switching Protocols"
        case 200: "OK"
        case 202: "Accepted"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Unknown"
        }
    }
}
