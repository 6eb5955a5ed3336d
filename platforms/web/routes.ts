/**
 * The HTTP routes of the page. Routes that read or change a chat require the gateway's token. The files of the page contain
 * no secret and are public.
 */
import type {
  Attachment,
  ChatEntry,
  EventKey,
  HistoryQuery,
  HttpRoute,
  MessageEvent,
  PlatformContext,
  SessionSource,
} from '#sdk'
import { brand, HermesError, parseCommand } from '#sdk'
import { createAssets } from './assets.ts'
import { type PageFiles, toWireEntry } from './files.ts'
import type { Hub } from './hub.ts'
import { storedToolEvent } from './live-chat.ts'
import {
  parseCallPart,
  parseChatId,
  parseChatIdBody,
  parseEntryId,
  parsePress,
  parseSentMessage,
} from './parse-request.ts'
import type { WireEntry } from './protocol.ts'
import { jsonResponse, withErrorResponse } from './responses.ts'

/** Entries in one answer of the history. */
const pageSize = 60

/** @param closing aborts when the adapter disconnects */
export function createRoutes(context: PlatformContext, hub: Hub, files: PageFiles, closing: AbortSignal): HttpRoute[] {
  const assets = createAssets()
  const whileOpen = (handle: (request: Request) => Promise<Response> | Response) => (request: Request) =>
    withErrorResponse(() => {
      if (closing.aborted) throw new HermesError('http/starting')
      return handle(request)
    })

  return [
    { method: 'GET', path: '/', access: 'public', handle: assets.page },
    { method: 'GET', path: '/assets/*', access: 'public', handle: assets.asset },
    { method: 'GET', path: '/web/stream', access: 'token', handle: whileOpen(stream) },
    { method: 'GET', path: '/web/commands', access: 'token', handle: whileOpen(commands) },
    { method: 'GET', path: '/web/history', access: 'token', handle: whileOpen(history) },
    { method: 'GET', path: '/web/tool', access: 'token', handle: whileOpen(tool) },
    { method: 'GET', path: '/web/files/*', access: 'token', handle: whileOpen(files.serve) },
    { method: 'POST', path: '/web/messages', access: 'token', handle: whileOpen(send) },
    { method: 'POST', path: '/web/press', access: 'token', handle: whileOpen(press) },
    { method: 'POST', path: '/web/stop', access: 'token', handle: whileOpen(stop) },
  ]

  function stream(request: Request): Response {
    const query = new URL(request.url).searchParams
    const chat = parseChatId(query.get('chat'))
    const body = hub.subscribe(chat, parseEntryId('after', query.get('after')), request.signal)
    return new Response(body, {
      headers: {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        // Disables buffering in reverse proxies.
        'x-accel-buffering': 'no',
      },
    })
  }

  /** For the list that the page shows while a command is typed. */
  async function commands(): Promise<Response> {
    await context.menu.complete()
    return jsonResponse(
      200,
      context.menu.commands().map(({ name, description, argsHint }) => ({ name, description, argsHint })),
    )
  }

  async function history(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams
    const chat = parseChatId(query.get('chat'))
    const before = parseEntryId('before', query.get('before'))
    const { entries, more } = await readHistoryPage((limits) => context.chats.history(chat, limits), before)
    const turnIds = new Set(entries.flatMap(({ turnId }) => turnId ?? []))
    const calls = turnIds.size === 0 ? [] : await context.chats.toolCalls.list(chat, [...turnIds])
    return jsonResponse(200, { entries, tools: calls.map(storedToolEvent), more })
  }

  /** What one tool call did. `whole` shows all of it. */
  async function tool(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams
    const chat = parseChatId(query.get('chat'))
    const call = { turnId: parseCallPart('turn', query.get('turn')), callId: parseCallPart('call', query.get('call')) }
    const view = await context.chats.toolCalls.view(chat, call, { whole: query.has('whole') })
    if (view === undefined) throw new HermesError('http/not-found', 'No more than its line is stored of this call.')
    return jsonResponse(200, view)
  }

  async function send(request: Request): Promise<Response> {
    const { chat, id, text, files: uploads } = await parseSentMessage(request)
    const attachments: Attachment[] = []
    for (const upload of uploads) attachments.push(await context.files.upload(upload))
    const event = withFiles(eventOf(chat, text, id), attachments)
    const accepted = await context.accept(event, [brand<EventKey>(`web:${chat}:${id}`)])
    if (accepted.status === 'refused') throw new HermesError('inbox/refused', accepted.reason)
    const { seq } = accepted
    if (accepted.status === 'duplicate') return jsonResponse(202, { seq, duplicate: true })
    trackMessage(chat, seq)
    hub.wake(chat)
    return jsonResponse(202, { seq })
  }

  /** Tracks the message until its turn has ended, so that the stop button can find it. */
  function trackMessage(chat: string, seq: number): void {
    hub.chat(chat).messageStarted(seq)
    context.turns
      .waitForResult(seq, closing)
      .catch((error: unknown) => {
        if (!closing.aborted)
          context.log.warn({ event: 'web.message_tracking_failed', seq, err: error }, 'message could not be tracked')
      })
      .finally(() => {
        hub.chat(chat).messageEnded(seq)
        hub.wake(chat)
        hub.prune(chat)
      })
  }

  /** Stops the running turn. A turn whose message is unknown is stopped by the command /stop. */
  async function stop(request: Request): Promise<Response> {
    const chat = await parseChatIdBody(request)
    const running = hub.chat(chat).stopTarget()
    if (running === 'unknown') {
      const key = `web:${chat}:stop-${crypto.randomUUID()}`
      await context.accept(eventOf(chat, '/stop'), [brand<EventKey>(key)])
      hub.wake(chat)
    } else if (running !== undefined) await context.turns.stop(running)
    hub.prune(chat)
    return jsonResponse(202, { stopped: running !== undefined })
  }

  /** The result arrives as an entry in the streams of all pages. */
  async function press(request: Request): Promise<Response> {
    const { chat, button, entry } = await parsePress(request)
    return jsonResponse(
      200,
      await context.questions.press({ source: sourceOf(chat), buttonId: button, messageId: entry }),
    )
  }

  function sourceOf(chatId: string): SessionSource {
    return { platform: context.platform, account: context.account, chatId, chatType: 'dm', userId: 'owner' }
  }

  function eventOf(chatId: string, text: string, messageId?: string): MessageEvent {
    return {
      source: { ...sourceOf(chatId), messageId },
      text,
      messageType: parseCommand({ text }) === null ? 'text' : 'command',
      timestamp: context.clock(),
      // A person at the page sees what waits. `/busy` chooses otherwise.
      metadata: { busy: 'queue' },
      messageId,
    }
  }
}

function withFiles(event: MessageEvent, attachments: readonly Attachment[]): MessageEvent {
  const [first] = attachments
  if (first === undefined) return event
  const messageType = event.messageType === 'command' ? 'command' : first.kind
  return { ...event, messageType, attachments }
}

/** The entries before `before`, or the newest ones, in ascending order. `more`: older entries exist. */
async function readHistoryPage(
  history: (query: HistoryQuery) => Promise<ChatEntry[]>,
  before: string | undefined,
): Promise<{ entries: WireEntry[]; more: boolean }> {
  const entries = await history({ before, limit: pageSize + 1 })
  return { entries: entries.slice(-pageSize).map(toWireEntry), more: entries.length > pageSize }
}
