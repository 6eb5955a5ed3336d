/**
 * A proxy in front of the chat server that delays requests and responses, so that a kill often falls between a call
 * and its response.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from './random.ts'

export interface DelayProxy {
  readonly url: string
  close(): Promise<void>
}

/** Requests and responses are each delayed by up to `maxDelayMs`. */
export async function startDelayProxy(to: string, random: Random, maxDelayMs: number): Promise<DelayProxy> {
  const server = createServer(async (request, response) => {
    const body = await textOf(request)
    await pause(random.between(0, maxDelayMs))
    try {
      const answer = await fetch(`${to}${request.url}`, { method: 'POST', body })
      const text = await answer.text()
      await pause(random.between(0, maxDelayMs))
      response.end(text)
    } catch {
      // The chat server closes before the proxy. Open requests are closed with it.
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}
