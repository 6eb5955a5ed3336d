/**
 * Assigns hooks to host processes. A changed hook gets a new generation of its group's process. The new process takes over
 * when the changed hooks are loaded, and the old one is drained. A hook whose new version cannot be loaded keeps running in
 * the process of the previous version.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Host, HostModule, HostRequestHandler, HostResult, LoadedModule } from '../hosts/contract.ts'
import { isRecord } from '../lib/json.ts'
import type { DiscoveredHook } from './discovery.ts'
import { type HandlerResult, type HookCall, handlerFailure, toHandlerResult } from './handler-result.ts'

export interface HostPoolDeps {
  createHost(group: HostGroup): Host
  /** Serves the requests of a handler that has received this payload. */
  onRequest(payload: Readonly<Record<string, unknown>>): HostRequestHandler
  groupKeyOf(hook: DiscoveredHook): string
  processOptionsOf(hook: DiscoveredHook): HostProcessOptions
  /** Receives the files of a hook after each attempt to load it, successful or not. */
  recordFiles(id: string, files: readonly string[]): void
  /** Time limit for calls in flight when their process is replaced, in ms. */
  drainMs(): number
}

/** All hooks of one group have the same options. */
export interface HostProcessOptions {
  readonly env: Readonly<Record<string, string>>
  /** The program that runs handlers; the default of the language if omitted. */
  readonly command?: string
}

export interface HostGroup extends HostProcessOptions {
  readonly name: string
  readonly language: DiscoveredHook['language']
  readonly modules: readonly HostModule[]
}

export interface HostPool {
  /**
   * Assigns all hooks to processes and loads the changed ones. Other hooks are loaded at their first call. Returns the
   * result for each changed hook. Never rejects. Calls must not overlap.
   */
  assignAndLoad(
    hooks: readonly DiscoveredHook[],
    changed: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, AssignmentResult>>
  /** Like `assignAndLoad` without changed hooks. Synchronous, because no process starts. */
  assign(hooks: readonly DiscoveredHook[]): void
  /** Calls a hook in its process. An event that did not reach the handler is retried in the next process. Never rejects. */
  call(id: string, call: HookCall): Promise<HandlerResult>
  /** The processes that `hermes hooks list` shows. */
  processes(): readonly HostProcessStatus[]
  /** Waits at most `drainMs` for calls in flight, then ends all processes. May be called twice. */
  stop(drainMs: number): Promise<void>
}

export interface HostProcessStatus {
  readonly name: string
  readonly pid: number | undefined
  readonly state: string
}

export interface AssignmentResult {
  readonly loadResult: HostResult<LoadedModule>
  /** The new version cannot be loaded and the previous one stays active. */
  readonly keptPrevious: boolean
}

/** One process. It starts at its first call. */
interface Generation {
  readonly key: string
  readonly host: Host
  readonly processOptions: HostProcessOptions
  readonly members: ReadonlySet<string>
  readonly loadedIds: Set<string>
}

interface PoolState {
  readonly deps: HostPoolDeps
  /** The newest generation of each group. */
  readonly latest: Map<string, Generation>
  /** The generation that runs each hook. */
  readonly assignments: Map<string, Generation>
  readonly generations: Set<Generation>
  readonly retiring: Set<Promise<void>>
  stopped: boolean
}

/** Limit of processes that an event is tried on before a handler receives it. */
const maxAttempts = 3

export function createHostPool(deps: HostPoolDeps): HostPool {
  const state: PoolState = {
    deps,
    latest: new Map(),
    assignments: new Map(),
    generations: new Set(),
    retiring: new Set(),
    stopped: false,
  }
  return {
    assignAndLoad: (hooks, changed) => assignAndLoad(state, hooks, changed),
    assign: (hooks) => assign(state, hooks),
    call: (id, call) => callHook(state, id, call),
    processes: () =>
      [...state.generations].map(({ key, host }) => {
        const { pid, state: processState } = host.status()
        return { name: key, pid, state: processState }
      }),
    async stop(drainMs) {
      state.stopped = true
      state.assignments.clear()
      state.latest.clear()
      retireUnused(state, drainMs)
      await Promise.all(state.retiring)
    },
  }
}

async function assignAndLoad(
  state: PoolState,
  hooks: readonly DiscoveredHook[],
  changed: ReadonlySet<string>,
): Promise<ReadonlyMap<string, AssignmentResult>> {
  const results = new Map<string, AssignmentResult>()
  for (const [key, members] of Map.groupBy(hooks, state.deps.groupKeyOf)) {
    const next = nextGeneration(state, key, members, changed)
    if (next === undefined) continue
    state.generations.add(next)
    const pinned = new Set(members.filter(({ id }) => !changed.has(id) && isPinned(state, id, key)).map(({ id }) => id))
    for (const { id } of members) {
      if (!changed.has(id)) continue
      const result = await loadInto(state, next, id)
      // `stop` may have run meanwhile. A process that started now would not be stopped.
      if (state.stopped) return results
      results.set(id, result)
      if (result.keptPrevious) pinned.add(id)
    }
    for (const { id } of members) if (!pinned.has(id)) state.assignments.set(id, next)
    state.latest.set(key, next)
  }
  releaseUnassigned(state, hooks)
  return results
}

function assign(state: PoolState, hooks: readonly DiscoveredHook[]): void {
  if (state.stopped) return
  for (const [key, members] of Map.groupBy(hooks, state.deps.groupKeyOf)) {
    const next = nextGeneration(state, key, members, new Set())
    if (next === undefined) continue
    state.generations.add(next)
    for (const { id } of members) if (!isPinned(state, id, key)) state.assignments.set(id, next)
    state.latest.set(key, next)
  }
  releaseUnassigned(state, hooks)
}

async function callHook(state: PoolState, id: string, call: HookCall): Promise<HandlerResult> {
  for (let attempt = 1; ; attempt++) {
    const generation = state.assignments.get(id)
    if (generation === undefined)
      return handlerFailure('The hook does not run: it is disabled or was removed.', { countsAgainstHook: false })
    const result = await callIn(state, generation, id, call)
    if (result.ok) return result
    const { kind, started } = result.failure
    const isReplaced = kind === 'stopped' && state.assignments.get(id) !== generation
    // A process that did not start may have been killed from outside.
    const mayRetry = !started && (isReplaced || kind === 'unavailable')
    if (!mayRetry || attempt === maxAttempts) return toHandlerResult(result)
  }
}

async function callIn(
  state: PoolState,
  generation: Generation,
  id: string,
  { event, context, wantsResult, deadlineMs }: HookCall,
): Promise<HostResult<unknown>> {
  if (!generation.loadedIds.has(id)) {
    const loaded = await load(state, generation, id)
    if (!loaded.ok) return loaded
  }
  return await generation.host.call({
    module: id,
    args: [event, context],
    services: true,
    onRequest: state.deps.onRequest(isRecord(context) ? context : {}),
    discardResult: !wantsResult,
    deadlineMs,
  })
}

/** `undefined` if the group needs no new process. */
function nextGeneration(
  { deps, latest }: PoolState,
  key: string,
  members: readonly DiscoveredHook[],
  changed: ReadonlySet<string>,
): Generation | undefined {
  const [first] = members
  if (first === undefined) return undefined
  const processOptions = deps.processOptionsOf(first)
  const current = latest.get(key)
  const isSame =
    current !== undefined &&
    members.length === current.members.size &&
    members.every(({ id }) => current.members.has(id) && !changed.has(id)) &&
    isDeepStrictEqual(processOptions, current.processOptions)
  if (isSame) return undefined
  const host = deps.createHost({
    name: `hooks (${key})`,
    language: first.language,
    modules: members.map(({ id, handlerFile }) => ({ name: id, path: handlerFile })),
    ...processOptions,
  })
  return { key, host, processOptions, members: new Set(members.map(({ id }) => id)), loadedIds: new Set() }
}

/** A hook whose newest version cannot be loaded stays in the process of the previous version. */
function isPinned({ assignments, latest }: PoolState, id: string, key: string): boolean {
  const assigned = assignments.get(id)
  return assigned !== undefined && assigned.key === key && assigned !== latest.get(key)
}

async function load(
  { deps }: PoolState,
  { host, loadedIds }: Generation,
  id: string,
): Promise<HostResult<LoadedModule>> {
  const loaded = await host.load(id)
  if (loaded.ok) loadedIds.add(id)
  deps.recordFiles(id, loaded.ok ? loaded.value.files : loaded.failure.files)
  return loaded
}

async function loadInto(state: PoolState, next: Generation, id: string): Promise<AssignmentResult> {
  const loadResult = await load(state, next, id)
  return { loadResult, keptPrevious: !loadResult.ok && state.assignments.get(id)?.loadedIds.has(id) === true }
}

/** Forgets hooks and groups that no longer exist, and stops their processes. */
function releaseUnassigned(state: PoolState, hooks: readonly DiscoveredHook[]): void {
  const { assignments, latest, deps } = state
  const ids = new Set(hooks.map(({ id }) => id))
  const keys = new Set(hooks.map(deps.groupKeyOf))
  for (const id of [...assignments.keys()]) if (!ids.has(id)) assignments.delete(id)
  for (const key of [...latest.keys()]) if (!keys.has(key)) latest.delete(key)
  retireUnused(state, deps.drainMs())
}

function retireUnused({ assignments, latest, generations, retiring }: PoolState, drainMs: number): void {
  const used = new Set([...assignments.values(), ...latest.values()])
  for (const generation of generations) {
    if (used.has(generation)) continue
    generations.delete(generation)
    const exited = generation.host.stop({ drainMs })
    retiring.add(exited)
    void exited.then(() => retiring.delete(exited))
  }
}
