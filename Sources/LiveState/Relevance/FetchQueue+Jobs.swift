// What happens to a job: it is wanted, begun, answered, failed or given up.
extension FetchQueue {
    private var inOrder: [Job] { jobs.values.sorted { $0.order < $1.order } }

    private func job(_ thing: Thing) -> Job {
        let seed = settings.seed &+ UInt32(truncatingIfNeeded: lastFetch)
        return jobs[thing] ?? Job(thing: thing, order: lastOrder + 1, retry: Retry(seed: seed))
    }

    private mutating func keep(_ job: Job) {
        lastOrder = max(lastOrder, job.order)
        jobs[job.thing] = job.fetch != nil || job.isWaiting ? job : nil
    }

    mutating func show(_ things: [Thing], _ listed: [Thing], _ takesNew: [String], _ effects: inout [Effect]) {
        let (before, wasDetailed) = (isShown, detailed)
        let goneLists = self.takesNew.filter { !takesNew.contains($0) }
        isShown = []
        detailed = Set(things.prefix(settings.maximumWaiting))
        shown = (things + listed).prefix(settings.maximumWaiting).filter { isShown.insert($0).inserted }
        self.takesNew = takesNew
        known.pin(isShown)
        for job in inOrder where !isShown.contains(job.thing) {
            if before.contains(job.thing) || goneLists.contains(job.thing.entity) { giveUp(job, &effects) }
        }
        for thing in shown {
            // A list loads its stale things by the page. It fetches only those alone that changed while no screen showed them.
            let isOld =
                detailed.contains(thing)
                ? !wasDetailed.contains(thing) && known.knowledge(of: thing, isWhole: true) != .known
                : !before.contains(thing) && known.hasChanged(thing)
            if isOld { want(thing) }
        }
    }

    /// No screen shows it any more. What is known of it is old now, and the batch does not have to wait.
    private mutating func giveUp(_ job: Job, _ effects: inout [Effect]) {
        let numbers = job.now + job.next
        if let fetch = job.fetch { effects.append(.cancel(fetch: fetch)) }
        if !numbers.isEmpty { known.change(job.thing) }
        effects += numbers.map { .reloaded(number: $0, outcome: .value) }
        jobs[job.thing] = nil
    }

    /// A screen waits for it. A fetch that is in flight already is enough.
    mutating func want(_ thing: Thing) {
        var job = job(thing)
        guard job.fetch == nil else { return }
        job.isForScreen = true
        keep(job)
    }

    mutating func reload(_ number: Int, _ thing: Thing, _ effects: inout [Effect]) {
        known.change(thing)
        guard jobs[thing] != nil || jobs.count < settings.maximumWaiting else {
            effects.append(.reloadFailed(number: number, failure: .retry(after: nil)))
            return
        }
        var job = job(thing)
        if !job.next.isEmpty || job.isWaiting { counts.merged += 1 }
        job.next.append(number)
        // The machine has waited long enough already.
        job.retryAt = nil
        keep(job)
    }

    mutating func dropReloads(_ effects: inout [Effect]) {
        for var job in inOrder {
            let wasNeeded = !job.now.isEmpty || !job.next.isEmpty
            (job.now, job.next) = ([], [])
            if !wasNeeded || isShown.contains(job.thing) {
                if wasNeeded, job.fetch == nil { job.isForScreen = true }
                keep(job)
            } else {
                if let fetch = job.fetch { effects.append(.cancel(fetch: fetch)) }
                jobs[job.thing] = nil
            }
        }
    }

    mutating func setFinger(_ isHeld: Bool, _ effects: inout [Effect]) {
        known.watch(isHeld)
        pages = []
        for var job in inOrder {
            guard let fetch = job.fetch else { continue }
            effects.append(.cancel(fetch: fetch))
            job.fetch = nil
            (job.next, job.now) = (job.now + job.next, [])
            job.isForScreen = detailed.contains(job.thing)
            keep(job)
        }
        if isHeld { for thing in shown where detailed.contains(thing) { want(thing) } }
    }

    mutating func receive(_ fetch: Int, _ outcome: Reloaded, _ effects: inout [Effect]) {
        guard var job = jobs.values.first(where: { $0.fetch == fetch }) else {
            counts.dropped += 1
            return
        }
        let isNewest = known.answer(job.thing, asked: job.asked, isGone: outcome != .value)
        let isWhole = outcome == .value && known.answerWhole(job.thing, asked: job.asked)
        if isNewest || isWhole {
            effects.append(
                .apply(fetch: fetch, thing: job.thing, outcome: outcome, isLate: isNewest ? nil : true))
        } else {
            counts.dropped += 1
        }
        effects += job.now.map { .reloaded(number: $0, outcome: outcome) }
        job.fetch = nil
        job.now = []
        job.retry.reset()
        // The change was passed over while no screen showed the thing. One does now.
        if isShown.contains(job.thing), known.wasChanged(job.thing, since: job.asked) { job.isForScreen = true }
        keep(job)
    }

    mutating func fail(
        _ fetch: Int, _ failure: RequestFailure, at now: Milliseconds, _ effects: inout [Effect]
    ) {
        guard var job = jobs.values.first(where: { $0.fetch == fetch }) else { return }
        effects += job.now.map { .reloadFailed(number: $0, failure: failure) }
        let hasScreen = isShown.contains(job.thing)
        if hasScreen { effects.append(.unavailable(thing: job.thing, failure: failure)) }
        job.fetch = nil
        job.now = []
        // The server would refuse it again. The screen shows that, until a person refreshes it or an event comes.
        job.isForScreen = hasScreen && !failure.isFinal
        if job.isForScreen, job.next.isEmpty { job.retryAt = now + job.retry.wait(for: failure) }
        keep(job)
    }

    /// The answers to all earlier questions are older.
    mutating func put(_ thing: Thing, _ isWhole: Bool) {
        let asked = known.ask()
        _ = known.answer(thing, asked: asked)
        if isWhole { _ = known.answerWhole(thing, asked: asked) }
    }

    mutating func receivePage(_ page: Int, _ things: [Thing], _ isWhole: Bool, _ effects: inout [Effect]) {
        guard let index = pages.firstIndex(where: { $0.page == page }) else { return }
        let asked = pages.remove(at: index).asked
        let accepted = things.filter { known.answer($0, asked: asked) }
        counts.dropped += things.count - accepted.count
        for thing in accepted {
            if isWhole { _ = known.answerWhole(thing, asked: asked) }
            guard neededKnowledge(of: thing) == .known, var job = jobs[thing] else { continue }
            job.isForScreen = false
            keep(job)
        }
        effects.append(.accept(page: page, things: accepted))
    }

    /// Begins as many fetches as the limit allows.
    mutating func begin(_ effects: inout [Effect]) {
        let free = settings.maximumAtOnce - jobs.values.count { $0.fetch != nil }
        guard free > 0 else { return }
        let ready = jobs.values.filter { $0.isWaiting && $0.retryAt == nil }.sorted { first, second in
            let (a, b) = (isShown.contains(first.thing), isShown.contains(second.thing))
            return a == b ? first.order < second.order : a
        }
        for var job in ready.prefix(free) {
            lastFetch += 1
            counts.made += 1
            job.fetch = lastFetch
            job.asked = known.ask()
            (job.now, job.next) = (job.next, [])
            job.isForScreen = false
            keep(job)
            effects.append(.fetch(fetch: lastFetch, thing: job.thing))
        }
    }
}
