/**
 * An older server on the network: it sends all its messages in one stream of events (`transport: sse`).
 */
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { createServerConnection } from '../../../src/agent/mcp/connection.ts'
import { createHttpTransport } from '../../../src/agent/mcp/http-transport.ts'
import { contentText } from '../../../src/agent/mcp/result-text.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createTestServer, serverSettings } from './support.ts'

test('a server that speaks in a stream of events is used with its headers', async (t) => {
  const [pipe, inner] = InMemoryTransport.createLinkedPair()
  await createTestServer().connect(inner)
  let stream: ServerResponse | undefined
  const keys: unknown[] = []
  pipe.onmessage = (message) => stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  await pipe.start()
  const http = createServer(async (request, response) => {
    keys.push(request.headers['x-key'])
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: endpoint\ndata: /messages\n\n')
      return
    }
    await pipe.send(JSON.parse(await text(request)))
    response.writeHead(202).end()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const address = http.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/sse`
  const headers = { 'x-key': 'secret-value' }
  const connection = createServerConnection({
    ...{ name: 'old', settings: serverSettings({ command: undefined, url, transport: 'sse' }), version: '0' },
    ...{ open: async () => createHttpTransport({ url, headers, transport: 'sse', fetch }) },
    ...{ onCatalogue: () => undefined, clock: Date.now, random: () => 0.5, log: silentLog },
  })
  t.after(() => connection.close())
  const params = { name: 'look', arguments: { what: 'rain' } }
  const result = await connection.request({ method: 'tools/call', params }, new AbortController().signal)
  assert.equal(contentText(asRecord(result)['content']), 'seen: rain')
  assert.deepEqual([...new Set(keys)], ['secret-value'])
})
