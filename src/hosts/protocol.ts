/**
 * The protocol between the gateway and a host: one JSON object per line, to the host on its file descriptor 3 and from the
 * host on 4. `node/` and `python/` implement the side of the host.
 *
 * A reference is the number of an object that stays in the gateway. The host tracks which copy belongs to which number, and
 * sends the number instead of a copy that is unchanged.
 */
import { z } from 'zod'
import { parseJson } from '../lib/json.ts'

/** The index or keyword of an argument, and its reference. */
export type ArgumentReference = readonly [key: number | string, reference: number]

export type FrameToHost =
  | {
      readonly t: 'load'
      readonly id: number
      readonly module: string
      readonly path: string
      readonly entry: string
      readonly importAs: string
      readonly plugin?: Readonly<Record<string, unknown>>
    }
  | {
      readonly t: 'call'
      readonly id: number
      readonly module: string
      readonly fn: string
      readonly args: readonly unknown[]
      readonly keywords?: Readonly<Record<string, unknown>> | undefined
      readonly callbacks?: readonly string[] | undefined
      readonly services?: true
      readonly discard?: true
      readonly refs?: readonly ArgumentReference[]
    }
  /** Cancels an operation. A host that is not blocked acknowledges it with `cancelAck`. */
  | { readonly t: 'cancel'; readonly id: number }
  | { readonly t: 'result'; readonly id: number; readonly value: unknown; readonly ref?: number | undefined }
  | { readonly t: 'error'; readonly id: number; readonly error: RequestError }

/** Why a request failed. `cancelled`: its call has ended. */
export interface RequestError {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
  readonly cancelled?: true
  readonly ref?: number | undefined
  /** The number under which this host has the error, if one of its handlers raised it. */
  readonly raised?: number | undefined
}

const id = z.int().nonnegative()
/** Names that the gateway has assigned. A host that sends longer ones violates the protocol. */
const name = z.string().max(1_000)
/** Texts for users, truncated because logs and lists keep them. */
const boundedText = z.string().transform(truncateText)
const maxTextChars = 10_000
/** Limited, because each file may be watched. */
const files = z.array(z.string()).transform((paths) => paths.slice(0, 1_000))

const frameFromHostSchema = z.discriminatedUnion('t', [
  /** The first frame. */
  z.object({ t: z.literal('ready'), runtime: name }),
  /** The only frame of a runtime that is too old. */
  z.object({ t: z.literal('startupError'), reason: boundedText }),
  z.object({ t: z.literal('loadResult'), id, files }),
  z.object({ t: z.literal('loadError'), id, message: boundedText, stack: boundedText, files }),
  /** A call has succeeded. `ref` replaces `value`. */
  z.object({ t: z.literal('callResult'), id, value: z.unknown().optional(), ref: id.optional() }),
  z.object({
    t: z.literal('callError'),
    id,
    kind: z.enum(['threw', 'unserialisable', 'unloadable']),
    message: boundedText,
    stack: boundedText,
    ref: id.optional(),
    /** Class and text of the error, and its number in the host. */
    error: z.object({ name, message: boundedText, id: id.optional() }).optional(),
  }),
  /** Acknowledges a cancellation. `stack` is the current stack of the handler. */
  z.object({ t: z.literal('cancelAck'), id, stack: boundedText }),
  z.object({
    t: z.literal('request'),
    id,
    /** Absent for requests outside of calls. */
    call: id.optional(),
    module: name.optional(),
    method: name,
    args: z.array(z.unknown()),
    refs: z.array(z.tuple([id, id])).optional(),
  }),
  z.object({
    t: z.literal('log'),
    module: name.optional(),
    level: z.enum(['debug', 'info', 'warn', 'error']),
    message: boundedText,
    fields: z.record(z.string(), z.unknown()).optional(),
  }),
  /** The last frame of a process that exits by itself. `call` is the call that caused the exit. */
  z.object({ t: z.literal('exit'), call: id.optional() }),
])

export type FrameFromHost = z.infer<typeof frameFromHostSchema>

/** `undefined` if the line is no valid frame. Never throws. */
export function parseFrame(line: string): FrameFromHost | undefined {
  return frameFromHostSchema.safeParse(parseJson(line)).data
}

/** Copies the text, because a slice would keep the whole string in memory. */
function truncateText(text: string): string {
  return text.length <= maxTextChars ? text : Buffer.from(text.slice(0, maxTextChars)).toString()
}
