// Tests: Verification.swift

import Glibc
import LiveClientReactor
import Options
import TestHarness
import Testing

@testable import livecat

@Suite struct `Rows of numbered ids` {
    static func verify(_ ids: [String]) -> Verification {
        var verification = Verification()
        for id in ids {
            if id == "resync" { verification.resync() } else { _ = verification.take(event(id)) }
        }
        return verification
    }

    static func event(_ id: String) -> LiveEvent { LiveEvent(entity: "e", id: id, type: "t") }

    @Test(arguments: [
        (["a1", "a2", "a3"], 0, 0), (["a7", "b1", "a8", "b2"], 0, 0), (["a1", "a3"], 1, 0), (["a1", "a5", "a6"], 3, 0),
        (["a1", "a2", "a1", "a2", "a3"], 0, 2), (["a1", "resync", "a9", "a10"], 0, 0),
        (["a1", "resync", "a9", "a11"], 1, 0),
        (["a"], 0, 0), (["9", "10"], 0, 0), (["a09", "a10"], 0, 0),
    ]) func `are counted`(_ ids: [String], _ missing: Int, _ doubled: Int) {
        let verification = Self.verify(ids)
        #expect(verification.missing == missing && verification.doubled == doubled)
    }

    @Test func `are kept apart by entity`() {
        var verification = Verification()
        _ = verification.take(LiveEvent(entity: "e", id: "1", type: "t"))
        _ = verification.take(LiveEvent(entity: "f", id: "9", type: "t"))
        #expect(verification.missing == 0)
    }

    @Test func `say what is missing`() {
        var verification = Self.verify(["a1"])
        #expect(verification.take(Self.event("a3")) == "missing: e a2")
        #expect(verification.take(Self.event("a9")) == "missing: e a4 to a8")
        #expect(verification.summary == "verified: 3 events, 6 missing, 0 doubled, 0 resyncs")
        #expect(
            Self.verify(["a", "resync"]).summary
                == "verified: 1 events, 0 missing, 0 doubled, 1 resyncs, 1 without a number")
    }

    @Test(arguments: [
        ("a1", "a", 1), ("1", "", 1), ("a-007", "a-", 7), ("a999999999999999999", "a", 999_999_999_999_999_999),
    ]) func `end with digits`(_ id: String, _ prefix: String, _ number: Int) throws {
        let (found, value) = try #require(Verification.split(id))
        #expect(found == prefix && value == number)
    }

    @Test func `do not end with anything else`() {
        for id in ["", "a", "1a", "a1000000000000000000"] { #expect(Verification.split(id) == nil) }
    }
}

@Suite struct `A cursor's file` {
    private let folder = TemporaryFolder()
    private var path: String { folder.path("place") }

    @Test func `is read again, and is nothing before`() throws {
        let file = CursorFile(path)
        #expect(try file.read() == nil)
        file.announce()
        #expect(file.keep("abc") == nil)
        #expect(try CursorFile(path).read() == "abc")
        #expect(unsafe access(path + ".new", F_OK) != 0)
    }

    @Test func `gets the newest of what is written together`() throws {
        let file = CursorFile(path)
        for _ in 0..<3 { file.announce() }
        // The first is due, because none was kept for long; the second may wait for the third.
        for cursor in ["1", "2", "3"] { #expect(file.keep(cursor) == nil) }
        #expect(try file.read() == "3")
    }

    @Test func `that cannot be written is told`() throws {
        let file = CursorFile("/no/such/folder/place")
        file.announce()
        #expect(file.keep("a") == "cannot keep the cursor in /no/such/folder/place: No such file or directory")
        #expect(try file.read() == nil)
    }

    @Test func `is kept through no link, and what was left beside it is removed`() throws {
        let other = folder.path("other")
        #expect(OutputFile.write("mine", to: other) == nil)
        for target in ["place", "place.new"] {
            #expect(unsafe symlink(other, folder.path(target)) == 0)
            let file = CursorFile(path)
            if target == "place" {
                let problem = #expect(throws: StartProblem.self) { try file.read() }
                #expect(problem?.text.contains("symbolic link") == true)
            }
            file.announce()
            #expect(file.keep("abc") == nil)
            #expect(
                try CursorFile(path).read() == "abc" && BoundedFile.read(other, maximumBytes: 9) == Array("mine".utf8))
        }
        // An earlier run was ended while it wrote.
        #expect(OutputFile.write("half", to: path + ".new") == nil)
        let file = CursorFile(path)
        file.announce()
        #expect(try file.keep("abcd") == nil && file.read() == "abcd")
    }

    @Test func `with something else in it is refused`() throws {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT, 0o600)
        _ = unsafe write(descriptor, "a b\n", 4)
        close(descriptor)
        #expect(throws: StartProblem.self) { try CursorFile(path).read() }
    }
}
