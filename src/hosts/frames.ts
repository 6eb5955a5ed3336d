/**
 * Converts calls to frames of the protocol, and frames to results.
 */
import { messageOf } from '../lib/errors.ts'
import { RaisedError } from '../lib/raised-error.ts'
import type { HostCall, HostModule, HostResult, LoadedModule } from './contract.ts'
import { endedAfterCancel } from './exit-failures.ts'
import { createHostFailure } from './failure.ts'
import type { PendingCall, PendingLoad } from './pending-calls.ts'
import type { ArgumentReference, FrameFromHost, FrameToHost, RequestError } from './protocol.ts'

export function entryNameOf({ entry = 'handle' }: HostModule): string {
  return entry
}

export function loadFrame(id: number, module: HostModule): string {
  const { name, path, importAs = `hermes_hook_${name}`, plugin } = module
  const frame = { t: 'load', id, module: name, path, entry: entryNameOf(module), importAs } as const
  return serializeFrame(plugin === undefined ? frame : { ...frame, plugin })
}

/** Throws if the arguments cannot be serialised. */
export function callFrame(pendingCall: PendingCall, fn: string, call: HostCall): string {
  const { args, keywords, callbacks, services, discardResult } = call
  const refs = argumentReferences(pendingCall, args, keywords ?? {})
  return serializeFrame({
    t: 'call',
    id: pendingCall.id,
    module: pendingCall.module,
    fn,
    args,
    keywords,
    callbacks,
    ...(services === true ? { services } : {}),
    ...(discardResult === true ? { discard: discardResult } : {}),
    ...(refs.length === 0 ? {} : { refs }),
  })
}

function argumentReferences(
  { references }: PendingCall,
  args: readonly unknown[],
  keywords: Readonly<Record<string, unknown>>,
): ArgumentReference[] {
  if (references === undefined) return []
  const namedValues: [number | string, unknown][] = [...args.entries(), ...Object.entries(keywords)]
  return namedValues.flatMap(([key, value]): ArgumentReference[] => {
    const reference = references.referenceOf(value)
    return reference === undefined ? [] : [[key, reference]]
  })
}

type RequestFrame = Extract<FrameFromHost, { t: 'request' }>

/** The arguments of a request. Unchanged copies are replaced with the original objects. */
export function resolveArguments({ args, refs = [] }: RequestFrame, { references }: PendingCall): readonly unknown[] {
  const referenceByIndex = new Map(refs)
  return args.map((arg, index) => {
    const reference = referenceByIndex.get(index)
    return reference === undefined ? arg : (references?.resolve(reference).value ?? arg)
  })
}

/**
 * The response to a request. Throws if the value cannot be serialised.
 * @param one the call that sent the request; `undefined` outside of calls
 */
export function resultFrame(id: number, value: unknown, pendingCall: PendingCall | undefined): string {
  const ref = pendingCall?.references?.referenceOf(value)
  return serializeFrame({ t: 'result', id, value: value ?? null, ref })
}

/**
 * The error response to a request.
 * @param one the call that sent the request; `undefined` outside of calls
 */
export function errorFrame(
  id: number,
  thrown: unknown,
  pendingCall: PendingCall | undefined,
  cancelled: boolean,
): string {
  const ref = pendingCall?.references?.referenceOf(thrown)
  const raised =
    thrown instanceof RaisedError && pendingCall !== undefined ? thrown.numberIn(pendingCall.process) : undefined
  const code = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
  const error: RequestError = {
    name: thrown instanceof Error ? thrown.name : 'Error',
    message: messageOf(thrown),
    code,
    ...(cancelled ? { cancelled } : {}),
    ref,
    raised,
  }
  return serializeFrame({ t: 'error', id, error })
}

export function cancelFrame(id: number): string {
  return serializeFrame({ t: 'cancel', id })
}

function serializeFrame(frame: FrameToHost): string {
  return JSON.stringify(frame)
}

export type HostResponse = Extract<FrameFromHost, { t: 'loadResult' | 'loadError' | 'callResult' | 'callError' }>

/** `undefined` if the frame is no response to a load. */
export function toLoadResult(load: PendingLoad, frame: HostResponse): HostResult<LoadedModule> | undefined {
  if (frame.t === 'loadResult') return { ok: true, value: { files: frame.files } }
  if (frame.t !== 'loadError') return undefined
  const { message, stack, files } = frame
  return {
    ok: false,
    failure: createHostFailure('unloadable', `${load.title}: ${message}`, { stack, files, started: false }),
  }
}

/** `undefined` if the frame is no response to a call or contains an unknown reference. */
export function toCallResult(call: PendingCall, frame: HostResponse): HostResult<unknown> | undefined {
  if (frame.t !== 'callResult' && frame.t !== 'callError') return undefined
  if (call.cancelled !== undefined) return { ok: false, failure: endedAfterCancel(call, call.cancelled) }
  const original = frame.ref === undefined ? undefined : call.references?.resolve(frame.ref)
  if (frame.ref !== undefined && original?.known !== true) return undefined
  if (frame.t === 'callResult')
    return { ok: true, value: original === undefined ? (frame.value ?? null) : original.value }
  const { kind, message, stack, error } = frame
  const origin = error?.id === undefined ? {} : { origin: { process: call.process, number: error.id } }
  const details = {
    stack,
    started: kind !== 'unloadable',
    ...(error === undefined ? {} : { raised: { name: error.name, message: error.message } }),
    ...origin,
  }
  const thrown = original === undefined ? {} : { thrown: original.value, cause: original.value }
  return { ok: false, failure: createHostFailure(kind, `${call.title}: ${message}`, { ...details, ...thrown }) }
}
