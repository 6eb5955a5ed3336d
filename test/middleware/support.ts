/**
 * A middleware with a recorded log, and calls for it.
 */
import type { Fields, ManagedEvent } from '../../src/middleware/contract.ts'
import type { ManagedModelCall, ManagedToolCall, Middleware } from '../../src/middleware/managed-call.ts'
import { createMiddleware, type MiddlewareDeps } from '../../src/middleware/middleware.ts'
import { createRecordingLog, type RecordingLog } from '../hosts/support.ts'

export interface MiddlewareUnderTest {
  readonly middleware: Middleware
  readonly log: RecordingLog
}

/** The grace period is zero, so that tests do not wait for it. */
export function setUp(deps: Partial<MiddlewareDeps> = {}): MiddlewareUnderTest {
  const log = createRecordingLog()
  return { middleware: createMiddleware({ log, graceMs: 0, ...deps }), log }
}

export type ToolCall = ManagedToolCall<Fields, unknown>

/** By default, a call of `read_file` that returns its arguments. */
export function toolCall(given: Partial<ToolCall> = {}): ToolCall {
  return {
    toolName: 'read_file',
    toolCallId: 'call-1',
    args: { path: 'notes.txt' },
    handler: async (args) => args,
    ...given,
  }
}

export type ModelCall = ManagedModelCall<Fields, string, string>

/** By default, a call of `gpt` that streams `chunks`. The response joins the chunks. */
export function modelCall(
  chunks: readonly string[] = ['Hel', 'lo'],
  given: Partial<ModelCall> = {},
): ModelCall & { readonly collectors: Collector[] } {
  const collectors: Collector[] = []
  return {
    provider: 'openai',
    model: 'gpt',
    request: { model: 'gpt', messages: [{ role: 'user', content: 'hi' }] },
    async *stream() {
      for (const chunk of chunks) yield chunk
      return chunks.join('')
    },
    collector() {
      const collector = new Collector()
      collectors.push(collector)
      return collector
    },
    collectors,
    ...given,
  }
}

export class Collector {
  readonly chunks: string[] = []
  finished = 0

  add(chunk: string): void {
    this.chunks.push(chunk)
  }

  finish(): string {
    this.finished += 1
    return this.chunks.join('')
  }
}

/** Subscribes and returns the list of events, which grows. */
export function recordEvents(middleware: Middleware): ManagedEvent[] {
  const events: ManagedEvent[] = []
  middleware.registerSubscriber('recorder', (event) => {
    events.push(event)
  })
  return events
}

/** `tool start read_file`, for each event. */
export function describeEvents(events: readonly ManagedEvent[]): string[] {
  return events.map(({ kind, category, scope_category, name }) => `${category} ${scope_category ?? kind} ${name}`)
}

/** The rejection of a promise; undefined if it resolves. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return undefined
  } catch (error) {
    return error
  }
}

/** A promise and what settles it. */
export function deferred(): PromiseWithResolvers<void> {
  return Promise.withResolvers<void>()
}

/** The `event` of each warning. */
export const warnings = (log: RecordingLog): unknown[] =>
  log.records.filter(({ level }) => level === 'warn').map(({ fields }) => fields['event'])
