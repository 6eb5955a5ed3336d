/**
 * The protocol between the gateway and a host: one JSON object a line, to the host on its file descriptor 3, from the
 * host on 4. `node/` and `python/` speak the other side of it.
 *
 * A reference is a number for an object that stays in the gateway. The host notes which of its copies stands for which
 * number, and sends the number back when the copy comes back as it was.
 */
import { z } from 'zod'
import { exceedsMaxDepth } from './json-depth.ts'

/** Where in a list of arguments, or under which keyword, a value stands, and its reference. */
export type ArgumentReference = readonly [place: number | string, reference: number]

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
      readonly keywords?: Readonly<Record<string, unknown>>
      readonly callbacks?: readonly string[]
      readonly services?: true
      readonly discard?: true
      readonly refs?: readonly ArgumentReference[]
    }
  /** Please end. A host whose threads are not stuck acknowledges it (`cancelAck`). */
  | { readonly t: 'cancel'; readonly id: number }
  | { readonly t: 'result'; readonly id: number; readonly value: unknown; readonly ref?: number }
  | { readonly t: 'error'; readonly id: number; readonly error: RequestError }

/** Why a request failed. `cancelled`: because its call is over. */
export interface RequestError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly cancelled?: true
  readonly ref?: number
}

const id = z.int().nonnegative()
/** Names of ours: a host that sends longer ones is none. */
const name = z.string().max(1_000)
/** What a handler says and what is said about it, for people: nobody reads more, and logs and lists keep it. */
const boundedText = z.string().transform(truncateText)
const maxTextChars = 10_000
/** Each may be watched. */
const files = z.array(z.string()).transform((paths) => paths.slice(0, 1_000))

const frameFromHostSchema = z.discriminatedUnion('t', [
  /** The first word. */
  z.object({ t: z.literal('ready'), runtime: name }),
  /** The only word of a runtime that is too old. */
  z.object({ t: z.literal('startupError'), reason: boundedText }),
  z.object({ t: z.literal('loadResult'), id, files }),
  z.object({ t: z.literal('loadError'), id, message: boundedText, stack: boundedText, files }),
  /** A call ended well. `ref` takes the place of a value. */
  z.object({ t: z.literal('callResult'), id, value: z.unknown().optional(), ref: id.optional() }),
  z.object({
    t: z.literal('callError'),
    id,
    kind: z.enum(['threw', 'unserialisable', 'unloadable']),
    message: boundedText,
    stack: boundedText,
    ref: id.optional(),
    /** What was thrown, apart. */
    error: z.object({ name, message: boundedText }).optional(),
  }),
  /** A cancel arrived; `stack` says where the handler is. */
  z.object({ t: z.literal('cancelAck'), id, stack: boundedText }),
  z.object({
    t: z.literal('request'),
    id,
    /** Left out when the module asks outside of calls. */
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
  /** Last words of a process that ends itself; `call` is the one that made it do so. */
  z.object({ t: z.literal('exit'), call: id.optional() }),
])

export type FrameFromHost = z.infer<typeof frameFromHostSchema>

/** A line of the host; undefined when it is none of the protocol. Never throws. */
export function parseFrame(line: string): FrameFromHost | undefined {
  if (exceedsMaxDepth(line)) return undefined
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  return frameFromHostSchema.safeParse(value).data
}

/** A copy: a piece of a text keeps the whole of it in memory. */
function truncateText(text: string): string {
  return text.length <= maxTextChars ? text : Buffer.from(text.slice(0, maxTextChars)).toString()
}
