/**
 * The console platforms: the chats of `hermes chat` (`cli`), and those of editors (`acp`, `platforms/acp`). A closed client needs no
 * delivery, because it reads the history when it is opened. Sending therefore always succeeds. The routes begin with the name of
 * the platform.
 */

import type { Attachment, MessageEvent, OutboundMessage, PlatformAdapter, PlatformContext, SessionSource } from '#sdk'
import { brand, definePlatform, type EventKey, HermesError, messageOf, withTimeout } from '#sdk'
import { createHub } from './hub.ts'

/** How long a request for a result is held open, ms. Clients have a longer time limit. */
const longPollMs = 25_000
/** Open questions whose messages are remembered. */
const maxQuestions = 1_000

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const hub = createHub(context)
  const closing = new AbortController()
  /** Messages without a result by chat, for `stop`. */
  const pendingSeqs = new Map<string, Set<number>>()
  /** A button of open questions, by the id of their message. */
  const askedMessages = new Map<string, string>()

  const route = (method: 'GET' | 'POST', name: string, handle: (request: Request) => Promise<Response> | Response) =>
    context.route({ method, path: `/${context.platform}/${name}`, access: 'token', handle })

  return {
    // A terminal needs no splitting and updates quickly.
    limits: { maxChars: 1_000_000, unit: 'utf16' },
    draftIntervalMs: 60,
    idempotentSends: true,
    drawsCursor: true,
    showsButtons: true,
    async connect() {
      route('POST', 'messages', receive)
      route('POST', 'press', press)
      route('POST', 'stop', stop)
      route('GET', 'stream', stream)
      route('GET', 'outcome', outcome)
      route('GET', 'tool', (request) => viewToolCall(context, request))
    },
    async disconnect() {
      closing.abort(new HermesError('http/starting'))
    },
    async send(message) {
      return show(message.deliveryId, message, message.kind !== 'draft')
    },
    async edit(messageId, message, final) {
      return show(messageId, message, final)
    },
    activity: ({ chatId }, activity) => hub.publish(chatId, { type: 'activity', activity }),
  }

  function show(id: string, { target, text, kind, turnId, buttons }: OutboundMessage, final: boolean) {
    const [button] = buttons ?? []
    const asked = askedMessages.get(id)
    if (button !== undefined) rememberQuestion(id, button.id)
    if (asked !== undefined && button === undefined) {
      askedMessages.delete(id)
      hub.publish(target.chatId, { type: 'settled', button: asked, text })
      return { success: true as const, messageId: id }
    }
    const said = { id, text, turnId }
    const shown = buttons === undefined ? said : { ...said, buttons }
    const event = { type: 'message' as const, kind: kind === 'notice' ? kind : ('message' as const), ...shown }
    hub.publish(target.chatId, final ? event : { type: 'draft', ...said })
    return { success: true as const, messageId: id }
  }

  function rememberQuestion(id: string, button: string): void {
    askedMessages.set(id, button)
    for (const oldest of askedMessages.keys()) if (askedMessages.size > maxQuestions) askedMessages.delete(oldest)
  }

  /** The result is a `PressResult`. */
  async function press(request: Request): Promise<Response> {
    const { chat, button, message } = await parseBody(request)
    const chatId = parseId('chat', chat)
    if (typeof button !== 'string' || button === '') throw badRequest('button', 'the id of a button', button)
    if (typeof message !== 'string' || message === '') throw badRequest('message', 'the id of a message', message)
    // A question of an earlier process is not remembered yet.
    if (!askedMessages.has(message)) rememberQuestion(message, button)
    return Response.json(
      await context.questions.press({ source: sourceOf(context, chatId), buttonId: button, messageId: message }),
    )
  }

  async function receive(request: Request): Promise<Response> {
    const { chat, id, text, attended, toolsets, files, commands, instructions, checkpoints } = await parseBody(request)
    const chatId = parseId('chat', chat)
    const messageId = parseId('id', id)
    if (typeof text !== 'string' || text.trim() === '') throw badRequest('text', 'a non-empty string', text)
    const attachments: Attachment[] = []
    for (const upload of parseFiles(files)) attachments.push(await context.files.upload(upload))
    const isText = commands === false
    const event = {
      source: sourceOf(context, chatId),
      text,
      messageType: text.trimStart().startsWith('/') && !isText ? ('command' as const) : ('text' as const),
      messageId,
      timestamp: context.clock(),
      ...metadataOf(attended, checkpoints),
      // The text is data of a program: a leading slash is no command.
      ...(isText ? { allowGatewayControl: false } : {}),
      ...(instructions === undefined ? {} : { seed: { messages: [], instructions: parseInstructions(instructions) } }),
      ...(toolsets === undefined ? {} : { toolsets: parseToolsets(toolsets) }),
      ...(attachments.length === 0 ? {} : { attachments }),
    }
    const accepted = await context.accept(event, [brand<EventKey>(`${context.platform}:${chatId}:${messageId}`)])
    if (accepted.status === 'refused') throw new HermesError('inbox/refused', accepted.reason)
    remember(chatId, accepted.seq)
    return Response.json({ seq: accepted.seq }, { status: 202 })
  }

  function remember(chatId: string, seq: number): void {
    const seqs = pendingSeqs.get(chatId) ?? new Set()
    pendingSeqs.set(chatId, seqs.add(seq))
    const forget = () => {
      if (seqs.delete(seq) && seqs.size === 0) pendingSeqs.delete(chatId)
    }
    context.turns.waitForResult(seq, closing.signal).then(forget, forget)
  }

  /** `seq` may belong to a message that was accepted before a restart. */
  async function stop(request: Request): Promise<Response> {
    const { chat, seq } = await parseBody(request)
    const seqs = new Set(pendingSeqs.get(parseId('chat', chat)))
    if (seq !== undefined) seqs.add(parseSeq(seq))
    await Promise.all([...seqs].map((seq) => context.turns.stop(seq)))
    return Response.json({ stopped: seqs.size })
  }

  function stream(request: Request): Response {
    closing.signal.throwIfAborted()
    const query = new URL(request.url).searchParams
    const until = AbortSignal.any([request.signal, closing.signal])
    const lines = hub.listen(parseId('chat', query.get('chat')), query.get('after'), until)
    return new Response(lines, { headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } })
  }

  /** 200 with the result, or 202 while there is none. */
  async function outcome(request: Request): Promise<Response> {
    const seq = parseSeq(Number(new URL(request.url).searchParams.get('seq')))
    const enough = new AbortController()
    const until = AbortSignal.any([request.signal, closing.signal, enough.signal])
    try {
      const ended = await withTimeout(context.turns.waitForResult(seq, until), longPollMs)
      return ended.done ? Response.json(ended.value) : Response.json({ status: 'running' }, { status: 202 })
    } catch (error) {
      if (until.aborted || error instanceof HermesError) throw error
      throw new HermesError('http/not-found', messageOf(error), { cause: error })
    } finally {
      enough.abort()
    }
  }
}

/** What an ended tool call did: a `ToolView`. */
async function viewToolCall({ chats }: PlatformContext, request: Request): Promise<Response> {
  const query = new URL(request.url).searchParams
  const call = { turnId: query.get('turn') ?? '', callId: query.get('call') ?? '' }
  const view = await chats.toolCalls.view(parseId('chat', query.get('chat')), call, { whole: true })
  if (view === undefined) throw new HermesError('http/not-found', 'There is no such tool call in this chat.')
  return Response.json(view)
}

async function parseBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  try {
    const body: unknown = await request.json()
    return typeof body === 'object' && body !== null ? Object.fromEntries(Object.entries(body)) : {}
  } catch (error) {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause: error })
  }
}

function sourceOf({ platform, account }: PlatformContext, chatId: string): SessionSource {
  return { platform, account, chatId, chatType: 'dm', userId: 'owner' }
}

function metadataOf(attended: unknown, checkpoints: unknown): Pick<MessageEvent, 'metadata'> {
  const metadata = {
    // No user is present who could answer a question.
    ...(attended === false ? { attended: 'no', notices: 'yes' } : {}),
    ...(checkpoints === true ? { checkpoints: 'yes' } : {}),
  }
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}

function parseId(field: string, value: unknown): string {
  if (typeof value === 'string' && /^[\w.@-]{1,128}$/.test(value)) return value
  throw badRequest(field, 'at most 128 letters, digits, . _ @ -', value)
}

function parseToolsets(value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.length <= 100
  if (isList && value.every((name) => typeof name === 'string' && name.length <= 200)) return value
  throw badRequest('toolsets', 'a list of names', value)
}

/** They are added to the system prompt of a new conversation. */
function parseInstructions(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw badRequest('instructions', 'a non-empty string', value)
}

/** Files of one message, as `GET /api/uploads` tells. */
const maxFiles = 8

function parseFiles(value: unknown): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every((id) => typeof id === 'string'))
    throw badRequest('files', 'a list of uploads', value)
  if (value.length <= maxFiles) return value
  throw new HermesError('media/too-many', `It has ${value.length}; the limit is ${maxFiles}.`)
}

function parseSeq(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw badRequest('seq', 'a number above 0', value)
}

function badRequest(field: string, expected: string, actual: unknown): HermesError {
  return new HermesError('http/bad-request', `${field}: expected ${expected}, found ${typeof actual}.`)
}

export default definePlatform({ createAdapter })
