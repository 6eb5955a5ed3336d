/**
 * The client of the console platform: calls its HTTP endpoints and reconnects after a lost connection.
 */

import { z } from 'zod'
import { type ApiAccess, type ApiCall, sendRequest } from '../../api/client.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import { parseJson } from '../../lib/json.ts'
import { sleep as realSleep } from '../../lib/timers.ts'
import type { TurnResult } from '../../message/turn-result.ts'

export interface ChatClientOptions extends ApiAccess {
  /** The console platform that is talked to. Default: `cli`. */
  readonly platform?: 'cli' | 'acp' | 'batch'
  /** The name of the conversation: letters, digits and . _ @ -, at most 128 characters. Default: a new conversation. */
  readonly chat?: string | undefined
  /** The toolsets of a new conversation. */
  readonly toolsets?: readonly string[] | undefined
  /** Files are kept before the agent changes them, whatever the configuration says. */
  readonly checkpoints?: boolean
  readonly newId?: () => string
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface ChatClient {
  readonly chat: string
  /**
   * Sends a message; resolves with its number when it was stored. Throws `cli/no-daemon` or the gateway's error.
   * `unattended`: no user can answer a question of the gateway. `files`: ids of uploads.
   */
  send(text: string, signal: AbortSignal, unattended?: boolean, files?: readonly string[]): Promise<number>
  /**
   * Sends like `send`. A message with the `id` of an earlier one of this chat is that message: it is not answered
   * again.
   */
  post(message: PostedMessage, signal: AbortSignal): Promise<number>
  /** Uploads a file, whose id a message can then name. Throws as `send`, and `media/…`. */
  upload(name: string, content: Blob, signal: AbortSignal): Promise<UploadedFile>
  /** Waits for the result of a message, also across a restart of the daemon. Throws when the signal aborts. */
  waitForResult(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** Presses a button of a message. A second press of a question changes nothing. Throws as `send`. */
  press(button: string, message: string, signal: AbortSignal): Promise<z.output<typeof pressResultSchema>>
  /** Stops the running turn; `seq` is a message of it. */
  stop(seq: number | undefined, signal: AbortSignal): Promise<void>
  /** The events of the chat, until the signal aborts. Throws only when the first connection fails or access is denied. */
  events(signal: AbortSignal): AsyncGenerator<ChatEvent>
}

export interface PostedMessage {
  readonly text: string
  /** Letters, digits and . _ @ -, at most 128 characters. Default: a new one. */
  readonly id?: string
  /** No user can answer a question of the gateway. */
  readonly unattended?: boolean
  /** A leading slash is text, not a command. */
  readonly isText?: boolean
  /** Ids of uploads. */
  readonly files?: readonly string[]
  /** Added to the system prompt of a new conversation. */
  readonly instructions?: string
}

const textFields = { text: z.string(), turnId: z.string().optional() }
const buttonSchema = z.object({ id: z.string(), label: z.string(), isText: z.boolean().optional() })
const questionFields = { id: z.string(), buttons: z.array(buttonSchema).optional() }
const kindSchema = z.enum(['message', 'notice'])
const callFields = { turnId: z.string().exactOptional(), callId: z.string().exactOptional() }
const activitySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('turn-started') }),
  z.object({ kind: z.literal('tool-started'), ...callFields, tool: z.string(), label: z.string() }),
  z.object({ kind: z.literal('tool-ended'), ...callFields, tool: z.string(), ok: z.boolean(), summary: z.string() }),
  z.object({ kind: z.literal('turn-ended') }),
])
const chatEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), cursor: z.string() }),
  z.object({
    type: z.literal('missed'),
    kind: kindSchema,
    ...textFields,
    ...questionFields,
    id: z.string().default(''),
  }),
  z.object({ type: z.literal('draft'), id: z.string(), ...textFields }),
  z.object({ type: z.literal('message'), kind: kindSchema, ...textFields, ...questionFields }),
  z.object({ type: z.literal('settled'), button: z.string(), text: z.string() }),
  z.object({ type: z.literal('activity'), activity: activitySchema }),
])

/** `lost`: the connection was lost and the first attempt to reconnect failed. */
export type ChatEvent = z.output<typeof chatEventSchema> | { readonly type: 'lost' }

const turnResultSchema = z.object({
  status: z.enum(['done', 'failed', 'stopped', 'interrupted']),
  text: z.string(),
  sessionId: z.string(),
  model: z.string(),
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number(), cost: z.number().exactOptional() }),
  errorCode: z.string().exactOptional(),
  cutOff: z.enum(['length', 'content_filter']).exactOptional(),
})
const pressResultSchema = z.object({ status: z.enum(['taken', 'stale', 'refused']), text: z.string() })
const limitsSchema = z.object({ piece_bytes: z.int().positive() })
const fileSchema = z.object({ kind: z.string(), mimeType: z.string(), problem: z.string().exactOptional() })
const uploadSchema = z.object({ received: z.number(), file: fileSchema.exactOptional() })
const acceptedSchema = z.object({ seq: z.number() })

/** Consecutive failures before the daemon counts as stopped: about two minutes. */
const maxFailures = 30
const maxDelayMs = 5_000
/** Answers to pieces after which an upload is where it was. */
const maxStalled = 5

/** `problem`: why models cannot look at a picture. */
export type UploadedFile = z.output<typeof fileSchema> & { readonly id: string }

export function createChatClient(options: ChatClientOptions): ChatClient {
  const { platform = 'cli', newId = () => crypto.randomUUID(), sleep = realSleep } = options
  const chat = options.chat ?? newId()

  return {
    chat,
    send: (text, signal, unattended = false, files = []) => post({ text, unattended, files }, signal),
    post,
    async upload(name, content, signal) {
      const { piece_bytes: pieceBytes } = limitsSchema.parse(await (await call('/api/uploads', signal)).json())
      const id = newId()
      const about = { id, name, type: content.type, bytes: content.size }
      let state = uploadSchema.parse(await (await call('/api/uploads', signal, about)).json())
      for (let stalled = 0; state.file === undefined; ) {
        const { received } = state
        const piece = content.slice(received, received + pieceBytes)
        const response = await call(`/api/uploads/${id}?from=${received}`, signal, piece)
        state = uploadSchema.parse(await response.json())
        stalled = state.received > received ? 0 : stalled + 1
        if (stalled === maxStalled)
          throw new HermesError('media/upload-gone', `${name}: the gateway has stopped at ${received} bytes.`)
        if (stalled > 0) await waitBefore(stalled, signal)
      }
      return { id, ...state.file }
    },
    async waitForResult(seq, signal) {
      for (let failures = 0; ; ) {
        try {
          const response = await call(`/${platform}/outcome?seq=${seq}`, signal)
          if (response.status === 200) return turnResultSchema.parse(await response.json())
          failures = 0
          await response.body?.cancel()
        } catch (error) {
          failures += 1
          if (signal.aborted || !isTransient(error) || failures === maxFailures) throw error
          await waitBefore(failures, signal)
        }
      }
    },
    async press(button, message, signal) {
      const response = await call(`/${platform}/press`, signal, { chat, button, message })
      return pressResultSchema.parse(await response.json())
    },
    async stop(seq, signal) {
      const response = await call(`/${platform}/stop`, signal, { chat, seq })
      await response.body?.cancel()
    },
    events,
  }

  async function post(message: PostedMessage, signal: AbortSignal): Promise<number> {
    const { text, id = newId(), unattended = false, isText = false, files = [], instructions } = message
    const response = await call(`/${platform}/messages`, signal, {
      ...{ chat, id, text },
      ...(unattended ? { attended: false } : {}),
      ...(isText ? { commands: false } : {}),
      toolsets: options.toolsets,
      ...(options.checkpoints === true ? { checkpoints: true } : {}),
      ...(files.length === 0 ? {} : { files }),
      instructions,
    })
    return acceptedSchema.parse(await response.json()).seq
  }

  async function* events(signal: AbortSignal): AsyncGenerator<ChatEvent> {
    const position: StreamPosition = { cursor: undefined, failures: 0 }
    while (!signal.aborted) {
      yield* readStream(position, signal)
      position.failures += 1
      // The HTTP client closes a stream that is idle for minutes, so the first failure is not reported.
      if (position.failures === 2) yield { type: 'lost' }
      await waitBefore(position.failures, signal)
    }
  }

  /** The events of one connection. */
  async function* readStream(position: StreamPosition, signal: AbortSignal): AsyncGenerator<ChatEvent> {
    const after = position.cursor === undefined ? '' : `&after=${encodeURIComponent(position.cursor)}`
    try {
      const response = await call(`/${platform}/stream?chat=${encodeURIComponent(chat)}${after}`, signal)
      for await (const event of parseEvents(response)) {
        if (event.type === 'ready') Object.assign(position, { cursor: event.cursor, failures: 0 })
        yield event
      }
    } catch (error) {
      if (!signal.aborted && (position.cursor === undefined || !isTransient(error))) throw error
    }
  }

  function waitBefore(failures: number, signal: AbortSignal): Promise<void> {
    return sleep(Math.min(maxDelayMs, 100 * 2 ** Math.min(failures, 10)), signal)
  }

  function call(path: string, signal: AbortSignal, body?: ApiCall['body']): Promise<Response> {
    return sendRequest(options, path, { body, signal })
  }
}

interface StreamPosition {
  /** `undefined` until the first connection was established. */
  cursor: string | undefined
  failures: number
}

/** Parses JSON lines. Unknown events are ignored, because the daemon may be newer. */
async function* parseEvents(response: Response): AsyncGenerator<ChatEvent> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const event = chatEventSchema.safeParse(parseJson(line))
      if (event.success) yield event.data
    }
  }
}

/** Whether a retry can succeed: the daemon is starting or stopping, or the connection was lost. */
function isTransient(error: unknown): boolean {
  return isHermesError(error, 'cli/no-daemon') || isHermesError(error, 'http/starting') || error instanceof TypeError
}
