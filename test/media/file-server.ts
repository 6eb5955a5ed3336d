/**
 * A server on loopback that answers as a test says, and remembers what it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'

export interface FileServer {
  readonly origin: string
  readonly port: number
  readonly requests: readonly IncomingMessage[]
}

/** Closed when the test ends. */
export async function startFileServer(
  t: TestContext,
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<FileServer> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the file server has no port')
  return { origin: `http://127.0.0.1:${address.port}`, port: address.port, requests }
}
