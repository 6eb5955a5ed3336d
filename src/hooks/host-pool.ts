/**
 * In which process each hook lives. A change makes a new process with all hooks of the group; it takes over when what was
 * changed is loaded there, and the old one is drained. A version that cannot be loaded stays where it works.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Host, HostModule, HostResult, LoadedModule } from '../hosts/contract.ts'
import type { DiscoveredHook } from './discovery.ts'
import { type HandlerResult, type HookCall, handlerFailure, toHandlerResult } from './handler-result.ts'

export interface HostPoolDeps {
  createHost(group: HostGroup): Host
  groupKeyOf(hook: DiscoveredHook): string
  processOptionsOf(hook: DiscoveredHook): HostProcessOptions
  /** Which files a hook consists of, told when it was loaded or could not be. */
  recordFiles(id: string, files: readonly string[]): void
  /** How long calls in flight may take when their process is replaced, ms. */
  drainMs(): number
}

/** Those of one group are the same for all its hooks. */
export interface HostProcessOptions {
  readonly env: Readonly<Record<string, string>>
  /** The program that runs handlers; the usual one if left out. */
  readonly command?: string
}

export interface HostGroup extends HostProcessOptions {
  readonly name: string
  readonly language: DiscoveredHook['language']
  readonly modules: readonly HostModule[]
}

export interface HostPool {
  /**
   * Puts all hooks into processes; those that lived elsewhere are moved. The changed ones are loaded at once, the others
   * when they are first called. Tells of each changed one how loading went. Never rejects; one call at a time.
   */
  assignAndLoad(
    hooks: readonly DiscoveredHook[],
    changed: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, AssignmentResult>>
  /** As `place` with nothing changed, without waiting: no process starts. */
  assign(hooks: readonly DiscoveredHook[]): void
  /** Calls a hook where it lives. An event that no handler has seen follows the hook to its next process. Never rejects. */
  call(id: string, call: HookCall): Promise<HandlerResult>
  /** What `hermes hooks list` says of the processes. */
  processes(): readonly { readonly name: string; readonly pid: number | undefined; readonly state: string }[]
  /** Lets calls in flight end, `drainMs` at most, and ends all processes. May be called twice. */
  stop(drainMs: number): Promise<void>
}

export interface AssignmentResult {
  readonly loadResult: HostResult<LoadedModule>
  /** It could not be loaded and lives on as it was before. */
  readonly keptPrevious: boolean
}

/** One process, or the promise of one: it starts with the first call. */
interface Generation {
  readonly key: string
  readonly host: Host
  readonly processOptions: HostProcessOptions
  readonly members: ReadonlySet<string>
  /** Hooks that have been loaded in it. */
  readonly loadedIds: Set<string>
}

/** Processes on which an event is tried that no handler has seen. */
const maxAttempts = 3

export function createHostPool(deps: HostPoolDeps): HostPool {
  const latest = new Map<string, Generation>()
  const assignments = new Map<string, Generation>()
  const generations = new Set<Generation>()
  const retiring = new Set<Promise<void>>()
  let stopped = false

  function createGeneration(key: string, members: readonly [DiscoveredHook, ...DiscoveredHook[]]): Generation {
    const [first] = members
    const processOptions = deps.processOptionsOf(first)
    const host = deps.createHost({
      name: `hooks (${key})`,
      language: first.language,
      modules: members.map(({ id, handlerFile }) => ({ name: id, path: handlerFile })),
      ...processOptions,
    })
    return { key, host, processOptions, members: new Set(members.map(({ id }) => id)), loadedIds: new Set() }
  }

  /** What is to be new: undefined where everything can stay. */
  function nextGeneration(
    key: string,
    members: readonly DiscoveredHook[],
    changed: ReadonlySet<string>,
  ): Generation | undefined {
    const [first, ...others] = members
    if (first === undefined) return undefined
    const current = latest.get(key)
    const isSame =
      current !== undefined &&
      members.length === current.members.size &&
      members.every(({ id }) => current.members.has(id) && !changed.has(id)) &&
      isDeepStrictEqual(deps.processOptionsOf(first), current.processOptions)
    return isSame ? undefined : createGeneration(key, [first, ...others])
  }

  function groupHooks(hooks: readonly DiscoveredHook[]): [string, DiscoveredHook[]][] {
    return [...Map.groupBy(hooks, deps.groupKeyOf)]
  }

  /** A hook whose newest version cannot be loaded stays in the process that has the one before. */
  function isPinned(id: string, key: string): boolean {
    const assigned = assignments.get(id)
    return assigned !== undefined && assigned.key === key && assigned !== latest.get(key)
  }

  async function load({ host, loadedIds }: Generation, id: string): Promise<HostResult<LoadedModule>> {
    const loaded = await host.load(id)
    if (loaded.ok) loadedIds.add(id)
    deps.recordFiles(id, loaded.ok ? loaded.value.files : loaded.failure.files)
    return loaded
  }

  /** A version that cannot be loaded does not take the place of one that works. */
  async function loadInto(next: Generation, id: string): Promise<AssignmentResult> {
    const loadResult = await load(next, id)
    return { loadResult, keptPrevious: !loadResult.ok && assignments.get(id)?.loadedIds.has(id) === true }
  }

  async function callIn(seat: Generation, id: string, call: HookCall): Promise<HostResult<unknown>> {
    if (!seat.loadedIds.has(id)) {
      const loaded = await load(seat, id)
      if (!loaded.ok) return loaded
    }
    const { event, context, wantsResult, deadlineMs } = call
    return await seat.host.call({
      module: id,
      args: [event, context],
      services: true,
      discardResult: !wantsResult,
      deadlineMs,
    })
  }

  function retireUnused(drainMs: number): void {
    const used = new Set([...assignments.values(), ...latest.values()])
    for (const generation of generations) {
      if (used.has(generation)) continue
      generations.delete(generation)
      const exited = generation.host.stop({ drainMs })
      retiring.add(exited)
      void exited.then(() => retiring.delete(exited))
    }
  }

  /** Groups and seats that are nobody's any more. */
  function releaseUnassigned(hooks: readonly DiscoveredHook[]): void {
    const ids = new Set(hooks.map(({ id }) => id))
    const keys = new Set(hooks.map(deps.groupKeyOf))
    for (const id of [...assignments.keys()]) if (!ids.has(id)) assignments.delete(id)
    for (const key of [...latest.keys()]) if (!keys.has(key)) latest.delete(key)
    retireUnused(deps.drainMs())
  }

  return {
    async assignAndLoad(hooks, changed) {
      const assignmentResults = new Map<string, AssignmentResult>()
      for (const [key, members] of groupHooks(hooks)) {
        const next = nextGeneration(key, members, changed)
        if (next === undefined) continue
        generations.add(next)
        const renewals = members.filter(({ id }) => changed.has(id))
        const pinned = new Set(members.filter(({ id }) => !changed.has(id) && isPinned(id, key)).map(({ id }) => id))
        for (const { id } of renewals) {
          const assignmentResult = await loadInto(next, id)
          // Stopped meanwhile: a process that began now would be nobody's.
          if (stopped) return assignmentResults
          assignmentResults.set(id, assignmentResult)
          if (assignmentResult.keptPrevious) pinned.add(id)
        }
        for (const { id } of members) if (!pinned.has(id)) assignments.set(id, next)
        latest.set(key, next)
      }
      releaseUnassigned(hooks)
      return assignmentResults
    },

    assign(hooks) {
      if (stopped) return
      for (const [key, members] of groupHooks(hooks)) {
        const next = nextGeneration(key, members, new Set())
        if (next === undefined) continue
        generations.add(next)
        for (const { id } of members) if (!isPinned(id, key)) assignments.set(id, next)
        latest.set(key, next)
      }
      releaseUnassigned(hooks)
    },

    async call(id, call) {
      for (let attempt = 1; ; attempt++) {
        const seat = assignments.get(id)
        if (seat === undefined)
          return handlerFailure('It does not run: it is switched off, or gone.', { countsAgainstHook: false })
        const result = await callIn(seat, id, call)
        if (result.ok) return result
        const { kind, started } = result.failure
        const isReplaced = kind === 'stopped' && assignments.get(id) !== seat
        // A process that did not come up may have been killed by somebody else.
        const mayRetry = !started && (isReplaced || kind === 'unavailable')
        if (!mayRetry || attempt === maxAttempts) return toHandlerResult(result)
      }
    },

    processes: () =>
      [...generations].map(({ key, host }) => {
        const { pid, state } = host.status()
        return { name: key, pid, state }
      }),

    async stop(drainMs) {
      stopped = true
      assignments.clear()
      latest.clear()
      retireUnused(drainMs)
      await Promise.all(retiring)
    },
  }
}
