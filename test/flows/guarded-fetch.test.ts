/**
 * A server on the internet cannot make the gateway ask addresses of its own network.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuardedFetch } from '../../src/flows/guarded-fetch.ts'

function fetchFor(server: string) {
  const asked: string[] = []
  const redirects: (string | undefined)[] = []
  const guarded = createGuardedFetch(server, async (url, init) => {
    asked.push(String(url))
    redirects.push(init?.redirect)
    return new Response('')
  })
  return { guarded, asked, redirects }
}

const privateAddresses = [
  'http://127.0.0.1/token',
  'http://localhost:8080/token',
  'http://169.254.169.254/latest/meta-data',
  'http://[::1]/token',
  'http://10.0.0.1/token',
  'http://[::ffff:10.0.0.1]/token',
]

for (const address of privateAddresses)
  test(`a public server that names ${address} for a login is refused`, async () => {
    const { guarded, asked } = fetchFor('https://1.1.1.1/mcp')
    await assert.rejects(guarded(address))
    assert.deepEqual(asked, [])
  })

test('a server asks itself and public addresses, which may not redirect', async () => {
  const { guarded, asked, redirects } = fetchFor('https://1.1.1.1/mcp')
  await guarded('https://1.1.1.1/token')
  await guarded('https://8.8.8.8/token')
  assert.deepEqual(asked, ['https://1.1.1.1/token', 'https://8.8.8.8/token'])
  assert.deepEqual(redirects, [undefined, 'error'])
})

test('a server of the own network may name another one', async () => {
  const { guarded, asked } = fetchFor('http://127.0.0.1:4000/mcp')
  await guarded('http://127.0.0.1:5000/token')
  assert.equal(asked.length, 1)
})
