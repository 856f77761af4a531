// A React of our own, for what livegate/react imports: one component, its three hooks, and effects that run twice as in its strict mode.
import { register } from "node:module"

const loader = `export function resolve(name, context, next) {
    return name === "react" ? { url: ${JSON.stringify(import.meta.url)}, shortCircuit: true } : next(name, context)
}`
register(`data:text/javascript,${encodeURIComponent(loader)}`)

/** The component that is rendered now: its slots, one for each hook in their order, and its effects. */
let current = null

function slot(make) {
    const index = current.next
    current.next += 1
    return current.slots[index] ??= make()
}

const isSame = (deps, others) => deps !== undefined && others?.length === deps.length && deps.every((one, index) => Object.is(one, others[index]))

export function useMemo(make, deps) {
    const memo = slot(() => ({}))
    if (!isSame(deps, memo.deps)) Object.assign(memo, { value: make(), deps })
    return memo.value
}

export function useState(first) {
    const component = current, state = slot(() => ({ value: first }))
    return [state.value, value => {
        if (Object.is(state.value, value)) return
        state.value = value
        component.render()
    }]
}

/** A context whose provider a test sets: `context.value`. */
export function createContext(value) { return { value, Provider: "provider" } }

export function useContext(context) { return context.value }

export function createElement(type, props, ...children) { return { type, props: { ...props, children } } }

export function useEffect(run, deps) {
    const effect = slot(() => ({ isEffect: true }))
    if (!isSame(deps, effect.deps)) Object.assign(effect, { run, deps, isDue: true })
}

export function useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot) {
    if (typeof getServerSnapshot !== "function") throw new TypeError("a server has nothing to render")
    const component = current, snapshot = getSnapshot(), store = slot(() => ({}))
    if (!Object.is(snapshot, getSnapshot())) throw new Error("getSnapshot gives another object each time")
    store.check = () => { if (!Object.is(store.snapshot, getSnapshot())) component.render() }
    store.snapshot = snapshot
    useEffect(() => {
        const leave = subscribe(() => store.check())
        store.check()
        return leave
    }, [subscribe])
    return snapshot
}

/** Renders a component: `outputs` of all its renderings; `update(props)` and `unmount()`. */
export function render(component, props) {
    const rendered = { slots: [], outputs: [], next: 0, isBusy: false, isDue: false }
    const effects = () => rendered.slots.filter(({ isEffect }) => isEffect)
    const end = effect => {
        effect.end?.()
        effect.end = undefined
    }
    const once = () => {
        current = rendered
        rendered.next = 0
        rendered.outputs.push(component(props))
        current = null
        const due = effects().filter(({ isDue }) => isDue)
        for (const effect of due) end(effect)
        for (const pass of rendered.outputs.length === 1 ? ["strict", "last"] : ["last"]) {
            for (const effect of due) effect.end = effect.run()
            if (pass === "strict") for (const effect of due) end(effect)
        }
        for (const effect of due) effect.isDue = false
    }
    rendered.render = () => {
        rendered.isDue = true
        if (rendered.isBusy) return
        rendered.isBusy = true
        for (let count = 0; rendered.isDue; count += 1) {
            if (count === 25) throw new Error("renders for ever")
            rendered.isDue = false
            once()
        }
        rendered.isBusy = false
    }
    rendered.render()
    return {
        outputs: rendered.outputs,
        get last() { return rendered.outputs.at(-1) },
        update(next) {
            props = next
            rendered.render()
        },
        unmount() { for (const effect of effects()) end(effect) },
    }
}
