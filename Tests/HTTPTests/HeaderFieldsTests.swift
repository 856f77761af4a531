// Tests: HeaderFields.swift, ASCII.swift

import AllocationCounter
import Testing

@testable import HTTP

struct HeaderFieldsTests {
    /// The lines of a head, and the members of the list `a`.
    static let lists: [(lines: [String], members: [String])] = [
        ([], []), (["A:"], []), (["A: ,"], []), (["a: , ,\t,"], []), (["a: x"], ["x"]), (["a: x,"], ["x"]),
        (["a: ,x"], ["x"]), (["A:\tx y ,, z\t"], ["x y", "z"]), (["a: x", "b: n", "A: y,z"], ["x", "y", "z"]),
        (["aa: n", "b: n"], []), (["a: x,x"], ["x", "x"]), (["a:,", "a: x"], ["x"]),
    ]

    private static func headers(_ lines: [String]) throws -> HeaderFields {
        let text = (["GET / HTTP/1.1", "Host: h"] + lines).map { $0 + "\r\n" }.joined() + "\r\n"
        return try #require(parse(text).heads.first).headers
    }

    @Test(arguments: lists)
    func `a list is that of all fields of its name, without its empty members`(
        _ row: (lines: [String], members: [String])
    ) throws {
        let headers = try Self.headers(row.lines)
        #expect(headers.list("a").map { String(decoding: $0, as: UTF8.self) } == row.members)
        for member in ["x", "X", "y", "z", "x y", "n", ""] {
            let isThere = row.members.contains(member.lowercased())
            #expect(headers.containsToken(member, in: "A") == isThere, "\(member)")
        }
    }

    @Test(arguments: [("", ""), (" ", ""), ("\t \t", ""), ("x", "x"), (" x", "x"), ("x ", "x"), ("\tx y\t ", "x y")])
    func `blanks around a value are no part of it`(_ text: String, _ expected: String) {
        let whole = Array("--\(text)--".utf8)
        let trimmed = whole[2..<(whole.count - 2)].trimmed
        #expect(String(decoding: trimmed, as: UTF8.self) == expected)
    }
}

/// What a question to a head costs, in allocations.
@Suite(.enabled(if: allocations_are_counted())) struct HeaderCostTests {
    /// Of asking for a token that is not there, behind so many members.
    private static func allocations(members: Int) throws -> UInt64 {
        let list = Array(repeating: "keep-alive", count: members).joined(separator: ", ")
        let head = try #require(parse(upgrade(connection: "Connection: \(list)")).heads.first)
        // What the runtime makes once it makes with the first question.
        #expect(!head.headers.containsToken("upgrade", in: "connection"))
        let before = allocations_of_thread()
        let isThere = head.headers.containsToken("upgrade", in: "connection")
        let after = allocations_of_thread()
        #expect(!isThere)
        return after - before
    }

    @Test func `asking for a member of a list allocates nothing for those before it`() throws {
        #expect(try Self.allocations(members: 1) == Self.allocations(members: 40))
    }
}
