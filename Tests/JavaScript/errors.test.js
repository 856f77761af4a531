// core/errors.js
import assert from "node:assert/strict"
import { test } from "node:test"
import * as archive from "../../Sources/LiveClientJS/archive.js"
import * as livegate from "../../Sources/LiveClientJS/livegate.js"
import { failureOf, isSignedOut, outcomeOf } from "../../Sources/LiveClientJS/shell/failures.js"

const { ActionConflict, ActionError, LivegateError, RequestError, StoreError, connect } = livegate

test("all that the module throws is one class, whose older names are the same", () => {
    assert.deepEqual([ActionError, StoreError, archive.ArchiveError].map(older => older === LivegateError), [true, true, true])
    for (const [error, kind, name] of [
        [new RequestError(), "unreachable", "RequestError"], [new ActionConflict({ kind: "read", id: "I1" }), "conflict", "ActionConflict"],
        [new LivegateError("late", "no answer"), "late", "LivegateError"],
    ]) {
        assert.ok(error instanceof LivegateError && error instanceof Error && error.message !== "")
        assert.deepEqual([error.kind, error.name], [kind, name])
    }
})

test("a mistake in the use of the module is a TypeError, and none of these", () => {
    assert.throws(() => connect({ url: "ftp://live.example.com", token: "T" }), error => error instanceof TypeError)
})

test("an answer's status is a kind, which machines understand as they did the status", () => {
    for (const [status, retryAfter, kind, failure, outcome] of [
        [undefined, undefined, "unreachable", { retry: {} }], [401, undefined, "unauthorized", { unauthorized: {} }],
        [403, undefined, "rejected", { rejected: { status: 403 } }, "notOurs"],
        [404, undefined, "rejected", { rejected: { status: 404 } }, "gone"],
        // The thing is gone, and a page is asked for later.
        [404, 7_000, "rejected", { retry: { after: 7_000 } }, "gone"], [422, undefined, "rejected", { rejected: { status: 422 } }],
        [408, undefined, "retry", { retry: {} }], [429, 5_000, "retry", { retry: { after: 5_000 } }], [500, undefined, "retry", { retry: {} }],
    ]) {
        const error = new RequestError(status, retryAfter)
        assert.deepEqual([error.kind, error.status, error.retryAfter], [kind, status, retryAfter], status)
        assert.deepEqual([failureOf(error), outcomeOf(error)], [failure, outcome], status)
        assert.equal(isSignedOut(error), status === 401)
    }
})

test("a failure of the archive is told to machines as one of an API", () => {
    for (const [error, status, retryAfter] of [
        [new LivegateError("unauthorized", "nobody"), 401], [new LivegateError("unavailable", "later", { status: 503, retryAfter: 9 }), 503, 9],
        [new LivegateError("unreachable", "no answer"), undefined],
    ]) {
        const { requestError } = error
        assert.ok(requestError instanceof RequestError)
        assert.deepEqual([requestError.status, requestError.retryAfter], [status, retryAfter])
    }
})
