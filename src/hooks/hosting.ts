/**
 * In which process each hook lives. A change makes a new process with all hooks of the group; it takes over when what was
 * changed is loaded there, and the old one is drained. A version that cannot be loaded stays where it works.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Host, HostModule, HostResult, LoadedModule } from '../hosts/contract.ts'
import type { FoundHook } from './discovery.ts'
import { failed, type HookCall, type Outcome, outcomeOf } from './outcome.ts'

export interface HostingDeps {
  createHost(group: HostGroup): Host
  keyOf(hook: FoundHook): string
  surroundingsOf(hook: FoundHook): Surroundings
  /** Which files a hook consists of, told when it was loaded or could not be. */
  noteFiles(id: string, files: readonly string[]): void
  /** How long calls in flight may take when their process is replaced, ms. */
  drainMs(): number
}

/** Those of one group are the same for all its hooks. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  /** The program that runs handlers; the usual one if left out. */
  readonly command?: string
}

export interface HostGroup extends Surroundings {
  readonly name: string
  readonly language: FoundHook['language']
  readonly modules: readonly HostModule[]
}

export interface Hosting {
  /**
   * Puts all hooks into processes; those that lived elsewhere are moved. The changed ones are loaded at once, the others
   * when they are first called. Tells of each changed one how loading went. Never rejects; one call at a time.
   */
  place(hooks: readonly FoundHook[], changed: ReadonlySet<string>): Promise<ReadonlyMap<string, Placement>>
  /** As `place` with nothing changed, without waiting: no process starts. */
  seat(hooks: readonly FoundHook[]): void
  /** Calls a hook where it lives. An event that no handler has seen follows the hook to its next process. Never rejects. */
  call(id: string, call: HookCall): Promise<Outcome>
  /** What `hermes hooks list` says of the processes. */
  processes(): readonly { readonly name: string; readonly pid: number | undefined; readonly state: string }[]
  /** Lets calls in flight end, `drainMs` at most, and ends all processes. May be called twice. */
  stop(drainMs: number): Promise<void>
}

export interface Placement {
  readonly loaded: HostResult<LoadedModule>
  /** It could not be loaded and lives on as it was before. */
  readonly keptOld: boolean
}

/** One process, or the promise of one: it starts with the first call. */
interface Generation {
  readonly key: string
  readonly host: Host
  readonly surroundings: Surroundings
  readonly members: ReadonlySet<string>
  /** Hooks that have been loaded in it. */
  readonly working: Set<string>
}

/** Processes on which an event is tried that no handler has seen. */
const maxProcesses = 3

export function createHosting(deps: HostingDeps): Hosting {
  const latest = new Map<string, Generation>()
  const seats = new Map<string, Generation>()
  const all = new Set<Generation>()
  const leaving = new Set<Promise<void>>()
  let ended = false

  function generationOf(key: string, members: readonly [FoundHook, ...FoundHook[]]): Generation {
    const [first] = members
    const surroundings = deps.surroundingsOf(first)
    const host = deps.createHost({
      name: `hooks (${key})`,
      language: first.language,
      modules: members.map(({ id, handlerFile }) => ({ name: id, path: handlerFile })),
      ...surroundings,
    })
    return { key, host, surroundings, members: new Set(members.map(({ id }) => id)), working: new Set() }
  }

  /** What is to be new: undefined where everything can stay. */
  function renewed(key: string, members: readonly FoundHook[], changed: ReadonlySet<string>): Generation | undefined {
    const [first, ...others] = members
    if (first === undefined) return undefined
    const current = latest.get(key)
    const isSame =
      current !== undefined &&
      members.length === current.members.size &&
      members.every(({ id }) => current.members.has(id) && !changed.has(id)) &&
      isDeepStrictEqual(deps.surroundingsOf(first), current.surroundings)
    return isSame ? undefined : generationOf(key, [first, ...others])
  }

  function groupsOf(hooks: readonly FoundHook[]): [string, FoundHook[]][] {
    return [...Map.groupBy(hooks, deps.keyOf)]
  }

  /** A hook whose newest version cannot be loaded stays in the process that has the one before. */
  function staysBehind(id: string, key: string): boolean {
    const seat = seats.get(id)
    return seat !== undefined && seat.key === key && seat !== latest.get(key)
  }

  async function load({ host, working }: Generation, id: string): Promise<HostResult<LoadedModule>> {
    const loaded = await host.load(id)
    if (loaded.ok) working.add(id)
    deps.noteFiles(id, loaded.ok ? loaded.value.files : loaded.failure.files)
    return loaded
  }

  /** A version that cannot be loaded does not take the place of one that works. */
  async function moveTo(next: Generation, id: string): Promise<Placement> {
    const loaded = await load(next, id)
    return { loaded, keptOld: !loaded.ok && seats.get(id)?.working.has(id) === true }
  }

  async function callIn(seat: Generation, id: string, call: HookCall): Promise<HostResult<unknown>> {
    if (!seat.working.has(id)) {
      const loaded = await load(seat, id)
      if (!loaded.ok) return loaded
    }
    const { event, context, wanted, deadlineMs } = call
    return await seat.host.call({
      module: id,
      args: [event, context],
      services: true,
      discardResult: !wanted,
      deadlineMs,
    })
  }

  function leave(drainMs: number): void {
    const used = new Set([...seats.values(), ...latest.values()])
    for (const generation of all) {
      if (used.has(generation)) continue
      all.delete(generation)
      const gone = generation.host.stop({ drainMs })
      leaving.add(gone)
      void gone.then(() => leaving.delete(gone))
    }
  }

  /** Groups and seats that are nobody's any more. */
  function clear(hooks: readonly FoundHook[]): void {
    const ids = new Set(hooks.map(({ id }) => id))
    const keys = new Set(hooks.map(deps.keyOf))
    for (const id of [...seats.keys()]) if (!ids.has(id)) seats.delete(id)
    for (const key of [...latest.keys()]) if (!keys.has(key)) latest.delete(key)
    leave(deps.drainMs())
  }

  return {
    async place(hooks, changed) {
      const placements = new Map<string, Placement>()
      for (const [key, members] of groupsOf(hooks)) {
        const next = renewed(key, members, changed)
        if (next === undefined) continue
        all.add(next)
        const renewals = members.filter(({ id }) => changed.has(id))
        const stay = new Set(members.filter(({ id }) => !changed.has(id) && staysBehind(id, key)).map(({ id }) => id))
        for (const { id } of renewals) {
          const placement = await moveTo(next, id)
          // Stopped meanwhile: a process that began now would be nobody's.
          if (ended) return placements
          placements.set(id, placement)
          if (placement.keptOld) stay.add(id)
        }
        for (const { id } of members) if (!stay.has(id)) seats.set(id, next)
        latest.set(key, next)
      }
      clear(hooks)
      return placements
    },

    seat(hooks) {
      if (ended) return
      for (const [key, members] of groupsOf(hooks)) {
        const next = renewed(key, members, new Set())
        if (next === undefined) continue
        all.add(next)
        for (const { id } of members) if (!staysBehind(id, key)) seats.set(id, next)
        latest.set(key, next)
      }
      clear(hooks)
    },

    async call(id, call) {
      for (let attempt = 1; ; attempt++) {
        const seat = seats.get(id)
        if (seat === undefined) return failed('It does not run: it is switched off, or gone.', { blamed: false })
        const result = await callIn(seat, id, call)
        if (result.ok) return result
        const { kind, begun } = result.failure
        const isReplaced = kind === 'stopped' && seats.get(id) !== seat
        // A process that did not come up may have been killed by somebody else.
        const mayRetry = !begun && (isReplaced || kind === 'unavailable')
        if (!mayRetry || attempt === maxProcesses) return outcomeOf(result)
      }
    },

    processes: () =>
      [...all].map(({ key, host }) => {
        const { pid, state } = host.status()
        return { name: key, pid, state }
      }),

    async stop(drainMs) {
      ended = true
      seats.clear()
      latest.clear()
      leave(drainMs)
      await Promise.all(leaving)
    },
  }
}
