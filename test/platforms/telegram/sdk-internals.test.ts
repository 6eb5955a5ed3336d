/**
 * The adapter uses parts of telegraf that its documentation does not promise. When one of these tests fails after an
 * update of telegraf, check the named file of the adapter before you adjust the test.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Telegram } from 'telegraf'
import type { TelegrafClient } from '../../../platforms/telegram/connection/api.ts'
import { ApiError, toApiError } from '../../../platforms/telegram/errors.ts'

/** The package does not export these files. */
const packageFile = (path: string) => fileURLToPath(new URL(path, import.meta.resolve('telegraf')))
const check = 'telegraf has changed: check platforms/telegram/'

test('telegraf has the version for which these internals were checked', () => {
  const { version } = JSON.parse(readFileSync(packageFile('../package.json'), 'utf8'))
  assert.match(version, /^4\.16\./, `${check}connection/api.ts and errors.ts, then raise the version here`)
})

test('callApi sends any method name to <root>/bot<token>/<method> as JSON', async (t) => {
  const { client, requests } = await startClient(t, { ok: true, result: 'result' })
  assert.equal(await client.callApi('futureMethod', { a: 1 }), 'result', `${check}connection/api.ts`)
  assert.deepEqual(requests, ['/bot1:token/futureMethod {"a":1}'], `${check}connection/api.ts`)
})

test('callApi accepts an AbortSignal of Node and rejects when it aborts', async (t) => {
  const { client } = await startClient(t, 'no response')
  const abort = new AbortController()
  const call = client.callApi('getMe', {}, { signal: abort.signal })
  setTimeout(() => abort.abort(), 20)
  await assert.rejects(call, { name: 'AbortError' }, `${check}connection/api.ts`)
})

test('an error of the Bot API is thrown with its parsed response', async (t) => {
  const response = { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 7 } }
  const { client } = await startClient(t, response)
  const thrown: unknown = await client.callApi('getMe', {}).catch((error: unknown) => error)
  const error = toApiError(thrown, (text) => text)
  assert.ok(error instanceof ApiError)
  assert.deepEqual([error.details.code, error.details.retryAfterMs], [429, 7_000], `${check}errors.ts (toApiError)`)
})

test('the polling loop of telegraf still confirms updates before their handlers have finished', async () => {
  // The reason for connection/polling.ts. When this test fails, the own loop may be unnecessary.
  const { Polling }: PollingModule = createRequire(import.meta.url)(packageFile('core/network/polling.js'))
  const offsets: unknown[] = []
  const telegram = {
    async callApi(_method: string, { offset }: { offset: number }) {
      offsets.push(offset)
      return offset === 0 ? [{ update_id: 5 }] : []
    },
  }
  const polling = new Polling(telegram, [])
  await assert.rejects(polling.loop(() => Promise.reject(new Error('the update could not be stored'))))
  assert.equal(offsets.at(-1), 6, `${check}connection/polling.ts: telegraf no longer confirms a failed update`)
})

interface PollingModule {
  readonly Polling: new (
    telegram: object,
    allowedUpdates: readonly string[],
  ) => { loop(handle: (update: unknown) => Promise<void>): Promise<void> }
}

async function startClient(t: TestContext, response: unknown) {
  const requests: string[] = []
  const server = createServer(async (request, reply) => {
    const body = await request.setEncoding('utf8').toArray()
    requests.push(`${request.url} ${body.join('')}`)
    if (typeof response !== 'string') reply.end(JSON.stringify(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const client: TelegrafClient = new Telegram('1:token', { apiRoot: `http://127.0.0.1:${address.port}/` })
  return { client, requests }
}
