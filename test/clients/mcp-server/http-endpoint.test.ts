import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpGateway } from '../../../src/clients/mcp-server/gateway.ts'
import { createMcpEndpoint } from '../../../src/clients/mcp-server/http-endpoint.ts'
import { onAbort } from '../../../src/lib/timers.ts'
import { recordingLog } from '../../http/support.ts'

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function signalOf(init: RequestInit | undefined): AbortSignal {
  assert.ok(init?.signal)
  return init.signal
}

function callOf(name: string, given: object, signal: AbortSignal): Request {
  const params = { name, arguments: given }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  return new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body, signal })
}

test('the requests of a client that hangs up are aborted, and its place is free again', async () => {
  const aborted: string[] = []
  const asked = Promise.withResolvers<void>()
  const gateway: McpGateway = {
    ...{ url: 'http://gateway.invalid', token: '' },
    isRemote: false,
    fetch: (address, init) =>
      new Promise((_, reject) => {
        const signal = signalOf(init)
        onAbort(signal, () => {
          aborted.push(String(address))
          reject(signal.reason)
        })
        asked.resolve()
      }),
  }
  const handle = createMcpEndpoint(gateway, '1', recordingLog().log)
  const client = new AbortController()
  const response = await handle(callOf('events_wait', { after_cursor: 5, timeout_ms: 300_000 }, client.signal))
  const read = response.text().catch(() => '')
  await asked.promise
  client.abort()
  await response.body?.cancel().catch(() => undefined)
  await read
  assert.equal(aborted.length, 1)
})

test('a client that hangs up gives one place back, and not more', async () => {
  const gateway: McpGateway = {
    ...{ url: 'http://gateway.invalid', token: '' },
    isRemote: false,
    fetch: (_, init) => {
      const signal = signalOf(init)
      return new Promise((_resolve, reject) => onAbort(signal, () => reject(signal.reason)))
    },
  }
  const handle = createMcpEndpoint(gateway, '1', recordingLog().log, 1)
  const wait = async () => {
    const client = new AbortController()
    const response = await handle(callOf('events_wait', { after_cursor: 5 }, client.signal))
    const reader = response.body?.getReader()
    const pending = reader?.read()
    return async () => {
      client.abort()
      await reader?.cancel()
      await pending
    }
  }
  for (let round = 0; round < 3; round += 1) await (await wait())()
  const leave = await wait()
  await assert.rejects(wait(), { code: 'http/busy' })
  await leave()
})
