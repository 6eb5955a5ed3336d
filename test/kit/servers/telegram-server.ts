/**
 * A local server that speaks Telegram's Bot API as the documents and telegraf's sources have it, with people on its other
 * side and faults on demand. Its address is what `api_root` wants.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createFaults, type FaultResponse, type Faults } from './faults.ts'
import { type BotSetup, createBot, type TelegramBot } from './telegram/bot.ts'
import { ApiError, type JsonRecord, type Params, readParams, refuse, textOf } from './telegram/params.ts'

export { defaultUser, type TelegramBot } from './telegram/bot.ts'

export interface TelegramServer {
  readonly url: string
  readonly faults: Faults
  /** The bot that is there from the beginning. */
  readonly bot: TelegramBot
  addBot(setup: BotSetup): TelegramBot
  close(): Promise<void>
}

export interface TelegramServerOptions extends BotSetup {
  /** How long Telegram waits before it calls a webhook again, ms. */
  readonly retryMs?: number
}

const maxUploadBytes = 50 * 1024 * 1024

export async function startTelegramServer(options: TelegramServerOptions = {}): Promise<TelegramServer> {
  const faults = createFaults({ unitMs: 1_000, tooMany })
  const bots = new Map<string, TelegramBot>()
  const addBot = (setup: BotSetup) => {
    const bot = createBot(setup, options)
    bots.set(bot.token, bot)
    return bot
  }
  const bot = addBot(options)

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (error instanceof ApiError) refuse(response, error)
      else refuse(response, new ApiError(500, `Internal Server Error: ${String(error)}`))
    })
  })
  server.keepAliveTimeout = 60_000
  faults.watch(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the local Bot API has no port')

  return {
    url: `http://127.0.0.1:${address.port}`,
    faults,
    bot,
    addBot,
    async close() {
      for (const one of bots.values()) one.delivery.stop()
      await faults.close()
    },
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://telegram')
    const file = /^\/file\/bot([^/]+)\/(.+)$/.exec(url.pathname)
    if (file !== null) return sendFile(file, response)
    const [, token = '', method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(url.pathname) ?? []
    const caller = bots.get(decodeURIComponent(token))
    const params = await readParams(request, url)
    if (caller === undefined) {
      throw /^\d+:/.test(token) ? new ApiError(401, 'Unauthorized') : new ApiError(404, 'Not Found')
    }
    await apply(caller, method, params, response)
  }

  async function apply(caller: TelegramBot, method: string, params: Params, response: ServerResponse): Promise<void> {
    const chat = chatIn(params.fields)
    const met = await faults.intercept({ method, ...(chat === '' ? {} : { chat }) }, response)
    if (met === 'answered') return
    for (const { bytes } of params.files.values()) {
      if (bytes.length > maxUploadBytes) throw new ApiError(413, 'Request Entity Too Large')
    }
    if (met === 'pass') return caller.handle(method, params, response)
    // Applied, and the answer is lost.
    const end = response.end.bind(response)
    response.end = () => {
      response.end = end
      faults.cut(response)
      return response
    }
    caller.handle(method, params, response)
  }

  function sendFile([, token = '', path = '']: RegExpExecArray, response: ServerResponse): void {
    const bytes = bots.get(decodeURIComponent(token))?.files.load(decodeURIComponent(path))
    response.statusCode = bytes === undefined ? 404 : 200
    response.end(bytes)
  }
}

function chatIn(fields: JsonRecord): string {
  return textOf(fields['chat_id'])
}

function tooMany(waitMs: number): FaultResponse {
  const seconds = Math.ceil(waitMs / 1_000)
  return {
    status: 429,
    headers: { 'retry-after': String(seconds) },
    body: {
      ok: false,
      error_code: 429,
      description: `Too Many Requests: retry after ${seconds}`,
      parameters: { retry_after: seconds },
    },
  }
}
