/**
 * The time from the first text of the model to the first character that a client receives: through the API and on the
 * stream of the web page, without and with a plugin that wraps the model call, and to the first call with text that reaches
 * a chat product, with the default `streaming`. The baseline is a client of the model
 * itself. The model and the clients are in this process, so all times come from one clock.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { startTelegramServer, type TelegramServer } from '../../kit/servers/telegram-server.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { median, quantile } from '../kit/stats.ts'
import { platformsSection } from '../kit/vendor.ts'

/** Between two words of the model. A client that receives the first one later waits for more than it. */
const wordIntervalMs = 40
const warmUpTurns = 10
const responseLimitMs = 30_000

const wrapperFiles = {
  'plugins/wrap/plugin.yaml': 'name: wrap\n',
  'plugins/wrap/index.js': `export function register(ctx) {
  ctx.registerMiddleware('llm_execution', ({ request, next_call }) => next_call(request), { answers: 'unchanged' })
}
`,
}

/** Resolves with the time of the first character, of `performance.now`, when the whole answer was received. */
type Client = (turn: number) => Promise<number>

export const stream: Figure = {
  name: 'stream',
  about: 'first text of the model to the first character of a client: API, web page, with a wrapper, and Telegram',
  measure: async (options) => {
    let sentAt = 0
    const gate = async (frame: number) => {
      // Frame 0 has the role, frame 1 the first word.
      if (frame === 1) sentAt = performance.now()
      else if (frame > 1) await pause(wordIntervalMs)
    }
    const model = await startOpenAiServer({ defaultReply: () => ({ text: 'Three short words', gate }), record: false })
    const telegram = await startTelegramServer()
    const own = { web: { enabled: true }, api_server: { enabled: true } }
    const account = { enabled: true, allow_all_users: true, token: telegram.bot.token, api_root: telegram.url }
    const settings = { modelUrl: model.baseUrl, shipped: true }
    const wrapping = `${platformsSection(own)}plugins: { enabled: [wrap] }\n`
    try {
      return await withGateway({ ...settings, config: platformsSection({ ...own, telegram: account }) }, (plain) =>
        withGateway({ ...settings, config: wrapping, files: wrapperFiles }, async (wrapped) => {
          const clients = await clientsOf(model.baseUrl, plain, wrapped)
          clients.set(telegramClient, (turn) => askTelegram(telegram, turn))
          return rowsOf(await measured(clients, () => sentAt, options))
        }),
      )
    } finally {
      await model.stop()
      await telegram.close()
    }
  },
}

const modelClient = 'a client of the model'
const telegramClient = 'Telegram (native draft, no deliberate buffer)'

async function clientsOf(modelUrl: string, plain: BenchGateway, wrapped: BenchGateway): Promise<Map<string, Client>> {
  const clients = new Map<string, Client>([[modelClient, () => askApi(modelUrl, {})]])
  for (const [gateway, suffix] of [
    [plain, ''],
    [wrapped, ', with a wrapper'],
  ] as const) {
    const { url, token } = await gateway.address()
    const headers = { authorization: `Bearer ${token}` }
    clients.set(`API${suffix}`, () => askApi(`${url}/v1`, headers))
    clients.set(`web page${suffix}`, (turn) => askPage(url, headers, `turn-${turn}`))
  }
  return clients
}

/** The delays of each client, ms. The clients take turns. */
async function measured(
  clients: ReadonlyMap<string, Client>,
  sentAt: () => number,
  { full, progress }: BenchOptions,
): Promise<Map<string, number[]>> {
  const turns = full ? 400 : 100
  const delays = new Map<string, number[]>([...clients.keys()].map((name) => [name, []]))
  for (let turn = -warmUpTurns; turn < turns; turn += 1) {
    if (turn % 50 === 0) progress(`${turn} of ${turns} turns`)
    for (const [name, client] of clients) {
      const delay = (await client(turn)) - sentAt()
      if (turn >= 0) delays.get(name)?.push(delay)
    }
  }
  return delays
}

function rowsOf(delays: ReadonlyMap<string, number[]>): Row[] {
  const baseline = delays.get(modelClient) ?? []
  return [...delays]
    .filter(([name]) => name !== modelClient)
    .flatMap(([name, values]) =>
      ([0.5, 0.99] as const).map(
        (share): Row => ({
          name: `first text of the model to the client, ${name}, p${share * 100}`,
          measured: quantile(values, share),
          unit: 'ms',
          bar: 20,
          baseline: { what: modelClient, value: quantile(baseline, share) },
          ...(share === 0.5
            ? { note: `${values.length} turns, above the baseline ${above(values, baseline)} ms` }
            : {}),
        }),
      ),
    )
}

function above(values: readonly number[], baseline: readonly number[]): string {
  return (median(values) - median(baseline)).toFixed(2)
}

const question = 'Say three words.'

async function askApi(baseUrl: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'bench', stream: true, messages: [{ role: 'user', content: question }] }),
    signal: AbortSignal.timeout(responseLimitMs),
  })
  return await firstTime(response, /"content":"[^"]/, undefined)
}

async function askPage(url: string, headers: Readonly<Record<string, string>>, chat: string): Promise<number> {
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(responseLimitMs)])
  try {
    const response = await fetch(`${url}/web/stream?chat=${chat}&after=`, { headers, signal })
    const received = firstTime(response, /"type":"draft",[^\n]*"text":"[^"]/, /"type":"turn",[^\n]*"state":"done"/)
    const sent = await fetch(`${url}/web/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ chat, id: `message-${chat}`, text: question }),
      signal,
    })
    await sent.text()
    return await received
  } finally {
    ended.abort()
  }
}

/** A direct chat of its own for each turn, so that the limits of a chat delay nothing. Resolves after the whole answer. */
async function askTelegram({ bot, faults }: TelegramServer, turn: number): Promise<number> {
  const chat = 1_000_000 + turn
  let firstAt: number | undefined
  const answered = Promise.withResolvers<number>()
  faults.onCall(({ method, chat: called }) => {
    if (Number(called) !== chat || !/^(?:sendMessageDraft|sendMessage|editMessageText)$/.test(method)) return
    firstAt ??= performance.now()
    if (method === 'sendMessage') answered.resolve(firstAt)
  })
  bot.chats.add({ id: chat, type: 'private' })
  bot.say(question, { chat, from: { id: chat, first_name: 'Person' } })
  return await answered.promise
}

/** The time of the piece that completes `first`. Reads to the end or until `last`. Rejects when `first` does not appear. */
async function firstTime(response: Response, first: RegExp, last: RegExp | undefined): Promise<number> {
  if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`)
  let received = ''
  let at: number | undefined
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    received += piece
    if (at === undefined && first.test(received)) at = performance.now()
    if (last?.test(received) === true) break
  }
  if (at === undefined) throw new Error(`no text: ${received.slice(-500)}`)
  return at
}
