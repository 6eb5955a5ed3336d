/**
 * An outage of the model's server while people write: a gateway process, a chat server, and a model server that fails in one
 * way for some time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type SentMessage, startChatServer } from '../../crash/chat-server.ts'
import { parseObject } from '../../kit/servers/model-script.ts'
import { createGatewayHome, startGatewayProcess } from '../gateway-process.ts'

export const outageKinds = ['refused', 'reset', 'cut', 'status 503', 'status 429'] as const
export type OutageKind = (typeof outageKinds)[number]

export interface OutageOptions {
  readonly kind: OutageKind
  readonly messages: number
  readonly outageMs: number
  /** YAML of the settings of `agent`, in one line. */
  readonly agent: string
  /** After the end of the outage, ms. */
  readonly limitMs: number
}

export interface OutageResult {
  readonly kind: OutageKind
  readonly messages: number
  readonly answered: number
  /** Messages that report an error to people. */
  readonly errors: readonly string[]
  /** Notices that a message waits. */
  readonly notices: number
  readonly seconds: number
}

/** Rejects only when the gateway cannot be started. */
export async function runOutage(options: OutageOptions): Promise<OutageResult> {
  const startedAt = performance.now()
  const { kind, messages: count, outageMs, agent, limitMs } = options
  const home = await mkdtemp(join(tmpdir(), 'hermes-proof-'))
  const chat = await startChatServer()
  const model = await startUnreliableModel(kind)
  const texts = Array.from({ length: count }, (_, index) => `message ${index}`)
  const isAnswered = (sent: readonly SentMessage[], text: string) =>
    sent.some((one) => !one.draft && one.text === answerTo(text))
  try {
    await createGatewayHome(home, { chatUrl: chat.url, modelUrl: model.url, agent })
    const gateway = startGatewayProcess(home)
    try {
      await gateway.ready
      await model.startOutage()
      for (const [index, text] of texts.entries()) chat.say(`chat-${index}`, text)
      await pause(outageMs)
      await model.endOutage()
      const done = (sent: readonly SentMessage[]) => texts.every((text) => isAnswered(sent, text))
      const timedOut = await chat.until(done, limitMs).then(
        () => '',
        () => 'not all messages were answered',
      )
      const errors = chat.messages.filter(({ text }) => text.includes('(provider/')).map(({ text }) => text)
      return {
        kind,
        messages: count,
        answered: texts.filter((text) => isAnswered(chat.messages, text)).length,
        errors: timedOut === '' ? errors : [...errors, timedOut],
        notices: chat.messages.filter(({ text }) => text.startsWith('⏳')).length,
        seconds: (performance.now() - startedAt) / 1_000,
      }
    } finally {
      gateway.signal('SIGTERM')
      await gateway.ended
    }
  } finally {
    await chat.close()
    await model.close()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

function answerTo(text: string): string {
  return `the answer to ${text}`
}

/** A model server whose outage begins and ends on the same port. */
async function startUnreliableModel(kind: OutageKind) {
  let isDown = false
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const text = answerTo(await lastUserText(request))
    if (isDown) fail(kind, response)
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(completion(text))
  }
  let server = await listen(handle, 0)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async startOutage() {
      isDown = true
      if (kind === 'refused') await close(server)
    },
    async endOutage() {
      isDown = false
      if (kind === 'refused') server = await listen(handle, port)
    },
    close: () => close(server),
  }
}

function fail(kind: OutageKind, response: ServerResponse): void {
  switch (kind) {
    case 'refused':
    case 'reset':
      response.destroy()
      return
    case 'cut':
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ content: 'half an' }), () => response.destroy())
      return
    case 'status 503':
      response.writeHead(503).end()
      return
    case 'status 429':
      response.writeHead(429, { 'retry-after': '1' }).end()
  }
}

function chunk(delta: object, finish: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
}

function completion(text: string): string {
  return `${chunk({ content: text })}${chunk({}, 'stop')}data: [DONE]\n\n`
}

async function lastUserText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) if (part instanceof Buffer) parts.push(part)
  const { messages } = parseObject(Buffer.concat(parts).toString('utf8'))
  const last = Array.isArray(messages) ? parseObject(messages.at(-1)) : {}
  return typeof last['content'] === 'string' ? last['content'] : ''
}

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  port: number,
): Promise<Server> {
  const server = createServer((request, response) => {
    // A request that breaks off is part of an outage.
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}
