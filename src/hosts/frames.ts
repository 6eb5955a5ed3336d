/**
 * From calls to frames of the protocol, and from frames to results.
 */
import { messageOf } from '../lib/errors.ts'
import type { HostCall, HostModule, HostResult, LoadedModule } from './contract.ts'
import { endedLate } from './endings.ts'
import { failureOf } from './failure.ts'
import type { CallInFlight, LoadInFlight } from './in-flight.ts'
import type { FromHost, PlacedReference, RequestError, ToHost } from './wire.ts'

export function entryOf({ entry = 'handle' }: HostModule): string {
  return entry
}

export function loadFrame(id: number, module: HostModule): string {
  const { name, path, importAs = `hermes_hook_${name}`, plugin } = module
  const frame = { t: 'load', id, module: name, path, entry: entryOf(module), importAs } as const
  return lineOf(plugin === undefined ? frame : { ...frame, plugin })
}

/** Throws where the arguments are no JSON. */
export function callFrame(one: CallInFlight, fn: string, call: HostCall): string {
  const { args, keywords, callbacks, services, discardResult } = call
  const refs = placedReferences(one, args, keywords ?? {})
  return lineOf({
    t: 'call',
    id: one.id,
    module: one.module,
    fn,
    args,
    ...(keywords === undefined ? {} : { keywords }),
    ...(callbacks === undefined ? {} : { callbacks }),
    ...(services === true ? { services } : {}),
    ...(discardResult === true ? { discard: discardResult } : {}),
    ...(refs.length === 0 ? {} : { refs }),
  })
}

function placedReferences(
  { references }: CallInFlight,
  args: readonly unknown[],
  keywords: Readonly<Record<string, unknown>>,
): PlacedReference[] {
  if (references === undefined) return []
  const places: [number | string, unknown][] = [...args.entries(), ...Object.entries(keywords)]
  return places.flatMap(([place, value]): PlacedReference[] => {
    const reference = references.of(value)
    return reference === undefined ? [] : [[place, reference]]
  })
}

type Request = Extract<FromHost, { t: 'request' }>

/** The arguments of a request, with our own objects in place of copies that came back unchanged. */
export function argumentsOf({ args, refs = [] }: Request, { references }: CallInFlight): readonly unknown[] {
  const own = new Map(refs)
  return args.map((arg, index) => {
    const reference = own.get(index)
    return reference === undefined ? arg : (references?.resolve(reference).value ?? arg)
  })
}

/** `value`: what a request came to; `one`: the call that asked, if it was one. Throws where it is no JSON. */
export function answerFrame(id: number, value: unknown, one: CallInFlight | undefined): string {
  const ref = one?.references?.of(value)
  return lineOf({ t: 'answer', id, value: value ?? null, ...(ref === undefined ? {} : { ref }) })
}

/** Why a request failed, as its handler is told. `one`: the call that asked; undefined when there is none. */
export function refusalFrame(id: number, thrown: unknown, one: CallInFlight | undefined, cancelled: boolean): string {
  const ref = one?.references?.of(thrown)
  const code = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
  const error: RequestError = {
    name: thrown instanceof Error ? thrown.name : 'Error',
    message: messageOf(thrown),
    ...(code === undefined ? {} : { code }),
    ...(cancelled ? { cancelled } : {}),
    ...(ref === undefined ? {} : { ref }),
  }
  return lineOf({ t: 'refusal', id, error })
}

export function cancelFrame(id: number): string {
  return lineOf({ t: 'cancel', id })
}

function lineOf(frame: ToHost): string {
  return JSON.stringify(frame)
}

export type Answer = Extract<FromHost, { t: 'loaded' | 'unloadable' | 'done' | 'failed' }>

/** Undefined: no answer to a load. */
export function loadResult(one: LoadInFlight, frame: Answer): HostResult<LoadedModule> | undefined {
  if (frame.t === 'loaded') return { ok: true, value: { files: frame.files } }
  if (frame.t !== 'unloadable') return undefined
  const { message, stack, files } = frame
  return { ok: false, failure: failureOf('unloadable', `${one.title}: ${message}`, { stack, files, begun: false }) }
}

/** Undefined: no answer to a call, or one with a reference that was never given out. */
export function callResult(one: CallInFlight, frame: Answer): HostResult<unknown> | undefined {
  if (frame.t !== 'done' && frame.t !== 'failed') return undefined
  if (one.cancelled !== undefined) return { ok: false, failure: endedLate(one, one.cancelled) }
  const original = frame.ref === undefined ? undefined : one.references?.resolve(frame.ref)
  if (frame.ref !== undefined && original?.known !== true) return undefined
  if (frame.t === 'done') return { ok: true, value: original === undefined ? (frame.value ?? null) : original.value }
  const { kind, message, stack, error } = frame
  const details = { stack, begun: kind !== 'unloadable', ...(error === undefined ? {} : { raised: error }) }
  const thrown = original === undefined ? {} : { thrown: original.value, cause: original.value }
  return { ok: false, failure: failureOf(kind, `${one.title}: ${message}`, { ...details, ...thrown }) }
}
