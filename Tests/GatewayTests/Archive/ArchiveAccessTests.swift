// Tests: ArchiveAccess.swift, ArchiveFeeder+Trouble.swift

import Archive
import TestHarness
import Testing

@testable import Gateway

/// Who hears of a damaged file, and how often one is given another name.
struct ArchiveAccessTests {
    @Test func `what is said of a store that has gone is not taken for its successor`() {
        let rings = Shared(0)
        let access = ArchiveAccess { rings.update { $0 += 1 } }
        let (old, new) = (ScriptedStore(.stored(0)), ScriptedStore(.stored(0)))
        access.open(old)
        access.report(.full, of: old)
        #expect(rings.value == 0 && access.takeReport() == nil)
        access.report(.corrupt("old"), of: old)
        #expect(rings.value == 1 && access.takeReport() == .corrupt("old") && access.takeReport() == nil)
        // One that was reported and not seen to before the file got its other name.
        access.report(.corrupt("old"), of: old)
        access.close()
        access.report(.corrupt("old"), of: old)
        access.open(new)
        access.report(.corrupt("old"), of: old)
        #expect(rings.value == 2 && access.takeReport() == nil)
        access.report(.corrupt("new"), of: new)
        #expect(rings.value == 3 && access.takeReport() == .corrupt("new"))
    }

    @Test func `a disk that damages every file is not filled with them`() {
        var files = DamagedFiles()
        let pause = DamagedFiles.pauseMilliseconds
        #expect(files.begin(now: 7) == nil)
        #expect(files.begin(now: 7) == 7 + pause)
        #expect(files.begin(now: 6 + pause) == 7 + pause)
        #expect(files.begin(now: 7 + pause) == nil)
        #expect(files.begin(now: 8 + pause) == 7 + 2 * pause)
    }
}
