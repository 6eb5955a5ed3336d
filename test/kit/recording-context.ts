/**
 * The gateway as an adapter sees it, for tests: remembers what was handed in, and does what the test says.
 */

import { createLog } from '../../src/lib/log.ts'
import type { AcceptResult, ReadCursor } from '../../src/message/accept-result.ts'
import type { ButtonPress, MessageChange } from '../../src/message/change.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { EventKey } from '../../src/message/ids.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
import type { ChatEntry, CommandEntry, HttpRoute, PlatformContext, PressResult } from '../../src/platforms/adapter.ts'

export interface IngestedEvent {
  readonly event: MessageEvent
  readonly keys: readonly EventKey[]
  readonly mark?: ReadCursor
  readonly accepted: AcceptResult
}

export interface RecordingContext {
  readonly context: PlatformContext
  /** What was accepted, refused or known already, in order. */
  readonly ingestedEvents: readonly IngestedEvent[]
  /** Calls of `accept`, those that threw too. */
  attempts(): number
  /** Resolves with the next event that is accepted, refused or known already. */
  nextEvent(): Promise<IngestedEvent>
  /** Resolves at the next call of `accept`. */
  nextAttempt(): Promise<void>
  /** Nothing is on disk until the returned function is called. */
  holdAccepts(): () => void
  failNextAccept(error: Error): void
  /** Refuses whoever writes. */
  refuse(reason: string): void
  completeTurn(seq: number, outcome: Partial<TurnResult>): void
  readonly stopped: readonly number[]
  readonly routes: readonly HttpRoute[]
  /** As the gateway does when an adapter has disconnected. */
  dropRoutes(): void
  readonly healthReports: readonly { readonly state: string; readonly reason?: string | undefined }[]
  /** The stored lines of every chat; tests push to it. */
  readonly history: ChatEntry[]
  /** Edits, deletions and reactions, in order; a repeated key is not handed in twice. */
  readonly changes: readonly MessageChange[]
  readonly presses: readonly ButtonPress[]
  /** What the next presses are answered with. */
  answerPresses(answer: PressResult): void
  /** How far the account has read; tests may set what an earlier life left. */
  readonly marks: Map<string, string>
  /** The slash commands the gateway knows; tests may change them. */
  readonly commands: CommandEntry[]
  /** What the adapter said when its platform had refused the account for good. */
  readonly refusals: readonly string[]
  /** How often the adapter said that something came in. */
  received(): number
  /** What the adapter has logged, as JSON, before the gateway takes secrets out. */
  readonly logLines: readonly string[]
  /** Calls `look` after everything that is remembered here. Call what it returns to end that. */
  onChange(look: () => void): () => void
}

export interface RecordingOptions {
  readonly platform?: string
  readonly account?: string
  readonly options?: Readonly<Record<string, unknown>>
  readonly home?: string
}

export function createRecordingContext(options: RecordingOptions = {}): RecordingContext {
  const ingestedEvents: IngestedEvent[] = []
  const seqs = new Map<string, number>()
  const stopped: number[] = []
  const routes: HttpRoute[] = []
  const healthReports: { state: string; reason?: string | undefined }[] = []
  const history: ChatEntry[] = []
  const outcomes = new Map<number, TurnResult>()
  const waiting = new Map<number, ((outcome: TurnResult) => void)[]>()
  const listeners: ((record: IngestedEvent) => void)[] = []
  const logLines: string[] = []
  const observers = new Set<() => void>()
  const note = <T>(into: T[], what: T) => {
    into.push(what)
    changed()
  }
  const changed = () => {
    for (const look of [...observers]) look()
  }
  const stream = { write: (line: string) => note(logLines, line) }
  const log = createLog({ level: 'debug', pretty: false, stream, redactor: (line) => line })
  const changes: MessageChange[] = []
  const changeKeys = new Set<string>()
  const presses: ButtonPress[] = []
  const refusals: string[] = []
  const marks = new Map<string, string>()
  const commands: CommandEntry[] = [
    { name: 'new', description: 'Begins a new conversation.', argsHint: '[name]' },
    { name: 'stop', description: 'Stops the answer that is being written.', argsHint: '' },
  ]
  let pressAnswer: PressResult = { status: 'taken', text: 'Noted.' }
  let received = 0
  let watchers: (() => void)[] = []
  let held: Promise<void> | undefined
  let failure: Error | undefined
  let refusal: string | undefined
  let attempts = 0

  const context: PlatformContext = {
    platform: options.platform ?? 'fake',
    account: options.account ?? 'default',
    options: options.options ?? {},
    log,
    home: options.home ?? '',
    clock: () => 1_700_000_000_000,
    async accept(event, keys, mark) {
      await stored()
      const accepted = acceptanceOf(keys)
      if (mark !== undefined) marks.set(mark.place, mark.id)
      const record = { event, keys, ...(mark === undefined ? {} : { mark }), accepted }
      ingestedEvents.push(record)
      for (const notify of listeners.splice(0)) notify(record)
      changed()
      return accepted
    },
    waitForResult(seq, signal) {
      const known = outcomes.get(seq)
      if (known !== undefined) return Promise.resolve(known)
      return new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        waiting.set(seq, [...(waiting.get(seq) ?? []), resolve])
      })
    },
    async stop(seq) {
      stopped.push(seq)
    },
    async history(_chatId, { after, limit }) {
      const from = after === undefined ? 0 : history.findIndex(({ id }) => id === after) + 1
      return history.slice(from).slice(-limit)
    },
    async change(change, keys) {
      await stored()
      if (refusal !== undefined) return { status: 'refused', reason: refusal }
      if (keys.some((key) => changeKeys.has(key))) return { status: 'duplicate', seq: 0 }
      for (const key of keys) changeKeys.add(key)
      note(changes, change)
      return { status: 'accepted', seq: changes.length }
    },
    async press(press) {
      await stored()
      note(presses, press)
      return pressAnswer
    },
    cursors: async () => new Map(marks),
    commands: () => commands,
    rateLimited: (_target, signal, call) => call(signal),
    route: (route) => void routes.push(route),
    received() {
      received += 1
      changed()
    },
    refused: (reason) => note(refusals, reason),
    health: (state, reason) => note(healthReports, { state, reason }),
    info: () => ({ version: '0.0.0', model: 'test', provider: 'test', degraded: [] }),
    paced: (target, signal, call) => context.rateLimited(target, signal, call),
    marks: () => context.cursors(),
    outcome: (seq, signal) => context.waitForResult(seq, signal),
  }

  return {
    context,
    ingestedEvents,
    attempts: () => attempts,
    nextEvent: () => new Promise((resolve) => listeners.push(resolve)),
    nextAttempt: () => new Promise((resolve) => watchers.push(resolve)),
    holdAccepts() {
      const hold = Promise.withResolvers<void>()
      held = hold.promise
      return () => {
        held = undefined
        hold.resolve()
      }
    },
    failNextAccept(error) {
      failure = error
    },
    refuse(reason) {
      refusal = reason
    },
    completeTurn(seq, outcome) {
      const whole: TurnResult = {
        status: 'done',
        text: '',
        sessionId: '20260101_000000_00000000',
        model: 'test',
        usage: { inputTokens: 1, outputTokens: 1 },
        ...outcome,
      }
      outcomes.set(seq, whole)
      for (const resolve of waiting.get(seq) ?? []) resolve(whole)
      waiting.delete(seq)
    },
    stopped,
    routes,
    dropRoutes() {
      routes.length = 0
    },
    healthReports,
    history,
    changes,
    presses,
    answerPresses(answer) {
      pressAnswer = answer
    },
    marks,
    commands,
    refusals,
    received: () => received,
    logLines,
    onChange(look) {
      observers.add(look)
      return () => void observers.delete(look)
    },
  }

  /** Resolves when the event would be on disk. */
  async function stored(): Promise<void> {
    attempts += 1
    for (const watcher of watchers) watcher()
    watchers = []
    changed()
    await held
    if (failure === undefined) return
    const error = failure
    failure = undefined
    throw error
  }

  function acceptanceOf(keys: readonly EventKey[]): AcceptResult {
    if (refusal !== undefined) return { status: 'refused', reason: refusal }
    for (const key of keys) {
      const seq = seqs.get(key)
      if (seq !== undefined) return { status: 'duplicate', seq }
    }
    const seq = seqs.size + 1
    for (const key of keys) seqs.set(key, seq)
    return { status: 'accepted', seq }
  }
}
