// Tests: RequestError.swift
import LiveState
import Testing

@testable import LiveClient

/// What each error that an app may throw means.
struct RequestErrorTests {
    struct Offline: Error {}

    static let rows: [(error: any Error, failure: RequestFailure, answer: Reloaded?)] = [
        (RequestError(status: nil), .retry(after: nil), nil),
        (RequestError(status: nil, retryAfter: 7), .retry(after: 7), nil),
        (RequestError(status: 400), .rejected(status: 400), nil),
        (RequestError(status: 401), .unauthorized, nil),
        (RequestError(status: 403), .rejected(status: 403), .notOurs),
        (RequestError(status: 404), .rejected(status: 404), .gone),
        (RequestError(status: 408), .retry(after: nil), nil),
        (RequestError(status: 409, retryAfter: 7), .retry(after: 7), nil),
        (RequestError(status: 410), .rejected(status: 410), .gone),
        (RequestError(status: 429, retryAfter: 7), .retry(after: 7), nil),
        (RequestError(status: 499), .rejected(status: 499), nil),
        (RequestError(status: 500), .retry(after: nil), nil),
        (RequestError(status: 503, retryAfter: 7), .retry(after: 7), nil),
        (RequestFailure.retry(after: 7), .retry(after: 7), nil),
        (RequestFailure.unauthorized, .unauthorized, nil),
        (RequestFailure.rejected(status: 404), .rejected(status: 404), .gone),
        (LiveClientError.unauthorized, .unauthorized, nil),
        (LiveClientError.refused(status: 401, body: ""), .unauthorized, nil),
        (LiveClientError.refused(status: 404, body: ""), .rejected(status: 404), .gone),
        (LiveClientError.unreachable("no answer"), .retry(after: nil), nil),
        (Offline(), .retry(after: nil), nil),
    ]

    @Test(arguments: rows.indices) func `an error means the same wherever it is thrown`(_ index: Int) {
        let row = Self.rows[index]
        #expect(RequestFailure(row.error) == row.failure, "\(row.error)")
        #expect(Reloaded(row.error) == row.answer, "\(row.error)")
    }

    static let immediate: [(error: any Error, means: ImmediateActionError)] = [
        (RequestError(status: nil), .unknown), (Offline(), .unknown), (CancellationError(), .cancelled),
        (RequestError(status: 401), .unauthorized), (LiveClientError.unauthorized, .unauthorized),
        (RequestError(status: 404), .rejected(status: 404)),
        (RequestError(status: 503, retryAfter: 7), .unavailable(status: 503, retryAfter: 7)),
    ]

    @Test(arguments: immediate.indices) func `an immediate action says what became of it`(_ index: Int) {
        let row = Self.immediate[index]
        #expect(ImmediateActionError(row.error) == row.means, "\(row.error)")
    }
}
