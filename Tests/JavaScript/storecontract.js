// What React's useSyncExternalStore asks of a store, in a few lines of our own.
import assert from "node:assert/strict"

/** Renders a store: `draw(snapshot)` first, and then where it is another one. Gives what was drawn, and what ends it. */
export function mount({ subscribe, getSnapshot }, draw = () => {}) {
    const drawn = []
    const render = () => {
        const snapshot = getSnapshot()
        draw(snapshot)
        // Another one without a change, and React would render for ever.
        assert.ok(Object.is(snapshot, getSnapshot()), "getSnapshot gives another object each time")
        drawn.push(snapshot)
    }
    const check = () => { if (!Object.is(drawn.at(-1), getSnapshot())) render() }
    render()
    const unmount = subscribe(check)
    // What changed between the two was told to nobody.
    check()
    return { drawn, unmount, get last() { return drawn.at(-1) } }
}

/** No two parts of one page show different states of one store. */
export function assertWhole(store, ...mounted) {
    for (const { last } of mounted) assert.ok(Object.is(last, store.getSnapshot()), "tearing")
}
