// Tests: ArchiveError.swift, ServerAnswer.swift
import HTTP
import LiveState
import Testing

@testable import LiveClient

/// What each answer of an archive, and each want of one, means.
struct ArchiveErrorTests {
    struct Offline: Error {}

    private static func answer(
        _ status: Int, _ body: String = "", retryAfter: String? = nil
    ) -> ServerAnswer {
        var headers = HeaderFields()
        if let retryAfter { headers.append("Retry-After", retryAfter) }
        return ServerAnswer(status: status, reason: [], headers: headers, body: Array(body.utf8), isTruncated: false)
    }

    private static let bad = #"{"code":"bad_parameter","detail":"'limit' is no number"}"#

    static let answers: [(answer: ServerAnswer, means: ArchiveError, request: Int?)] = [
        (answer(200, "<html>"), .unreachable("the answer is none of a Livegate"), nil),
        (answer(400, bad), .badRequest(code: "bad_parameter", detail: "'limit' is no number"), 400),
        (answer(400, "no"), .badRequest(code: nil, detail: nil), 400),
        (answer(401), .unauthorized, 401), (answer(403, #"{"code":"forbidden"}"#), .forbidden, 403),
        (answer(404, #"{"code":"not_found"}"#), .off, 404),
        (answer(408), .unavailable(status: 408, retryAfter: nil), 408),
        (answer(410, #"{"code":"resync"}"#), .refused(status: 410, code: "resync"), 410),
        (answer(429, retryAfter: "7"), .unavailable(status: 429, retryAfter: 7_000), 429),
        (answer(499), .refused(status: 499, code: nil), 499),
        (answer(500), .unavailable(status: 500, retryAfter: nil), 500),
        (answer(503, retryAfter: "1"), .unavailable(status: 503, retryAfter: 1_000), 503),
        (answer(503, retryAfter: "soon"), .unavailable(status: 503, retryAfter: nil), 503),
        (answer(302), .refused(status: 302, code: nil), 302),
    ]

    @Test(arguments: answers.indices) func `an answer means one thing, here and for screens`(_ index: Int) {
        let row = Self.answers[index]
        let error = ArchiveError(row.answer)
        #expect(error == row.means)
        #expect(error.requestError.status == row.request)
        guard case .unavailable(_, let retryAfter) = row.means else { return }
        #expect(error.requestError.retryAfter == retryAfter)
    }

    static let errors: [(error: any Error, means: ArchiveError)] = [
        (ArchiveError.off, .off), (CancellationError(), .cancelled),
        (LiveClientError.unreachable("no answer in time"), .unreachable("no answer in time")),
        (LiveClientError.unauthorized, .unauthorized), (RequestError(status: 401), .unauthorized),
        (Offline(), .unreachable("Offline()")),
    ]

    @Test(arguments: errors.indices) func `what was thrown on the way means one thing`(_ index: Int) {
        let row = Self.errors[index]
        #expect(ArchiveError(row.error) == row.means)
        #expect(!ArchiveError(row.error).description.isEmpty)
    }
}
