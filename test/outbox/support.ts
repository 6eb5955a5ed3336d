/**
 * An outbox on a real database with a scripted platform and a clock that only the test advances.
 */
import type { TestContext } from 'node:test'
import { z } from 'zod'
import { type Logger, silentLog } from '../../src/lib/log.ts'
import type {
  AlbumResult,
  Button,
  OutboundAlbum,
  OutboundAttachment,
  OutboundMessage,
  SendResult,
} from '../../src/message/outbound.ts'
import { outboxConfig } from '../../src/outbox/config.ts'
import type { ReplyPolicy } from '../../src/outbox/context.ts'
import { createOutbox, type Outbox, type Reply, type Sender } from '../../src/outbox/outbox.ts'
import type { AttachmentPolicy } from '../../src/outbox/prepare-attachment.ts'
import type { AlbumLookup, AlbumSupport, MessageLimits, NativeDrafts } from '../../src/platforms/adapter.ts'
import { query, rows } from '../../src/store/query.ts'
import type { Store } from '../../src/store/store.ts'
import { openStore } from '../kit/open-store.ts'
import { wrapStore } from '../kit/wrapped-store.ts'

/** One call that the platform received. */
export interface Call {
  readonly op: 'send' | 'edit' | 'remove' | 'typing' | 'resolve' | 'album' | 'resolve-album' | 'native-draft'
  readonly chat: string
  readonly text: string
  readonly kind: string
  readonly deliveryId: string
  readonly messageId: string
  readonly replyTo: string
  readonly thread: string
  readonly final: boolean
  readonly at: number
  readonly attachment?: OutboundAttachment | undefined
  readonly buttons?: readonly Button[] | undefined
  /** The names of the files of an album. */
  readonly files?: readonly string[]
}

export type ScriptedResult = SendResult | Error | Promise<SendResult>
type ResolveResult = { sent: true; messageId?: string } | { sent: false } | 'unknown'

export interface FakeSender extends Sender {
  readonly calls: Call[]
  /** The messages that users see now: message id → text. */
  readonly shown: Map<string, string>
  /** The results of the next calls. Later calls succeed. */
  readonly script: ScriptedResult[]
  found: ResolveResult | Error
  /** The results of the next albums. Later albums succeed. */
  readonly albumScript: (AlbumResult | Error)[]
  foundAlbum: AlbumLookup
  /** Texts of sends and edits, in order. */
  texts(): string[]
  /** Resolves when this number of sends and edits has started. */
  reached(count: number): Promise<void>
}

export interface Capabilities {
  readonly edit?: boolean
  readonly resolve?: boolean
  readonly remove?: boolean
  readonly typing?: boolean
  readonly idempotentSends?: boolean
  readonly drawsCursor?: boolean
  readonly appendsDrafts?: boolean
  readonly showsDrafts?: () => boolean
  readonly attachments?: boolean
  /** `resolve`: albums can be looked up. `oneMessage`: all files of an album are one message. */
  readonly albums?: { readonly maxFiles: number; readonly resolve?: boolean; readonly oneMessage?: boolean }
  readonly buttons?: boolean
  readonly draftIntervalMs?: number
  /** The platform shows native drafts; the scripted results are theirs, too. */
  readonly nativeDrafts?: boolean
  readonly limits?: MessageLimits
}

export interface ManualTime {
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  advance(ms: number): void
  /** The remaining time of the pending timers, ms. */
  pendingSleeps(): number[]
}

export function createManualTime(): ManualTime {
  let now = 1_700_000_000_000
  const sleepers = new Set<{ due: number; wake: () => void }>()
  return {
    clock: () => now,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const sleeper = {
          due: now + ms,
          wake() {
            sleepers.delete(sleeper)
            signal?.removeEventListener('abort', sleeper.wake)
            resolve()
          },
        }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', sleeper.wake)
      })
    },
    advance(ms) {
      now += ms
      for (const sleeper of sleepers) if (sleeper.due <= now) sleeper.wake()
    },
    pendingSleeps: () => [...sleepers].map(({ due }) => due - now).sort((a, b) => a - b),
  }
}

export function createFakeSender(abilities: Capabilities = {}, clock: () => number = () => 0): FakeSender {
  const calls: Call[] = []
  const shown = new Map<string, string>()
  const script: ScriptedResult[] = []
  let watchers: { count: number; resolve: () => void }[] = []
  let made = 0

  function note(op: Call['op'], of: Partial<Call>): void {
    const blank = { chat: '', text: '', kind: '', deliveryId: '', messageId: '', replyTo: '', thread: '', final: false }
    calls.push({ ...blank, ...of, op, at: clock() })
    const deliveries = calls.filter((call) => call.op === 'send' || call.op === 'edit').length
    for (const watcher of watchers) if (watcher.count <= deliveries) watcher.resolve()
    watchers = watchers.filter((watcher) => watcher.count > deliveries)
  }

  async function answer(success: () => SendResult): Promise<SendResult> {
    const next = script.shift()
    if (next === undefined) return success()
    if (next instanceof Error) throw next
    const result = await next
    return result.success && result.messageId === undefined ? success() : result
  }

  const { limits, draftIntervalMs, idempotentSends, drawsCursor, appendsDrafts, showsDrafts, attachments, buttons } =
    abilities
  const sender: FakeSender = {
    calls,
    shown,
    script,
    found: 'unknown',
    albumScript: [],
    foundAlbum: 'unknown',
    texts: () => calls.filter(({ op }) => op === 'send' || op === 'edit').map(({ text }) => text),
    reached: (count) =>
      new Promise((resolve) => {
        const deliveries = calls.filter((call) => call.op === 'send' || call.op === 'edit').length
        if (deliveries >= count) resolve()
        else watchers.push({ count, resolve })
      }),
    send(message) {
      note('send', toCall(message))
      return answer(() => {
        made += 1
        shown.set(`m${made}`, message.text)
        return { success: true, messageId: `m${made}` }
      })
    },
    limits,
    draftIntervalMs,
    idempotentSends,
    drawsCursor,
    appendsDrafts,
    showsDrafts,
    sendsAttachments: attachments,
    showsButtons: buttons,
    ...(abilities.nativeDrafts === true ? { nativeDrafts: nativeDrafts() } : {}),
    ...(abilities.albums === undefined ? {} : { albums: albumSupport(abilities.albums) }),
  }
  if (abilities.edit !== false) {
    sender.edit = (messageId, message, final) => {
      note('edit', { ...toCall(message), messageId, final })
      return answer(() => {
        shown.set(messageId, message.text)
        return { success: true, messageId }
      })
    }
  }
  if (abilities.resolve === true) {
    sender.resolveUnknown = async (message) => {
      note('resolve', toCall(message))
      if (sender.found instanceof Error) throw sender.found
      return sender.found
    }
  }
  if (abilities.remove === true) {
    sender.remove = async (target, messageId) => {
      note('remove', { chat: target.chatId, messageId })
      shown.delete(messageId)
      return { success: true }
    }
  }
  if (abilities.typing === true) {
    sender.typing = async (target) => {
      note('typing', { chat: target.chatId })
      return await answer(() => ({ success: true }))
    }
  }
  return sender

  function nativeDrafts(): NativeDrafts {
    return {
      intervalMs: 300,
      isSupported: () => true,
      show(draftId, message) {
        note('native-draft', { ...toCall(message), messageId: String(draftId) })
        return answer(() => ({ success: true }))
      },
    }
  }

  /** Images and videos form a group, as do documents; everything else is sent alone. */
  function albumSupport({ maxFiles, resolve, oneMessage }: NonNullable<Capabilities['albums']>): AlbumSupport {
    const groups: Readonly<Record<string, string>> = { image: 'visual', video: 'visual', document: 'documents' }
    return {
      maxFiles,
      groupOf: ({ kind }) => groups[kind],
      async send(album) {
        const { deliveryId, target, kind, replyTo = '', files } = album
        const text = files.map(({ caption }) => caption).join('|')
        const names = files.map(({ attachment }) => attachment.fileName)
        note('album', { chat: target.chatId, text, kind, deliveryId, replyTo, files: names })
        for (const { attachment } of files) if (attachment.source.kind === 'file') await attachment.source.open()
        const next = sender.albumScript.shift()
        if (next instanceof Error) throw next
        if (next !== undefined) return next
        const messageIds = (oneMessage === true ? [''] : names).map(() => {
          made += 1
          return `m${made}`
        })
        return { success: true, messageIds }
      },
      ...(resolve === true
        ? {
            async resolveUnknown(album: OutboundAlbum) {
              const names = album.files.map(({ attachment }) => attachment.fileName)
              note('resolve-album', { deliveryId: album.deliveryId, files: names })
              return sender.foundAlbum
            },
          }
        : {}),
    }
  }
}

function toCall(message: OutboundMessage): Partial<Call> {
  const { target, text, kind, deliveryId, replyTo = '', attachment, buttons } = message
  return {
    chat: target.chatId,
    thread: target.threadId ?? '',
    text,
    kind,
    deliveryId,
    replyTo,
    attachment,
    buttons,
  }
}

export interface Row {
  readonly key: string
  readonly state: string
  readonly text: string
  readonly tries: number
  readonly op: string
  readonly platform_id: string | null
  readonly error: string | null
  readonly due_at: number
}

const everyRow = query((db, _: Record<never, never>) =>
  db
    .selectFrom('outbox')
    .select(['key', 'state', 'text', 'tries', 'op', 'platform_id', 'error', 'due_at'])
    .orderBy('id'),
)

export interface OutboxFixture {
  readonly outbox: Outbox
  readonly store: Store
  readonly sender: FakeSender
  readonly time: ManualTime
  readonly path: string
  readonly failpoints: string[]
  /** The number of transactions so far. */
  transactions(): number
  /** Disconnected: the outbox finds no sender. */
  connected: boolean
  /** The final results of messages: `sent <text>`, `given up <text>: <reason>`. */
  readonly settled: string[]
  /** Called at every failpoint. */
  onFailpoint: (point: string) => void
  /** From now on nothing of this outbox reaches the disk or the platform, as after `kill -9`. */
  crash(): void
  /** Stores a reply and reports its commit. */
  say(text: string, reply?: Partial<Reply> & { chatId?: string; threadId?: string }): Promise<void>
  rows(): Promise<readonly Row[]>
  states(): Promise<string[]>
}

export interface OutboxFixtureOptions extends Capabilities {
  readonly path?: string
  readonly time?: ManualTime
  readonly sender?: FakeSender
  readonly settings?: { outbox?: object; streaming?: object }
  readonly limitsOf?: MessageLimits
  readonly attachmentPolicy?: AttachmentPolicy
  readonly replyPolicy?: ReplyPolicy
  readonly log?: Logger
}

/** Creates an outbox. With `path`, `time` and `sender` of an earlier outbox it continues as after a restart. */
export function openOutbox(t: TestContext, options: OutboxFixtureOptions = {}): OutboxFixture {
  const { time = createManualTime() } = options
  const sender = options.sender ?? createFakeSender(options, time.clock)
  const { store, path } = openStore(t, options.path)
  const settings = z.object(outboxConfig).parse({ outbox: {}, streaming: {}, ...options.settings })
  let transactions = 0
  let dead = false
  let replies = 0

  const guarded = wrapStore(store, {
    async around(run) {
      transactions += 1
      if (dead) throw new Error('the process is dead')
      const result = await run()
      if (dead) throw new Error('the process is dead')
      return result
    },
  })
  const { limitsOf, attachmentPolicy, replyPolicy } = options
  const outbox = createOutbox({
    store: guarded,
    sender: () => (bench.connected ? untilCrash(sender, () => dead) : undefined),
    ...(limitsOf === undefined ? {} : { limitsOf: () => limitsOf }),
    attachmentPolicy,
    ...(replyPolicy === undefined ? {} : { replyPolicy: () => replyPolicy }),
    clock: time.clock,
    random: () => 1,
    sleep: time.sleep,
    log: options.log ?? silentLog,
    settings: () => settings,
    onFinished: ({ text, error }) =>
      void bench.settled.push(error === undefined ? `sent ${text}` : `given up ${text}: ${error}`),
    failpoint(point) {
      bench.failpoints.push(point)
      bench.onFailpoint(point)
    },
  })
  t.after(() => outbox.stop(0))

  const bench: OutboxFixture = {
    outbox,
    store: guarded,
    sender,
    time,
    path,
    failpoints: [],
    settled: [],
    connected: true,
    onFailpoint: () => undefined,
    transactions: () => transactions,
    crash() {
      dead = true
    },
    async say(text, { chatId = 'chat', threadId, ...reply } = {}) {
      replies += 1
      const thread = threadId === undefined ? {} : { threadId }
      const target = { platform: 'fake', account: 'default', chatId, ...thread }
      const prepared = outbox.prepare({ key: `reply-${replies}`, target, kind: 'reply', text, ...reply })
      await guarded.commit(prepared, time.clock)
    },
    rows: () => store.run(() => rows(everyRow, {})),
    states: async () => (await bench.rows()).map(({ state }) => state),
  }
  return bench
}

/** After a crash no call arrives and no call returns. */
function untilCrash(sender: FakeSender, dead: () => boolean): Sender {
  const never = () => new Promise<never>(() => undefined)
  const { send, edit, resolveUnknown, albums } = sender
  return {
    ...sender,
    send: (message, signal) => (dead() ? never() : send(message, signal)),
    ...(edit && {
      edit: (id, message, final, signal) => (dead() ? never() : edit(id, message, final, signal)),
    }),
    ...(resolveUnknown && {
      resolveUnknown: (message, signal) => (dead() ? never() : resolveUnknown(message, signal)),
    }),
    ...(albums && {
      albums: { ...albums, send: (album, signal) => (dead() ? never() : albums.send(album, signal)) },
    }),
  }
}

/** Runs everything that can run now. */
export async function flushEventLoop(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** A promise that the test settles. */
export function createDeferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  return Promise.withResolvers<T>()
}

export const limited = (retryAfterMs: number, scope?: 'chat' | 'account'): SendResult => ({
  success: false,
  problem: 'rate-limited',
  error: 'too many requests',
  retryAfterMs,
  ...(scope === undefined ? {} : { scope }),
})
export const temporary: SendResult = { success: false, problem: 'temporary', error: 'bad gateway' }
export const lost: SendResult = { success: false, problem: 'temporary', error: 'no answer', maybeSent: true }
export const rejected: SendResult = { success: false, problem: 'rejected', error: 'chat not found' }
export const unauthorised: SendResult = { success: false, problem: 'unauthorised', error: 'token revoked' }
