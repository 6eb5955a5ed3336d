/**
 * The API as its clients meet it: the adapter behind the real HTTP room, in front of a gateway whose turns the test
 * plays itself.
 */
import type { TestContext } from 'node:test'
import OpenAI from 'openai'
import { createApiServer } from '../../../platforms/api_server/adapter.ts'
import type { ApiServerOptions } from '../../../platforms/api_server/server.ts'
import type { AcceptResult } from '../../../src/message/accept-result.ts'
import type { MessageEvent } from '../../../src/message/event.ts'
import type { Target } from '../../../src/message/source.ts'
import { targetOf } from '../../../src/message/source.ts'
import type { TurnResult } from '../../../src/message/turn-result.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { OpenQuestion, PlatformContext } from '../../../src/platforms/context.ts'
import { recordingLog, runServer, secret } from '../../http/support.ts'
import { createRecordingContext, type RecordingContext, type RecordingOptions } from '../../kit/recording-context.ts'

/** A turn that the gateway has accepted and the test now plays. */
export interface TestTurn {
  readonly seq: number
  readonly event: MessageEvent
  readonly target: Target
  readonly turnId: string
  /** The answer so far, as the outbox shows it. */
  draft(text: string): Promise<void>
  /** A text before tool calls is complete. */
  interim(text: string): Promise<void>
  end(outcome?: Partial<TurnResult>): void
}

export interface TestApi {
  readonly adapter: PlatformAdapter
  readonly client: OpenAI
  readonly url: string
  readonly log: ReturnType<typeof recordingLog>['lines']
  /** Seqs of stopped turns, in order. */
  readonly stops: number[]
  readonly recording: RecordingContext
  /** A turn asks, and its client is told. */
  ask(turn: TestTurn, question: Pick<OpenQuestion, 'id' | 'kind' | 'text'> & Partial<OpenQuestion>): Promise<void>
  /** The gateway stops and starts. Its turns go on. */
  restart(): Promise<void>
  /** The next accepted message; waits for it. */
  next(): Promise<TestTurn>
  /** Resolves when a turn has been asked to stop. */
  nextStop(): Promise<number>
  /** What `accept` does next instead of accepting. */
  refuseWith(answer: AcceptResult | Error): void
  /** A plain request, for what the client library would not send. */
  post(body: unknown, options?: { headers?: Record<string, string>; signal?: AbortSignal }): Promise<Response>
}

const done: TurnResult = {
  status: 'done',
  text: 'ok',
  sessionId: '20260101_000000_00000000',
  model: 'test-model',
  usage: { inputTokens: 12, outputTokens: 3 },
}

export async function startTestApi(
  t: TestContext,
  options: Partial<ApiServerOptions> & Pick<RecordingOptions, 'mediaFolder' | 'isAllowed'> = {},
): Promise<TestApi> {
  const { log, lines } = recordingLog()
  const { server, url } = await runServer(t, { log })
  const keys = new Map<string, number>()
  const outcomes = new Map<number, PromiseWithResolvers<TurnResult>>()
  const results = new Map<number, TurnResult>()
  const accepted = queue<TestTurn>()
  const stopped = queue<number>()
  const stops: number[] = []
  const routes: (() => void)[] = []
  let refusal: AcceptResult | Error | undefined

  const recording = createRecordingContext(options)
  const context: PlatformContext = {
    ...recording.context,
    platform: 'api_server',
    account: 'default',
    options: {},
    log,
    home: '/nowhere',
    clock: () => 1_800_000_000_000,
    async accept(event, [key]) {
      const instead = refusal
      refusal = undefined
      if (instead instanceof Error) throw instead
      if (instead !== undefined) return instead
      const known = keys.get(key)
      if (known !== undefined) return { status: 'duplicate', seq: known }
      const seq = keys.size + 1
      keys.set(key, seq)
      outcomes.set(seq, Promise.withResolvers())
      accepted.push(play(seq, event))
      return { status: 'accepted', seq }
    },
    turns: {
      async waitForResult(seq, signal) {
        signal.throwIfAborted()
        const aborted = Promise.withResolvers<never>()
        const onAbort = () => aborted.reject(signal.reason)
        signal.addEventListener('abort', onAbort, { once: true })
        try {
          return await Promise.race([outcomes.get(seq)?.promise ?? aborted.promise, aborted.promise])
        } finally {
          signal.removeEventListener('abort', onAbort)
        }
      },
      findResult: async (seq) => (outcomes.has(seq) ? results.get(seq) : null),
      async stop(seq) {
        stops.push(seq)
        stopped.push(seq)
        end(seq, { status: 'stopped', text: '' })
      },
    },
    chats: { ...recording.context.chats, history: async () => [] },
    route: (route) => void routes.push(server.route(route)),
    gateway: {
      ...recording.context.gateway,
      info: () => ({ version: '0', model: 'test-model', provider: 'demo', degraded: [] }),
      modelOf: async () => ({ model: 'test-model', provider: 'demo' }),
    },
  }

  const adapter = createApiServer(context, options)

  function end(seq: number, outcome: Partial<TurnResult>): void {
    const result = { ...done, ...outcome }
    results.set(seq, result)
    outcomes.get(seq)?.resolve(result)
  }

  function play(seq: number, event: MessageEvent): TestTurn {
    const target = targetOf(event.source)
    const turnId = `turn-${seq}`
    const common = { target, turnId, deliveryId: `draft-${seq}`, kind: 'draft' as const }
    const replyTo = event.messageId === undefined ? {} : { replyTo: event.messageId }
    let messageId: string | undefined
    return {
      seq,
      event,
      target,
      turnId,
      async draft(text) {
        const message = { ...common, ...replyTo, text }
        const never = new AbortController().signal
        if (messageId !== undefined) await adapter.edit?.(messageId, message, false, never)
        else {
          const result = await adapter.send(message, never)
          messageId = result.success ? result.messageId : undefined
        }
      },
      async interim(text) {
        const message = { ...common, ...replyTo, kind: 'reply' as const, interim: true as const, text }
        await adapter.send(message, new AbortController().signal)
      },
      end: (outcome = {}) => end(seq, outcome),
    }
  }

  await adapter.connect(new AbortController().signal)
  t.after(() => adapter.disconnect())
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })
  return {
    adapter,
    client,
    url,
    log: lines,
    recording,
    async restart() {
      await adapter.disconnect()
      for (const remove of routes.splice(0)) remove()
      await adapter.connect(new AbortController().signal)
    },
    stops,
    async ask(turn, question) {
      recording.questions.push({ seq: turn.seq, expiresAt: 1_800_000_300_000, choices: [], ...question })
      const notice = {
        target: turn.target,
        deliveryId: `question-${question.id}`,
        kind: 'notice' as const,
        text: question.text,
      }
      await adapter.send(notice, new AbortController().signal)
    },
    next: accepted.next,
    nextStop: stopped.next,
    refuseWith: (answer) => {
      refusal = answer
    },
    post: (body, { headers = {}, ...rest } = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
        ...rest,
      }),
  }
}

/** Values and those who wait for them, whichever comes first. */
function queue<T>(): { push(value: T): void; next(): Promise<T> } {
  const values: T[] = []
  const waiters: ((value: T) => void)[] = []
  return {
    push(value) {
      const waiter = waiters.shift()
      if (waiter === undefined) values.push(value)
      else waiter(value)
    },
    next: () =>
      new Promise((resolve) => {
        const value = values.shift()
        if (value === undefined) waiters.push(resolve)
        else resolve(value)
      }),
  }
}
