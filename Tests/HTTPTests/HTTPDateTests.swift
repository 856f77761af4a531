import Testing

@testable import HTTP

@Suite struct `Dates` {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
        (1_772_323_200, "Sun, 01 Mar 2026 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ]) func `have the fixed form`(_ seconds: Int, _ expected: String) {
        #expect(HTTPDate.text(secondsSince1970: seconds) == expected)
    }

    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (1_795_240_000, "2026-11-21T05:46:40Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"), (.max, "9999-12-31T23:59:59Z"), (-1, "1970-01-01T00:00:00Z"),
    ])
    func `of RFC 3339 have whole seconds`(_ second: Int64, _ text: String) {
        #expect(InternetDate.text(secondsSince1970: second) == text)
    }

    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00.000Z"), (951_782_400_999, "2000-02-29T00:00:00.999Z"),
        (4_107_542_399_000, "2100-02-28T23:59:59.000Z"), (-1, "1970-01-01T00:00:00.000Z"),
    ])
    func `of RFC 3339 have milliseconds`(_ milliseconds: Int64, _ text: String) {
        #expect(InternetDate.text(millisecondsSince1970: milliseconds) == text)
    }
}
