/**
 * The stored requests of `/v1/responses` and `/v1/runs`, and the conversations that they continue.
 *
 * A request that continues the newest response of a conversation is its next message: the agent has all of it, with the results
 * of its tools. Otherwise (a second continuation of the same response, other instructions, messages of the client in between) a
 * new session begins with the texts of the earlier exchanges.
 */
import { randomUUID } from 'node:crypto'
import { type ChatMessage, isRecord, type PlatformContext, type TurnResult } from '#sdk'
import { ApiError, invalidParam } from './errors.ts'
import type { ExchangeRequest } from './parse-response-request.ts'
import type { StoredPictures } from './store-pictures.ts'
import { type InboundMessage, nameRequest, toInboundMessage } from './to-event.ts'

export interface Exchange {
  readonly id: string
  readonly kind: 'response' | 'run'
  /** The key of its event. */
  readonly key: InboundMessage['key']
  readonly chatId: string
  /** The number of its event; null until that is stored. */
  readonly seq: number | null
  readonly previousId: string | null
  readonly conversation: string | null
  readonly model: string
  /** The instructions of its conversation. */
  readonly instructions: string | null
  readonly metadata: Readonly<Record<string, string>>
  /** Seconds since 1970. */
  readonly createdAt: number
  /** Whether it can be read and continued. */
  readonly stored: boolean
  /** The messages of the request. */
  readonly messages: readonly ChatMessage[]
}

type Context = Pick<PlatformContext, 'records' | 'turns' | 'platform' | 'account' | 'clock' | 'gateway'>

const keyOf = (id: string) => `exchange ${id}`
const maxChain = 1_000

/** `undefined` when there is none, or none that may be read. */
export async function findExchange(
  { records }: Pick<PlatformContext, 'records'>,
  kind: Exchange['kind'],
  id: string,
): Promise<(Exchange & { readonly seq: number }) | undefined> {
  const exchange = await readExchange(records, id)
  if (exchange === undefined || exchange.kind !== kind || !exchange.stored || exchange.seq === null) return undefined
  return { ...exchange, seq: exchange.seq }
}

export async function removeExchange({ records }: Pick<PlatformContext, 'records'>, exchange: Exchange): Promise<void> {
  await records.remove(keyOf(exchange.id))
  await records.remove(`key ${exchange.key}`)
}

/**
 * Forgets the exchange of a request that was not accepted: another request may continue the same response in its
 * session.
 */
export async function discardExchange(
  { records }: Pick<PlatformContext, 'records'>,
  exchange: Exchange,
): Promise<void> {
  await removeExchange({ records }, exchange)
  const claim = `next ${exchange.previousId}`
  if (exchange.previousId !== null && (await records.get(claim)) === exchange.id) await records.remove(claim)
}

/** Notes the number of the stored event. */
export async function noteAccepted(
  { records }: Pick<PlatformContext, 'records'>,
  exchange: Exchange,
  seq: number,
): Promise<void> {
  if (exchange.seq === null) await records.put(keyOf(exchange.id), { ...exchange, seq })
}

/**
 * Stores the request under its name; a request with the same `Idempotency-Key` gets the exchange of the first one. Throws `ApiError`
 * when it continues what does not exist.
 */
export async function openExchange(
  context: Context,
  kind: Exchange['kind'],
  request: ExchangeRequest,
  files: StoredPictures,
) {
  const { records } = context
  const { key, freshSession } = nameRequest(kind === 'run' ? 'api-run' : 'api-response', request)
  const newId = `${kind === 'run' ? 'run' : 'resp'}_${randomUUID().replaceAll('-', '')}`
  const id = String(await records.insert(`key ${key}`, newId))
  const known = id === newId ? undefined : await readExchange(records, id)
  const start = known === undefined ? await chooseSession(context, request, id, freshSession) : undefined
  const { model, provider } = context.gateway.info()
  const candidate: Exchange = {
    id,
    kind,
    key,
    chatId: start?.chatId ?? freshSession,
    seq: null,
    previousId: request.previousId ?? null,
    conversation: request.conversation ?? null,
    model: request.model ?? (model || provider),
    instructions: start?.instructions ?? request.givenInstructions ?? null,
    metadata: request.metadata,
    createdAt: Math.floor(context.clock() / 1000),
    stored: request.store,
    messages: [...files.history, userMessage(request.input, files)],
  }
  const exchange = known ?? toExchange(await records.insert(keyOf(id), candidate)) ?? candidate
  const message = toInboundMessage(context, {
    key,
    chatId: exchange.chatId,
    text: request.input,
    instructions: exchange.instructions ?? '',
    sessionKey: request.sessionKey,
    asks: request.asks,
    attachments: files.attachments,
    history: [...(start?.earlier ?? []), ...files.history],
  })
  return { exchange, message }
}

interface SessionStart {
  readonly chatId: string
  readonly instructions: string | undefined
  /** What the session begins with, if it is a new one. */
  readonly earlier: readonly ChatMessage[]
}

async function chooseSession(
  context: Context,
  { previousId, sessionId, givenInstructions, history }: ExchangeRequest,
  id: string,
  freshSession: string,
): Promise<SessionStart> {
  if (previousId === undefined)
    return { chatId: sessionId ?? freshSession, instructions: givenInstructions, earlier: [] }
  const previous = await findContinued(context, previousId)
  const instructions = givenInstructions ?? previous.instructions ?? undefined
  if (sessionId !== undefined && sessionId !== previous.chatId)
    throw invalidParam('x-hermes-session-id', 'the previous response belongs to another session')
  const isSame = instructions === (previous.instructions ?? undefined) && history.length === 0
  const continues =
    sessionId !== undefined || (isSame && (await context.records.insert(`next ${previousId}`, id)) === id)
  if (continues) return { chatId: previous.chatId, instructions, earlier: [] }
  return { chatId: freshSession, instructions, earlier: await textsUpTo(context, previous) }
}

async function findContinued(context: Context, previousId: string): Promise<Exchange> {
  const previous = await findExchange(context, previousId.startsWith('run_') ? 'run' : 'response', previousId)
  const result = previous === undefined ? null : await context.turns.findResult(previous.seq)
  if (previous === undefined || result === null)
    throw new ApiError(400, `Previous response with id '${previousId.slice(0, 100)}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  if (result === undefined)
    throw new ApiError(409, `The response '${previousId}' is in progress; wait for its end.`, {
      param: 'previous_response_id',
      code: 'response_in_progress',
      retryAfterSeconds: 1,
    })
  return previous
}

/** The texts of an exchange and of those that it continues, oldest first. */
async function textsUpTo(context: Context, last: Exchange): Promise<ChatMessage[]> {
  const parts: ChatMessage[][] = []
  let at: Exchange | undefined = last
  while (at !== undefined && parts.length < maxChain) {
    const result: TurnResult | null | undefined = at.seq === null ? null : await context.turns.findResult(at.seq)
    const content: string = result?.status === 'done' ? result.text : '[no answer]'
    parts.push([...at.messages, { role: 'assistant', content }])
    at = at.previousId === null ? undefined : await readExchange(context.records, at.previousId)
  }
  return parts.reverse().flat()
}

/** The text is what a model that cannot see reads; the pictures are added for models that can. */
function userMessage(text: string, { attachments }: StoredPictures): ChatMessage {
  const images = attachments.flatMap(({ image }) => (image === undefined ? [] : [image]))
  const lines = attachments.map(({ kind, path, mimeType }) => `[Attached ${kind}: ${path} (${mimeType})]`)
  const content = [...lines, ...(text === '' ? [] : [text])].join('\n')
  return { role: 'user', content, ...(images.length === 0 ? {} : { images }) }
}

async function readExchange(records: PlatformContext['records'], id: string): Promise<Exchange | undefined> {
  return toExchange(await records.get(keyOf(id)))
}

/** The adapter wrote the record, so only its presence is checked. */
function toExchange(record: unknown): Exchange | undefined {
  return isExchange(record) ? record : undefined
}

function isExchange(record: unknown): record is Exchange {
  return isRecord(record) && typeof record['id'] === 'string' && typeof record['chatId'] === 'string'
}
