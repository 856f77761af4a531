// messages.js
import assert from "node:assert/strict"
import { test } from "node:test"
import {
    EventStreamReader, readMessage, readPage, readProblem, readRetryAfter,
} from "../../Sources/LiveClientJS/core/messages.js"

const event = { entity: "incident", id: "PAM4FGS", type: "created" }

const messages = [
    ['{"ent":"incident","id":"PAM4FGS","type":"created"}', { event }],
    ['{"ent":"incident","id":"PAM4FGS","type":"created","at":"C1","ts":1795240000000,"new":{}}',
        { event: { ...event, at: "C1", ts: 1795240000000 } }],
    ['{"live":{"at":"C1"}}', { live: { at: "C1" } }],
    ['{"beat":{"at":"C2"}}', { beat: { at: "C2" } }],
    ['{"resync":{"why":"expired","at":"C1"}}', { resync: { why: "expired", at: "C1" } }],
    ['{"source":{"state":"stalled","ts":5}}', { source: { state: "stalled", ts: 5 } }],
    ['{"bye":{"code":1012,"why":"restart","retry_ms":8123}}', { bye: { code: 1012, why: "restart", retry: 8123 } }],
    ['{"expiring":{"exp":1795243600}}', { expiring: { exp: 1795243600 } }],
    ['{"token":{"exp":1795247200}}', { token: { exp: 1795247200 } }],
    ['{"ent":"incident","id":"PAM4FGS","type":"created","at":"C1","ts":5,"aid":"a-_9"}', { event: { ...event, at: "C1", ts: 5, aid: "a-_9" } }],
    ['{"ent":"incident","id":"PAM4FGS","type":"created","aid":7}', { event }],
    ['{"read":{"ent":"incident","id":"PAM4FGS","aid":"m"}}', { read: { thing: { entity: "incident", id: "PAM4FGS" }, upTo: "m" } }],
    ['{"read":{"aid":"m","new":1}}', { read: { upTo: "m" } }],
    // A mark that is not understood is never taken for one of everything.
    ...['{"ent":"incident","aid":"m"}', '{"id":"P","aid":"m"}', '{"ent":7,"id":8,"aid":"m"}', '{"ent":null,"id":null,"aid":"m"}',
        '{"ent":"incident","id":"P"}', '{"aid":7}', '{"aid":""}'].map(inside => [`{"read":${inside}}`, null]),
    // What a later version may send, and what nobody should.
    ['{"later":{"at":"C1"}}', null], ['{"constructor":{}}', null], ['{"live":{}}', null], ['{"live":1}', null],
    ['{"ent":"incident","id":7,"type":"created"}', null], ["[]", null], ["null", null], ["{", null], ["", null], ["{}", null],
]
for (const [text, message] of messages) {
    test(`message ${text || "without text"}`, () => assert.deepEqual(readMessage(text), message))
}

test("a page is read, and what is none is not", () => {
    const text = '{"events":[{"ent":"incident","id":"PAM4FGS","type":"created","at":"C1","ts":1},7],"at":"C1","more":false}'
    assert.deepEqual(readPage(text), { events: [{ ...event, at: "C1", ts: 1 }], at: "C1", more: false })
    for (const none of ["<html>", "{}", '{"events":[]}', '{"events":{},"at":"C1"}']) assert.equal(readPage(none), null)
})

test("a refusal tells its code, and the cursor of a resync", () => {
    assert.deepEqual(readProblem('{"code":"invalid_token","status":401}'), { code: "invalid_token" })
    assert.deepEqual(readProblem('{"code":"resync","why":"epoch","at":"C1"}'),
        { code: "resync", resync: { why: "epoch", at: "C1" } })
    assert.deepEqual(readProblem('{"code":"bad_parameter","detail":"limit"}'), { code: "bad_parameter", detail: "limit" })
    assert.deepEqual(readProblem("<html>"), {})
})

test("Retry-After is seconds or a date", () => {
    assert.equal(readRetryAfter("3", 0), 3000)
    assert.equal(readRetryAfter("Thu, 01 Jan 1970 00:00:09 GMT", 4000), 5000)
    assert.equal(readRetryAfter("Thu, 01 Jan 1970 00:00:09 GMT", 40_000), 0)
    for (const none of [null, "", "soon"]) assert.equal(readRetryAfter(none, 0), undefined)
})

test("an event stream is read alike at every split, whatever its lines end with", () => {
    const lines = ["retry: 2000", "", ": way open", "", "event: live", 'data: {"at":"C0"}', "id: C0", "", "id: C1",
        'data: {"ent":"incident","id":"PAM4FGS","type":"created","at":"C1"}', "", "event: bye",
        'data: {"code":1012,"why":"restart",', 'data: "retry_ms":5}', "", "data: none", "", ""]
    const expected = [
        { live: { at: "C0" } }, { event: { ...event, at: "C1" } }, { bye: { code: 1012, why: "restart", retry: 5 } },
    ]
    for (const end of ["\n", "\r", "\r\n"]) {
        const text = lines.join(end)
        for (let first = 0; first <= text.length; first += 1) {
            const reader = new EventStreamReader()
            const pieces = [text.slice(0, first), text.slice(first, first + 1), text.slice(first + 1)]
            assert.deepEqual(pieces.flatMap(piece => reader.read(piece)), expected, `${JSON.stringify(end)} at ${first}`)
        }
    }
})

test("the id of an event stream is the cursor of a message that has none", () => {
    const text = 'id: C7\ndata: {"ent":"incident","id":"PAM4FGS","type":"created"}\n\n'
    assert.deepEqual(new EventStreamReader().read(text), [{ event: { ...event, at: "C7" } }])
})

test("a message at its limit is read, and one beyond it is refused before it fills the memory", () => {
    const limit = EventStreamReader.maximumMessage
    assert.deepEqual(new EventStreamReader().read("x".repeat(limit)), [])
    assert.throws(() => new EventStreamReader().read("x".repeat(limit + 1)), RangeError)
    const reader = new EventStreamReader()
    assert.throws(() => { for (let line = 0; line < 10; line += 1) reader.read("data: " + "x".repeat(limit / 8) + "\n") }, RangeError)
})
