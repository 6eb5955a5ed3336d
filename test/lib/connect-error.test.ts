/**
 * Which failed requests can be repeated safely.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { isConnectError } from '../../src/lib/connect-error.ts'

function failing(message: string, more: Readonly<Record<string, unknown>> = {}): Error {
  return Object.assign(new Error(message), more)
}

async function thrownBy(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error
  }
}

test('a request without a connection was not processed', () => {
  for (const error of [
    failing('connect ETIMEDOUT 1.2.3.4:443', { code: 'ETIMEDOUT', syscall: 'connect' }),
    failing('request to <address> failed, reason: connect EHOSTUNREACH 1.2.3.4:443', { code: 'EHOSTUNREACH' }),
    failing('', { code: 'ENETUNREACH' }),
    failing('', { code: 'EHOSTUNREACH' }),
    failing('getaddrinfo EAI_AGAIN host', { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }),
    failing('certificate has expired', { code: 'CERT_HAS_EXPIRED' }),
    new TypeError('fetch failed', { cause: failing('Connect Timeout Error', { code: 'UND_ERR_CONNECT_TIMEOUT' }) }),
    failing('a library', { code: 'some_request_error', original: failing('', { code: 'ECONNREFUSED' }) }),
  ]) {
    assert.equal(isConnectError(error), true, error.message)
  }
})

test('a request whose connection broke may have been processed, whatever the code', () => {
  for (const error of [
    failing('read ECONNRESET', { code: 'ECONNRESET', syscall: 'read' }),
    failing('read EHOSTUNREACH', { code: 'EHOSTUNREACH', syscall: 'read' }),
    failing('request to <address> failed, reason: read EHOSTUNREACH', { code: 'EHOSTUNREACH' }),
    failing('write ENETUNREACH', { code: 'ENETUNREACH' }),
    new TypeError('fetch failed', { cause: failing('other side closed', { code: 'UND_ERR_SOCKET' }) }),
    failing('something new'),
    'a text',
    undefined,
  ]) {
    assert.equal(isConnectError(error), false, String(error))
  }
})

test('with several addresses, every connection must have failed', () => {
  const refused = failing('connect ECONNREFUSED ::1:1', { code: 'ECONNREFUSED', syscall: 'connect' })
  const late = failing('connect ETIMEDOUT 1.2.3.4:1', { code: 'ETIMEDOUT', syscall: 'connect' })
  const broken = failing('read ECONNRESET', { code: 'ECONNRESET', syscall: 'read' })
  assert.equal(isConnectError(new AggregateError([refused, late])), true)
  assert.equal(isConnectError(new AggregateError([refused, broken])), false)
})

test('errors of fetch distinguish a refused connection from a closed one', async (t) => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.destroy())
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const url = `http://127.0.0.1:${address.port}`
  assert.equal(isConnectError(await thrownBy(() => fetch(url))), false)
  server.close()
  await once(server, 'close')
  assert.equal(isConnectError(await thrownBy(() => fetch(url))), true)
})
