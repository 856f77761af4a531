import Dispatch
import Reactor

/// A number that two event loops change without agreement.
///
// SAFETY: none, and that is the point: the thread sanitizer must report this race, or `Tests/run thread` fails, since a
// sanitizer that misses it would miss one in the gateway's loops as well. Built on demand only.
final class Unprotected: @unchecked Sendable {
    var count = 0
}

let number = Unprotected()
// Each loop waits until the other runs too, or one thread could do the work of both, one after the other.
let arrived = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
let finished = DispatchSemaphore(value: 0)
let loops = [try EventLoop(label: "left"), try EventLoop(label: "right")]
for (index, loop) in loops.enumerated() {
    loop.execute {
        arrived[1 - index].signal()
        arrived[index].wait()
        for _ in 0..<1000 { number.count += 1 }
        finished.signal()
    }
}
for _ in loops { finished.wait() }
print("counted to \(number.count)")
