/**
 * A `PlatformContext` for tests of adapters. It records ingested events and is controlled by the test.
 */

import { join } from 'node:path'
import { createFileServices } from '../../src/flows/platform/platform-files.ts'
import { createLog } from '../../src/lib/log-writer.ts'
import type { AcceptResult, ReadCursor } from '../../src/message/accept-result.ts'
import type { ButtonPress, MessageChange } from '../../src/message/change.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { EventKey } from '../../src/message/ids.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
import type { PlatformAutomation } from '../../src/platforms/automation.ts'
import type {
  ChatEntry,
  CommandEntry,
  OpenQuestion,
  PlatformContext,
  PressResult,
  QuestionAnswer,
} from '../../src/platforms/context.ts'
import type { HttpRoute } from '../../src/platforms/http-route.ts'
import { serveUploads } from './upload-routes.ts'

export interface IngestedEvent {
  readonly event: MessageEvent
  readonly keys: readonly EventKey[]
  readonly mark?: ReadCursor
  readonly accepted: AcceptResult
}

export interface RecordingContext {
  readonly context: PlatformContext
  /** Answers requests below `/api/uploads`, as the gateway does. */
  upload(request: Request): Promise<Response>
  /** Events that were accepted, refused or known, in order. */
  readonly ingestedEvents: readonly IngestedEvent[]
  /** Number of calls of `accept`, including those that threw. */
  attempts(): number
  /** Resolves with the next event that is accepted, refused or known. */
  nextEvent(): Promise<IngestedEvent>
  /** Resolves at the next call of `accept`. */
  nextAttempt(): Promise<void>
  /** `accept` waits until the returned function is called. */
  holdAccepts(): () => void
  failNextAccept(error: Error): void
  /** Refuses every user. */
  refuse(reason: string): void
  completeTurn(seq: number, result: Partial<TurnResult>): void
  readonly stopped: readonly number[]
  readonly routes: readonly HttpRoute[]
  /** Removes the routes, as the gateway does after a disconnect. */
  dropRoutes(): void
  readonly healthReports: readonly { readonly state: string; readonly reason?: string | undefined }[]
  /** The stored entries of all chats. Tests add entries. */
  readonly history: ChatEntry[]
  /** What was passed to `acceptIfDelayed`. */
  readonly overtaking: readonly { readonly event: MessageEvent; readonly inOrder: Promise<unknown> }[]
  /** Edits, deletions and reactions, in order. A known key is not recorded again. */
  readonly changes: readonly MessageChange[]
  readonly presses: readonly ButtonPress[]
  /** The open questions of every chat. Tests add them; an answer removes one. */
  readonly questions: OpenQuestion[]
  readonly answers: readonly QuestionAnswer[]
  /** Sets the result of later presses. */
  answerPresses(result: PressResult): void
  /** The read cursors of the account. Tests may set cursors of an earlier run. */
  readonly marks: Map<string, string>
  /** The slash commands of the gateway. Tests may change them. */
  readonly commands: CommandEntry[]
  /** Reasons that the adapter passed to `refused`. */
  readonly refusals: readonly string[]
  /** Number of calls of `received`. */
  received(): number
  /** The log lines of the adapter as JSON, before redaction. */
  readonly logLines: readonly string[]
  /** Calls the listener after each recorded change. The returned function unsubscribes it. */
  onChange(listener: () => void): () => void
}

export interface RecordingOptions {
  readonly platform?: string
  readonly account?: string
  readonly options?: Readonly<Record<string, unknown>>
  readonly home?: string
  /** Where files of messages are stored. Tests that store files set it. */
  readonly mediaFolder?: string
  /** From which addresses files may be downloaded; public ones if omitted. */
  readonly isAllowed?: ((address: string) => boolean) | undefined
  /** What the adapter may cause besides messages. Adapters that use it need it. */
  readonly automation?: PlatformAutomation
  /** `catch_up.max`; 1,000 if omitted. */
  readonly catchUpLimit?: number | undefined
}

/** `media.max_mb`. */
const maxFileBytes = 20_971_520

export function createRecordingContext(options: RecordingOptions = {}): RecordingContext {
  const ingestedEvents: IngestedEvent[] = []
  const seqs = new Map<string, number>()
  const stopped: number[] = []
  const routes: HttpRoute[] = []
  const healthReports: { state: string; reason?: string | undefined }[] = []
  const history: ChatEntry[] = []
  const results = new Map<number, TurnResult>()
  const waiting = new Map<number, ((result: TurnResult) => void)[]>()
  const listeners: ((record: IngestedEvent) => void)[] = []
  const logLines: string[] = []
  const changeListeners = new Set<() => void>()
  const mediaFolder = options.mediaFolder ?? '/set/mediaFolder/of/the/recording/context'
  const record = <T>(list: T[], item: T) => {
    list.push(item)
    notifyChange()
  }
  const notifyChange = () => {
    for (const listener of [...changeListeners]) listener()
  }
  const stream = { write: (line: string) => record(logLines, line) }
  const log = createLog({ level: 'debug', pretty: false, stream, redactor: (line) => line })
  const overtaking: { event: MessageEvent; inOrder: Promise<unknown> }[] = []
  const changes: MessageChange[] = []
  const changeKeys = new Set<string>()
  const presses: ButtonPress[] = []
  const questions: OpenQuestion[] = []
  const answers: QuestionAnswer[] = []
  const refusals: string[] = []
  const marks = new Map<string, string>()
  const commands: CommandEntry[] = [
    { name: 'new', description: 'Begins a new conversation.', argsHint: '[name]' },
    { name: 'stop', description: 'Stops the answer that is being written.', argsHint: '' },
  ]
  let pressResult: PressResult = { status: 'taken', text: 'Noted.' }
  let received = 0
  let attemptListeners: (() => void)[] = []
  let held: Promise<void> | undefined
  let failure: Error | undefined
  let refusal: string | undefined
  let attempts = 0

  const pictures = join(mediaFolder, 'pictures')
  const files = createFileServices(
    { folder: mediaFolder, pictures, clock: Date.now, maxBytes: () => maxFileBytes },
    options.isAllowed && { isAllowed: options.isAllowed },
  )

  const context: PlatformContext = {
    platform: options.platform ?? 'fake',
    account: options.account ?? 'default',
    options: options.options ?? {},
    log,
    home: options.home ?? '',
    clock: () => 1_700_000_000_000,
    async accept(event, keys, mark) {
      await simulateStore()
      const accepted = acceptResultOf(keys)
      if (mark !== undefined) marks.set(mark.place, mark.id)
      const ingested = { event, keys, ...(mark === undefined ? {} : { mark }), accepted }
      ingestedEvents.push(ingested)
      for (const resolve of listeners.splice(0)) resolve(ingested)
      notifyChange()
      return accepted
    },
    acceptIfDelayed: (event, _keys, inOrder) => void record(overtaking, { event, inOrder }),
    async change(change, keys) {
      await simulateStore()
      if (refusal !== undefined) return { status: 'refused', reason: refusal }
      if (keys.some((key) => changeKeys.has(key))) return { status: 'duplicate', seq: 0 }
      for (const key of keys) changeKeys.add(key)
      record(changes, change)
      return { status: 'accepted', seq: changes.length }
    },
    rateLimited: (_target, signal, call) => call(signal),
    files,
    questions: {
      async press(press) {
        await simulateStore()
        record(presses, press)
        return pressResult
      },
      list: async () => [...questions],
      async answer(answer) {
        record(answers, answer)
        const index = questions.findIndex(({ id }) => id === answer.id)
        questions.splice(index, index === -1 ? 0 : 1)
        return index === -1 ? { status: 'stale', text: '' } : pressResult
      },
    },
    records: createMemoryRecords(),
    route: (route) => void routes.push(route),
    connection: {
      received() {
        received += 1
        notifyChange()
      },
      refused: (reason) => record(refusals, reason),
      health: (state, reason) => record(healthReports, { state, reason }),
    },
    catchUp: { cursors: async () => new Map(marks), limit: () => options.catchUpLimit ?? 1_000 },
    turns: {
      waitForResult(seq, signal) {
        const known = results.get(seq)
        if (known !== undefined) return Promise.resolve(known)
        return new Promise((resolve, reject) => {
          if (signal.aborted) reject(signal.reason)
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          waiting.set(seq, [...(waiting.get(seq) ?? []), resolve])
        })
      },
      findResult: async (seq) => results.get(seq),
      async stop(seq) {
        stopped.push(seq)
      },
    },
    chats: {
      async history(_chatId, { after, limit }) {
        const from = after === undefined ? 0 : history.findIndex(({ id }) => id === after) + 1
        return history.slice(from).slice(-limit)
      },
      toolCalls: { list: async () => [], view: async () => undefined },
    },
    menu: { commands: () => commands, complete: async () => undefined },
    gateway: {
      info: () => ({ version: '0.0.0', model: 'test', provider: 'test', degraded: [] }),
      modelOf: async () => ({ model: 'test', provider: 'test' }),
      automation: async () => {
        if (options.automation === undefined) throw new Error('the test has set no automation')
        return options.automation
      },
    },
  }

  return {
    context,
    upload: serveUploads(files, maxFileBytes),
    ingestedEvents,
    attempts: () => attempts,
    nextEvent: () => new Promise((resolve) => listeners.push(resolve)),
    nextAttempt: () => new Promise((resolve) => attemptListeners.push(resolve)),
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
    completeTurn(seq, result) {
      const complete: TurnResult = {
        status: 'done',
        text: '',
        sessionId: '20260101_000000_00000000',
        model: 'test',
        usage: { inputTokens: 1, outputTokens: 1 },
        ...result,
      }
      results.set(seq, complete)
      for (const resolve of waiting.get(seq) ?? []) resolve(complete)
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
    questions,
    answers,
    overtaking,
    answerPresses(result) {
      pressResult = result
    },
    marks,
    commands,
    refusals,
    received: () => received,
    logLines,
    onChange(listener) {
      changeListeners.add(listener)
      return () => void changeListeners.delete(listener)
    },
  }

  /** Resolves when the gateway would have stored the event. */
  async function simulateStore(): Promise<void> {
    attempts += 1
    for (const resolve of attemptListeners) resolve()
    attemptListeners = []
    notifyChange()
    await held
    if (failure === undefined) return
    const error = failure
    failure = undefined
    throw error
  }

  function acceptResultOf(keys: readonly EventKey[]): AcceptResult {
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

/** Records without a database. Values are copied, as by a database. */
function createMemoryRecords(): PlatformContext['records'] {
  const values = new Map<string, unknown>()
  return {
    get: async (key) => structuredClone(values.get(key)),
    put: async (key, value) => void values.set(key, structuredClone(value)),
    async insert(key, value) {
      if (!values.has(key)) values.set(key, structuredClone(value))
      return structuredClone(values.get(key))
    },
    remove: async (key) => void values.delete(key),
    async list({ prefix, before, limit }) {
      const keys = [...values.keys()].filter((key) => key.startsWith(prefix) && (before === undefined || key < before))
      const page = keys.sort().reverse().slice(0, limit)
      return page.map((key) => ({ key, value: structuredClone(values.get(key)) }))
    },
  }
}
