import Foundation
import Testing

@testable import Options

struct BoundedFileTests {
    @Test(arguments: [
        ("/nonexistent/key.pem", "No such file or directory"), ("/", "Is a directory"),
        ("/dev/zero", "larger than the limit of 1048576 bytes"),
    ])
    func `a file that is not there, is a folder or has no end is unreadable`(_ path: String, _ reason: String) {
        #expect(throws: BoundedFile.Unreadable(path: path, reason: reason, isMissing: path.contains("nonexistent"))) {
            try BoundedFile.read(path, maximumBytes: 1 << 20)
        }
    }

    @Test(arguments: [0, 1, 4_096, 4_097])
    func `a file of exactly the limit is read whole, and no byte more`(count: Int) throws {
        let path = "\(NSTemporaryDirectory())livegate-\(UUID())"
        try Data(repeating: 7, count: count).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try BoundedFile.read(path, maximumBytes: count) == [UInt8](repeating: 7, count: count))
        guard count > 0 else { return }
        #expect(throws: BoundedFile.Unreadable(path: path, reason: "larger than the limit of \(count - 1) bytes")) {
            try BoundedFile.read(path, maximumBytes: count - 1)
        }
    }
}
