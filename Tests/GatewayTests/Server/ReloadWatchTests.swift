import GatewaySettings
import Testing

@testable import Gateway

struct ReloadWatchTests {
    /// What one file holds at a look, by a letter; `-` is a file that cannot be read.
    private func marks(_ letter: Character) -> FileMarks {
        let mark: FileMark = letter == "-" ? .unreadable("No such file") : .holds(Array(String(letter).utf8))
        return [NamedFile(path: "/a"): mark]
    }

    /// Each row: what was read at the start and then is found by look after look, and where settings are read again (`!`).
    static let rows: [(looks: String, reads: String)] = [
        ("aaaa", "   "),
        // Once two looks have found the same.
        ("abb", " !"), ("abbb", " ! "), ("abbaa", " ! !"),
        // Half written: each look finds more.
        ("abcdd", "   !"), ("abcbcb", "     "),
        // What came back before the second look was no change.
        ("abaabb", "    !"),
        // Gone for a moment, and gone.
        ("a-aa", "   "), ("a--", " !"), ("a--aa", " ! !"), ("a-bb", "  !"),
        // Broken stays broken: one read for each content.
        ("abbbbb", " !   "), ("abbcc", " ! !"),
    ]

    @Test(arguments: rows.indices) func `settings are read again once two looks found the same`(row: Int) {
        let (looks, reads) = Self.rows[row]
        var watch = ReloadWatch(read: marks(looks.first!))
        let found = looks.dropFirst().map { letter in
            let reads = watch.check(marks(letter))
            if reads { watch.wasRead(marks(letter)) }
            return reads ? Character("!") : " "
        }
        #expect(String(found) == reads)
    }

    @Test func `a reload between two looks begins anew`() {
        var watch = ReloadWatch(read: marks("a"))
        var found = [watch.check(marks("b"))]
        watch.wasRead(marks("b"))
        for letter in "bbaa" { found.append(watch.check(marks(letter))) }
        #expect(found == [false, false, false, false, true])
    }

    @Test func `other files are watched once settings name others`() {
        var watch = ReloadWatch(read: marks("a"))
        let other = [NamedFile(setting: "tls.key", path: "/k"): FileMark.holds([1])]
        watch.wasRead(other)
        let isFound = watch.check(other)
        #expect(Array(watch.files) == [NamedFile(setting: "tls.key", path: "/k")] && !isFound)
    }

    @Test func `reloads are counted, with the last one's problem`() {
        let record = ReloadRecord()
        #expect(record.counts == ReloadRecord.Counts())
        record.count(nil)
        record.count("broken")
        record.count("still broken")
        #expect(record.counts == ReloadRecord.Counts(succeeded: 1, failed: 2, problem: "still broken"))
        record.count(nil)
        #expect(record.counts == ReloadRecord.Counts(succeeded: 2, failed: 2, problem: nil))
    }
}
