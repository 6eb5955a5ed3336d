/**
 * The webhook platform without a server: requests go to its route, and what it causes is recorded.
 */
import { createHash, createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { createWebhooks } from '../../../platforms/webhook/adapter.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformAutomation } from '../../../src/platforms/automation.ts'
import type { PlatformContext } from '../../../src/platforms/context.ts'
import { createManualClock, type ManualClock } from '../../kit/manual-clock.ts'
import { createRecordingContext, type RecordingContext } from '../../kit/recording-context.ts'

export const secret = 'a-secret-of-the-sender'

export interface TestWebhooks {
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  readonly clock: ManualClock
  /** What was sent without the agent. */
  readonly sent: readonly { readonly chat: string; readonly key: string; readonly text: string }[]
  /** The jobs that were started, with what they were told. */
  readonly jobs: readonly string[]
  /** Deliveries on disk that are not done. */
  open(): readonly string[]
  post(route: string, request: TestRequest): Promise<Response>
  /** Lets the clock run, with the timers that are then due. */
  advance(ms: number): Promise<void>
  /** Another process on the same disk. */
  restart(): Promise<void>
}

export interface TestRequest {
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

interface Stored {
  readonly key: string
  readonly group: string
  readonly receivedAt: number
  body: string
  isDone: boolean
}

export interface TestOptions {
  readonly options?: Readonly<Record<string, unknown>>
  readonly home?: string
  readonly isLocal?: boolean
  readonly script?: (input: string) => { readonly ok: boolean; readonly output: string }
  /** Why no chat is found; '' when it is. */
  readonly targetProblem?: () => string
}

/** @param routes without a secret they have `secret` */
export async function startWebhooks(
  t: TestContext,
  routes: Readonly<Record<string, object>>,
  { options = {}, home = '', isLocal = true, script, targetProblem }: TestOptions = {},
): Promise<TestWebhooks> {
  const clock = createManualClock()
  const stored = new Map<string, Stored>()
  const sent: { chat: string; key: string; text: string }[] = []
  const jobs: string[] = []
  const timers = new Set<{ readonly at: number; readonly call: () => void }>()
  const automation: PlatformAutomation = {
    listensLocally: () => isLocal,
    async resolveTargets(names) {
      const problem = targetProblem?.() ?? ''
      if (problem !== '' || names.some((name) => name.startsWith('nosuch')))
        return { problem: problem || 'no such chat' }
      return { targets: [...new Set(names)].map((chatId) => ({ platform: 'fake', account: 'default', chatId })) }
    },
    async send({ chatId }, { key, text }) {
      if (!sent.some((one) => one.key === key)) sent.push({ chat: chatId, key, text })
    },
    runScript: async (_name, input) => script?.(input) ?? { ok: false, output: 'no such script' },
    async runJob(name, { text, deliveries }) {
      if (name === 'paused') return 'paused'
      jobs.push(`${name}: ${text}`)
      for (const key of deliveries) Object.assign(stored.get(key) ?? {}, { isDone: true })
      return 'started'
    },
    readSkills: async (names) => `skills: ${names.join(', ')}`,
    deliveries: {
      async store({ keys: [key, ...others], group, body }) {
        if ([key, ...others].some((one) => stored.has(one))) return 'duplicate'
        stored.set(key, { key, group, receivedAt: clock.now(), body, isDone: false })
        for (const other of others)
          stored.set(other, { key: other, group, receivedAt: clock.now(), body: '', isDone: true })
        return 'accepted'
      },
      open: async () => [...stored.values()].filter(({ isDone }) => !isDone),
      read: async (key) => (stored.get(key)?.isDone === false ? stored.get(key)?.body : undefined),
      async done(keys) {
        for (const key of keys) Object.assign(stored.get(key) ?? {}, { isDone: true })
      },
    },
  }
  const gateway = createRecordingContext({
    platform: 'webhook',
    options: { secret, routes, ...options },
    home,
    automation,
  })
  const context: PlatformContext = { ...gateway.context, clock: clock.now }
  const setTimer = (call: () => void, ms: number) => {
    const timer = { at: clock.now() + ms, call }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const create = () => createWebhooks(context, setTimer)
  let adapter = create()
  await adapter.connect(new AbortController().signal)
  t.after(() => adapter.disconnect())
  return {
    gateway,
    get adapter() {
      return adapter
    },
    clock,
    sent,
    jobs,
    open: () => [...stored.values()].flatMap(({ key, isDone }) => (isDone ? [] : [key])),
    async post(route, { body, headers = {} }) {
      const [served] = gateway.routes
      if (served === undefined) throw new Error('no route is served')
      const url = `http://127.0.0.1/webhooks/${route}`
      return await served.handle(new Request(url, { method: 'POST', body: Buffer.from(body), headers }))
    },
    async advance(ms) {
      clock.advance(ms)
      for (const timer of [...timers].filter(({ at }) => at <= clock.now())) {
        timers.delete(timer)
        timer.call()
      }
      await settled()
    },
    async restart() {
      // Nothing of the old process may run.
      timers.clear()
      gateway.dropRoutes()
      adapter = create()
      await adapter.connect(new AbortController().signal)
      await settled()
    },
  }
}

/** Work that waits for nothing but other promises is over. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve))
}

export function hmac(text: string | Uint8Array, key = secret, encoding: 'hex' | 'base64' = 'hex'): string {
  return createHmac('sha256', key).update(text).digest(encoding)
}

/** A request as GitHub sends it. */
export function github(payload: unknown, { event = 'push', id = 'delivery-1', key = secret } = {}): TestRequest {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hmac(body, key)}`,
    },
  }
}

/** A request with an id and a digest of the body. */
export function plain(payload: unknown, id?: string): TestRequest {
  const body = JSON.stringify(payload)
  return { body, headers: { 'x-webhook-signature': hmac(body), ...(id === undefined ? {} : { 'x-request-id': id }) } }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
